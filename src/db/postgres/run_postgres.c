/* src/db/postgres/run_postgres.c - runs an op and reads its rows. */
#include "conn_postgres.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

/* ---- running an op, or a chain of them ---- */

bool pawli_postgres_step_send(PGconn *pg, const pawli_postgres_step *step)
{
    const pawli_postgres_params *params = &step->params;
    char name[PAWLI_POSTGRES_NAME_SIZE];

    if (!step->prepared)
        return PQsendQueryParams(pg, step->statement->text, params->count, params->types,
                                 params->values, params->lengths, params->formats, 1);
    pawli_postgres_statement_name(step->op->sql, step->statement, name);
    return PQsendQueryPrepared(pg, name, params->count, params->values, params->lengths,
                               params->formats, 1);
}

/* As a transaction of its own: one statement commits itself. */
static pawl_status chain_exchange(pawli_postgres *conn, pawli_postgres_chain *chain,
                                  pawl_mono deadline, pawl_error *err)
{
    pawli_postgres_step *step = &chain->steps[0];
    const char *what = pawli_sql_name(step->op->sql);

    if (chain->count > 1)
        return pawli_postgres_pipeline(conn, false, chain, deadline, err);
    if (!pawli_postgres_step_send(conn->pg, step))
        return pawli_postgres_unsent(conn, what, err);
    return pawli_postgres_collect(
        conn, step->op->writes ? PAWLI_POSTGRES_A_COMMIT : PAWLI_POSTGRES_NOTHING, deadline, what,
        &step->result, err);
}

static pawl_status chain_run_alone(pawli_postgres *conn, pawli_postgres_chain *chain,
                                   pawl_mono deadline, pawl_error *err)
{
    pawl_error failure = PAWL_ERROR_INIT;
    bool prepared = false;
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < chain->count && st == PAWL_OK; i++) {
        pawli_postgres_step *step = &chain->steps[i];
        st = pawli_postgres_prepare(conn, step->statement, &step->params, step->op, deadline,
                                    &step->prepared, &failure);
        prepared = prepared || step->prepared;
    }
    if (st == PAWL_OK)
        st = chain_exchange(conn, chain, deadline, &failure);
    if (st != PAWL_OK && prepared && pawli_postgres_unprepare(conn, &failure)) {
        for (size_t i = 0; i < chain->count; i++)
            chain->steps[i].prepared = false;
        st = chain_exchange(conn, chain, deadline, &failure);
    }
    if (st != PAWL_OK && err)
        *err = failure;
    return st;
}

static const char *postgres_column_name(const void *result, int column)
{
    return PQfname(result, column);
}

/*
 * Rows are passed to the callback when the response is complete. A callback that fails cannot
 * undo what is already committed; inside a transaction the savepoint is already released, too. So
 * if the callback of a writing op runs out of memory, the op is done and its result is lost.
 */
static pawl_status op_pass_rows(pawli_postgres_statement *statement, const PGresult *result,
                                const pawli_op *op, bool writes, pawl_error *err)
{
    (void)pawli_column_map_find(&statement->map, PQnfields(result), postgres_column_name, result);
    pawli_postgres_row row = {.base = {&pawli_postgres_row_table, statement->map.places},
                              .result = result};

    for (; op->on_row && row.index < PQntuples(result); row.index++) {
        pawl_status st = op->on_row(op->context, &row.base, err);
        if (st == PAWL_E_NOMEM && writes)
            return pawli_fail(err, PAWL_E_IN_DOUBT,
                              "%s: it was committed, but there was no memory for its result",
                              pawli_sql_name(op->sql));
        if (st != PAWL_OK)
            return st;
    }
    return PAWL_OK;
}

