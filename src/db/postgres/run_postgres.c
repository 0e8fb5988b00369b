/* src/db/postgres/run_postgres.c - carrying out one op. */
#include "conn_postgres.h"
#include "fail.h"

static pawl_status op_exchange(pawli_postgres *conn, const pawli_postgres_statement *statement,
                               const pawli_postgres_params *params, const pawli_op *op,
                               bool prepared, pawl_mono deadline, PGresult **ret_result,
                               pawl_error *err)
{
    pawli_postgres_outcome stake = op->writes ? PAWLI_POSTGRES_A_COMMIT : PAWLI_POSTGRES_NOTHING;
    const char *what = pawli_sql_name(op->sql);
    char name[PAWLI_POSTGRES_NAME_SIZE];
    int sent;

    pawli_postgres_statement_name(op->sql, name);
    if (prepared)
        sent = PQsendQueryPrepared(conn->pg, name, params->count, params->values, params->lengths,
                                   params->formats, 1);
    else
        sent = PQsendQueryParams(conn->pg, statement->text, params->count, params->types,
                                 params->values, params->lengths, params->formats, 1);
    if (!sent)
        return pawli_postgres_unsent(conn, what, err);
    return pawli_postgres_collect(conn, stake, deadline, what, ret_result, err);
}

/* As a transaction of its own: the statement commits itself. */
static pawl_status op_run_alone(pawli_postgres *conn, pawli_postgres_statement *statement,
                                const pawli_postgres_params *params, const pawli_op *op,
                                pawl_mono deadline, PGresult **ret_result, pawl_error *err)
{
    pawl_error failure = PAWL_ERROR_INIT;
    bool prepared = false;
    pawl_status st =
        pawli_postgres_prepare(conn, statement, params, op, deadline, &prepared, &failure);

    if (st == PAWL_OK)
        st = op_exchange(conn, statement, params, op, prepared, deadline, ret_result, &failure);
    if (st != PAWL_OK && prepared && pawli_postgres_unprepare(conn, &failure))
        st = op_exchange(conn, statement, params, op, false, deadline, ret_result, &failure);
    if (st != PAWL_OK && err)
        *err = failure;
    return st;
}

/*
 * Rows are handed out when the answer is complete. A callback that fails cannot take back what is
 * committed by then; inside a transaction the savepoint is already released, too. So when the
 * callback of a writing op has no memory left, the op is done and its answer is not.
 */
static pawl_status op_hand_out(const PGresult *result, const pawli_op *op, pawl_error *err)
{
    pawli_postgres_row row = {.base = {&pawli_postgres_row_table}, .result = result};

    for (; op->on_row && row.index < PQntuples(result); row.index++) {
        pawl_status st = op->on_row(op->context, &row.base, err);
        if (st == PAWL_E_NOMEM && op->writes)
            return pawli_fail(err, PAWL_E_IN_DOUBT,
                              "%s: it was done, but there was no memory for its answer",
                              pawli_sql_name(op->sql));
        if (st != PAWL_OK)
            return st;
    }
    return PAWL_OK;
}

static pawl_status op_run(pawli_postgres *conn, const pawli_op *op, pawl_mono deadline,
                          pawl_error *err)
{
    PAWLI_AUTO(PGresult) result = NULL;
    pawli_postgres_statement *statement;
    pawli_postgres_params params;
    pawl_status st = pawli_postgres_wait_check(conn, deadline, err);

    if (st == PAWL_OK)
        st = pawli_postgres_translate(conn, op->sql, &statement, err);
    if (st == PAWL_OK)
        st = pawli_postgres_encode(conn, statement, op, &params, err);
    if (st != PAWL_OK)
        return st;
    if (conn->begun || conn->base.foreign)
        st = pawli_postgres_run_inside(conn, statement, &params, deadline, pawli_sql_name(op->sql),
                                       &result, err);
    else
        st = op_run_alone(conn, statement, &params, op, deadline, &result, err);
    return st == PAWL_OK ? op_hand_out(result, op, err) : st;
}

pawl_status pawli_postgres_run(pawli_conn *base, const pawli_op *op, pawl_mono deadline,
                               pawl_error *err)
{
    pawli_postgres *conn = (pawli_postgres *)base;
    /* The application's handle may be a blocking one; it gets it back as it was. */
    int nonblocking = PQisnonblocking(conn->pg);

    if (!nonblocking)
        PQsetnonblocking(conn->pg, 1);
    pawl_status st = op_run(conn, op, deadline, err);
    if (!nonblocking)
        PQsetnonblocking(conn->pg, 0);
    return st;
}
