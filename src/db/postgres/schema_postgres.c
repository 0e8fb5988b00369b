/* src/db/postgres/schema_postgres.c - reading, locking and migrating the installed schema. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn_postgres.h"
#include "fail.h"
#include "platform.h"

/* The lock times out this much earlier than the deadline, so that the error is the lock's. */
#define LOCK_MARGIN_MS 100

/* How many of meta's columns a table of that name has; -1 if there is no such table. */
#define MEASURE_META                                                                               \
    "SELECT coalesce((SELECT pg_catalog.count(a.attname) FILTER (WHERE a.attname IN "              \
    "('product', 'version', 'compatible_from')) FROM pg_catalog.pg_class c "                       \
    "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "                                    \
    "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "                       \
    "WHERE n.nspname = '%s' AND c.relname = 'meta' HAVING count(*) > 0), -1)"
/* Through a function, because pawl's roles have no privilege on the table. */
#define READ_META                                                                                  \
    "SELECT v.product, v.version, v.compatible_from, v.code_release, v.code_digest "               \
    "FROM \"%s\".schema_version() v"

static pawl_status schema_not_ours(const char *names, pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOT_OURS,
                      "the table %s.meta exists but is not pawl's: choose another schema name",
                      names);
}

static pawl_status schema_query(pawli_postgres *conn, const char *format, const char *names,
                                pawl_mono deadline, PGresult **ret_result, pawl_error *err)
{
    PAWLI_AUTO_BUFFER sql = {0};
    const char *gap = strstr(format, "%s");

    pawli_buffer_append(&sql, format, (size_t)(gap - format));
    pawli_buffer_text(&sql, names);
    pawli_buffer_text(&sql, gap + 2);
    if (sql.failed)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory while reading the schema");
    return pawli_postgres_command(conn, sql.data, PAWLI_POSTGRES_NOTHING, deadline, "schema",
                                  ret_result, err);
}

/* Names are checked when the store is opened: a-z, 0-9 and _ need no quoting. */
pawl_status pawli_postgres_schema(pawli_conn *base, const char *names, pawl_mono deadline,
                                  pawli_installed *ret_installed, pawl_error *err)
{
    pawli_postgres *conn = (pawli_postgres *)base;
    PAWLI_AUTO(PGresult) columns = NULL;
    PAWLI_AUTO(PGresult) meta = NULL;
    pawl_status st = schema_query(conn, MEASURE_META, names, deadline, &columns, err);

    if (st != PAWL_OK)
        return st;
    long count = strtol(PQgetvalue(columns, 0, 0), NULL, 10);
    if (count < 0) {
        *ret_installed = (pawli_installed){0};
        return PAWL_OK;
    }
    if (count < 3)
        return schema_not_ours(names, err);
    st = schema_query(conn, READ_META, names, deadline, &meta, err);
    if (st == PAWL_E_NO_SCHEMA) /* the function does not exist */
        return schema_not_ours(names, err);
    if (st != PAWL_OK)
        return st;
    if (PQntuples(meta) != 1 || strcmp(PQgetvalue(meta, 0, 0), "pawl") != 0)
        return schema_not_ours(names, err);
    ret_installed->version = (int)strtol(PQgetvalue(meta, 0, 1), NULL, 10);
    ret_installed->compatible_from = (int)strtol(PQgetvalue(meta, 0, 2), NULL, 10);
    ret_installed->code_release = (int)strtol(PQgetvalue(meta, 0, 3), NULL, 10);
    snprintf(ret_installed->code_digest, sizeof ret_installed->code_digest, "%s",
             PQgetvalue(meta, 0, 4));
    return PAWL_OK;
}

/* FNV-1a: a number that is the same in every process and usually differs for other names. */
static int64_t lock_key(const char *names)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const char *at = "pawl schema "; *at; at++)
        hash = (hash ^ (uint8_t)*at) * UINT64_C(1099511628211);
    for (const char *at = names; *at; at++)
        hash = (hash ^ (uint8_t)*at) * UINT64_C(1099511628211);
    return (int64_t)hash;
}

/*
 * The locks of the migration itself: it must not queue behind a long transaction, because all other
 * sessions would then queue behind it. And it gives up before the server looks for deadlocks, so
 * that it is never another session that is chosen. pawli_db_deploy() tries again.
 */
#define GIVE_WAY                                                                                   \
    "SELECT pg_catalog.set_config('lock_timeout', (SELECT least(500, s.setting::int / 2) || 'ms' " \
    "FROM pg_catalog.pg_settings s WHERE s.name = 'deadlock_timeout'), true)"

pawl_status pawli_postgres_schema_lock(pawli_conn *base, const char *names, pawl_mono deadline,
                                       pawl_error *err)
{
    pawli_postgres *conn = (pawli_postgres *)base;
    int left_ms = pawli_mono_left_ms(deadline);
    char sql[400];
    pawl_status st;

    snprintf(sql, sizeof sql,
             "SET LOCAL lock_timeout = %d; SELECT pg_advisory_xact_lock(%" PRId64 "); " GIVE_WAY,
             left_ms > 2 * LOCK_MARGIN_MS ? left_ms - LOCK_MARGIN_MS : left_ms / 2 + 1,
             lock_key(names));
    st = pawli_postgres_command(conn, sql, PAWLI_POSTGRES_NOTHING, deadline, "schema lock", NULL,
                                err);
    if (st == PAWL_E_BUSY || st == PAWL_E_TIMEOUT)
        return pawli_fail(err, PAWL_E_BUSY,
                          "another process was changing the schema until the deadline: try "
                          "again");
    return st;
}

pawl_status pawli_postgres_schema_script(pawli_conn *base, const char *sql, pawl_mono deadline,
                                         pawl_error *err)
{
    return pawli_postgres_command((pawli_postgres *)base, sql, PAWLI_POSTGRES_NOTHING, deadline,
                                  "schema script", NULL, err);
}

pawl_status pawli_postgres_schema_ask(pawli_conn *base, const char *sql, pawl_mono deadline,
                                      char **ret_value, pawl_error *err)
{
    PAWLI_AUTO(PGresult) result = NULL;
    char *value = NULL;
    pawl_status st = pawli_postgres_command((pawli_postgres *)base, sql, PAWLI_POSTGRES_NOTHING,
                                            deadline, "question", &result, err);

    if (st != PAWL_OK)
        return st;
    if (PQntuples(result) > 0 && !PQgetisnull(result, 0, 0)) {
        value = strdup(PQgetvalue(result, 0, 0));
        if (!value)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a result");
    }
    *ret_value = value;
    return PAWL_OK;
}
