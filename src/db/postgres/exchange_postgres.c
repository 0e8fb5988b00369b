/* src/db/postgres/exchange_postgres.c - a command and its whole answer. */
#include "conn_postgres.h"

static bool exchange_good(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
}

/*
 * Only when PQgetResult() says that nothing more comes has the server answered "ready for query":
 * before that an error can still follow, also one of the commit.
 */
pawl_status pawli_postgres_collect(pawli_postgres *conn, pawli_postgres_outcome stake,
                                   pawl_mono deadline, const char *what, PGresult **ret_result,
                                   pawl_error *err)
{
    PAWLI_AUTO(PGresult) kept = NULL;
    PGresult *result;

    while (true) {
        if (!pawli_postgres_next(conn, &deadline, &result))
            return pawli_postgres_silent(conn, stake, what, err);
        if (!result)
            break;
        if (kept && !exchange_good(kept)) {
            PQclear(result); /* the first failure is the one to tell */
        } else {
            PQclear(kept);
            kept = result;
        }
    }
    if (!kept || !exchange_good(kept) || PQstatus(conn->pg) != CONNECTION_OK)
        return pawli_postgres_fail(conn, kept, stake, what, err);
    if (ret_result)
        *ret_result = PGresult_take(&kept);
    return PAWL_OK;
}

pawl_status pawli_postgres_command(pawli_postgres *conn, const char *sql,
                                   pawli_postgres_outcome stake, pawl_mono deadline,
                                   const char *what, PGresult **ret_result, pawl_error *err)
{
    pawl_status st = pawli_postgres_wait_check(conn, deadline, err);

    if (st != PAWL_OK)
        return st;
    if (!PQsendQuery(conn->pg, sql))
        return pawli_postgres_unsent(conn, what, err);
    return pawli_postgres_collect(conn, stake, deadline, what, ret_result, err);
}
