/* src/db/sqlite/bind_sqlite.c - binding parameters and reading rows. */
#include "conn_sqlite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "json.h"
#include "statements.h"

/* ---- binding an op's values to prepared statements ---- */

/*
 * Names are constants of the program, so equal pointers are equal names: an op of the same caller
 * is recognized without comparing strings.
 */
static bool same_names(const pawli_sqlite_script *script, const pawli_op *op)
{
    size_t columns = op->rows ? op->rows->column_count : 0;

    if (!script->resolved || script->param_count != op->param_count ||
        script->column_count != columns)
        return false;
    for (size_t i = 0; i < op->param_count; i++) {
        if (script->names[i] != op->params[i].name)
            return false;
    }
    for (size_t i = 0; i < columns; i++) {
        if (script->names[op->param_count + i] != op->rows->names[i])
            return false;
    }
    return true;
}

static pawl_status store_names(pawli_sqlite_script *script, const pawli_op *op, pawl_error *err)
{
    size_t columns = op->rows ? op->rows->column_count : 0;
    size_t count = op->param_count + columns;

    script->resolved = false;
    free(script->names);
    free(script->lists);
    free(script->rows.slots);
    script->rows.slots = pawli_sqlite_rows_match(op->rows);
    script->names = calloc(count + 1, sizeof *script->names);
    script->lists = calloc(op->param_count + 1, sizeof *script->lists);
    if (!script->names || !script->lists || !script->rows.slots)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory while preparing a statement");
    for (size_t i = 0; i < op->param_count; i++)
        script->names[i] = op->params[i].name;
    for (size_t i = 0; i < columns; i++)
        script->names[op->param_count + i] = op->rows->names[i];
    script->param_count = op->param_count;
    script->column_count = columns;
    return PAWL_OK;
}

static bool find_source(const pawli_sqlite_script *script, bool each, const char *name,
                        pawli_sqlite_binding *ret_binding)
{
    if (strcmp(name, "now") == 0) {
        ret_binding->source = PAWLI_SQLITE_FROM_NOW;
        return true;
    }
    if (strcmp(name, "rows") == 0) {
        ret_binding->source = PAWLI_SQLITE_FROM_ROWS;
        return script->column_count > 0;
    }
    if (strcmp(name, "row_count") == 0) {
        ret_binding->source = PAWLI_SQLITE_FROM_COUNT;
        return script->column_count > 0;
    }
    for (size_t i = 0; i < script->param_count; i++) {
        if (script->names[i] && strcmp(name, script->names[i]) == 0) {
            ret_binding->source = PAWLI_SQLITE_FROM_PARAM;
            ret_binding->slot = i;
            return true;
        }
    }
    for (size_t i = 0; each && i < script->column_count; i++) {
        if (strcmp(name, script->names[script->param_count + i]) == 0) {
            ret_binding->source = PAWLI_SQLITE_FROM_COLUMN;
            ret_binding->slot = i;
            return true;
        }
    }
    return false;
}

/* Constants are filled in from the front, columns from the back. */
static pawl_status resolve_statement(const pawli_sqlite_script *script,
                                     pawli_sqlite_statement *statement, const char *sql_name,
                                     pawl_error *err)
{
    int count = sqlite3_bind_parameter_count(statement->handle);
    size_t back = (size_t)count;

    free(statement->bindings);
    statement->constant_count = 0;
    statement->binding_count = 0;
    statement->bindings = calloc((size_t)count + 1, sizeof *statement->bindings);
    if (!statement->bindings)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory while preparing a statement");
    for (int i = 1; i <= count; i++) {
        const char *name = sqlite3_bind_parameter_name(statement->handle, i);
        pawli_sqlite_binding binding = {.index = i};
        if (!name || !find_source(script, statement->each, name + 1, &binding))
            return pawli_fail(err, PAWL_E_STORE,
                              "the statement '%s' has no value for its parameter '%s'", sql_name,
                              name ? name : "?");
        if (binding.source == PAWLI_SQLITE_FROM_COLUMN)
            statement->bindings[--back] = binding;
        else
            statement->bindings[statement->constant_count++] = binding;
    }
    statement->binding_count = (size_t)count;
    return PAWL_OK;
}

