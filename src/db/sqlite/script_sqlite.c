/* src/db/sqlite/script_sqlite.c - statement scripts, and the installed schema. */
#include "conn_sqlite.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "statements.h"

/* ---- splitting a statement file, preparing its statements, reading its marks ---- */

typedef struct marks {
    bool each;
    bool if_rows;
    bool stop_unless_changed;
    bool unknown;
} marks;

static const char *script_skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n\f;");
}

static bool script_is_word(const char *start, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(start, word, size) == 0;
}

/* `line` is the text after the two dashes. */
static void read_mark(const char *line, size_t size, marks *found)
{
    size_t blanks = strspn(line, " \t");

    if (blanks > size || line[blanks] != '@')
        return;
    line += blanks;
    size = strcspn(line, " \t\r\n");
    if (script_is_word(line, size, "@each"))
        found->each = true;
    else if (script_is_word(line, size, "@if-rows"))
        found->if_rows = true;
    else if (script_is_word(line, size, "@stop-unless-changed"))
        found->stop_unless_changed = true;
    else
        found->unknown = true;
}

/* The start of the next statement; the marks in the comments before it go to `found`. */
static const char *skip_comments(const char *at, marks *found)
{
    *found = (marks){0};
    for (at = script_skip_blanks(at); *at; at = script_skip_blanks(at)) {
        if (at[0] == '-' && at[1] == '-') {
            size_t size = strcspn(at, "\n");
            read_mark(at + 2, size - 2, found);
            at += size;
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else {
            break;
        }
    }
    return at;
}

static pawl_status add_statement(pawli_sqlite_script *script, sqlite3_stmt *take_handle,
                                 marks found, pawl_error *err)
{
    size_t size = (script->count + 1) * sizeof *script->statements;
    pawli_sqlite_statement *grown = realloc(script->statements, size);

    if (!grown) {
        sqlite3_finalize(take_handle);
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory while preparing a statement");
    }
    script->statements = grown;
    script->statements[script->count++] = (pawli_sqlite_statement){
        .handle = take_handle,
        .each = found.each,
        .if_rows = found.if_rows,
        .stop_unless_changed = found.stop_unless_changed,
    };
    if (sqlite3_bind_parameter_index(take_handle, ":now") > 0)
        script->uses_now = true;
    return PAWL_OK;
}

static pawl_status prepare_all(pawli_sqlite *conn, const char *name, const char *text,
                               pawli_sqlite_script *script, pawl_error *err)
{
    marks found;
    pawl_status st;

    for (const char *at = skip_comments(text, &found); *at; at = skip_comments(at, &found)) {
        sqlite3_stmt *handle = NULL;
        int code =
            sqlite3_prepare_v3(conn->handle, at, -1, SQLITE_PREPARE_PERSISTENT, &handle, &at);
        if (code != SQLITE_OK)
            return pawli_sqlite_fail(conn, code, name, err);
        if (!handle)
            break;
        st = add_statement(script, handle, found, err);
        if (st != PAWL_OK)
            return st;
        if (found.unknown)
            return pawli_fail(err, PAWL_E_STORE,
                              "the statement '%s' has a mark that SQLite's driver does not know",
                              name);
    }
    return PAWL_OK;
}

void pawli_sqlite_script_free(pawli_sqlite_script *script)
{
    if (!script)
        return;
    for (size_t i = 0; i < script->count; i++) {
        sqlite3_finalize(script->statements[i].handle);
        free(script->statements[i].bindings);
        pawli_column_map_done(&script->statements[i].map);
    }
    free(script->statements);
    free(script->names);
    free(script->lists);
    free(script->rows.slots);
    free(script);
}

static pawl_status script_prepare(pawli_sqlite *conn, enum pawli_sql sql, pawl_error *err)
{
    const char *text = pawli_statements_text(conn->settings->statements, sql);
    PAWLI_AUTO(pawli_sqlite_script) script = calloc(1, sizeof *script);

    if (!script)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory while preparing a statement");
    pawl_status st = prepare_all(conn, pawli_sql_name(sql), text, script, err);
    if (st == PAWL_OK)
        conn->scripts[sql] = pawli_sqlite_script_take(&script);
    return st;
}

pawl_status pawli_sqlite_script_get(pawli_sqlite *conn, const pawli_op *op,
                                    pawli_sqlite_script **ret_script, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    if (!conn->scripts[op->sql])
        st = script_prepare(conn, op->sql, err);
    if (st == PAWL_OK)
        st = pawli_sqlite_resolve(conn->scripts[op->sql], op, err);
    if (st == PAWL_OK)
        *ret_script = conn->scripts[op->sql];
    return st;
}

/* ---- reading the installed schema, and running schema scripts ---- */

static void finalize_auto(sqlite3_stmt **handle)
{
    sqlite3_finalize(*handle);
}

static pawl_status schema_not_ours(const char *names, pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOT_OURS,
                      "the table '%smeta' is not pawl's; choose another table prefix", names);
}

