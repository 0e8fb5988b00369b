/* tests/harness/application_sql.c - an application's own rows, beside pawl's. */
#include "application_sql.h"

#include <stdio.h>
#include <string.h>

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif
#if PAWL_TEST_POSTGRES
#include <libpq-fe.h>
#endif

#define SQL_SIZE 256
#define BUSY_MS 10000
#define SQLITE_URL "sqlite:"

bool application_sql(pawl_tx *tx, const char *sql)
{
    bool done = false;

#if PAWL_TEST_SQLITE
    if (pawl_tx_sqlite(tx))
        done = sqlite3_exec(pawl_tx_sqlite(tx), sql, NULL, NULL, NULL) == SQLITE_OK;
#endif
#if PAWL_TEST_POSTGRES
    if (pawl_tx_postgres(tx)) {
        PGresult *result = PQexec(pawl_tx_postgres(tx), sql);
        done = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
    }
#endif
    return done;
}

static void format_insert(char ret_sql[SQL_SIZE], const char *table, long value)
{
    snprintf(ret_sql, SQL_SIZE, "INSERT INTO %.128s (value) VALUES (%ld)", table, value);
}

bool application_insert(pawl_tx *tx, const char *table, long value)
{
    char sql[SQL_SIZE];

    format_insert(sql, table, value);
    return application_sql(tx, sql);
}

bool application_insert_outside(const char *url, const char *table, long value)
{
    char sql[SQL_SIZE];
    bool done = false;

    format_insert(sql, table, value);
#if PAWL_TEST_SQLITE
    if (strncmp(url, SQLITE_URL, strlen(SQLITE_URL)) == 0) {
        sqlite3 *db = NULL;

        if (sqlite3_open(url + strlen(SQLITE_URL), &db) == SQLITE_OK) {
            sqlite3_busy_timeout(db, BUSY_MS);
            done = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
        }
        sqlite3_close(db);
        return done;
    }
#endif
#if PAWL_TEST_POSTGRES
    PGconn *connection = PQconnectdb(url);
    PGresult *result = PQexec(connection, sql);

    done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    PQfinish(connection);
#endif
    return done;
}
