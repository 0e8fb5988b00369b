/*
 * src/db/postgres/waiter_postgres.c - the commit listener: receives NOTIFY from senders.
 *
 * The connection is only used for LISTEN. Behind a transaction pooler, another server connection
 * may be listening instead. Since this connection runs no other statement, it cannot receive
 * notifications by accident, so the worker's notification to itself, which is sent through the
 * pool, proves that notifications arrive.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn_postgres.h"
#include "fail.h"

#define TOKEN_SIZE 37
/* A schema name has at most 40 characters. */
#define COMMAND_SIZE 80

typedef struct postgres_listener {
    pawli_commit_listener base; /* its fd is the connection's socket */
    pawli_postgres *conn;
    char token[TOKEN_SIZE];
} postgres_listener;

void pawli_postgres_listener_close(pawli_commit_listener *base)
{
    postgres_listener *listener = (postgres_listener *)base;

    if (!listener)
        return;
    pawli_postgres_free(listener->conn);
    free(listener);
}

pawl_status pawli_postgres_listener_open(const pawli_db_settings *settings, const char *token,
                                         pawl_mono deadline, pawli_commit_listener **ret_listener,
                                         pawl_error *err)
{
    postgres_listener *listener = calloc(1, sizeof *listener);
    pawli_conn *conn = NULL;
    char command[COMMAND_SIZE];

    if (!listener)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a waiting worker");
    snprintf(listener->token, sizeof listener->token, "%s", token);
    snprintf(command, sizeof command, "LISTEN \"%s.wake\"", settings->names);
    pawl_status st = pawli_postgres_open(settings, PAWLI_READS, deadline, &conn, err);
    listener->conn = (pawli_postgres *)conn;
    if (st == PAWL_OK)
        st = pawli_postgres_command(listener->conn, command, PAWLI_POSTGRES_NOTHING, deadline,
                                    "listen", NULL, err);
    if (st != PAWL_OK) {
        pawli_postgres_listener_close(&listener->base);
        return st;
    }
    listener->base.fd = PQsocket(listener->conn->pg);
    *ret_listener = &listener->base;
    return PAWL_OK;
}

/* An empty payload means that a message is ready. Otherwise it is a worker's notification to
 * itself. */
static void listener_read_payload(const postgres_listener *listener, const char *text,
                                  pawli_commit_events *events)
{
    if (*text == '\0')
        events->commit = true;
    else if (strcmp(text, listener->token) == 0)
        events->echo = true;
}

pawl_status pawli_postgres_listener_read(pawli_commit_listener *base,
                                         pawli_commit_events *ret_events, pawl_error *err)
{
    postgres_listener *listener = (postgres_listener *)base;
    pawli_commit_events events = {0};
    PGnotify *note;

    if (!PQconsumeInput(listener->conn->pg) || PQstatus(listener->conn->pg) != CONNECTION_OK)
        return pawli_fail(err, PAWL_E_UNAVAILABLE, "the listening connection was lost");
    while ((note = PQnotifies(listener->conn->pg))) {
        listener_read_payload(listener, note->extra, &events);
        PQfreemem(note);
    }
    *ret_events = events;
    return PAWL_OK;
}
