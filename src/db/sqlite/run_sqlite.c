/* src/db/sqlite/run_sqlite.c - runs one op: lock, clock, statements, commit. */
#include "conn_sqlite.h"

#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "statements.h"

/* The state of the running op. */
typedef struct running {
    pawli_sqlite *conn;
    pawli_sqlite_script *script;
    const pawli_op *op;
    pawli_sqlite_time time;
    size_t touched; /* statements that have been bound */
} running;

static pawl_status op_failed(const running *run, int code, pawl_error *err)
{
    return pawli_sqlite_fail(run->conn, code, pawli_sql_name(run->op->sql), err);
}

/* Our own handles have busy and progress handlers. On a foreign handle this function checks the
 * deadline and the stop flag between statements. */
static pawl_status check_foreign_stop(const running *run, pawl_error *err)
{
    if (run->conn->base.foreign ||
        atomic_load_explicit(&run->conn->base.stop, memory_order_relaxed))
        return pawli_sqlite_wait_check(run->conn, err);
    return PAWL_OK;
}

static const char *sqlite_column_name(const void *result, int column)
{
    return sqlite3_column_name(*(sqlite3_stmt *const *)result, column);
}

/* Finds the op's columns in the result: once, unless SQLite has prepared the statement again. */
static bool find_columns(pawli_sqlite_statement *statement)
{
    int prepared = 1 + sqlite3_stmt_status(statement->handle, SQLITE_STMTSTATUS_REPREPARE, 0);

    if (statement->map.columns && (statement->map.width == 0 || prepared != statement->prepared)) {
        if (!pawli_column_map_find(&statement->map, sqlite3_column_count(statement->handle),
                                   sqlite_column_name, &statement->handle))
            return false;
        statement->prepared = prepared;
    }
    return true;
}

static pawl_status step_all(const running *run, pawli_sqlite_statement *statement, pawl_error *err)
{
    sqlite3_stmt *handle = statement->handle;
    bool out_of_memory = false, found = false;
    pawli_sqlite_row row = {
        {&pawli_sqlite_row_table, statement->map.places}, handle, &out_of_memory};
    int code;

    while ((code = sqlite3_step(handle)) == SQLITE_ROW) {
        if (!run->op->on_row)
            continue;
        found = found || find_columns(statement);
        if (!found)
            return op_failed(run, SQLITE_NOMEM, err);
        pawl_status st = run->op->on_row(run->op->context, &row.base, err);
        if (st != PAWL_OK)
            return st;
        if (out_of_memory)
            return op_failed(run, SQLITE_NOMEM, err);
    }
    if (code != SQLITE_DONE)
        return op_failed(run, code, err);
    sqlite3_reset(handle);
    return PAWL_OK;
}

static pawl_status run_one(const running *run, pawli_sqlite_statement *statement,
                           const pawli_value *row, bool *ret_ended, pawl_error *err)
{
    pawl_status st = check_foreign_stop(run, err);
    int code = SQLITE_OK;

    if (st != PAWL_OK)
        return st;
    if (row)
        code = pawli_sqlite_bind_row(statement, row);
    if (code != SQLITE_OK)
        return op_failed(run, code, err);
    st = step_all(run, statement, err);
    if (st == PAWL_OK && statement->stop_unless_changed)
        *ret_ended = sqlite3_changes64(run->conn->handle) == 0;
    return st;
}

static pawl_status bind_constants(running *run, size_t statement, pawl_error *err)
{
    int code;

    run->touched = statement + 1;
    code = pawli_sqlite_bind_constants(run->conn, run->script, &run->script->statements[statement],
                                       run->op, run->time.now);
    return code == SQLITE_OK ? PAWL_OK : op_failed(run, code, err);
}

/* Runs consecutive "-- @each" statements from `first`: all of them for one row, then the next
 * row. */
static pawl_status op_run_group(running *run, size_t first, size_t *ret_next, bool *ret_ended,
                                pawl_error *err)
{
    const pawli_rows *rows = run->op->rows;
    pawl_status st = PAWL_OK;
    size_t end = first;

    while (end < run->script->count && run->script->statements[end].each && st == PAWL_OK)
        st = bind_constants(run, end++, err);
    for (size_t row = 0; row < rows->row_count && st == PAWL_OK && !*ret_ended; row++) {
        const pawli_value *values = &rows->values[row * rows->column_count];
        for (size_t i = first; i < end && st == PAWL_OK && !*ret_ended; i++)
            st = run_one(run, &run->script->statements[i], values, ret_ended, err);
    }
    *ret_next = end;
    return st;
}

