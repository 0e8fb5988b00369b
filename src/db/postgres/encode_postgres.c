/* src/db/postgres/encode_postgres.c - translating statements, and encoding parameters in binary. */
#include <endian.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "conn_postgres.h"
#include "fail.h"

/* ---- encoding an op's values in PostgreSQL's binary format ---- */

/* timestamptz counts from 2000-01-01, pawl from 1970-01-01. */
#define EPOCH_2000_US INT64_C(946684800000000)
/* The buffer size that a connection keeps between calls; larger buffers are freed. */
#define KEEP_BYTES ((size_t)1024 * 1024)

/*
 * OIDs of built-in types; they never change. There are no arrays of arrays of different lengths:
 * the lists of a row table are texts, each a JSON array.
 */
static const struct {
    Oid one;
    Oid array;
} type_numbers[] = {
    [PAWLI_INT] = {20, 1016},    [PAWLI_BOOL] = {16, 1000},    [PAWLI_TEXT] = {25, 1009},
    [PAWLI_BYTES] = {17, 1001},  [PAWLI_UUID] = {2950, 2951},  [PAWLI_TIME] = {1184, 1185},
    [PAWLI_SPAN] = {1186, 1187}, [PAWLI_TEXTS] = {1009, 1009}, [PAWLI_INTS] = {1016, 0},
    [PAWLI_TIMES] = {1185, 0},
};

static void put_i32(pawli_buffer *out, int64_t number)
{
    uint32_t big = htobe32((uint32_t)number);
    pawli_buffer_append(out, &big, sizeof big);
}

static void put_i64(pawli_buffer *out, int64_t number)
{
    uint64_t big = htobe64((uint64_t)number);
    pawli_buffer_append(out, &big, sizeof big);
}

static size_t fixed_size(pawli_type type)
{
    switch (type) {
    case PAWLI_BOOL:
        return 1;
    case PAWLI_INT:
    case PAWLI_TIME:
        return 8;
    case PAWLI_SPAN:
        return 16;
    default:
        return 0;
    }
}

static void put_number(pawli_buffer *out, const pawli_value *value)
{
    char flag = value->as.number != 0;

    if (value->type == PAWLI_BOOL) {
        pawli_buffer_append(out, &flag, 1);
    } else if (value->type == PAWLI_TIME) {
        put_i64(out, value->as.number - EPOCH_2000_US);
    } else {
        put_i64(out, value->as.number);
        if (value->type == PAWLI_SPAN)
            put_i64(out, 0); /* days and months */
    }
}

/* The header of a one-dimensional array. */
static void put_array_head(pawli_buffer *out, size_t count, bool has_null, Oid type)
{
    put_i32(out, count > 0 ? 1 : 0);
    put_i32(out, has_null);
    put_i32(out, type);
    if (count > 0) {
        put_i32(out, (int64_t)count);
        put_i32(out, 1);
    }
}

static void put_texts(pawli_buffer *out, const pawli_value *value)
{
    put_array_head(out, value->as.texts.count, false, type_numbers[PAWLI_TEXT].one);
    for (size_t i = 0; i < value->as.texts.count; i++) {
        size_t length = strlen(value->as.texts.items[i]);
        put_i32(out, (int64_t)length);
        pawli_buffer_append(out, value->as.texts.items[i], length);
    }
}

static void put_numbers(pawli_buffer *out, const pawli_value *value)
{
    pawli_type type = value->type == PAWLI_TIMES ? PAWLI_TIME : PAWLI_INT;

    put_array_head(out, value->as.numbers.count, false, type_numbers[type].one);
    for (size_t i = 0; i < value->as.numbers.count; i++) {
        pawli_value number = {.type = type, .as.number = value->as.numbers.items[i]};
        put_i32(out, 8);
        put_number(out, &number);
    }
}

static size_t count_nulls(const pawli_rows *rows, size_t column)
{
    size_t nulls = 0;

    for (size_t i = 0; i < rows->row_count; i++)
        nulls += rows->values[i * rows->column_count + column].is_null;
    return nulls;
}

