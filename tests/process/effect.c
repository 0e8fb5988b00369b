/* tests/process/effect.c - the rows of an application's own that a handler writes. */
#include "effect.h"

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

static bool write_sqlite(struct sqlite3 *db, const char *sql)
{
#if PAWL_TEST_SQLITE
    return db && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
#else
    (void)db;
    (void)sql;
    return false;
#endif
}

static bool write_postgres(struct pg_conn *connection, const char *sql)
{
#if PAWL_TEST_POSTGRES
    PGresult *result = PQexec(connection, sql);
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK;

    PQclear(result);
    return done;
#else
    (void)connection;
    (void)sql;
    return false;
#endif
}

static void insert(char ret_sql[SQL_SIZE], const char *table, long value)
{
    snprintf(ret_sql, SQL_SIZE, "INSERT INTO %.128s (value) VALUES (%ld)", table, value);
}

bool effect_write(pawl_tx *tx, const char *table, long value)
{
    char sql[SQL_SIZE];

    insert(sql, table, value);
    if (pawl_tx_sqlite(tx))
        return write_sqlite(pawl_tx_sqlite(tx), sql);
    return write_postgres(pawl_tx_postgres(tx), sql);
}

bool effect_write_outside(const char *url, const char *table, long value)
{
    char sql[SQL_SIZE];
    bool done = false;

    insert(sql, table, value);
#if PAWL_TEST_SQLITE
    if (strncmp(url, SQLITE_URL, strlen(SQLITE_URL)) == 0) {
        sqlite3 *db = NULL;

        if (sqlite3_open(url + strlen(SQLITE_URL), &db) == SQLITE_OK) {
            sqlite3_busy_timeout(db, BUSY_MS);
            done = write_sqlite(db, sql);
        }
        sqlite3_close(db);
        return done;
    }
#endif
#if PAWL_TEST_POSTGRES
    PGconn *connection = PQconnectdb(url);

    done = write_postgres(connection, sql);
    PQfinish(connection);
#endif
    return done;
}
