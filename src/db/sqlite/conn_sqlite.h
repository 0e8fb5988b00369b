/* src/db/sqlite/conn_sqlite.h - declarations shared by the files of the SQLite driver. */
#ifndef PAWLI_CONN_SQLITE_H
#define PAWLI_CONN_SQLITE_H

#include <sqlite3.h>

#include "buffer.h"
#include "driver.h"
#include "row.h"
#include "scope.h"

/* Engine commands, prepared when a connection is opened, so that a rollback never allocates. */
typedef enum pawli_sqlite_command {
    PAWLI_SQLITE_SAVE, /* a foreign connection has only the first three */
    PAWLI_SQLITE_KEEP,
    PAWLI_SQLITE_UNDO,
    PAWLI_SQLITE_BEGIN_WRITE,
    PAWLI_SQLITE_BEGIN_READ,
    PAWLI_SQLITE_COMMIT,
    PAWLI_SQLITE_ROLLBACK,
    PAWLI_SQLITE_COMMAND_COUNT
} pawli_sqlite_command;

typedef struct pawli_sqlite_script pawli_sqlite_script;

/* One connection, used by one thread at a time; other threads access only base.stop. */
typedef struct pawli_sqlite {
    pawli_conn base;
    const pawli_db_settings *settings;
    sqlite3 *handle;
    pawl_mono deadline; /* of the running call */
    bool begun;         /* between begin() and commit() or rollback() */
    bool committing;    /* pawl's own COMMIT is running: on an exposed handle no other is allowed */
    bool undoing;       /* a rollback is running: neither deadline nor stop may end it */
    bool moves_mark;    /* the open transaction sets fencing tokens aside */
    bool moved_mark;    /* one on this connection has done so, and it is on the disk */
    bool must_last;     /* the open transaction has to be on the disk in any case */
    int lock_fd;        /* the lock file beside the database, or one of the two below */
    bool has_write_lock;
    int page_size;  /* of the file, in bytes; set when the log is watched */
    int max_length; /* the largest value this handle accepts, in bytes */
    sqlite3_stmt *commands[PAWLI_SQLITE_COMMAND_COUNT];
    sqlite3_stmt *clock;     /* as the next one prepared when first needed */
    sqlite3_stmt *set_clock; /* rarely */
    sqlite3_stmt *lock;      /* foreign only: takes the write lock and changes nothing */
    pawli_sqlite_script *scripts[PAWLI_SQL_COUNT]; /* prepared when first needed */
    pawli_buffer json;                             /* list parameters of the running op */
} pawli_sqlite;

#define PAWLI_SQLITE_WRITE_LOCK_UNKNOWN (-1) /* not opened yet */
#define PAWLI_SQLITE_WRITE_LOCK_NONE (-2)    /* not available: only SQLite's own lock is used */

/*
 * transaction_sqlite.c: queueing for the write lock with other processes, around a writing
 * transaction. Never fails.
 */
void pawli_sqlite_write_lock_acquire(pawli_sqlite *conn);
void pawli_sqlite_write_lock_release(pawli_sqlite *conn);
void pawli_sqlite_write_lock_close(pawli_sqlite *conn);

/* wal_sqlite.c: before BEGIN, and after COMMIT. The latter two return a SQLite result code. */
void pawli_sqlite_sync_before(pawli_sqlite *conn);
int pawli_sqlite_sync_after(pawli_sqlite *conn);
int pawli_sqlite_sync_register(pawli_sqlite *conn);

/* clock_sqlite.c: the time of one op. */
typedef struct pawli_sqlite_time {
    int64_t now;       /* by the store's clock */
    int64_t boot;      /* the boot clock at that moment */
    int64_t resets;    /* how often the store's clock had been reset */
    bool boot_is_real; /* it is not a test's virtual clock */
    bool write_offset; /* the stored offset to the boot clock is no longer right */
} pawli_sqlite_time;
pawl_status pawli_sqlite_clock_read(pawli_sqlite *conn, pawli_sqlite_time *ret_time,
                                    pawl_error *err);
/*
 * After an op that has changed something: stores the offset to the boot clock, if it has changed.
 */
pawl_status pawli_sqlite_clock_write(pawli_sqlite *conn, const pawli_sqlite_time *time,
                                     pawl_error *err);

/* wal_sqlite.c: from now on pawl runs the checkpoints, after commits on this handle. */
int pawli_sqlite_wal_watch(pawli_sqlite *conn, int page_size);
pawl_status pawli_sqlite_checkpoint(pawli_conn *base, pawl_error *err);

