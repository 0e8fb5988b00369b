/* src/db/postgres/conn_postgres.h - declarations shared by the files of the PostgreSQL driver. */
#ifndef PAWLI_CONN_POSTGRES_H
#define PAWLI_CONN_POSTGRES_H

#include <libpq-fe.h>

#include "buffer.h"
#include "driver.h"
#include "row.h"
#include "scope.h"
#include "statements.h"

#define PAWLI_POSTGRES_PARAMS_MAX 32

/* A statement file with ":name" turned into "$1"; the names point into the original text. */
typedef struct pawli_postgres_statement {
    char *text; /* NULL: not translated yet */
    bool used;
    bool prepared;
    int generation;       /* the connection's when it was prepared: a part of its name */
    pawli_column_map map; /* of the op's columns */
    int count;
    struct {
        const char *start;
        size_t length;
    } names[PAWLI_POSTGRES_PARAMS_MAX];
} pawli_postgres_statement;

typedef enum pawli_postgres_prepares {
    PAWLI_POSTGRES_UNDECIDED, /* not determined yet */
    PAWLI_POSTGRES_PREPARES,
    PAWLI_POSTGRES_PLAIN
} pawli_postgres_prepares;

/*
 * One connection, used by one thread at a time; other threads use only base.stop and base.stop_fd.
 */
typedef struct pawli_postgres {
    pawli_conn base;
    const pawli_db_settings *settings;
    PGconn *pg;
    bool begun;          /* between begin() and commit() or rollback() */
    bool undoing;        /* a rollback is running: it must not be interrupted */
    pawl_status stopped; /* why the running statement was cancelled: PAWL_OK if it was not */
    pawli_postgres_prepares prepares;
    int generation; /* how often a migration has changed the statements' results */
    pawli_buffer values[PAWLI_CHAIN_MAX]; /* parameters of the running ops; kept for reuse */
    pawli_postgres_statement statements[PAWLI_SQL_COUNT];
} pawli_postgres;

/* What a lost response to a command means. */
typedef enum pawli_postgres_outcome {
    PAWLI_POSTGRES_NOTHING, /* it reads, or its transaction was not committed */
    PAWLI_POSTGRES_A_COMMIT /* it commits: the result is unknown */
} pawli_postgres_outcome;

/* idle_worker_postgres.c */
extern const pawli_wait_method pawli_postgres_wait_method;

/* driver_postgres.c */
pawl_status pawli_postgres_open(const pawli_db_settings *settings, pawli_use use,
                                pawl_mono deadline, pawli_conn **ret_conn, pawl_error *err);
pawl_status pawli_postgres_open_foreign(const pawli_db_settings *settings, void *native,
                                        pawli_conn **ret_conn, pawl_error *err);
bool pawli_postgres_tx_open(pawli_conn *base);
void *pawli_postgres_native(pawli_conn *base);
bool pawli_postgres_alive(pawli_conn *base);
void pawli_postgres_close(pawli_conn *base);
static inline void pawli_postgres_free(pawli_postgres *conn)
{
    pawli_postgres_close(conn ? &conn->base : NULL);
}
PAWLI_AUTO_DEFINE(pawli_postgres, pawli_postgres_free);
PAWLI_AUTO_DEFINE(PGresult, PQclear);

/* encode_postgres.c: the statement, translated at its first use; borrowed from `conn`. */
pawl_status pawli_postgres_translate(pawli_postgres *conn, enum pawli_sql sql,
                                     pawli_postgres_statement **ret_statement, pawl_error *err);

/* encode_postgres.c: the parameters of one op in libpq's form. */
typedef struct pawli_postgres_params {
    int count;
    Oid types[PAWLI_POSTGRES_PARAMS_MAX];
    const char *values[PAWLI_POSTGRES_PARAMS_MAX];
    int lengths[PAWLI_POSTGRES_PARAMS_MAX];
    int formats[PAWLI_POSTGRES_PARAMS_MAX]; /* all binary */
} pawli_postgres_params;
/* The values stay valid until the buffer is used again, or as long as the op's own. */
pawl_status pawli_postgres_encode(pawli_buffer *out, const pawli_postgres_statement *statement,
                                  const pawli_op *op, pawli_postgres_params *ret_params,
                                  pawl_error *err);

/* One op of a chain, ready to be sent. */
typedef struct pawli_postgres_step {
    const pawli_op *op;
    pawli_postgres_statement *statement;
    pawli_postgres_params params;
    bool prepared;
    PGresult *result;
} pawli_postgres_step;

typedef struct pawli_postgres_chain {
    size_t count;
    pawli_postgres_step steps[PAWLI_CHAIN_MAX];
} pawli_postgres_chain;

/* run_postgres.c */
typedef struct pawli_postgres_row {
    pawli_row base;
    const PGresult *result;
    int index;
} pawli_postgres_row;
extern const pawli_row_table pawli_postgres_row_table;

/* exchange_postgres.c: responses, deadlines and interruption. */
/* How a wait for the server ended. */
typedef enum pawli_postgres_wait {
    PAWLI_POSTGRES_READY,
    PAWLI_POSTGRES_LATE,
    PAWLI_POSTGRES_STOPPED
} pawli_postgres_wait;
/* Wait for `events` of poll() on the server's socket. */
pawli_postgres_wait pawli_postgres_wait_for(pawli_postgres *conn, short events, pawl_mono deadline);
/*
 * Returns the next result, or NULL at the end of the response. At *deadline, or when interrupted,
 * the statement is cancelled and its response awaited a little longer. False: there was none, and
 * the connection is broken.
 */
