/* tests/cut/load_send.c - the senders of a load. */
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "load.h"

#define BATCH 5
#define GIVES_UP_EVERY 3 /* of the sendings that failed for certain */

typedef struct sending {
    int first;
    int count;
    char texts[BATCH][16];
    pawl_outgoing messages[BATCH];
} sending;

static void prepare(sending *s, int first, int count)
{
    s->first = first;
    s->count = count;
    for (int i = 0; i < count; i++) {
        snprintf(s->texts[i], sizeof s->texts[i], "%d", first + i);
        s->messages[i] = kit_message("load", s->texts[i]);
        s->messages[i].id = kit_id(first + i + 1);
    }
}

static void settle(load *l, const sending *s, load_fate fate)
{
    memset(l->fates + s->first, (int)fate, (size_t)s->count);
}

/* Again and again with the same ids. What was refused for certain is sometimes left at that. */
static const char *send_until_settled(load *l, const sending *s)
{
    bool doubt = false;

    while (true) {
        pawl_error err = PAWL_ERROR_INIT;
        int64_t asked_ms = test_clock_ms();
        pawl_status st =
            pawl_outbox_enqueue_batch(l->store, s->messages, (size_t)s->count, NULL, &err);
        if (st == PAWL_OK) {
            settle(l, s, LOAD_STORED);
            load_answered(l, asked_ms);
            return NULL;
        }
        const char *wrong = load_refused(l, "enqueue", st, &err);
        if (wrong)
            return wrong;
        doubt = doubt || st == PAWL_E_IN_DOUBT;
        if (!doubt && s->first % GIVES_UP_EVERY == 0) {
            settle(l, s, LOAD_GIVEN_UP);
            return NULL;
        }
    }
}

const char *load_send(load *l, int sender)
{
    const char *wrong = NULL;
    sending s;

    for (int n = 0; !wrong && n + BATCH <= LOAD_NUMBERS && !atomic_load(&l->enough); n += s.count) {
        prepare(&s, sender * LOAD_NUMBERS + n, n % 2 ? 1 : BATCH);
        wrong = send_until_settled(l, &s);
    }
    atomic_fetch_sub(&l->senders, 1);
    return wrong;
}

/* The application's own connection. */
static PGconn *connected(load *l, PGconn *client)
{
    while (!client || PQstatus(client) != CONNECTION_OK) {
        PQfinish(client);
        client = PQconnectdb(l->target);
    }
    return client;
}

static bool exec(PGconn *client, const char *format, int number, int64_t *ret_value)
{
    char sql[256];

    snprintf(sql, sizeof sql, "%s%d)", format, number);
    PGresult *result = PQexec(client, sql);
    ExecStatusType status = PQresultStatus(result);
    if (ret_value && status == PGRES_TUPLES_OK)
        *ret_value = PQgetvalue(result, 0, 0)[0] - '0';
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static bool command(PGconn *client, const char *sql)
{
    PGresult *result = PQexec(client, sql);
    bool good = PQresultStatus(result) == PGRES_COMMAND_OK;

    PQclear(result);
    return good;
}

/* A row of the application and a message, together. False: not, for certain; *ret_doubt: unknown.
 */
static bool transact(load *l, PGconn *client, const sending *s, bool *ret_doubt,
                     const char **ret_wrong)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    if (!command(client, "BEGIN") || !exec(client, l->insert_order, s->first, NULL))
        return false;
    pawl_status st = pawl_tx_wrap_postgres(l->store, client, &tx, &err);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue(tx, s->messages, NULL, &err);
    pawl_tx_free(tx);
    if (st == PAWL_E_IN_DOUBT)
        *ret_wrong = "a send inside the application's transaction says that it is in doubt";
    else if (st != PAWL_OK)
        *ret_wrong = load_refused(l, "wrapped enqueue", st, &err);
    if (st != PAWL_OK)
        return false;
    bool committed = command(client, "COMMIT");
    *ret_doubt = !committed;
    return committed;
}

/* After a COMMIT without an answer the application looks for its row. */
static bool was_committed(load *l, PGconn **client, int number)
{
    int64_t rows = -1;

    do
        *client = connected(l, *client);
    while (!exec(*client, l->count_order, number, &rows));
    return rows == 1;
}

const char *load_send_wrapped(load *l, int sender)
{
    PGconn *client = NULL;
    const char *wrong = NULL;
    sending s;

    for (int n = 0; !wrong && n < LOAD_NUMBERS && !atomic_load(&l->enough); n++) {
        bool doubt = false;
        prepare(&s, sender * LOAD_NUMBERS + n, 1);
        client = connected(l, client);
        int64_t asked_ms = test_clock_ms();
        bool done = transact(l, client, &s, &doubt, &wrong);
        if (doubt) {
            atomic_fetch_add(&l->doubts, 1);
            done = was_committed(l, &client, s.first);
        } else if (done) {
            load_answered(l, asked_ms);
        }
        settle(l, &s, done ? LOAD_STORED : LOAD_GIVEN_UP);
    }
    PQfinish(client);
    atomic_fetch_sub(&l->senders, 1);
    return wrong;
}
