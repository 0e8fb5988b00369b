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

/* ---- ops in one pipeline, and inside an open transaction ---- */

/* How long undoing may take before the connection is closed. */
#define UNDO_US INT64_C(2000000)
#define SAVE "SAVEPOINT pawl_op"
#define KEEP "RELEASE SAVEPOINT pawl_op"
#define UNDO "ROLLBACK TO SAVEPOINT pawl_op; RELEASE SAVEPOINT pawl_op"

/*
 * One round trip, and the server skips the rest when one of the statements fails. Without BEGIN,
 * all of them are one transaction, which is committed by the end of the pipeline (Sync).
 *
 * Inside an open transaction, a savepoint and its release are sent with them. (A savepoint costs a
 * subtransaction. More than 64 writing ones in a transaction slow down other sessions' snapshots,
 * so many messages should be sent as one batch.)
 */
static bool pipeline_send(PGconn *pg, bool inside, const pawli_postgres_chain *chain)
{
    if (inside && !PQsendQueryParams(pg, SAVE, 0, NULL, NULL, NULL, NULL, 1))
        return false;
    for (size_t i = 0; i < chain->count; i++)
        if (!pawli_postgres_step_send(pg, &chain->steps[i]))
            return false;
    return (!inside || PQsendQueryParams(pg, KEEP, 0, NULL, NULL, NULL, NULL, 1)) &&
           PQpipelineSync(pg);
}

/* What came back. Steps count from 0; the savepoint is step -1, its release the last. */
typedef struct answers {
    int step;
    int failed_step;
    PGresult *failure;  /* the first one */
    bool saved;         /* the savepoint exists */
    bool silent, ended; /* no response; the end of the pipeline was seen */
} answers;

static void take_answer(pawli_postgres_chain *chain, answers *a, PGresult *take_result)
{
    ExecStatusType status = PQresultStatus(take_result);
    bool known = a->step >= 0 && a->step < (int)chain->count;

    if (status == PGRES_PIPELINE_SYNC)
        a->ended = true;
    if (status == PGRES_COMMAND_OK && a->step < 0)
        a->saved = true;
    if (status == PGRES_FATAL_ERROR && !a->failure) {
        a->failure = take_result;
        a->failed_step = a->step;
    } else if (status == PGRES_TUPLES_OK && known && !chain->steps[a->step].result) {
        chain->steps[a->step].result = take_result;
    } else {
        PQclear(take_result);
    }
}

static void read_all(pawli_postgres *conn, pawl_mono deadline, pawli_postgres_chain *chain,
                     answers *a)
{
    int nothing = 0; /* NULLs in a row: one ends each step, two end the pipeline */

    while (!a->ended && nothing < 2) {
        PGresult *result;
        if (!pawli_postgres_next(conn, &deadline, &result)) {
            a->silent = true;
            return;
        }
        if (result) {
            nothing = 0;
            take_answer(chain, a, result);
        } else {
            nothing++;
            a->step++;
        }
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

static bool has_all_results(const pawli_postgres_chain *chain)
{
    for (size_t i = 0; i < chain->count; i++)
        if (!chain->steps[i].result)
            return false;
    return true;
}

static pawl_status pipeline_status(pawli_postgres *conn, bool inside, bool sent,
                                   const pawli_postgres_chain *chain, const answers *a,
                                   pawl_error *err)
{
    pawli_postgres_outcome stake =
        !inside && chain->steps[0].op->writes ? PAWLI_POSTGRES_A_COMMIT : PAWLI_POSTGRES_NOTHING;
    int at = a->failure && a->failed_step > 0 ? a->failed_step : 0;
    const char *what =
        pawli_sql_name(chain->steps[at < (int)chain->count ? at : (int)chain->count - 1].op->sql);

    if (a->silent)
        return pawli_postgres_silent(conn, stake, what, err);
    if (!sent && inside && PQstatus(conn->pg) == CONNECTION_OK)
        return pawli_fail(err, PAWL_E_NOMEM, "%s: out of memory; nothing was changed", what);
    if (!sent)
        return pawli_postgres_unsent(conn, what, err);
    if (inside && result_lost(conn, a->failure))
        return pawli_fail(err, PAWL_E_TX_RESTART,
                          "%s: the response was lost; roll the transaction back and start "
                          "it again",
                          what);
    if (a->failure || !a->ended || !has_all_results(chain))
        return pawli_postgres_fail(conn, a->failure, stake, what, err);
    return PAWL_OK;
}

pawl_status pawli_postgres_pipeline(pawli_postgres *conn, bool inside, pawli_postgres_chain *chain,
                                    pawl_mono deadline, pawl_error *err)
{
    answers a = {.step = inside ? -1 : 0};

    for (size_t i = 0; i < chain->count; i++)
        chain->steps[i].result = NULL;
    if (PQpipelineStatus(conn->pg) != PQ_PIPELINE_OFF || !PQenterPipelineMode(conn->pg))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "%s: the connection is busy with a statement of the application",
                          pawli_sql_name(chain->steps[0].op->sql));
    bool sent = pipeline_send(conn->pg, inside, chain);
    /* A part that was sent has a response, too. Read it: the application needs an idle connection
     * back. Without a transaction around it, Sync would commit that part: the connection is closed
     * instead. */
    if (sent || (inside && PQpipelineSync(conn->pg)))
        read_all(conn, deadline, chain, &a);
    pawl_status st = pipeline_status(conn, inside, sent, chain, &a, err);
    if (!PQexitPipelineMode(conn->pg))
        conn->base.broken = true;
    if (st != PAWL_OK && a.saved && !conn->base.broken)
        savepoint_undo(conn);
    PQclear(a.failure);
    for (size_t i = 0; i < chain->count && st != PAWL_OK; i++) {
        PQclear(chain->steps[i].result);
        chain->steps[i].result = NULL;
    }
    return st;
}
