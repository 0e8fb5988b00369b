/* src/db/postgres/error_postgres.c - maps SQLSTATEs to statuses and hints. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "conn_postgres.h"
#include "fail.h"

/* The first row whose state is a prefix of the error's SQLSTATE. */
static const struct {
    const char *prefix;
    pawl_status status;
    const char *advice;
} classes[] = {
    {"40001", PAWL_E_SERIALIZATION, "try again"},
    {"40P01", PAWL_E_SERIALIZATION, "try again"},
    {"55P03", PAWL_E_BUSY, "another session holds a lock; try again"},
    {"57014", PAWL_E_TIMEOUT, "the server's statement_timeout or an administrator ended it"},
    {"08", PAWL_E_UNAVAILABLE, "try again"},
    {"57P01", PAWL_E_UNAVAILABLE, "try again"},
    {"57P02", PAWL_E_UNAVAILABLE, "try again"},
    {"57P03", PAWL_E_UNAVAILABLE, "the server is starting or stopping; try again"},
    {"57P05", PAWL_E_UNAVAILABLE, "try again"},
    {"53300", PAWL_E_UNAVAILABLE, "lower pool_size or raise the server's max_connections"},
    {"53100", PAWL_E_FULL, "free space on the server"},
    {"53200", PAWL_E_NOMEM, "the server is out of memory"},
    {"25006", PAWL_E_READ_ONLY, "connect to the primary server"},
    {"25P02", PAWL_E_TX_RESTART, "roll back first"},
    {"42501", PAWL_E_DENIED, "grant the user pawl_send, pawl_work or pawl_admin"},
    {"28", PAWL_E_DENIED, "check the user and its password"},
    {"3D000", PAWL_E_NOT_FOUND, "create the database first"},
    {"42P01", PAWL_E_NO_SCHEMA, "run `pawl init` once"},
    {"3F000", PAWL_E_NO_SCHEMA, "run `pawl init` once"},
    {"42883", PAWL_E_NO_SCHEMA, "run `pawl init` once"},
    {"XX001", PAWL_E_CORRUPT, "restore the database"},
    {"XX002", PAWL_E_CORRUPT, "rebuild the index"},
    {"22", PAWL_E_INVALID, "check the values"},
    {"54", PAWL_E_TOO_LARGE, "send less at once"},
    {"58030", PAWL_E_IO, "check the server's log"},
};

static size_t postgres_error_classify(const char *state)
{
    for (size_t i = 0; i < PAWLI_COUNT(classes); i++)
        if (strncmp(state, classes[i].prefix, strlen(classes[i].prefix)) == 0)
            return i;
    return PAWLI_COUNT(classes);
}

static pawl_status postgres_error_lost(pawli_postgres_outcome stake, const char *state,
                                       const char *what, const char *why, pawl_error *err)
{
    if (stake == PAWLI_POSTGRES_A_COMMIT)
        return pawli_fail_state(err, PAWL_E_IN_DOUBT, state,
                                "%s: the connection was lost before the response arrived (%s); it "
                                "may or may not have been committed",
                                what, why);
    return pawli_fail_state(err, PAWL_E_UNAVAILABLE, state,
                            "%s: the connection to the database was lost (%s); nothing was "
                            "changed, try again",
                            what, why);
}

static bool is_fatal(const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

    return severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
}

pawl_status pawli_postgres_unsent(pawli_postgres *conn, const char *what, pawl_error *err)
{
    conn->base.broken = true; /* no memory, or the connection was already gone */
    return postgres_error_lost(PAWLI_POSTGRES_NOTHING, NULL, what,
                               "the statement could not be sent", err);
}

