/* tests/harness/handle_sqlite.c - the application's own SQLite connection. */
#include "handle.h"

#if PAWL_TEST_SQLITE

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_MS 10000

static sqlite3 *sqlite_of(handle *h)
{
    return (sqlite3 *)(void *)h;
}

static handle *sqlite_open(const char *target, char ret_message[512])
{
    sqlite3 *db = NULL;

    if (sqlite3_open_v2(target, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
        SQLITE_OK) {
        snprintf(ret_message, 512, "%s", sqlite3_errmsg(db));
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_busy_timeout(db, BUSY_MS);
    return (handle *)(void *)db;
}

static void sqlite_close(handle *h)
{
    sqlite3_close(sqlite_of(h));
}

/* Keep the first row only. */
static int keep_value(void *context, int columns, char **values, char **names)
{
    char **slot = context;

    (void)names;
    if (!*slot && columns > 0 && values[0])
        *slot = strdup(values[0]);
    return 0;
}

static bool sqlite_run(handle *h, const char *sql, char **ret_value, char ret_message[512])
{
    char *value = NULL;

    if (sqlite3_exec(sqlite_of(h), sql, keep_value, &value, NULL) != SQLITE_OK) {
        snprintf(ret_message, 512, "%s", sqlite3_errmsg(sqlite_of(h)));
        free(value);
        return false;
    }
    if (ret_value)
        *ret_value = value;
    else
        free(value);
    return true;
}

static pawl_status sqlite_wrap(handle *h, pawl_store *store, pawl_tx **ret_tx, pawl_error *err)
{
    return pawl_tx_foreign_sqlite(store, sqlite_of(h), ret_tx, err);
}

static void *sqlite_native(handle *h)
{
    return h;
}

static const handle_engine engine = {"sqlite",   "BEGIN IMMEDIATE", sqlite_open,  sqlite_close,
                                     sqlite_run, sqlite_wrap,       sqlite_native};
const handle_engine *const handle_engine_sqlite = &engine;

#else

const handle_engine *const handle_engine_sqlite = NULL;

#endif
