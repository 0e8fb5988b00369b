/*
 * src/db/driver.h - the interface of an engine. sqlite/ and postgres/ each implement one table.
 *
 * A connection is used by one thread at a time, except for interrupt(). Connections know nothing
 * about queues: they run ops (op.h), transactions and schema text. What an engine needs for a whole
 * store is above them: its scanner, and how its waiters wait.
 */
#ifndef PAWLI_DRIVER_H
#define PAWLI_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/store.h>

#include "op.h"

#define PAWLI_DIGEST_SIZE 65 /* hexadecimal SHA-256, NUL-terminated */

/* What the meta table says of the installed schema. */
typedef struct pawli_installed {
    int version;         /* 0: there is no such table */
    int compatible_from; /* the oldest library schema version that may use it */
    int code_release;    /* of the functions, views and triggers (statements.h) */
    char code_digest[PAWLI_DIGEST_SIZE];
} pawli_installed;

typedef struct pawli_db pawli_db; /* db.h */
typedef struct pawli_driver pawli_driver;
typedef struct pawli_statements pawli_statements; /* the engine's SQL, names filled in */

/* What a connection is for. */
typedef enum pawli_use {
    PAWLI_WRITES = false,
    PAWLI_READS = true, /* it only reads */
    PAWLI_EXCLUSIVE = 2 /* it is exposed to the application while a transaction is open */
} pawli_use;

/*
 * The state that a process keeps about the clock of a store whose engine has none of its own
 * (SQLite); shared by the store's connections. docs/internals/clock.md
 */
typedef struct pawli_clock_memory {
    pthread_mutex_t lock;
    int64_t offset; /* to the boot clock, while the database does not store the right one */
    int64_t resets; /* the clock reset that it belongs to; -1: none */
    _Atomic int64_t ahead_us; /* of the wall clock, when it was last read; 0: not worth reporting */
    atomic_bool logged;       /* the current state was logged */
} pawli_clock_memory;

/* The settings of a connection; owned by pawli_db, outlives every connection. */
typedef struct pawli_db_settings {
    const pawli_driver *driver;
    const char *target; /* SQLite: a path or ":memory:". PostgreSQL: a conninfo string */
    const char *names;  /* SQLite: table prefix ("pawl_"). PostgreSQL: schema name ("pawl") */
    pawl_durability durability;
    pawl_prepare prepare;
    bool create;                        /* SQLite: create the file if it does not exist */
    const pawli_statements *statements; /* NULL while only the schema is read */
    pawli_clock_memory *clock;          /* NULL: nothing is remembered between calls */
} pawli_db_settings;

/* Every driver's connection struct begins with this. */
typedef struct pawli_conn {
    const pawli_driver *driver;
    atomic_bool stop; /* set by interrupt(): the running call ends with PAWL_E_INTERRUPTED */
    int stop_fd;      /* eventfd that becomes readable with it; -1 if the driver needs none */
    bool broken;      /* must be closed instead of used again */
    bool single_op;   /* the open transaction is for a single op: it needs no savepoint */
    bool lost;        /* the engine rolled back the open transaction; until the next begin() */
    bool read_only;   /* opened as a reader */
    bool foreign;     /* the handle and its transaction are the application's */
    bool exposed;     /* the handle is pawl's, and the application uses it, too */
    struct pawli_conn *next; /* the pool's list */
} pawli_conn;

/*
 * A commit listener: how a waiter (waiter.h) learns of commits by others. Every driver's struct
 * begins with this.
 */
typedef struct pawli_commit_listener {
    int fd; /* readable when there may be events; -1: poll */
} pawli_commit_listener;

typedef struct pawli_commit_events {
    bool commit;  /* something was committed: messages may be claimable now */
    bool writing; /* something is being written, and is committed soon or not at all */
    bool echo;    /* the waiter's own notification came back */
} pawli_commit_events;

/* What a store knows about its scans of the queue. Each driver that needs one defines it. */
typedef struct pawli_scanner pawli_scanner;

/* How the waiters of an engine learn of commits by others: waiter_private.h. */
typedef struct pawli_wait_method pawli_wait_method;

struct pawli_driver {
    const char *name;         /* "sqlite", "postgres" */
    bool single_writer;       /* only one writing connection makes sense */
    size_t max_payload_bytes; /* largest value in one row, less room for the other columns */

    /* Connects. `deadline` bounds everything. */
    pawl_status (*open)(const pawli_db_settings *settings, pawli_use use, pawl_mono deadline,
                        pawli_conn **ret_conn, pawl_error *err);
    /* NULL is allowed. A foreign connection's handle stays open. */
    void (*close)(pawli_conn *conn);
    /* Cheap check whether the server of an idle connection has gone away. */
    bool (*alive)(pawli_conn *conn);

