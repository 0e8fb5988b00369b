/* src/db/postgres/transaction_postgres.c - transactions and savepoints. */
#include <string.h>

#include "conn_postgres.h"
#include "fail.h"
#include "platform.h"

/* ---- a transaction over several runs ---- */

/* How long a rollback may take before the connection is closed. */
#define ROLLBACK_US INT64_C(2000000)

pawl_status pawli_postgres_begin(pawli_conn *base, pawl_mono deadline, pawl_error *err)
{
    pawli_postgres *conn = (pawli_postgres *)base;
    pawl_status st = pawli_postgres_command(conn, "BEGIN ISOLATION LEVEL READ COMMITTED",
                                            PAWLI_POSTGRES_NOTHING, deadline, "begin", NULL, err);

    conn->begun = st == PAWL_OK;
    return st;
}

pawl_status pawli_postgres_commit(pawli_conn *base, pawl_mono deadline, pawl_error *err)
{
    pawli_postgres *conn = (pawli_postgres *)base;
    PAWLI_AUTO(PGresult) result = NULL;
    pawl_status st = pawli_postgres_command(conn, "COMMIT", PAWLI_POSTGRES_A_COMMIT, deadline,
                                            "commit", &result, err);

    if (st == PAWL_E_INTERRUPTED || st == PAWL_E_TIMEOUT) {
        pawli_postgres_rollback(base); /* it was not sent, or was rolled back: leave nothing open */
        return st;
    }
    conn->begun = false;
    /* A failed transaction responds to COMMIT with ROLLBACK, without an error. */
    if (st == PAWL_OK && strcmp(PQcmdStatus(result), "COMMIT") != 0)
        return pawli_fail(err, PAWL_E_STORE,
                          "commit: a statement of the transaction had failed; nothing was changed");
    return st;
}

/* The application expects a connection with the settings of PQconnectdb(). */
void pawli_postgres_expose(pawli_conn *base, pawl_mono until)
{
    (void)until; /* no other writer waits for it */
    base->exposed = true;
    if (PQsetnonblocking(((pawli_postgres *)base)->pg, 0) != 0)
        base->broken = true;
}

void pawli_postgres_unexpose(pawli_conn *base)
{
    base->exposed = false;
    if (PQsetnonblocking(((pawli_postgres *)base)->pg, 1) != 0)
        base->broken = true;
}

void pawli_postgres_rollback(pawli_conn *base)
{
    pawli_postgres *conn = (pawli_postgres *)base;
    pawl_mono deadline = pawli_mono_after(pawli_mono_now(), ROLLBACK_US);

    conn->begun = false;
    if (base->broken)
        return;
    conn->undoing = true;
    if (pawli_postgres_command(conn, "ROLLBACK", PAWLI_POSTGRES_NOTHING, deadline, "rollback", NULL,
                               NULL) != PAWL_OK)
        base->broken = true;
    conn->undoing = false;
}

/* ---- a statement that cannot abort the surrounding transaction ---- */

/* How long undoing may take before the connection is closed. */
#define UNDO_US INT64_C(2000000)
#define SAVE "SAVEPOINT pawl_op"
#define KEEP "RELEASE SAVEPOINT pawl_op"
#define UNDO "ROLLBACK TO SAVEPOINT pawl_op; RELEASE SAVEPOINT pawl_op"

/*
 * Savepoint, statement and release are sent in one pipeline: one round trip, and the server skips
 * the rest when one of them fails. (A savepoint costs a subtransaction. More than 64 writing ones
 * in a transaction slow down other sessions' snapshots, so many messages should be sent as one
 * batch.)
 */
static bool savepoint_send_all(PGconn *pg, const pawli_postgres_statement *statement,
                               const pawli_postgres_params *params)
{
    return PQsendQueryParams(pg, SAVE, 0, NULL, NULL, NULL, NULL, 1) &&
           PQsendQueryParams(pg, statement->text, params->count, params->types, params->values,
                             params->lengths, params->formats, 1) &&
           PQsendQueryParams(pg, KEEP, 0, NULL, NULL, NULL, NULL, 1) && PQpipelineSync(pg);
}