bool pawli_postgres_next(pawli_postgres *conn, pawl_mono *deadline, PGresult **ret_result);
/* PAWL_E_INTERRUPTED or PAWL_E_TIMEOUT if the call should not even begin. */
pawl_status pawli_postgres_wait_check(pawli_postgres *conn, pawl_mono deadline, pawl_error *err);
void pawli_postgres_interrupt(pawli_conn *base);

/* exchange_postgres.c: asks the server to end the running statement. May have no effect. */
void pawli_postgres_cancel(pawli_postgres *conn, pawl_mono deadline);

/*
 * error_postgres.c. Each marks the connection as broken where a new one is needed.
 */
/* libpq did not accept the command: nothing was sent. `what` names the statement. */
pawl_status pawli_postgres_unsent(pawli_postgres *conn, const char *what, pawl_error *err);
/* A failed result; NULL: the connection ended without one. */
pawl_status pawli_postgres_fail(pawli_postgres *conn, const PGresult *result,
                                pawli_postgres_outcome stake, const char *what, pawl_error *err);
/* There was no response at all. */
pawl_status pawli_postgres_silent(pawli_postgres *conn, pawli_postgres_outcome stake,
                                  const char *what, pawl_error *err);
/* A connection attempt failed. */
pawl_status pawli_postgres_connect_failed(PGconn *pg, pawl_error *err);

/* exchange_postgres.c: a command and its complete response. */
/* Waits for the response to the command that was sent; *ret_result is its last result. */
pawl_status pawli_postgres_collect(pawli_postgres *conn, pawli_postgres_outcome stake,
                                   pawl_mono deadline, const char *what, PGresult **ret_result,
                                   pawl_error *err);
/* Runs plain SQL without parameters, possibly several statements. `ret_result` may be NULL. */
pawl_status pawli_postgres_command(pawli_postgres *conn, const char *sql,
                                   pawli_postgres_outcome stake, pawl_mono deadline,
                                   const char *what, PGresult **ret_result, pawl_error *err);

/* run_postgres.c */
#define PAWLI_POSTGRES_NAME_SIZE 32
void pawli_postgres_statement_name(enum pawli_sql sql, const pawli_postgres_statement *statement,
                                   char ret_name[PAWLI_POSTGRES_NAME_SIZE]);
/* Prepares the statement if it should be; returns whether it is prepared. */
pawl_status pawli_postgres_prepare(pawli_postgres *conn, pawli_postgres_statement *statement,
                                   const pawli_postgres_params *params, const pawli_op *op,
                                   pawl_mono deadline, bool *ret_prepared, pawl_error *err);
/* A prepared statement failed: true if it would work unprepared; then nothing was done. */
bool pawli_postgres_unprepare(pawli_postgres *conn, const pawl_error *err);

/* run_postgres.c */
pawl_status pawli_postgres_run(pawli_conn *base, const pawli_op *op, pawl_mono deadline,
                               pawl_error *err);

/* False: libpq did not take it. */
bool pawli_postgres_step_send(PGconn *pg, const pawli_postgres_step *step);

/*
 * transaction_postgres.c: the ops of a chain in one pipeline, which is one round trip. `inside` an
 * open transaction, which survives a failure; or else as a transaction of their own. Fills in the
 * steps' results on success.
 */
pawl_status pawli_postgres_pipeline(pawli_postgres *conn, bool inside, pawli_postgres_chain *chain,
                                    pawl_mono deadline, pawl_error *err);

/* transaction_postgres.c */
pawl_status pawli_postgres_begin(pawli_conn *base, pawl_mono deadline, pawl_error *err);
pawl_status pawli_postgres_commit(pawli_conn *base, pawl_mono deadline, pawl_error *err);
void pawli_postgres_rollback(pawli_conn *base);
void pawli_postgres_expose(pawli_conn *base, pawl_mono until);
void pawli_postgres_unexpose(pawli_conn *base);

/* waiter_postgres.c */
pawl_status pawli_postgres_listener_open(const pawli_db_settings *settings, const char *token,
                                         pawl_mono deadline, pawli_commit_listener **ret_listener,
                                         pawl_error *err);
void pawli_postgres_listener_close(pawli_commit_listener *base);
pawl_status pawli_postgres_listener_read(pawli_commit_listener *base,
                                         pawli_commit_events *ret_events, pawl_error *err);

/* schema_postgres.c */
pawl_status pawli_postgres_schema(pawli_conn *base, const char *names, pawl_mono deadline,
                                  pawli_installed *ret_installed, pawl_error *err);
pawl_status pawli_postgres_schema_lock(pawli_conn *base, const char *names, pawl_mono deadline,
                                       pawl_error *err);
pawl_status pawli_postgres_schema_script(pawli_conn *base, const char *sql, pawl_mono deadline,
                                         pawl_error *err);
pawl_status pawli_postgres_schema_ask(pawli_conn *base, const char *sql, pawl_mono deadline,
                                      char **ret_value, pawl_error *err);

#endif
