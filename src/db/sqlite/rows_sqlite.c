/*
 * src/db/sqlite/rows_sqlite.c - an op's row table as a table of SQLite: "FROM pawli_rows(:rows)".
 *
 * One statement for all rows is about twice as fast as one per row: nothing is bound and
 * restarted for each row, and the AUTOINCREMENT sequence is read and written once. The table is a
 * table-valued function whose argument is a pointer, so the module has no state of its own and
 * any number of connections can share an application's handle.
 */
#include <stdlib.h>
#include <string.h>

#include "conn_sqlite.h"
#include "json.h"
#include "statements.h"

#define POINTER_TYPE "pawli_rows"

/* The columns of pawli_rows; the next one is hidden: the argument. */
static int column_count(void)
{
    int count = 0;

    while (pawli_sql_sqlite.row_columns[count])
        count++;
    return count;
}

typedef struct rows_cursor {
    sqlite3_vtab_cursor base;
    const pawli_sqlite_rows *given;
    size_t row;
} rows_cursor;

static int rows_connect(sqlite3 *handle, void *context, int count, const char *const *arguments,
                        sqlite3_vtab **ret_table, char **ret_error)
{
    sqlite3_str *declaration = sqlite3_str_new(handle);

    sqlite3_str_appendall(declaration, "CREATE TABLE x(");
    for (const char *const *name = pawli_sql_sqlite.row_columns; *name; name++)
        sqlite3_str_appendf(declaration, "%s,", *name);
    sqlite3_str_appendall(declaration, "given HIDDEN)");
    char *text = sqlite3_str_finish(declaration);
    int code = text ? sqlite3_declare_vtab(handle, text) : SQLITE_NOMEM;

    sqlite3_free(text);
    (void)context, (void)count, (void)arguments, (void)ret_error;
    if (code != SQLITE_OK)
        return code;
    *ret_table = sqlite3_malloc(sizeof **ret_table);
    if (!*ret_table)
        return SQLITE_NOMEM;
    memset(*ret_table, 0, sizeof **ret_table);
    return SQLITE_OK;
}

static int rows_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* The only plan: the argument is given, and all rows are read in order. */
static int rows_plan(sqlite3_vtab *table, sqlite3_index_info *plan)
{
    int given = column_count();

    (void)table;
    plan->estimatedCost = 100;
    plan->estimatedRows = 100;
    for (int i = 0; i < plan->nConstraint; i++) {
        if (plan->aConstraint[i].iColumn != given)
            continue;
        if (!plan->aConstraint[i].usable || plan->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            return SQLITE_CONSTRAINT;
        plan->aConstraintUsage[i].argvIndex = 1;
        plan->aConstraintUsage[i].omit = 1;
    }
    return SQLITE_OK;
}

static int rows_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
    rows_cursor *cursor = sqlite3_malloc(sizeof *cursor);

    (void)table;
    if (!cursor)
        return SQLITE_NOMEM;
    *cursor = (rows_cursor){.row = 0};
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

static int rows_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int count,
                       sqlite3_value **arguments)
{
    rows_cursor *cursor = (rows_cursor *)base;

    (void)plan, (void)plan_text;
    cursor->given = count == 1 ? sqlite3_value_pointer(arguments[0], POINTER_TYPE) : NULL;
    cursor->row = 0;
    return SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *base)
{
    ((rows_cursor *)base)->row++;
    return SQLITE_OK;
}

static int rows_eof(sqlite3_vtab_cursor *base)
{
    const rows_cursor *cursor = (rows_cursor *)base;

    return !cursor->given || cursor->row >= cursor->given->rows->row_count;
}

static int rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid)
{
    *ret_rowid = (sqlite3_int64)((rows_cursor *)base)->row;
    return SQLITE_OK;
}

/* A list has no text that outlives the statement. */
static void rows_result_texts(sqlite3_context *context, const pawli_value *value)
{
    PAWLI_AUTO_BUFFER json = {0};

    pawli_json_write_texts(&json, value->as.texts.items, value->as.texts.count);
    if (json.failed)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text64(context, json.data, json.size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* SQLITE_STATIC: the values outlive the statement. */
static void rows_result(sqlite3_context *context, const pawli_value *value)
{
    const char *data;

    if (value->is_null)
        return;
    switch (value->type) {
    case PAWLI_INT:
    case PAWLI_BOOL:
    case PAWLI_TIME:
    case PAWLI_SPAN:
        sqlite3_result_int64(context, value->as.number);
        break;
    case PAWLI_TEXT:
        data = value->as.bytes.data;
        sqlite3_result_text64(context, data ? data : "", value->as.bytes.size, SQLITE_STATIC,
                              SQLITE_UTF8);
        break;
    case PAWLI_BYTES:
    case PAWLI_UUID:
        data = value->as.bytes.data;
        sqlite3_result_blob64(context, data ? data : "", value->as.bytes.size, SQLITE_STATIC);
        break;
    case PAWLI_TEXTS:
        rows_result_texts(context, value);
        break;
    case PAWLI_INTS:
    case PAWLI_TIMES:
        break; /* never in a row */
    }
}

static int rows_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const rows_cursor *cursor = (rows_cursor *)base;
    const pawli_sqlite_rows *given = cursor->given;
    int slot = given->slots[column];

    if (slot >= 0)
        rows_result(context,
                    &given->rows->values[cursor->row * given->rows->column_count + (size_t)slot]);
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = rows_connect,
    .xBestIndex = rows_plan,
    .xDisconnect = rows_disconnect,
    .xOpen = rows_open,
    .xClose = rows_close,
    .xFilter = rows_filter,
    .xNext = rows_next,
    .xEof = rows_eof,
    .xColumn = rows_column,
    .xRowid = rows_rowid,
};

static bool rows_is_registered(sqlite3 *handle)
{
    sqlite3_stmt *probe = NULL;
    int code = sqlite3_prepare_v2(handle, "SELECT 1 FROM pawli_rows(NULL)", -1, &probe, NULL);

    sqlite3_finalize(probe);
    return code == SQLITE_OK;
}

int pawli_sqlite_rows_register(pawli_sqlite *conn)
{
    /* Another foreign transaction may be using it on the same handle now. */
    if (conn->base.foreign && rows_is_registered(conn->handle))
        return SQLITE_OK;
    return sqlite3_create_module(conn->handle, "pawli_rows", &module, NULL);
}

int *pawli_sqlite_rows_match(const pawli_rows *rows)
{
    int count = column_count();
    int *slots = malloc(((size_t)count + 1) * sizeof *slots);

    for (int i = 0; slots && i <= count; i++) { /* the last is the argument, which is never read */
        slots[i] = -1;
        for (size_t k = 0; i < count && rows && k < rows->column_count; k++)
            if (strcmp(rows->names[k], pawli_sql_sqlite.row_columns[i]) == 0)
                slots[i] = (int)k;
    }
    return slots;
}

int pawli_sqlite_rows_bind(sqlite3_stmt *handle, int index, pawli_sqlite_rows *rows)
{
    return sqlite3_bind_pointer(handle, index, rows, POINTER_TYPE, NULL);
}