static bool number_at(sqlite3_stmt *handle, int column, int least, int *ret_number)
{
    sqlite3_int64 number = sqlite3_column_int64(handle, column);

    if (sqlite3_column_type(handle, column) != SQLITE_INTEGER || number < least || number > INT_MAX)
        return false;
    *ret_number = (int)number;
    return true;
}

/* The first row of the meta table, if it is pawl's. */
static pawl_status read_meta(pawli_sqlite *conn, sqlite3_stmt *handle, const char *names,
                             pawli_installed *ret_installed, pawl_error *err)
{
    pawli_installed found = {0};
    int code = sqlite3_step(handle);

    if (code == SQLITE_DONE)
        return schema_not_ours(names, err);
    if (code != SQLITE_ROW)
        return pawli_sqlite_fail(conn, code, "schema", err);
    const void *product = sqlite3_column_text(handle, 0);
    if (!product || strcmp(product, "pawl") != 0 || !number_at(handle, 1, 1, &found.version) ||
        !number_at(handle, 2, 1, &found.compatible_from) ||
        !number_at(handle, 3, 0, &found.code_release))
        return schema_not_ours(names, err);
    const void *digest = sqlite3_column_text(handle, 4);
    snprintf(found.code_digest, sizeof found.code_digest, "%s", digest ? (const char *)digest : "");
    *ret_installed = found;
    return PAWL_OK;
}

pawl_status pawli_sqlite_schema(pawli_conn *base, const char *names, pawl_mono deadline,
                                pawli_installed *ret_installed, pawl_error *err)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;
    __attribute__((cleanup(finalize_auto))) sqlite3_stmt *handle = NULL;
    char text[192];

    conn->deadline = deadline;
    sqlite3_snprintf(sizeof text, text,
                     "SELECT product, version, compatible_from, code_release, code_digest "
                     "FROM main.\"%wmeta\"",
                     names);
    int code = sqlite3_prepare_v2(conn->handle, text, -1, &handle, NULL);
    if (code == SQLITE_OK)
        return read_meta(conn, handle, names, ret_installed, err);
    if ((code & 0xff) == SQLITE_ERROR) {
        const char *message = sqlite3_errmsg(conn->handle);
        if (strncmp(message, "no such column", 14) == 0)
            return schema_not_ours(names, err);
        if (strncmp(message, "no such table", 13) == 0) {
            *ret_installed = (pawli_installed){0};
            return PAWL_OK;
        }
    }
    return pawli_sqlite_fail(conn, code, "schema", err);
}

/* BEGIN IMMEDIATE already has the file's only write lock. */
pawl_status pawli_sqlite_schema_lock(pawli_conn *base, const char *names, pawl_mono deadline,
                                     pawl_error *err)
{
    (void)base;
    (void)names;
    (void)deadline;
    (void)err;
    return PAWL_OK;
}

pawl_status pawli_sqlite_schema_script(pawli_conn *base, const char *sql, pawl_mono deadline,
                                       pawl_error *err)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;

    conn->deadline = deadline;
    while (*sql) {
        __attribute__((cleanup(finalize_auto))) sqlite3_stmt *handle = NULL;
        pawl_status st = pawli_sqlite_wait_check(conn, err);
        if (st != PAWL_OK)
            return st;
        int code = sqlite3_prepare_v2(conn->handle, sql, -1, &handle, &sql);
        if (code == SQLITE_OK && !handle)
            continue; /* a comment */
        while (code == SQLITE_OK || code == SQLITE_ROW)
            code = sqlite3_step(handle);
        if (code != SQLITE_DONE)
            return pawli_sqlite_fail(conn, code, "schema script", err);
    }
    return PAWL_OK;
}
