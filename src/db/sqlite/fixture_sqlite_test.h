/*
 * src/db/sqlite/fixture_sqlite_test.h - fixture of the SQLite driver's tests: a database and ops
 * on it.
 */
#ifndef FIXTURE_SQLITE_TEST_H
#define FIXTURE_SQLITE_TEST_H

#include <stdlib.h>
#include <string.h>

#include "sqlite/conn_sqlite.h"
#include "statements.h"
#include "test.h"
#include "platform.h"

#define SECOND INT64_C(1000000)

typedef struct sqlite_fixture {
    pawli_db_settings settings;
    pawli_sql_text texts[PAWLI_SQL_COUNT]; /* the real statements; a test may replace them */
    pawli_statements *statements;
    pawli_conn *conn;
} sqlite_fixture;

static inline pawl_mono soon(void)
{
    return pawli_mono_after(pawli_mono_now(), 30 * SECOND);
}

static inline void close_conn(void *conn)
{
    pawli_driver_sqlite->close(conn);
}

static inline void close_handle(void *handle)
{
    sqlite3_close(handle);
}

static inline void sqlite_fixture_done(void *argument)
{
    sqlite_fixture *g = argument;

    pawli_statements_free(g->statements);
    free(g);
}

/* Settings for a file in a new directory; the file does not exist yet. */
static inline sqlite_fixture *sqlite_fixture_new(void)
{
    sqlite_fixture *g = calloc(1, sizeof *g);

    assert_non_null(g);
    test_defer(sqlite_fixture_done, g);
    memcpy(g->texts, pawli_sql_sqlite.statements, sizeof g->texts);
    g->settings = (pawli_db_settings){
        .driver = pawli_driver_sqlite,
        .target = test_note("%s/test.db", test_directory()),
        .names = "pawl_",
        .durability = PAWL_DURABILITY_NORMAL,
        .create = true,
    };
    return g;
}

static inline pawli_conn *sqlite_fixture_open(sqlite_fixture *g)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = NULL;

    if (!g->statements) {
        pawli_engine_sql engine = pawli_sql_sqlite;
        engine.statements = g->texts;
        assert_ok(pawli_statements_new(&engine, g->settings.names, &g->statements, &err), &err);
        g->settings.statements = g->statements;
    }
    assert_ok(pawli_driver_sqlite->open(&g->settings, false, soon(), &conn, &err), &err);
    test_defer(close_conn, conn);
    return conn;
}

static inline void sqlite_fixture_deploy(sqlite_fixture *g, pawli_conn *conn)
{
    pawl_error err = PAWL_ERROR_INIT;
    const pawli_driver *driver = pawli_driver_sqlite;

    assert_ok(driver->begin(conn, soon(), &err), &err);
    for (size_t i = 0; i <= pawli_sql_sqlite.migration_count; i++) {
        const char *text = i < pawli_sql_sqlite.migration_count
                               ? pawli_sql_sqlite.migrations[i].text
                               : pawli_sql_sqlite.code;
        PAWLI_AUTO_FREE char *sql =
            pawli_sql_fill_names(&pawli_sql_sqlite, text, g->settings.names);
        assert_ok(driver->script(conn, sql, soon(), &err), &err);
    }
    assert_ok(driver->commit(conn, soon(), &err), &err);
}

/* Opens it with pawl's tables deployed. */
static inline sqlite_fixture *sqlite_fixture_ready(void)
{
    sqlite_fixture *g = sqlite_fixture_new();

    g->conn = sqlite_fixture_open(g);
    sqlite_fixture_deploy(g, g->conn);
    return g;
}

/* A second handle on the same file, as an application would use it. */
static inline sqlite3 *sqlite_fixture_handle(const sqlite_fixture *g)
{
    sqlite3 *handle = NULL;

    assert_int_equal(sqlite3_open(g->settings.target, &handle), SQLITE_OK);
    test_defer(close_handle, handle);
    return handle;
}

static inline sqlite3 *handle_of(pawli_conn *conn)
{
    return ((pawli_sqlite *)conn)->handle;
}

static inline void exec(sqlite3 *handle, const char *sql)
{
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        test_fail("%s\nwas refused: %s", sql, sqlite3_errmsg(handle));
}

/* The first column of the first row as a number. */
static inline int64_t number(sqlite3 *handle, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value;

    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK)
        test_fail("%s\nwas refused: %s", sql, sqlite3_errmsg(handle));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* ---- ops ---- */

#define ANSWERS 64
typedef struct answers {
    int64_t rows;
    int64_t first[ANSWERS]; /* column 0 */
    int64_t sum;            /* of column 0 */
    pawl_status refuse_with;
} answers;

static inline pawl_status take_answer(void *context, const pawli_row *row, pawl_error *err)
{
    answers *a = context;

    if (a->refuse_with != PAWL_OK) {
        if (err)
            *err = (pawl_error){.status = a->refuse_with, .message = "refused by the callback"};
        return a->refuse_with;
    }
    if (a->rows < ANSWERS)
        a->first[a->rows] = pawli_row_int(row, 0);
    a->sum += pawli_row_int(row, 0);
    a->rows++;
    return PAWL_OK;
}

static inline pawli_op op_of(enum pawli_sql sql, bool writes, answers *ret_answers)
{
    return (pawli_op){.sql = sql,
                      .writes = writes,
                      .on_row = ret_answers ? take_answer : NULL,
                      .context = ret_answers};
}

static inline pawl_status run(pawli_conn *conn, const pawli_op *op, pawl_error *err)
{
    return pawli_driver_sqlite->run(conn, op, soon(), err);
}

static const char *const number_names[] = {"x"};
static const pawli_type number_types[] = {PAWLI_INT};

/* A table with the one column "x". */
static inline pawli_rows numbers(const pawli_value *values, size_t count)
{
    return (pawli_rows){count, 1, number_names, number_types, values};
}

#endif