/* Its length comes before it and is known afterwards. */
static void put_json(pawli_buffer *out, const pawli_value *value)
{
    size_t start = out->size;

    put_i32(out, 0);
    pawli_json_write_texts(out, value->as.texts.items, value->as.texts.count);
    if (out->failed)
        return;
    uint32_t big = htobe32((uint32_t)(out->size - start - sizeof big));
    memcpy(out->data + start, &big, sizeof big);
}

static void put_column(pawli_buffer *out, const pawli_rows *rows, size_t column, bool has_null)
{
    pawli_type type = rows->types[column];
    size_t fixed = fixed_size(type);

    put_array_head(out, rows->row_count, has_null,
                   type_numbers[type == PAWLI_TEXTS ? PAWLI_TEXT : type].one);
    for (size_t i = 0; i < rows->row_count; i++) {
        const pawli_value *value = &rows->values[i * rows->column_count + column];
        if (value->is_null) {
            put_i32(out, -1);
        } else if (type == PAWLI_TEXTS) {
            put_json(out, value);
        } else if (fixed > 0) {
            put_i32(out, (int64_t)fixed);
            put_number(out, value);
        } else {
            put_i32(out, (int64_t)value->as.bytes.size);
            pawli_buffer_append(out, value->as.bytes.data, value->as.bytes.size);
        }
    }
}

/* The buffer may move while it grows, so encoded values are recorded by their offset. */
typedef struct places {
    bool in_buffer[PAWLI_POSTGRES_PARAMS_MAX];
    size_t start[PAWLI_POSTGRES_PARAMS_MAX];
    size_t size[PAWLI_POSTGRES_PARAMS_MAX];
} places;

static void encode_value(pawli_buffer *out, const pawli_value *value, int i,
                         pawli_postgres_params *params, places *at)
{
    params->types[i] = type_numbers[value->type].one;
    if (value->is_null)
        return;
    if (pawli_is_list(value->type) || fixed_size(value->type) > 0) {
        at->in_buffer[i] = true;
        at->start[i] = out->size;
        if (value->type == PAWLI_TEXTS)
            put_texts(out, value);
        else if (pawli_is_list(value->type))
            put_numbers(out, value);
        else
            put_number(out, value);
        at->size[i] = out->size - at->start[i];
    } else {
        params->values[i] = value->as.bytes.size > 0 ? value->as.bytes.data : "";
        at->size[i] = value->as.bytes.size;
    }
}

static void encode_column(pawli_buffer *out, const pawli_rows *rows, size_t column, int i,
                          pawli_postgres_params *params, places *at)
{
    size_t nulls = count_nulls(rows, column);

    params->types[i] = type_numbers[rows->types[column]].array;
    if (nulls == rows->row_count && nulls > 0)
        return; /* unnest() treats it like no array, and the server need not parse it */
    at->in_buffer[i] = true;
    at->start[i] = out->size;
    put_column(out, rows, column, nulls > 0);
    at->size[i] = out->size - at->start[i];
}

static bool same_name(const pawli_postgres_statement *statement, int i, const char *name)
{
    return strlen(name) == statement->names[i].length &&
           memcmp(name, statement->names[i].start, statement->names[i].length) == 0;
}

/* Finds the source of parameter `i`; false if there is none. */
static bool encode_one(pawli_buffer *out, const pawli_postgres_statement *statement,
                       const pawli_op *op, int i, pawli_postgres_params *params, places *at)
{
    for (size_t k = 0; k < op->param_count; k++) {
        if (same_name(statement, i, op->params[k].name)) {
            encode_value(out, &op->params[k].value, i, params, at);
            return true;
        }
    }
    for (size_t k = 0; op->rows && k < op->rows->column_count; k++) {
        if (same_name(statement, i, op->rows->names[k])) {
            encode_column(out, op->rows, k, i, params, at);
            return true;
        }
    }
    return false;
}