pawl_status pawli_sqlite_resolve(pawli_sqlite_script *script, const pawli_op *op, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < script->count && st == PAWL_OK; i++)
        st = pawli_column_map_prepare(&script->statements[i].map, op->columns, err);
    if (st != PAWL_OK || same_names(script, op))
        return st;
    st = store_names(script, op, err);
    for (size_t i = 0; i < script->count && st == PAWL_OK; i++) {
        if ((script->statements[i].each || script->statements[i].if_rows) && !op->rows)
            return pawli_fail(err, PAWL_E_STORE, "the statement '%s' was given no rows",
                              pawli_sql_name(op->sql));
        st = resolve_statement(script, &script->statements[i], pawli_sql_name(op->sql), err);
    }
    script->resolved = st == PAWL_OK;
    return st;
}

static void write_json_list(pawli_buffer *json, const pawli_value *value)
{
    if (value->type == PAWLI_TEXTS) {
        pawli_json_write_texts(json, value->as.texts.items, value->as.texts.count);
        return;
    }
    pawli_buffer_append(json, "[", 1);
    for (size_t i = 0; i < value->as.numbers.count; i++)
        pawli_buffer_format(json, "%s%" PRId64, i > 0 ? "," : "", value->as.numbers.items[i]);
    pawli_buffer_append(json, "]", 1);
}

pawl_status pawli_sqlite_lists_write(pawli_sqlite *conn, pawli_sqlite_script *script,
                                     const pawli_op *op, pawl_error *err)
{
    pawli_buffer *json = &conn->json;

    json->size = 0;
    for (size_t i = 0; i < op->param_count; i++) {
        const pawli_value *value = &op->params[i].value;
        if (!pawli_is_list(value->type) || value->is_null)
            continue;
        script->lists[i].offset = json->size;
        write_json_list(json, value);
        script->lists[i].size = json->size - script->lists[i].offset;
    }
    if (!json->failed)
        return PAWL_OK;
    pawli_buffer_done(json);
    *json = (pawli_buffer){0};
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a list that the statement takes");
}

/* SQLite takes a NULL pointer for SQL NULL, even with size 0. */
static const char *bind_address(const void *data)
{
    return data ? data : "";
}

static int bind_value(sqlite3_stmt *handle, int index, const pawli_value *value)
{
    if (value->is_null)
        return sqlite3_bind_null(handle, index);
    switch (value->type) {
    case PAWLI_INT:
    case PAWLI_BOOL:
    case PAWLI_TIME:
    case PAWLI_SPAN:
        return sqlite3_bind_int64(handle, index, value->as.number);
    case PAWLI_TEXT:
        return sqlite3_bind_text64(handle, index, bind_address(value->as.bytes.data),
                                   value->as.bytes.size, SQLITE_STATIC, SQLITE_UTF8);
    case PAWLI_BYTES:
    case PAWLI_UUID:
        return sqlite3_bind_blob64(handle, index, bind_address(value->as.bytes.data),
                                   value->as.bytes.size, SQLITE_STATIC);
    case PAWLI_TEXTS:
    case PAWLI_INTS:
    case PAWLI_TIMES:
        break; /* bound from conn->json; in a row, read through pawli_rows */
    }
    return SQLITE_MISUSE;
}