/* driver_sqlite.c */
pawl_status pawli_sqlite_open(const pawli_db_settings *settings, pawli_use use, pawl_mono deadline,
                              pawli_conn **ret_conn, pawl_error *err);
pawl_status pawli_sqlite_open_foreign(const pawli_db_settings *settings, void *native,
                                      pawli_conn **ret_conn, pawl_error *err);
bool pawli_sqlite_tx_open(pawli_conn *base);
void *pawli_sqlite_native(pawli_conn *base);
void pawli_sqlite_close(pawli_conn *base);
static inline void pawli_sqlite_free(pawli_sqlite *conn)
{
    pawli_sqlite_close(conn ? &conn->base : NULL);
}
PAWLI_AUTO_DEFINE(pawli_sqlite, pawli_sqlite_free);

/* path_sqlite.c: the file's name and its status in the file system. */
bool pawli_sqlite_in_memory(const pawli_db_settings *settings);
/* Before opening: checks that the file exists or may be created. Never creates anything. */
pawl_status pawli_sqlite_path_check(const char *path, bool create, pawl_error *err);
/* Creates an empty database file of mode 0600; no-op if it exists. */
void pawli_sqlite_path_create(const char *path);
/* Explains SQLITE_CANTOPEN with this errno. */
pawl_status pawli_sqlite_path_explain(const char *path, int system_errno, pawl_error *err);
/* Explains why a writer got a read-only handle. */
pawl_status pawli_sqlite_path_read_only(const char *path, pawl_error *err);
bool pawli_sqlite_same_file(const char *first, const char *second);

/* error_sqlite.c: deadlines, interruption and waiting for locks. */
void pawli_sqlite_wait_install(pawli_sqlite *conn); /* never on an application's handle */
/* PAWL_E_INTERRUPTED or PAWL_E_TIMEOUT if the call should end now. */
pawl_status pawli_sqlite_wait_check(pawli_sqlite *conn, pawl_error *err);
/* Sleeps before attempt number `tries`; false when there is no time for another. */
bool pawli_sqlite_wait_again(pawli_sqlite *conn, int tries);
void pawli_sqlite_interrupt(pawli_conn *base);

/*
 * error_sqlite.c: fills in `err` from the result code just returned, before anything else is done
 * with the handle. `what` names the statement or step. Marks the connection as broken where a new
 * one is needed.
 */
pawl_status pawli_sqlite_fail(pawli_sqlite *conn, int code, const char *what, pawl_error *err);
/* The extended form of `code`, which the handle has just returned. */
int pawli_sqlite_extended(sqlite3 *handle, int code);

/* transaction_sqlite.c */
int pawli_sqlite_command_run(pawli_sqlite *conn, pawli_sqlite_command command);
pawl_status pawli_sqlite_commands_prepare(pawli_sqlite *conn, pawl_error *err);
pawl_status pawli_sqlite_begin(pawli_conn *base, pawl_mono deadline, pawl_error *err);
pawl_status pawli_sqlite_commit(pawli_conn *base, pawl_mono deadline, pawl_error *err);
void pawli_sqlite_rollback(pawli_conn *base);
void pawli_sqlite_expose(pawli_conn *base, pawl_mono until);
void pawli_sqlite_unexpose(pawli_conn *base);

/* The transaction context of one op. */
typedef enum pawli_sqlite_unit {
    PAWLI_SQLITE_PLAIN,       /* one reading statement, or reads inside an open transaction */
    PAWLI_SQLITE_TRANSACTION, /* the op's own */
    PAWLI_SQLITE_SAVEPOINT    /* inside an open transaction */
} pawli_sqlite_unit;
/* `snapshot`: a read that needs one view of the data for several statements. */
pawl_status pawli_sqlite_unit_open(pawli_sqlite *conn, bool writes, bool snapshot,
                                   pawli_sqlite_unit *ret_unit, pawl_error *err);
/* Commits what the op did; on failure it is already undone. */
pawl_status pawli_sqlite_unit_keep(pawli_sqlite *conn, pawli_sqlite_unit unit, bool writes,
                                   pawl_error *err);
/* Restores the state before the op. Does not touch the caller's error. */
void pawli_sqlite_unit_undo(pawli_sqlite *conn, pawli_sqlite_unit unit);

/* script_sqlite.c: a statement file, split and prepared. */
typedef enum pawli_sqlite_source {
    PAWLI_SQLITE_FROM_NOW,
    PAWLI_SQLITE_FROM_PARAM,
    PAWLI_SQLITE_FROM_COLUMN, /* one value of the current row */
    PAWLI_SQLITE_FROM_ROWS,   /* all of the row table */
    PAWLI_SQLITE_FROM_COUNT   /* how many rows it has */
} pawli_sqlite_source;