pawl_status pawli_postgres_encode(pawli_buffer *out, const pawli_postgres_statement *statement,
                                  const pawli_op *op, pawli_postgres_params *ret_params,
                                  pawl_error *err)
{
    places at = {0};

    if (out->failed || out->capacity > KEEP_BYTES)
        pawli_buffer_done(out);
    out->size = 0;
    memset(ret_params, 0, sizeof *ret_params);
    ret_params->count = statement->count;
    for (int i = 0; i < statement->count; i++)
        if (!encode_one(out, statement, op, i, ret_params, &at))
            return pawli_fail(err, PAWL_E_STORE,
                              "the statement %s has no value for its parameter :%.*s",
                              pawli_sql_name(op->sql), (int)statement->names[i].length,
                              statement->names[i].start);
    if (out->failed)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the parameters of %s",
                          pawli_sql_name(op->sql));
    for (int i = 0; i < statement->count; i++) {
        if (at.size[i] > INT_MAX)
            return pawli_fail(err, PAWL_E_TOO_LARGE,
                              "a parameter of %s is over 2 GiB: send fewer messages at once",
                              pawli_sql_name(op->sql));
        if (at.in_buffer[i])
            ret_params->values[i] = out->data + at.start[i];
        ret_params->lengths[i] = (int)at.size[i];
        ret_params->formats[i] = 1;
    }
    return PAWL_OK;
}

/* ---- translating ":name" to "$1" ---- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The length of a string, quoted name, comment or dollar-quoted text at `at`; 0 if none starts
 * there. */
static size_t skip_quoted(const char *at)
{
    const char *end = NULL;
    size_t tag;

    if (*at == '\'' || *at == '"') {
        end =
            strchr(at + 1, *at); /* a doubled quote is two adjacent strings, with the same result */
        return end ? (size_t)(end - at) + 1 : strlen(at);
    }
    if (at[0] == '-' && at[1] == '-')
        return strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        end = strstr(at + 2, "*/");
        return end ? (size_t)(end - at) + 2 : strlen(at);
    }
    if (*at != '$')
        return 0;
    for (tag = 1; is_name(at[tag]);)
        tag++;
    if (at[tag] != '$')
        return 0;
    tag++;
    for (end = at + tag; *end; end++)
        if (strncmp(end, at, tag) == 0)
            return (size_t)(end - at) + tag;
    return strlen(at);
}

/* The number of the parameter, from 1; 0 when there are too many. */
static int parameter_number(pawli_postgres_statement *statement, const char *name, size_t length)
{
    for (int i = 0; i < statement->count; i++)
        if (statement->names[i].length == length &&
            memcmp(statement->names[i].start, name, length) == 0)
            return i + 1;
    if (statement->count == PAWLI_POSTGRES_PARAMS_MAX)
        return 0;
    statement->names[statement->count].start = name;
    statement->names[statement->count].length = length;
    return ++statement->count;
}

static bool translate(const char *source, pawli_postgres_statement *statement,
                      pawli_buffer *translated)
{
    for (const char *at = source; *at;) {
        size_t quoted = skip_quoted(at);
        if (quoted > 0) {
            pawli_buffer_append(translated, at, quoted);
            at += quoted;
        } else if (at[0] == ':' && at[1] == ':') {
            pawli_buffer_append(translated, at, 2);
            at += 2;
        } else if (at[0] == ':' && is_name(at[1])) {
            size_t length = 0;
            while (is_name(at[1 + length]))
                length++;
            int number = parameter_number(statement, at + 1, length);
            if (number == 0)
                return false;
            pawli_buffer_format(translated, "$%d", number);
            at += 1 + length;
        } else {
            pawli_buffer_append(translated, at++, 1);
        }
    }
    return true;
}

pawl_status pawli_postgres_translate(pawli_postgres *conn, enum pawli_sql sql,
                                     pawli_postgres_statement **ret_statement, pawl_error *err)
{
    pawli_postgres_statement *statement = &conn->statements[sql];
    PAWLI_AUTO_BUFFER translated = {0};

    if (!statement->text) {
        const char *source = pawli_statements_text(conn->settings->statements, sql);
        statement->count = 0;
        if (!translate(source, statement, &translated))
            return pawli_fail(err, PAWL_E_STORE, "the statement %s has more than %d parameters",
                              pawli_sql_name(sql), PAWLI_POSTGRES_PARAMS_MAX);
        statement->text = pawli_buffer_take(&translated);
        if (!statement->text)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the statement %s",
                              pawli_sql_name(sql));
    }
    *ret_statement = statement;
    return PAWL_OK;
}
