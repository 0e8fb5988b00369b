/*
 * src/db/postgres/prepare_postgres.c - statements that are kept on the connection, where there is
 * one.
 *
 * The server spends more time on understanding "SELECT * FROM claim_batch(...)" than on an empty
 * claim. But behind a pooler that hands out connections per transaction, what was prepared is not
 * there the next time. Such a pooler invents the process number that it tells a client when it
 * connects: where the server says the same number, nobody is in between.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn_postgres.h"
#include "fail.h"

static pawl_status look_who_answers(pawli_postgres *conn, pawl_mono deadline, pawl_error *err)
{
    PAWLI_AUTO(PGresult) result = NULL;
    pawl_status st =
        pawli_postgres_command(conn, "SELECT pg_catalog.pg_backend_pid()", PAWLI_POSTGRES_NOTHING,
                               deadline, "backend pid", &result, err);

    if (st != PAWL_OK)
        return st;
    bool direct = PQntuples(result) == 1 &&
                  strtol(PQgetvalue(result, 0, 0), NULL, 10) == PQbackendPID(conn->pg);
    conn->prepares = direct ? PAWLI_POSTGRES_PREPARES : PAWLI_POSTGRES_PLAIN;
    return PAWL_OK;
}

/* From its second use on: a program that makes one call does not pay for it. */
pawl_status pawli_postgres_prepare(pawli_postgres *conn, pawli_postgres_statement *statement,
                                   const pawli_postgres_params *params, const pawli_op *op,
                                   pawl_mono deadline, bool *ret_prepared, pawl_error *err)
{
    pawl_status st = PAWL_OK;
    char name[PAWLI_POSTGRES_NAME_SIZE];

    *ret_prepared = statement->prepared;
    if (statement->prepared)
        return PAWL_OK;
    if (conn->prepares == PAWLI_POSTGRES_UNDECIDED) {
        if (!statement->used) {
            statement->used = true;
            return PAWL_OK;
        }
        st = look_who_answers(conn, deadline, err);
    }
    if (st != PAWL_OK || conn->prepares == PAWLI_POSTGRES_PLAIN)
        return st;
    pawli_postgres_statement_name(op->sql, name);
    if (!PQsendPrepare(conn->pg, name, statement->text, params->count, params->types))
        return pawli_postgres_unsent(conn, pawli_sql_name(op->sql), err);
    st = pawli_postgres_collect(conn, PAWLI_POSTGRES_NOTHING, deadline, pawli_sql_name(op->sql),
                                NULL, err);
    statement->prepared = st == PAWL_OK;
    *ret_prepared = statement->prepared;
    return st;
}

void pawli_postgres_statement_name(enum pawli_sql sql, char ret_name[PAWLI_POSTGRES_NAME_SIZE])
{
    snprintf(ret_name, PAWLI_POSTGRES_NAME_SIZE, "pawl_%d", (int)sql);
}

bool pawli_postgres_unprepare(pawli_postgres *conn, const pawl_error *err)
{
    /* Somebody deallocated it, or a migration gave the function another result. */
    if (strcmp(err->sqlstate, "26000") != 0 && strcmp(err->sqlstate, "0A000") != 0)
        return false;
    conn->prepares = PAWLI_POSTGRES_PLAIN;
    for (int i = 0; i < PAWLI_SQL_COUNT; i++)
        conn->statements[i].prepared = false;
    return true;
}