pawl_status pawli_postgres_fail(pawli_postgres *conn, const PGresult *result,
                                pawli_postgres_outcome stake, const char *what, pawl_error *err)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *message = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;

    if (!state || is_fatal(result)) {
        conn->base.broken = true;
        return postgres_error_lost(stake, state, what, message ? message : "the server closed it",
                                   err);
    }
    if (PQstatus(conn->pg) != CONNECTION_OK)
        conn->base.broken = true;
    if (strcmp(state, "57014") == 0 && conn->stopped != PAWL_OK)
        return pawli_fail_state(err, conn->stopped, state, "%s: %s; nothing was changed", what,
                                conn->stopped == PAWL_E_TIMEOUT ? "the deadline passed"
                                                                : "interrupted");
    size_t i = postgres_error_classify(state);
    if (i == PAWLI_COUNT(classes))
        return pawli_fail_state(err, PAWL_E_STORE, state, "%s: %s", what, message);
    return pawli_fail_state(err, classes[i].status, state, "%s: %s (%s)", what, message,
                            classes[i].advice);
}

pawl_status pawli_postgres_silent(pawli_postgres *conn, pawli_postgres_outcome stake,
                                  const char *what, pawl_error *err)
{
    conn->base.broken = true;
    if (stake == PAWLI_POSTGRES_A_COMMIT)
        return pawli_fail(err, PAWL_E_IN_DOUBT,
                          "%s: the database did not respond, not even to the cancel request; it "
                          "may or may not have been committed",
                          what);
    return pawli_fail(err, conn->stopped == PAWL_E_INTERRUPTED ? conn->stopped : PAWL_E_TIMEOUT,
                      "%s: the database did not respond, not even to the cancel request", what);
}

/* "FATAL:  28P01: password ..." -> state and message; false if the text is not the server's. */
static bool parse_server_error(const char *text, char ret_state[6], const char **ret_message)
{
    for (const char *at = strstr(text, ":  "); at; at = strstr(at + 1, ":  ")) {
        size_t length = 0;
        while (length < 5 && isalnum((unsigned char)at[3 + length]))
            length++;
        if (length == 5 && strncmp(at + 8, ": ", 2) == 0) {
            memcpy(ret_state, at + 3, 5);
            ret_state[5] = '\0';
            *ret_message = at + 10;
            return true;
        }
    }
    return false;
}

/*
 * libpq's own text may repeat parts of the connection string, which may contain a misplaced
 * password. Only the reason is kept: the text after "... port 5432 failed: ", or else the end of
 * the line after the last colon, unless that is a quoted part.
 */
static const char *connect_reason(const char *text, int *ret_length)
{
    int line = (int)strcspn(text, "\n");
    const char *failed = strstr(text, " failed: ");
    const char *reason = failed && failed < text + line ? failed + strlen(" failed: ") : NULL;

    for (int i = 0; !failed && i + 1 < line; i++)
        if (text[i] == ':' && text[i + 1] == ' ')
            reason = text + i + 2;
    if (!reason || *reason == '"')
        return NULL;
    *ret_length = line - (int)(reason - text);
    return reason;
}

/* Verbose errors are requested while connecting, because there is no other way to get the
 * SQLSTATE. */
pawl_status pawli_postgres_connect_failed(PGconn *pg, pawl_error *err)
{
    const char *text = PQerrorMessage(pg);
    const char *message;
    char state[6] = "";
    int length;

    if (parse_server_error(text, state, &message)) {
        length = (int)strcspn(message, "\n");
        size_t i = postgres_error_classify(state);
        if (i == PAWLI_COUNT(classes))
            return pawli_fail_state(err, PAWL_E_UNAVAILABLE, state, "cannot connect: %.*s", length,
                                    message);
        return pawli_fail_state(err, classes[i].status, state, "cannot connect: %.*s (%s)", length,
                                message, classes[i].advice);
    }
    if (PQconnectionNeedsPassword(pg))
        return pawli_fail(err, PAWL_E_DENIED,
                          "cannot connect: the server requires a password and none was given");
    message = connect_reason(text, &length);
    if (!message)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a setting in the connection string has a value that libpq does not "
                          "accept (it is not repeated here, because it may be a password)");
    return pawli_fail(err, PAWL_E_UNAVAILABLE,
                      "cannot connect to the database server (%.*s): is it running, and are host "
                      "and port right?",
                      length, message);
}
