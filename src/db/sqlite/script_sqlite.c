/* src/db/sqlite/script_sqlite.c - a statement file: split at its statements, prepared, marked. */
#include "conn_sqlite.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "statements.h"

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

/* `line` is what follows the two dashes. */
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

/* The start of the next statement; what the comments before it say goes to `found`. */
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
    }
    free(script->statements);
    free(script->names);
    free(script->lists);
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