static int bind_list(const pawli_sqlite *conn, const pawli_sqlite_script *script,
                     sqlite3_stmt *handle, const pawli_sqlite_binding *binding, const pawli_op *op)
{
    const pawli_sqlite_span *span = &script->lists[binding->slot];

    if (op->params[binding->slot].value.is_null)
        return sqlite3_bind_null(handle, binding->index);
    return sqlite3_bind_text64(handle, binding->index, conn->json.data + span->offset, span->size,
                               SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_constant(const pawli_sqlite *conn, pawli_sqlite_script *script,
                         sqlite3_stmt *handle, const pawli_sqlite_binding *binding,
                         const pawli_op *op, int64_t now)
{
    if (binding->source == PAWLI_SQLITE_FROM_NOW)
        return sqlite3_bind_int64(handle, binding->index, now);
    if (binding->source == PAWLI_SQLITE_FROM_ROWS)
        return pawli_sqlite_rows_bind(handle, binding->index, &script->rows);
    if (binding->source == PAWLI_SQLITE_FROM_COUNT)
        return sqlite3_bind_int64(handle, binding->index, (sqlite3_int64)op->rows->row_count);
    if (pawli_is_list(op->params[binding->slot].value.type))
        return bind_list(conn, script, handle, binding, op);
    return bind_value(handle, binding->index, &op->params[binding->slot].value);
}

int pawli_sqlite_bind_constants(const pawli_sqlite *conn, pawli_sqlite_script *script,
                                const pawli_sqlite_statement *statement, const pawli_op *op,
                                int64_t now)
{
    int code = SQLITE_OK;

    script->rows.rows = op->rows;
    for (size_t i = 0; i < statement->constant_count && code == SQLITE_OK; i++)
        code = bind_constant(conn, script, statement->handle, &statement->bindings[i], op, now);
    return code;
}

int pawli_sqlite_bind_row(const pawli_sqlite_statement *statement, const pawli_value *row)
{
    int code = SQLITE_OK;

    for (size_t i = statement->constant_count; i < statement->binding_count && code == SQLITE_OK;
         i++) {
        const pawli_sqlite_binding *binding = &statement->bindings[i];
        code = bind_value(statement->handle, binding->index, &row[binding->slot]);
    }
    return code;
}

/* ---- reading a result row ---- */

static sqlite3_stmt *handle_of(const pawli_row *row)
{
    return ((const pawli_sqlite_row *)row)->handle;
}

static bool row_is_null(const pawli_row *row, int column)
{
    return sqlite3_column_type(handle_of(row), column) == SQLITE_NULL;
}

static int64_t row_integer(const pawli_row *row, int column)
{
    return sqlite3_column_int64(handle_of(row), column);
}

static pawl_wall row_time_of(const pawli_row *row, int column)
{
    return (pawl_wall){sqlite3_column_int64(handle_of(row), column)};
}

/* Text is read with column_text(), because the file's encoding may be UTF-16. */
static const void *row_bytes(const pawli_row *row, int column, size_t *ret_size)
{
    sqlite3_stmt *handle = handle_of(row);
    int type = sqlite3_column_type(handle, column);
    const void *data;

    *ret_size = 0;
    if (type == SQLITE_NULL)
        return NULL;
    if (type == SQLITE_BLOB)
        data = sqlite3_column_blob(handle, column);
    else
        data = sqlite3_column_text(handle, column);
    if (data)
        *ret_size = (size_t)sqlite3_column_bytes(handle, column);
    else if (type != SQLITE_BLOB)
        *((const pawli_sqlite_row *)row)->out_of_memory = true;
    return data ? data : ""; /* an empty blob has a NULL pointer */
}

static void row_uuid(const pawli_row *row, int column, uint8_t ret_bytes[16])
{
    size_t size = 0;
    const void *data = row_bytes(row, column, &size);

    if (size == 16)
        memcpy(ret_bytes, data, 16);
    else
        memset(ret_bytes, 0, 16);
}

static bool row_texts(const pawli_row *row, int column, pawli_on_text *on_text, void *context)
{
    size_t size;
    const char *text = row_bytes(row, column, &size);

    return !text || pawli_json_read_texts(text, size, on_text, context);
}

const pawli_row_table pawli_sqlite_row_table = {
    .is_null = row_is_null,
    .integer = row_integer,
    .time = row_time_of,
    .uuid = row_uuid,
    .bytes = row_bytes,
    .texts = row_texts,
};
