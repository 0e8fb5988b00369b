/* src/db/postgres/transaction_postgres.c - a transaction over several runs. */
#include <string.h>

#include "conn_postgres.h"
#include "fail.h"
#include "platform.h"

/* How long a rollback may take before the connection is given up. */
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
        pawli_postgres_rollback(base); /* it was not sent, or undone: leave nothing open */
        return st;
    }
    conn->begun = false;
    /* A transaction that had failed answers COMMIT with ROLLBACK, and no error. */
    if (st == PAWL_OK && strcmp(PQcmdStatus(result), "COMMIT") != 0)
        return pawli_fail(err, PAWL_E_STORE,
                          "commit: a statement of the transaction had failed; nothing was changed");
    return st;
}

/* The application expects a connection as PQconnectdb() makes it. */
void pawli_postgres_lend(pawli_conn *base, pawl_mono until)
{
    (void)until; /* nobody waits for it */
    base->lent = true;
    if (PQsetnonblocking(((pawli_postgres *)base)->pg, 0) != 0)
        base->broken = true;
}

void pawli_postgres_take_back(pawli_conn *base)
{
    base->lent = false;
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
