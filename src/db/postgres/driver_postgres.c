/* src/db/postgres/driver_postgres.c - the driver's table and its connections. */
#include "conn_postgres.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bounds.h"
#include "fail.h"
#include "platform.h"
#include "scanner_postgres.h"
#include "waiter_private.h"

/* ---- the driver's table ---- */

static const pawli_driver driver = {
    .name = "postgres",
    .single_writer = false,
    /* A value is at most 1 GiB, in memory and on the wire; leave room for the rest of the row. */
    .max_payload_bytes = PAWLI_PAYLOAD_MAX,
    .open = pawli_postgres_open,
    .close = pawli_postgres_close,
    .alive = pawli_postgres_alive,
    .run = pawli_postgres_run,
    .scanner_new = pawli_postgres_scanner_new,
    .scanner_free = pawli_postgres_scanner_free,
    .scan = pawli_postgres_scan,
    .begin = pawli_postgres_begin,
    .commit = pawli_postgres_commit,
    .rollback = pawli_postgres_rollback,
    .expose = pawli_postgres_expose,
    .unexpose = pawli_postgres_unexpose,
    .native = pawli_postgres_native,
    .script = pawli_postgres_schema_script,
    .ask = pawli_postgres_schema_ask,
    .schema = pawli_postgres_schema,
    .schema_lock = pawli_postgres_schema_lock,
    .open_foreign = pawli_postgres_open_foreign,
    .tx_open = pawli_postgres_tx_open,
    .interrupt = pawli_postgres_interrupt,
    .wait_method = &pawli_postgres_wait_method,
    .listener_open = pawli_postgres_listener_open,
    .listener_close = pawli_postgres_listener_close,
    .listener_read = pawli_postgres_listener_read,
};

const pawli_driver *const pawli_driver_postgres = &driver;

/* ---- opening, checking and closing a connection ---- */

/* Discards notices, which are meant for a terminal. */
static void ignore_notice(void *context, const PGresult *notice)
{
    (void)context;
    (void)notice;
}

static pawli_postgres *postgres_conn_new(const pawli_db_settings *settings)
{
    pawli_postgres *conn = calloc(1, sizeof *conn);

    if (!conn)
        return NULL;
    conn->base.driver = pawli_driver_postgres;
    conn->base.stop_fd = -1;
    conn->settings = settings;
    return conn;
}

/* The connection string can override parameters before dbname, but not those after it. */
static PGconn *postgres_start(const char *target)
{
    static const char *const names[] = {"fallback_application_name", "tcp_user_timeout", "dbname",
                                        "client_encoding", NULL};
    /* tcp_user_timeout detects a lost network, and also ends PQcancel(). */
    const char *const values[] = {"pawl", "10000", target, "UTF8", NULL};

    return PQconnectStartParams(names, values, 1);
}

static pawl_status connect_until(pawli_postgres *conn, pawl_mono deadline, pawl_error *err)
{
    PostgresPollingStatusType want = PGRES_POLLING_WRITING;

    while (PQstatus(conn->pg) != CONNECTION_BAD && want != PGRES_POLLING_OK) {
        short events = want == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        if (pawli_postgres_wait_for(conn, events, deadline) == PAWLI_POSTGRES_LATE)
            return pawli_fail(err, PAWL_E_UNAVAILABLE,
                              "the database server did not accept a connection before the "
                              "deadline");
        want = PQconnectPoll(conn->pg);
        if (want == PGRES_POLLING_FAILED)
            break;
    }
    return want == PGRES_POLLING_OK ? PAWL_OK : pawli_postgres_connect_failed(conn->pg, err);
}

static bool valid_target(const char *target)
{
    PQconninfoOption *options = PQconninfoParse(target, NULL);

    PQconninfoFree(options);
    return options != NULL;
}