/* Translates and encodes all ops before the first one is sent. */
static pawl_status chain_prepare(pawli_postgres *conn, const pawli_op *op,
                                 pawli_postgres_chain *chain, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    chain->count = 0;
    do {
        pawli_postgres_step *step = &chain->steps[chain->count];
        *step = (pawli_postgres_step){.op = op};
        st = pawli_postgres_translate(conn, op->sql, &step->statement, err);
        if (st == PAWL_OK)
            st = pawli_column_map_prepare(&step->statement->map, op->columns, err);
        if (st == PAWL_OK)
            st = pawli_postgres_encode(&conn->values[chain->count], step->statement, op,
                                       &step->params, err);
        chain->count++;
        op = op->next;
    } while (op && st == PAWL_OK);
    return st;
}

static pawl_status chain_run(pawli_postgres *conn, const pawli_op *op, pawl_mono deadline,
                             pawl_error *err)
{
    pawli_postgres_chain chain;
    pawl_status st = pawli_postgres_wait_check(conn, deadline, err);

    if (st == PAWL_OK)
        st = chain_prepare(conn, op, &chain, err);
    if (st != PAWL_OK)
        return st;
    if (conn->begun || conn->base.foreign)
        st = pawli_postgres_pipeline(conn, true, &chain, deadline, err);
    else
        st = chain_run_alone(conn, &chain, deadline, err);
    for (size_t i = 0; i < chain.count && st == PAWL_OK; i++)
        st = op_pass_rows(chain.steps[i].statement, chain.steps[i].result, chain.steps[i].op,
                          op->writes, err);
    for (size_t i = 0; i < chain.count; i++)
        PQclear(chain.steps[i].result);
    return st;
}

pawl_status pawli_postgres_run(pawli_conn *base, const pawli_op *op, pawl_mono deadline,
                               pawl_error *err)
{
    pawli_postgres *conn = (pawli_postgres *)base;
    /* The application's handle may be a blocking one; its mode is restored afterwards. */
    int nonblocking = PQisnonblocking(conn->pg);

    if (!nonblocking)
        PQsetnonblocking(conn->pg, 1);
    pawl_status st = chain_run(conn, op, deadline, err);
    if (!nonblocking)
        PQsetnonblocking(conn->pg, 0);
    return st;
}

/* ---- prepared statements, where the connection supports them ---- */

/*
 * The server spends more time on parsing and planning "SELECT * FROM claim_batch(...)" than on
 * running an empty claim. But behind a transaction pooler, a prepared statement may be missing
 * the next time. Such a pooler invents the backend process id that it reports at connect. If the
 * server itself reports the same id, there is no pooler.
 */
static pawl_status detect_pooler(pawli_postgres *conn, pawl_mono deadline, pawl_error *err)
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

#define GENERATIONS_MAX 20

/* From its second use on, so that a program that makes one call does not pay for it. */
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
        st = detect_pooler(conn, deadline, err);
    }
    if (st != PAWL_OK || conn->prepares == PAWLI_POSTGRES_PLAIN)
        return st;
    statement->generation = conn->generation;
    pawli_postgres_statement_name(op->sql, statement, name);
    if (!PQsendPrepare(conn->pg, name, statement->text, params->count, params->types))
        return pawli_postgres_unsent(conn, pawli_sql_name(op->sql), err);
    st = pawli_postgres_collect(conn, PAWLI_POSTGRES_NOTHING, deadline, pawli_sql_name(op->sql),
                                NULL, err);
    statement->prepared = st == PAWL_OK;
    *ret_prepared = statement->prepared;
    return st;
}

void pawli_postgres_statement_name(enum pawli_sql sql, const pawli_postgres_statement *statement,
                                   char ret_name[PAWLI_POSTGRES_NAME_SIZE])
{
    snprintf(ret_name, PAWLI_POSTGRES_NAME_SIZE, "pawl_%d_%d", (int)sql, statement->generation);
}

bool pawli_postgres_unprepare(pawli_postgres *conn, const pawl_error *err)
{
    /* A migration has changed the function's result type: they are prepared again under new names.
     * The old ones stay in the session, so not without limit. Or it was deallocated. */
    bool changed = strcmp(err->sqlstate, "0A000") == 0;

    if (!changed && strcmp(err->sqlstate, "26000") != 0)
        return false;
    if (!changed || ++conn->generation == GENERATIONS_MAX)
        conn->prepares = PAWLI_POSTGRES_PLAIN;
    for (int i = 0; i < PAWLI_SQL_COUNT; i++)
        conn->statements[i].prepared = false;
    return true;
}