typedef struct pawli_sqlite_binding {
    int index; /* SQLite's, from 1 */
    pawli_sqlite_source source;
    size_t slot; /* of op->params or of the row */
} pawli_sqlite_binding;

typedef struct pawli_sqlite_statement {
    sqlite3_stmt *handle;
    bool each;    /* once per row */
    bool if_rows; /* not at all if there are none */
    bool stop_unless_changed;
    pawli_sqlite_binding *bindings; /* those that are the same for every row come first */
    size_t constant_count;
    size_t binding_count;
    pawli_column_map map; /* of the op's columns */
    int prepared;         /* how often SQLite had prepared it again when the map was made */
} pawli_sqlite_statement;

/* rows_sqlite.c: the row table as pawli_rows(:rows). */
typedef struct pawli_sqlite_rows {
    const pawli_rows *rows;
    int *slots; /* by column of pawli_rows: where it is in the rows, or -1 */
} pawli_sqlite_rows;

typedef struct pawli_sqlite_span {
    size_t offset;
    size_t size;
} pawli_sqlite_span;

struct pawli_sqlite_script {
    pawli_sqlite_statement *statements;
    size_t count;
    bool uses_now;
    /* The names that the bindings were resolved against: params, then columns. */
    bool resolved;
    size_t param_count;
    size_t column_count;
    const char **names;
    pawli_sqlite_span *lists; /* param_count; where a list parameter is in conn->json */
    pawli_sqlite_rows rows;   /* the running op's, if it has any */
};

/* The script of `sql`, prepared and resolved against the op's names; borrowed from `conn`. */
pawl_status pawli_sqlite_script_get(pawli_sqlite *conn, const pawli_op *op,
                                    pawli_sqlite_script **ret_script, pawl_error *err);
void pawli_sqlite_script_free(pawli_sqlite_script *script);
PAWLI_AUTO_DEFINE(pawli_sqlite_script, pawli_sqlite_script_free);

/* bind_sqlite.c */
/* Matches every ":name" of the script with the op's parameters; cheap when it was done before. */
pawl_status pawli_sqlite_resolve(pawli_sqlite_script *script, const pawli_op *op, pawl_error *err);
/* Writes the op's list parameters as JSON into conn->json. */
pawl_status pawli_sqlite_lists_write(pawli_sqlite *conn, pawli_sqlite_script *script,
                                     const pawli_op *op, pawl_error *err);
/* Both return a SQLite result code. */
int pawli_sqlite_bind_constants(const pawli_sqlite *conn, pawli_sqlite_script *script,
                                const pawli_sqlite_statement *statement, const pawli_op *op,
                                int64_t now);
int pawli_sqlite_bind_row(const pawli_sqlite_statement *statement, const pawli_value *row);

/* rows_sqlite.c: register and bind return a SQLite result code. */
int pawli_sqlite_rows_register(pawli_sqlite *conn);
/* The slots of these rows, or NULL if memory ran out; the caller frees them. */
int *pawli_sqlite_rows_match(const pawli_rows *rows);
int pawli_sqlite_rows_bind(sqlite3_stmt *handle, int index, pawli_sqlite_rows *rows);

/* bind_sqlite.c */
typedef struct pawli_sqlite_row {
    pawli_row base;
    sqlite3_stmt *handle;
    bool *out_of_memory; /* set when SQLite had no memory to return a text */
} pawli_sqlite_row;
extern const pawli_row_table pawli_sqlite_row_table;

/* run_sqlite.c */
pawl_status pawli_sqlite_run(pawli_conn *base, const pawli_op *op, pawl_mono deadline,
                             pawl_error *err);

/* waiter_sqlite.c */
pawl_status pawli_sqlite_listener_open(const pawli_db_settings *settings, const char *token,
                                       pawl_mono deadline, pawli_commit_listener **ret_listener,
                                       pawl_error *err);
void pawli_sqlite_listener_close(pawli_commit_listener *base);
pawl_status pawli_sqlite_listener_read(pawli_commit_listener *base, pawli_commit_events *ret_events,
                                       pawl_error *err);

/* script_sqlite.c */
pawl_status pawli_sqlite_schema(pawli_conn *base, const char *names, pawl_mono deadline,
                                pawli_installed *ret_installed, pawl_error *err);
pawl_status pawli_sqlite_schema_lock(pawli_conn *base, const char *names, pawl_mono deadline,
                                     pawl_error *err);
pawl_status pawli_sqlite_schema_script(pawli_conn *base, const char *sql, pawl_mono deadline,
                                       pawl_error *err);

#endif
