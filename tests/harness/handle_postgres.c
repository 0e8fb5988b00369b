/* tests/harness/handle_postgres.c - the application's own PostgreSQL connection. */
#include "handle.h"

#if PAWL_TEST_POSTGRES

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No test waits without limit: a lock that is not granted is a failure with a message. */
static const char session_settings[] = "SET client_min_messages = warning;"
                                       "SET lock_timeout = '20s';"
                                       "SET timezone = 'UTC'";

static PGconn *connection_of(handle *h)
{
    return (PGconn *)(void *)h;
}

static bool postgres_run(handle *h, const char *sql, char **ret_value, char ret_message[512])
{
    PGresult *result = PQexec(connection_of(h), sql);
    ExecStatusType status = PQresultStatus(result);
    bool good = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;

    if (!good)
        snprintf(ret_message, 512, "%s", PQerrorMessage(connection_of(h)));
    else if (ret_value)
        *ret_value = status == PGRES_TUPLES_OK && PQntuples(result) > 0 && PQnfields(result) > 0 &&
                             !PQgetisnull(result, 0, 0)
                         ? strdup(PQgetvalue(result, 0, 0))
                         : NULL;
    PQclear(result);
    return good;
}

static handle *postgres_open(const char *target, char ret_message[512])
{
    PGconn *connection = PQconnectdb(target);
    handle *h = (handle *)(void *)connection;

    if (PQstatus(connection) != CONNECTION_OK) {
        snprintf(ret_message, 512, "%s", PQerrorMessage(connection));
        PQfinish(connection);
        return NULL;
    }
    if (!postgres_run(h, session_settings, NULL, ret_message)) {
        PQfinish(connection);
        return NULL;
    }
    return h;
}

static void postgres_close(handle *h)
{
    PQfinish(connection_of(h));
}

static pawl_status postgres_wrap(handle *h, pawl_store *store, pawl_tx **ret_tx, pawl_error *err)
{
    return pawl_tx_foreign_postgres(store, connection_of(h), ret_tx, err);
}

static void *postgres_native(handle *h)
{
    return h;
}

static const handle_engine engine = {"postgres",   "BEGIN",       postgres_open,  postgres_close,
                                     postgres_run, postgres_wrap, postgres_native};
const handle_engine *const handle_engine_postgres = &engine;

#else

const handle_engine *const handle_engine_postgres = NULL;

#endif