/* ---- reading a result row in PostgreSQL's binary format ---- */

/* timestamptz counts from 2000-01-01, pawl from 1970-01-01. */
#define EPOCH_2000_US INT64_C(946684800000000)
#define DAY_US INT64_C(86400000000)
#define INTERVAL_SIZE 16

static const pawli_postgres_row *own_row(const pawli_row *row)
{
    return (const pawli_postgres_row *)row;
}

static const char *row_value_of(const pawli_row *row, int column, size_t *ret_size)
{
    *ret_size = (size_t)PQgetlength(own_row(row)->result, own_row(row)->index, column);
    return PQgetvalue(own_row(row)->result, own_row(row)->index, column);
}

static bool row_is_null(const pawli_row *row, int column)
{
    return PQgetisnull(own_row(row)->result, own_row(row)->index, column);
}

/* smallint, integer and bigint differ only in their length, and boolean is one byte. */
static int64_t row_number_of(const char *value, size_t size)
{
    int64_t number = size > 1 && (value[0] & 0x80) ? -1 : 0;

    for (size_t i = 0; i < size && i < sizeof number; i++)
        number = (int64_t)(((uint64_t)number << 8) | (uint8_t)value[i]);
    return number;
}

/*
 * An interval has microseconds, days and months. A day counts 24 hours and a month 30 days, as in
 * EXTRACT.
 */
static int64_t row_integer(const pawli_row *row, int column)
{
    size_t size;
    const char *value = row_value_of(row, column, &size);

    if (row_is_null(row, column))
        return 0;
    if (size != INTERVAL_SIZE)
        return row_number_of(value, size);
    int64_t days = row_number_of(value + 8, 4) + 30 * row_number_of(value + 12, 4), us;
    if (__builtin_mul_overflow(days, DAY_US, &us) ||
        __builtin_add_overflow(us, row_number_of(value, 8), &us))
        return days < 0 ? INT64_MIN
                        : INT64_MAX; /* 300,000 years: possible in rows written manually */
    return us;
}

static pawl_wall row_time_of(const pawli_row *row, int column)
{
    int64_t us = row_integer(row, column);

    if (row_is_null(row, column))
        return PAWL_TIME_UNSET;
    if (us > INT64_MAX - EPOCH_2000_US) /* 'infinity' */
        return (pawl_wall){INT64_MAX};
    return (pawl_wall){us + EPOCH_2000_US};
}

static void row_uuid(const pawli_row *row, int column, uint8_t ret_bytes[16])
{
    size_t size;
    const char *value = row_value_of(row, column, &size);

    memset(ret_bytes, 0, 16);
    if (size == 16)
        memcpy(ret_bytes, value, 16);
}

static const void *row_bytes(const pawli_row *row, int column, size_t *ret_size)
{
    const char *value = row_value_of(row, column, ret_size);

    return row_is_null(row, column) ? NULL : value;
}

/*
 * text[]: the number of dimensions, flags and the element type; of each dimension its size and
 * lower bound; then the elements, each after its length, which is -1 for NULL.
 */
static bool row_texts(const pawli_row *row, int column, pawli_on_text *on_text, void *context)
{
    size_t size;
    const char *at = row_value_of(row, column, &size), *end = at + size;

    if (row_is_null(row, column) || size < 20)
        return true;
    for (at += 12 + 8 * (size_t)row_number_of(at, 4); at + 4 <= end;) {
        int64_t length = row_number_of(at, 4);
        at += 4;
        if (length < 0 || length > end - at)
            continue;
        on_text(context, at, (size_t)length);
        at += length;
    }
    return true;
}

const pawli_row_table pawli_postgres_row_table = {row_is_null, row_integer, row_time_of,
                                                  row_uuid,    row_bytes,   row_texts};
