/* src/db/sqlite/schema_sqlite.c - which schema is installed, and running schema text. */
#include "conn_sqlite.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"

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

/* BEGIN IMMEDIATE has the file's only write lock already. */
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