    /*
     * Runs the op: in a transaction of its own when none is open, otherwise inside the open one (or
     * the foreign one), where a failure leaves the transaction as it was before the op.
     * PAWL_E_IN_DOUBT only if op->writes and the commit may have happened. Sets conn->broken when
     * the connection cannot be used again.
     */
    pawl_status (*run)(pawli_conn *conn, const pawli_op *op, pawl_mono deadline, pawl_error *err);

    /*
     * For pawli_db_scan(): a store's scanner, and running ops with it. They call pawli_db_run().
     * NULL: a scan is an op as any other.
     */
    pawl_status (*scanner_new)(pawli_db *db, pawli_scanner **ret_scanner, pawl_error *err);
    void (*scanner_free)(pawli_scanner *scanner);
    pawl_status (*scan)(pawli_scanner *scanner, const pawli_op *ops,
                        bool (*found_nothing)(const void *context), pawl_error *err);

    /* A transaction over several runs. begin() takes the write lock at once on SQLite. */
    pawl_status (*begin)(pawli_conn *conn, pawl_mono deadline, pawl_error *err);
    pawl_status (*commit)(pawli_conn *conn, pawl_mono deadline, pawl_error *err);
    /* Never fails: marks the connection as broken instead. Any thread, if the connection
     * PAWLI_EXCLUSIVE. */
    void (*rollback)(pawli_conn *conn);
    /*
     * After begin(): the application gets native() and uses it; on an engine with one writer at
     * most until `until`. After the end, take_back() restores what the application may have
     * changed.
     */
    void (*expose)(pawli_conn *conn, pawl_mono until);
    void (*unexpose)(pawli_conn *conn);
    void *(*native)(pawli_conn *conn); /* struct sqlite3 * or struct pg_conn * */

    /* Runs a script of SQL statements inside the open transaction: migrations. */
    pawl_status (*script)(pawli_conn *conn, const char *sql, pawl_mono deadline, pawl_error *err);
    /*
     * Runs one plain statement inside the open transaction; *ret_answer, owned by the caller, is
     * its first value as text, or NULL if there is none. NULL: not used for this engine.
     */
    pawl_status (*ask)(pawli_conn *conn, const char *sql, pawl_mono deadline, char **ret_value,
                       pawl_error *err);

    /* PAWL_E_NOT_OURS if there is a table of meta's name that is not pawl's. */
    pawl_status (*schema)(pawli_conn *conn, const char *names, pawl_mono deadline,
                          pawli_installed *ret_installed, pawl_error *err);
    /* Waits, inside the open transaction, until no other process migrates. */
    pawl_status (*schema_lock)(pawli_conn *conn, const char *names, pawl_mono deadline,
                               pawl_error *err);

    /*
     * A connection on the application's handle, whose transaction is open: `native` is a struct
     * sqlite3 * or struct pg_conn *. PAWL_E_MISUSE if no transaction is open or it belongs to
     * another database file.
     */
    pawl_status (*open_foreign)(const pawli_db_settings *settings, void *native,
                                pawli_conn **ret_conn, pawl_error *err);
    /* Whether the foreign or exposed transaction is still open. */
    bool (*tx_open)(pawli_conn *conn);

    /* Makes the running call end soon. Any thread. */
    void (*interrupt)(pawli_conn *conn);

    const pawli_wait_method *wait_method;
    /* `token` distinguishes the waiter's own notifications from those of others.
     * PAWL_E_UNSUPPORTED: no other connection can write (SQLite in memory). */
    pawl_status (*listener_open)(const pawli_db_settings *settings, const char *token,
                                 pawl_mono deadline, pawli_commit_listener **ret_listener,
                                 pawl_error *err);
    void (*listener_close)(pawli_commit_listener *listener); /* NULL is allowed */
    /* Returns the events since the last call. Does not wait. After an error the listener is
     * unusable. */
    pawl_status (*listener_read)(pawli_commit_listener *listener, pawli_commit_events *ret_heard,
                                 pawl_error *err);

    /* pawli_db_checkpoint() on an idle connection; NULL: not supported. Sets conn->broken after a
     * disk error. */
    pawl_status (*checkpoint)(pawli_conn *conn, pawl_error *err);
};

/* NULL when the engine is not built in. */
#define PAWLI_DRIVER_DECLARE(engine) extern const pawli_driver *const pawli_driver_##engine;
PAWLI_ENGINES(PAWLI_DRIVER_DECLARE)

#endif
