/*
 * src/db/postgres/waiter_postgres.c - listening to those who notify sleepers.
 *
 * The connection does nothing but listen. Behind a pooler that hands out connections by transaction
 * another one may be listening in our place; since ours never asks anything else, nothing can come
 * to it by accident, and the notification we send ourselves over the pool tells the truth.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn_postgres.h"
#include "fail.h"

#define TOKEN_SIZE 37
/* A schema's name has at most 40 characters. */
#define COMMAND_SIZE 80

typedef struct postgres_ear {
    pawli_ear base; /* its fd is the connection's socket */
    pawli_postgres *conn;
    char token[TOKEN_SIZE];
} postgres_ear;

void pawli_postgres_ear_close(pawli_ear *base)
{
    postgres_ear *ear = (postgres_ear *)base;

    if (!ear)
        return;
    pawli_postgres_free(ear->conn);
    free(ear);
}

pawl_status pawli_postgres_ear_open(const pawli_db_settings *settings, const char *token,
                                    pawl_mono deadline, pawli_ear **ret_ear, pawl_error *err)
{
    postgres_ear *ear = calloc(1, sizeof *ear);
    pawli_conn *conn = NULL;
    char command[COMMAND_SIZE];

    if (!ear)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a waiting worker");
    snprintf(ear->token, sizeof ear->token, "%s", token);
    snprintf(command, sizeof command, "LISTEN \"%s.wake\"", settings->names);
    pawl_status st = pawli_postgres_open(settings, PAWLI_READS, deadline, &conn, err);
    ear->conn = (pawli_postgres *)conn;
    if (st == PAWL_OK)
        st = pawli_postgres_command(ear->conn, command, PAWLI_POSTGRES_NOTHING, deadline, "listen",
                                    NULL, err);
    if (st != PAWL_OK) {
        pawli_postgres_ear_close(&ear->base);
        return st;
    }
    ear->base.fd = PQsocket(ear->conn->pg);
    *ret_ear = &ear->base;
    return PAWL_OK;
}

/* Empty: something is ready. Else: somebody's notification to itself. */
static void take_in(const postgres_ear *ear, const char *text, pawli_heard *heard)
{
    if (*text == '\0')
        heard->commit = true;
    else if (strcmp(text, ear->token) == 0)
        heard->echo = true;
}

pawl_status pawli_postgres_ear_hear(pawli_ear *base, pawli_heard *ret_heard, pawl_error *err)
{
    postgres_ear *ear = (postgres_ear *)base;
    pawli_heard heard = {0};
    PGnotify *note;

    if (!PQconsumeInput(ear->conn->pg) || PQstatus(ear->conn->pg) != CONNECTION_OK)
        return pawli_fail(err, PAWL_E_UNAVAILABLE, "the connection that listens was lost");
    while ((note = PQnotifies(ear->conn->pg))) {
        take_in(ear, note->extra, &heard);
        PQfreemem(note);
    }
    *ret_heard = heard;
    return PAWL_OK;
}