static pawl_status op_run_script(running *run, pawl_error *err)
{
    bool ended = false;
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < run->script->count && st == PAWL_OK && !ended;) {
        pawli_sqlite_statement *statement = &run->script->statements[i];
        if (statement->each) {
            st = op_run_group(run, i, &i, &ended, err);
        } else if (statement->if_rows && run->op->rows->row_count == 0) {
            i++;
        } else {
            st = bind_constants(run, i, err);
            if (st == PAWL_OK)
                st = run_one(run, statement, NULL, &ended, err);
            i++;
        }
    }
    return st;
}

/* The bound values are the caller's memory, so no statement may keep a pointer to it. */
static void op_clear_bindings(const running *run)
{
    for (size_t i = 0; i < run->touched; i++) {
        sqlite3_reset(run->script->statements[i].handle);
        sqlite3_clear_bindings(run->script->statements[i].handle);
    }
}

/* Out of space, out of memory or an I/O error: SQLite may have rolled back more than this op. */
static void append_lost_transaction(const running *run, pawl_error *err)
{
    size_t length = err ? strlen(err->message) : 0;

    if (err && run->conn->base.foreign && sqlite3_get_autocommit(run->conn->handle))
        snprintf(err->message + length, sizeof err->message - length,
                 "; SQLite has rolled back the application's whole transaction");
}

static pawl_status op_run(running *run, const pawli_op *op, pawl_error *err)
{
    run->op = op;
    run->touched = 0;
    pawl_status st = pawli_sqlite_script_get(run->conn, op, &run->script, err);
    if (st == PAWL_OK)
        st = pawli_sqlite_lists_write(run->conn, run->script, op, err);
    if (st != PAWL_OK)
        return st;
    st = op_run_script(run, err);
    op_clear_bindings(run);
    return st;
}

/* What the scripts of a chain need together. */
typedef struct needs {
    bool clock;
    bool snapshot;
} needs;

/* Prepares the scripts, too: nothing has begun if one of them cannot be. */
static pawl_status find_needs(pawli_sqlite *conn, const pawli_op *first, needs *ret_needs,
                              pawl_error *err)
{
    pawl_status st = PAWL_OK;

    *ret_needs = (needs){.snapshot = first->next != NULL};
    for (const pawli_op *op = first; op && st == PAWL_OK; op = op->next) {
        pawli_sqlite_script *script;
        st = pawli_sqlite_script_get(conn, op, &script, err);
        if (st != PAWL_OK)
            break;
        ret_needs->clock = ret_needs->clock || script->uses_now;
        ret_needs->snapshot = ret_needs->snapshot || script->uses_now || script->count > 1;
    }
    return st;
}

static pawl_status run_unit(running *run, const pawli_op *first, const needs *needed,
                            pawl_error *err)
{
    pawli_sqlite_unit unit = PAWLI_SQLITE_PLAIN;
    pawl_status st = pawli_sqlite_unit_open(run->conn, first->writes, needed->snapshot, &unit, err);

    if (st != PAWL_OK)
        return st;
    if (needed->clock)
        st = pawli_sqlite_clock_read(run->conn, &run->time, err);
    int64_t changes = sqlite3_total_changes64(run->conn->handle);
    for (const pawli_op *op = first; op && st == PAWL_OK; op = op->next)
        st = op_run(run, op, err);
    /* Nothing is committed for the clock alone. */
    if (st == PAWL_OK && needed->clock && first->writes &&
        sqlite3_total_changes64(run->conn->handle) != changes)
        st = pawli_sqlite_clock_write(run->conn, &run->time, err);
    if (st == PAWL_OK)
        st = pawli_sqlite_unit_keep(run->conn, unit, first->writes, err);
    else
        pawli_sqlite_unit_undo(run->conn, unit);
    if (st == PAWL_OK)
        return PAWL_OK;
    run->conn->base.lost = run->conn->begun && sqlite3_get_autocommit(run->conn->handle);
    append_lost_transaction(run, err);
    return st;
}

pawl_status pawli_sqlite_run(pawli_conn *base, const pawli_op *op, pawl_mono deadline,
                             pawl_error *err)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;
    running run = {.conn = conn, .op = op};
    needs needed;
    sqlite3_int64 last_rowid = 0;

    conn->deadline = deadline;
    pawl_status st = pawli_sqlite_wait_check(conn, err);
    if (st == PAWL_OK)
        st = find_needs(conn, op, &needed, err);
    if (st != PAWL_OK)
        return st;
    if (base->foreign || base->exposed)
        last_rowid = sqlite3_last_insert_rowid(conn->handle);
    st = run_unit(&run, op, &needed, err);
    if (base->foreign || base->exposed) /* the application may still need its own */
        sqlite3_set_last_insert_rowid(conn->handle, last_rowid);
    return st;
}
