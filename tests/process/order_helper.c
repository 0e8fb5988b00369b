/*
 * tests/process/order_helper.c - an application that takes an order: its own row and the message to
 * another service are one transaction of its own.
 *
 * order_helper URL SCHEMA PREFIX TABLE NUMBER DESTINATION: says "written" when both are written and
 * nothing is committed, then waits for a byte at the standard input; says "committed" when it is,
 * and waits again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif
#if PAWL_TEST_POSTGRES
#include <libpq-fe.h>
#endif

#include "application_sql.h"
#include "helper.h"

#define SQLITE_URL "sqlite:"

/* The application's own connection; one of the two is NULL. */
typedef struct application {
    struct sqlite3 *sqlite;
    struct pg_conn *postgres;
} application;

static bool run_sql(const application *b, const char *sql)
{
#if PAWL_TEST_SQLITE
    if (b->sqlite)
        return sqlite3_exec(b->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK;
#endif
#if PAWL_TEST_POSTGRES
    if (b->postgres) {
        PGresult *result = PQexec(b->postgres, sql);
        bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
        return done;
    }
#endif
    (void)sql;
    return false;
}

static bool open_application(const char *url, application *b)
{
#if PAWL_TEST_SQLITE
    if (strncmp(url, SQLITE_URL, strlen(SQLITE_URL)) == 0)
        return sqlite3_open(url + strlen(SQLITE_URL), &b->sqlite) == SQLITE_OK &&
               run_sql(b, "BEGIN IMMEDIATE");
#endif
#if PAWL_TEST_POSTGRES
    b->postgres = PQconnectdb(url);
#endif
    return run_sql(b, "BEGIN");
}

static pawl_status wrap_transaction(pawl_store *store, const application *b, pawl_tx **ret_tx,
                                    pawl_error *err)
{
    if (b->sqlite)
        return pawl_tx_foreign_sqlite(store, b->sqlite, ret_tx, err);
    return pawl_tx_foreign_postgres(store, b->postgres, ret_tx, err);
}

static void say_and_wait(const char *what)
{
    char byte;

    helper_say("%s", what);
    if (read(STDIN_FILENO, &byte, 1) != 1)
        _exit(1);
}

static pawl_status write_order(pawl_store *store, const application *b, char **arguments,
                               pawl_error *err)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_tx *tx = NULL;
    pawl_status st = wrap_transaction(store, b, &tx, err);

    message.topic = "order";
    message.payload = arguments[5];
    message.payload_size = strlen(arguments[5]);
    message.destination = arguments[6];
    message.max_attempts = 1000;
    if (st == PAWL_OK && !application_insert(tx, arguments[4], strtol(arguments[5], NULL, 10)))
        st = PAWL_E_UNAVAILABLE;
    if (st == PAWL_OK)
        st = pawl_tx_enqueue(tx, &message, NULL, err);
    pawl_tx_free(tx);
    return st;
}

int main(int argc, char **argv)
{
    pawl_error err = PAWL_ERROR_INIT;
    application b = {NULL, NULL};
    pawl_store *store;

    if (argc != 7) {
        fprintf(stderr, "usage: order_helper URL SCHEMA PREFIX TABLE NUMBER DESTINATION\n");
        return 64;
    }
    store = helper_open(argv);
    if (!store || !open_application(argv[1], &b))
        return 1;
    if (write_order(store, &b, argv, &err) != PAWL_OK)
        return helper_complain("order", &err);
    say_and_wait("written");
    if (!run_sql(&b, "COMMIT"))
        return 1;
    say_and_wait("committed");
    return 0; /* the process ends with everything it has open */
}