/* The results of the three commands. */
typedef struct answers {
    int step;           /* 0: the savepoint, 1: the statement, 2: the release */
    PGresult *result;   /* the statement's */
    PGresult *failure;  /* the first one */
    bool saved;         /* the savepoint exists */
    bool silent, ended; /* no response; the end of the pipeline was seen */
} answers;

static void read_all(pawli_postgres *conn, pawl_mono deadline, answers *a)
{
    int nothing = 0; /* NULLs in a row: one ends each step, two end the pipeline */

    while (!a->ended && nothing < 2) {
        PGresult *result;
        if (!pawli_postgres_next(conn, &deadline, &result)) {
            a->silent = true;
            return;
        }
        ExecStatusType status = PQresultStatus(result);
        if (!result) {
            nothing++;
            a->step++;
            continue;
        }
        nothing = 0;
        if (status == PGRES_PIPELINE_SYNC)
            a->ended = true;
        if (status == PGRES_COMMAND_OK && a->step == 0)
            a->saved = true;
        if (status == PGRES_FATAL_ERROR && !a->failure)
            a->failure = result;
        else if (status == PGRES_TUPLES_OK && !a->result)
            a->result = result;
        else
            PQclear(result);
    }
}

static void savepoint_undo(pawli_postgres *conn)
{
    pawl_mono deadline = pawli_mono_after(pawli_mono_now(), UNDO_US);

    conn->undoing = true;
    if (pawli_postgres_command(conn, UNDO, PAWLI_POSTGRES_NOTHING, deadline, "undo", NULL, NULL) !=
        PAWL_OK)
        conn->base.broken = true;
    conn->undoing = false;
}

/* A result that libpq lost leaves open whether the statement is part of the transaction. */
static bool result_lost(const pawli_postgres *conn, const PGresult *failure)
{
    return failure && !PQresultErrorField(failure, PG_DIAG_SQLSTATE) &&
           PQstatus(conn->pg) == CONNECTION_OK;
}

static pawl_status savepoint_result(pawli_postgres *conn, bool sent, const answers *a,
                                    const char *what, pawl_error *err)
{
    if (a->silent)
        return pawli_postgres_silent(conn, PAWLI_POSTGRES_NOTHING, what, err);
    if (!sent && PQstatus(conn->pg) == CONNECTION_OK)
        return pawli_fail(err, PAWL_E_NOMEM, "%s: out of memory; nothing was changed", what);
    if (!sent)
        return pawli_postgres_unsent(conn, what, err);
    if (result_lost(conn, a->failure))
        return pawli_fail(err, PAWL_E_TX_RESTART,
                          "%s: the response was lost; roll the transaction back and start "
                          "it again",
                          what);
    if (a->failure || !a->result)
        return pawli_postgres_fail(conn, a->failure, PAWLI_POSTGRES_NOTHING, what, err);
    return PAWL_OK;
}

pawl_status pawli_postgres_run_inside(pawli_postgres *conn,
                                      const pawli_postgres_statement *statement,
                                      const pawli_postgres_params *params, pawl_mono deadline,
                                      const char *what, PGresult **ret_result, pawl_error *err)
{
    answers a = {0};

    if (PQpipelineStatus(conn->pg) != PQ_PIPELINE_OFF || !PQenterPipelineMode(conn->pg))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "%s: the connection is busy with a statement of the application", what);
    bool sent = savepoint_send_all(conn->pg, statement, params);
    /* A part that was sent has a response, too. Read it: the application needs an idle connection
     * back. */
    if (sent || PQpipelineSync(conn->pg))
        read_all(conn, deadline, &a);
    pawl_status st = savepoint_result(conn, sent, &a, what, err);
    if (!PQexitPipelineMode(conn->pg))
        conn->base.broken = true;
    if (st != PAWL_OK && a.saved && !conn->base.broken)
        savepoint_undo(conn);
    PQclear(a.failure);
    if (st == PAWL_OK)
        *ret_result = a.result;
    else
        PQclear(a.result);
    return st;
}
