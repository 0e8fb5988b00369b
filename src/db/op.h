/*
 * src/db/op.h - one operation on the database: a named statement, its parameters, and the callback
 * for its rows.
 *
 * core describes an operation as an op; a driver runs it as one transaction (or inside an open
 * one). On PostgreSQL a named statement is one SELECT of a function, one round trip; on SQLite it
 * is a short script. See docs/internals/database-layer.md.
 */
#ifndef PAWLI_OP_H
#define PAWLI_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>

#include "json.h"
#include "sql_names.h" /* generated: enum pawli_sql, one member per statement in sql/ENGINE */

typedef enum pawli_type {
    PAWLI_INT,   /* bigint / INTEGER */
    PAWLI_BOOL,  /* boolean / INTEGER 0 or 1 */
    PAWLI_TEXT,  /* text / TEXT */
    PAWLI_BYTES, /* bytea / BLOB */
    PAWLI_UUID,  /* uuid / BLOB of 16 */
    PAWLI_TIME,  /* timestamptz / INTEGER microseconds since 1970 */
    PAWLI_SPAN,  /* interval / INTEGER microseconds */
    PAWLI_TEXTS, /* text[] / TEXT, a JSON array; in a row table a JSON array on both engines */
    PAWLI_INTS,  /* bigint[] / TEXT, a JSON array */
    PAWLI_TIMES  /* timestamptz[] / TEXT, a JSON array of microseconds */
} pawli_type;

/* A parameter's value. Everything is borrowed for the duration of the run. */
typedef struct pawli_value {
    pawli_type type;
    bool is_null;
    union {
        int64_t number; /* INT, BOOL, TIME (microseconds since 1970), SPAN (microseconds) */
        struct {
            const void *data;
            size_t size;
        } bytes; /* TEXT, BYTES, UUID (16) */
        struct {
            const char *const *items;
            size_t count;
        } texts;
        struct {
            const int64_t *items;
            size_t count;
        } numbers; /* INTS, TIMES */
    } as;
} pawli_value;

pawli_value pawli_int(int64_t number);
pawli_value pawli_bool(bool flag);
pawli_value pawli_text(const char *text); /* NULL becomes SQL NULL */
pawli_value pawli_bytes(const void *data, size_t size);
pawli_value pawli_uuid(const uint8_t bytes[16]);
pawli_value pawli_time(pawl_wall time); /* PAWL_TIME_UNSET becomes SQL NULL */
pawli_value pawli_span_ms(int64_t ms);
pawli_value pawli_texts(const char *const *items, size_t count); /* NULL becomes SQL NULL */
pawli_value pawli_ints(const int64_t *items, size_t count);
pawli_value pawli_times(const int64_t *items, size_t count); /* microseconds since 1970 */
pawli_value pawli_null(pawli_type type);
bool pawli_is_list(pawli_type type);

/* ":name" in the statement. */
typedef struct pawli_param {
    const char *name;
    pawli_value value;
} pawli_param;

/*
 * A table of parameters. PostgreSQL gets each column as one array parameter of that name. SQLite
 * exposes it as the table pawli_rows(:rows), with the columns of all row tables that its SQL was
 * compiled with, of which those that are not given are NULL, and runs the statements marked "--
 * @each" once per row with the row's values.
 */
typedef struct pawli_rows {
    size_t row_count;
    size_t column_count;
    const char *const *names;  /* column_count */
    const pawli_type *types;   /* column_count; no list but TEXTS */
    const pawli_value *values; /* row_count * column_count, row by row; types as the columns' */
} pawli_rows;

/*
 * The columns of a result that an op reads, by name. The lists are constants of the program: equal
 * pointers are equal lists.
 */
typedef struct pawli_columns {
    const char *const *names;
    size_t count;
} pawli_columns;
#define PAWLI_COLUMN_NAME(upper, name) #name, /* for a list of columns: X(UPPER, name) ... */

/*
 * A result row, valid during the callback. A column is an index of the op's columns, and NULL if
 * the result has none of that name; for an op without columns, it is the position in the result,
 * from 0. Reading a wrong type is a bug.
 */
typedef struct pawli_row pawli_row;
bool pawli_row_is_null(const pawli_row *row, int column);
/* Any integer, boolean, or span in microseconds; NULL is 0. */
int64_t pawli_row_int(const pawli_row *row, int column);
pawl_wall pawli_row_time(const pawli_row *row, int column); /* NULL is PAWL_TIME_UNSET */
void pawli_row_uuid(const pawli_row *row, int column, uint8_t ret_bytes[16]); /* NULL is zero */
/* Text or bytes; for NULL, returns NULL and size 0. Not zero-terminated. */
const void *pawli_row_bytes(const pawli_row *row, int column, size_t *ret_size);
/* The texts of a text[] / JSON array; NULL has none. False when memory ran out. */
bool pawli_row_texts(const pawli_row *row, int column, pawli_on_text *on_text, void *context);

typedef struct pawli_op {
    enum pawli_sql sql;
    bool writes; /* false: may be repeated freely, and a lost response is not in doubt */
    /* Rows of several callers may be run as one op: there are no parameters, column 0 of the rows
     * is their position, and column 0 of every result row is the position it belongs to; or NULL,
     * for a result row that covers all rows: column 1 is then the value for the first row, and
     * increases by one for every further row. */
    bool merges;
    /* Repeated until the timeout while PAWL_E_BUSY, and with `resolve_sql` after a commit in doubt:
     * that statement finds what an earlier run stored, by the ids in the rows. */
    bool resolves;
    enum pawli_sql resolve_sql;
    bool urgent; /* runs before others when a long transaction has kept all waiting */
    const pawli_param *params;
    size_t param_count;
    const pawli_rows *rows;       /* NULL if the statement has no "-- @each" */
    const pawli_columns *columns; /* what on_row reads; NULL: it reads by position */
    /* Called for every result row; a status other than PAWL_OK undoes the op where that is still
     * possible (SQLite, or inside a transaction) and is returned. NULL: rows are ignored. */
    pawl_status (*on_row)(void *context, const pawli_row *row, pawl_error *err);
    /* Called before every attempt: the op may run again after a deadlock or a lost connection. May
     * be NULL. */
    void (*on_start)(void *context);
    void *context;
    /* An op that runs after this one, in the same transaction and the same round trip; at most
     * PAWLI_CHAIN_MAX in all. They succeed or fail together; `writes` of the first applies to all.
     * NULL: none. */
    const struct pawli_op *next;
} pawli_op;

#define PAWLI_CHAIN_MAX 3

/* Calls on_start of an op and those that follow it. */
void pawli_op_start(const pawli_op *op);

#endif