pawl_status pawli_postgres_open(const pawli_db_settings *settings, pawli_use use,
                                pawl_mono deadline, pawli_conn **ret_conn, pawl_error *err)
{
    PAWLI_AUTO(pawli_postgres) conn = NULL;

    if (!valid_target(settings->target))
        return pawli_fail(err, PAWL_E_INVALID,
                          "libpq cannot parse the connection string (it is not repeated here, "
                          "because it may contain a password)");
    conn = postgres_conn_new(settings);
    if (!conn)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a connection");
    conn->base.read_only = use == PAWLI_READS;
    conn->prepares = settings->prepare == PAWL_PREPARE_ON    ? PAWLI_POSTGRES_PREPARES
                     : settings->prepare == PAWL_PREPARE_OFF ? PAWLI_POSTGRES_PLAIN
                                                             : PAWLI_POSTGRES_UNDECIDED;
    conn->base.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    conn->pg = postgres_start(settings->target);
    if (!conn->pg || conn->base.stop_fd < 0)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory or descriptors for a connection");
    PQsetNoticeReceiver(conn->pg, ignore_notice, NULL);
    PQsetErrorVerbosity(conn->pg, PQERRORS_VERBOSE); /* see pawli_postgres_connect_failed() */
    pawl_status st = connect_until(conn, deadline, err);
    if (st != PAWL_OK)
        return st;
    PQsetErrorVerbosity(conn->pg, PQERRORS_DEFAULT);
    if (PQsetnonblocking(conn->pg, 1) != 0)
        return pawli_fail(err, PAWL_E_UNAVAILABLE, "the new connection was lost at once");
    *ret_conn = &pawli_postgres_take(&conn)->base;
    return PAWL_OK;
}

pawl_status pawli_postgres_open_foreign(const pawli_db_settings *settings, void *native,
                                        pawli_conn **ret_conn, pawl_error *err)
{
    pawli_postgres *conn;

    switch (PQtransactionStatus(native)) {
    case PQTRANS_INTRANS:
        break;
    case PQTRANS_INERROR:
        return pawli_fail(err, PAWL_E_TX_RESTART,
                          "a statement of the transaction has failed: roll back first");
    case PQTRANS_ACTIVE:
        return pawli_fail(err, PAWL_E_MISUSE,
                          "a statement is still running on the connection: read its result first");
    default:
        return pawli_fail(err, PAWL_E_MISUSE,
                          "no transaction is open on the connection: send BEGIN first");
    }
    conn = postgres_conn_new(settings);
    if (!conn)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    conn->base.foreign = true;
    conn->pg = native;
    *ret_conn = &conn->base;
    return PAWL_OK;
}

bool pawli_postgres_tx_open(pawli_conn *base)
{
    return PQtransactionStatus(((pawli_postgres *)base)->pg) == PQTRANS_INTRANS;
}

void *pawli_postgres_native(pawli_conn *base)
{
    return ((pawli_postgres *)base)->pg;
}

/* An idle connection is only readable if the server has closed it. */
bool pawli_postgres_alive(pawli_conn *base)
{
    pawli_postgres *conn = (pawli_postgres *)base;
    struct pollfd socket = {.fd = PQsocket(conn->pg), .events = POLLIN};
    eventfd_t count;

    (void)eventfd_read(base->stop_fd, &count); /* an interrupt that came too late for its call */
    for (int tries = 0; tries < 10 && poll(&socket, 1, 0) > 0; tries++)
        if (!PQconsumeInput(conn->pg))
            return false;
    return !base->broken && PQstatus(conn->pg) == CONNECTION_OK &&
           PQtransactionStatus(conn->pg) == PQTRANS_IDLE;
}

void pawli_postgres_close(pawli_conn *base)
{
    pawli_postgres *conn = (pawli_postgres *)base;

    if (!conn)
        return;
    if (!base->foreign)
        PQfinish(conn->pg);
    if (base->stop_fd >= 0)
        close(base->stop_fd);
    for (int i = 0; i < PAWLI_SQL_COUNT; i++) {
        free(conn->statements[i].text);
        pawli_column_map_done(&conn->statements[i].map);
    }
    for (size_t i = 0; i < PAWLI_CHAIN_MAX; i++)
        pawli_buffer_done(&conn->values[i]);
    free(conn);
}
