/*
 * src/db/driver.h - what an engine must be able to do. sqlite/ and postgres/ each fill one table.
 *
 * A connection is used by one thread at a time, except for interrupt(). Drivers know nothing of
 * queues: they carry out ops (op.h), transactions and schema text.
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

typedef struct pawli_driver pawli_driver;
typedef struct pawli_statements pawli_statements; /* the engine's SQL, names filled in */

/* What a connection is for. */
typedef enum pawli_use {
    PAWLI_WRITES = false,
    PAWLI_READS = true, /* it only reads */
    PAWLI_HOLDS = 2     /* it is lent to the application while a transaction is open */
} pawli_use;

/*
 * What a process knows of the clock of a store whose engine has none of its own (SQLite): shared by
 * the store's connections. docs/internals/clock.md
 */
typedef struct pawli_clock_memory {
    pthread_mutex_t lock;
    int64_t offset; /* to the boot clock, while the database does not have the right one */
    int64_t resets; /* to which reset of the clock that belongs; -1: to none */
    _Atomic int64_t ahead_us; /* of the wall clock, when it was last read; 0: not worth a word */
    atomic_bool told;         /* the log has it */
} pawli_clock_memory;

/* What a connection is opened with; owned by pawli_db, outlives every connection. */
typedef struct pawli_db_settings {
    const pawli_driver *driver;
    const char *target; /* SQLite: a path or ":memory:". PostgreSQL: a conninfo string */
    const char *names;  /* SQLite: table prefix ("pawl_"). PostgreSQL: schema name ("pawl") */
    pawl_durability durability;
    pawl_prepare prepare;
    bool create;                        /* SQLite: create the file if it is not there */
    const pawli_statements *statements; /* NULL while only the schema is looked at */
    pawli_clock_memory *clock;          /* NULL: nothing is remembered between calls */
} pawli_db_settings;

/* Every driver's connection struct begins with this. */
typedef struct pawli_conn {
    const pawli_driver *driver;
    atomic_bool stop; /* set by interrupt(): the running call ends with PAWL_E_INTERRUPTED */
    int stop_fd;      /* eventfd that becomes readable with it; -1 if the driver needs none */
    bool broken;      /* must be closed instead of used again */
    bool solo;        /* the open transaction is for one op alone: it needs no savepoint */
    bool lost;        /* the engine rolled back the open transaction; until the next begin() */
    bool read_only;   /* asked for as a reader */
    bool wrapped;     /* the handle and its transaction are the application's */
    bool lent;        /* the handle is pawl's, and the application works with it, too */
    struct pawli_conn *next; /* the pool's list */
} pawli_conn;

/* How a waiter (waiter.h) learns what others commit. Every driver's struct begins with this. */
typedef struct pawli_ear {
    int fd; /* readable when there may be something to hear; -1: ask now and then */
} pawli_ear;

typedef struct pawli_heard {
    bool commit; /* something was committed: all there is to take may be there now */
    bool stir;   /* something is being written, and is committed soon or not at all */
    bool echo;   /* the waiter's own notification came back */
} pawli_heard;

struct pawli_driver {
    const char *name;         /* "sqlite", "postgres" */
    bool single_writer;       /* one writing connection is all that makes sense */
    size_t max_payload_bytes; /* largest value one row can hold, less room for the rest */

    /* Connect. `deadline` bounds everything. */
    pawl_status (*open)(const pawli_db_settings *settings, pawli_use use, pawl_mono deadline,
                        pawli_conn **ret_conn, pawl_error *err);
    /* NULL is fine. A wrapped connection's handle stays open. */
    void (*close)(pawli_conn *conn);
    /* Cheap check of an idle connection: has the server gone away? */
    bool (*alive)(pawli_conn *conn);

    /*
     * Carry out the op: as a transaction of its own when none is open, else inside the open one
     * (or the wrapped one), where a failure leaves the transaction as it was before the op.
     * PAWL_E_IN_DOUBT only if op->writes and the commit may have happened. Sets conn->broken when
     * the connection cannot be used again.
     */
    pawl_status (*run)(pawli_conn *conn, const pawli_op *op, pawl_mono deadline, pawl_error *err);

    /* A transaction over several runs. begin() takes the write lock at once on SQLite. */
    pawl_status (*begin)(pawli_conn *conn, pawl_mono deadline, pawl_error *err);
    pawl_status (*commit)(pawli_conn *conn, pawl_mono deadline, pawl_error *err);
    /* Never fails: breaks the connection instead. Any thread, if the connection PAWLI_HOLDS. */
    void (*rollback)(pawli_conn *conn);
    /*
     * After begin(): the application gets native() and works with it, until then at most where
     * there is one writer. After the end, take_back() sets right what it may have changed.
     */
    void (*lend)(pawli_conn *conn, pawl_mono until);
    void (*take_back)(pawli_conn *conn);
    void *(*native)(pawli_conn *conn); /* struct sqlite3 * or struct pg_conn * */

    /* Run plain SQL of many statements inside the open transaction: migrations. */
    pawl_status (*script)(pawli_conn *conn, const char *sql, pawl_mono deadline, pawl_error *err);
    /*
     * Run one plain statement inside the open transaction; *ret_answer, the caller's, is its first
     * value as text, or NULL if there is none. NULL: nobody asks this engine.
     */
    pawl_status (*ask)(pawli_conn *conn, const char *sql, pawl_mono deadline, char **ret_answer,
                       pawl_error *err);

    /*
     * Read the installed schema's numbers: version 0 if pawl's meta table is not there;
     * PAWL_E_NOT_OURS if a table of that name is there and is not pawl's.
     */
    pawl_status (*schema)(pawli_conn *conn, const char *names, pawl_mono deadline, int *ret_version,
                          int *ret_compatible_from, pawl_error *err);
    /* Wait, inside the open transaction, until no other process migrates. */
    pawl_status (*schema_lock)(pawli_conn *conn, const char *names, pawl_mono deadline,
                               pawl_error *err);

    /*
     * A connection over the application's handle, whose transaction is open: `native` is a
     * struct sqlite3 * or struct pg_conn *. PAWL_E_MISUSE if no transaction is open or it is
     * another database file.
     */
    pawl_status (*wrap)(const pawli_db_settings *settings, void *native, pawli_conn **ret_conn,
                        pawl_error *err);
    /* Whether the wrapped or lent transaction is still open. */
    bool (*wrapped_open)(pawli_conn *conn);

    /* Any thread: make the running call end soon. */
    void (*interrupt)(pawli_conn *conn);

    /*
     * Whether senders notify those, and only those, who are written down as asleep. Otherwise an
     * ear hears of every commit.
     */
    bool keeps_sleepers;
    /* `token` tells the waiter's own notifications from those of others. PAWL_E_UNSUPPORTED: there
     * is nobody who could be heard. */
    pawl_status (*ear_open)(const pawli_db_settings *settings, const char *token,
                            pawl_mono deadline, pawli_ear **ret_ear, pawl_error *err);
    void (*ear_close)(pawli_ear *ear); /* NULL is fine */
    /* What has come since the last call. Does not wait. After an error the ear is of no use. */
    pawl_status (*ear_hear)(pawli_ear *ear, pawli_heard *ret_heard, pawl_error *err);

    /* pawli_db_checkpoint() on an idle connection; NULL: there is no such thing. Sets conn->broken
     * after an error of the disk. */
    pawl_status (*checkpoint)(pawli_conn *conn, pawl_error *err);
};

/* NULL when the engine is not built in. */
extern const pawli_driver *const pawli_driver_sqlite;
extern const pawli_driver *const pawli_driver_postgres;

#endif
