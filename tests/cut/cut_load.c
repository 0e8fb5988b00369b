/* tests/cut/cut_load.c - threads that send and work without a pause, and keep accounts. */
#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cut_load.h"

/* ---- the accounts ---- */

#define PATIENCE_SECONDS 120

void load_init(load *l, pawl_store *store)
{
    pthread_condattr_t monotonic;

    *l = (load){.store = store};
    l->send_states = calloc(LOAD_SENDERS * LOAD_NUMBERS, sizeof *l->send_states);
    l->hands = calloc(LOAD_SENDERS * LOAD_NUMBERS, sizeof *l->hands);
    if (!l->send_states || !l->hands)
        abort();
    atomic_store(&l->senders, LOAD_SENDERS);
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->progress, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void load_done(load *l)
{
    pthread_cond_destroy(&l->progress);
    pthread_mutex_destroy(&l->lock);
    free(l->send_states);
    free(l->hands);
}

void load_answered(load *l, int64_t asked_ms)
{
    pthread_mutex_lock(&l->lock);
    l->answers++;
    if (l->killed_ms != 0 && l->recovery_ms == 0 && asked_ms > l->killed_ms)
        l->recovery_ms = test_clock_ms() - l->killed_ms;
    pthread_cond_broadcast(&l->progress);
    pthread_mutex_unlock(&l->lock);
}

const char *load_refused(load *l, const char *what, pawl_status st, const pawl_error *err)
{
    if (st == PAWL_E_IN_DOUBT)
        atomic_fetch_add(&l->doubts, 1);
    else
        atomic_fetch_add(&l->refusals, 1);
    if (err->retryable)
        return NULL;
    return test_note("%s answered %s: %s", what, pawl_status_name(st), err->message);
}

static struct timespec patience(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_SECONDS;
    return until;
}

bool load_await_answers(load *l, long count)
{
    struct timespec until = patience();
    bool late = false;

    pthread_mutex_lock(&l->lock);
    long wanted = l->answers + count;
    while (l->answers < wanted && !late)
        late = pthread_cond_timedwait(&l->progress, &l->lock, &until) == ETIMEDOUT;
    pthread_mutex_unlock(&l->lock);
    return !late;
}

void load_note_kill(load *l)
{
    pthread_mutex_lock(&l->lock);
    l->killed_ms = test_clock_ms();
    l->recovery_ms = 0;
    pthread_mutex_unlock(&l->lock);
}

int64_t load_await_recovery(load *l)
{
    struct timespec until = patience();
    bool late = false;

    pthread_mutex_lock(&l->lock);
    while (l->recovery_ms == 0 && !late)
        late = pthread_cond_timedwait(&l->progress, &l->lock, &until) == ETIMEDOUT;
    int64_t recovery_ms = l->recovery_ms;
    pthread_mutex_unlock(&l->lock);
    return recovery_ms;
}

/* ---- senders ---- */

#define BATCH 5
#define GIVES_UP_EVERY 3 /* of the sendings that failed for certain */

typedef struct sending {
    int first;
    int count;
    char texts[BATCH][16];
    pawl_message_spec messages[BATCH];
} sending;

static void prepare_sending(sending *s, int first, int count)
{
    s->first = first;
    s->count = count;
    for (int i = 0; i < count; i++) {
        snprintf(s->texts[i], sizeof s->texts[i], "%d", first + i);
        s->messages[i] = queue_message("load", s->texts[i]);
        s->messages[i].id = queue_id(first + i + 1);
    }
}

static void record_send_state(load *l, const sending *s, load_send_state fate)
{
    memset(l->send_states + s->first, (int)fate, (size_t)s->count);
}

/* Repeats with the same ids. Sends that certainly failed are sometimes not repeated. */
static const char *send_until_resolved(load *l, const sending *s)
{
    bool doubt = false;

    while (true) {
        pawl_error err = PAWL_ERROR_INIT;
        int64_t asked_ms = test_clock_ms();
        pawl_status st =
            pawl_outbox_enqueue_batch(l->store, s->messages, (size_t)s->count, NULL, &err);
        if (st == PAWL_OK) {
            record_send_state(l, s, LOAD_STORED);
            load_answered(l, asked_ms);
            return NULL;
        }
        const char *wrong = load_refused(l, "enqueue", st, &err);
        if (wrong)
            return wrong;
        doubt = doubt || st == PAWL_E_IN_DOUBT;
        if (!doubt && s->first % GIVES_UP_EVERY == 0) {
            record_send_state(l, s, LOAD_GIVEN_UP);
            return NULL;
        }
    }
}

const char *load_send(load *l, int sender)
{
    const char *wrong = NULL;
    sending s;

    for (int n = 0; !wrong && n + BATCH <= LOAD_NUMBERS && !atomic_load(&l->enough); n += s.count) {
        prepare_sending(&s, sender * LOAD_NUMBERS + n, n % 2 ? 1 : BATCH);
        wrong = send_until_resolved(l, &s);
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

static bool run_sql(PGconn *client, const char *format, int number, int64_t *ret_value)
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

static bool run_command(PGconn *client, const char *sql)
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

    if (!run_command(client, "BEGIN") || !run_sql(client, l->insert_order, s->first, NULL))
        return false;
    pawl_status st = pawl_tx_foreign_postgres(l->store, client, &tx, &err);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue(tx, s->messages, NULL, &err);
    pawl_tx_free(tx);
    if (st == PAWL_E_IN_DOUBT)
        *ret_wrong = "a send inside the application's transaction says that it is in doubt";
    else if (st != PAWL_OK)
        *ret_wrong = load_refused(l, "wrapped enqueue", st, &err);
    if (st != PAWL_OK)
        return false;
    bool committed = run_command(client, "COMMIT");
    *ret_doubt = !committed;
    return committed;
}

/* After a COMMIT without a response the application checks for its row. */
static bool was_committed(load *l, PGconn **client, int number)
{
    int64_t rows = -1;

    do
        *client = connected(l, *client);
    while (!run_sql(*client, l->count_order, number, &rows));
    return rows == 1;
}

const char *load_send_wrapped(load *l, int sender)
{
    PGconn *client = NULL;
    const char *wrong = NULL;
    sending s;

    for (int n = 0; !wrong && n < LOAD_NUMBERS && !atomic_load(&l->enough); n++) {
        bool doubt = false;
        prepare_sending(&s, sender * LOAD_NUMBERS + n, 1);
        client = connected(l, client);
        int64_t asked_ms = test_clock_ms();
        bool done = transact(l, client, &s, &doubt, &wrong);
        if (doubt) {
            atomic_fetch_add(&l->doubts, 1);
            done = was_committed(l, &client, s.first);
        } else if (done) {
            load_answered(l, asked_ms);
        }
        record_send_state(l, &s, done ? LOAD_STORED : LOAD_GIVEN_UP);
    }
    PQfinish(client);
    atomic_fetch_sub(&l->senders, 1);
    return wrong;
}

/* ---- workers ---- */

#define LIMIT 20
#define LEASE_MS DAY_MS
#define IDLE_MS 20

static const char *resume_claim(load *l, pawl_owner owner, pawl_messages **ret_list)
{
    while (true) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_status st = pawl_queue_owned(l->store, owner, ret_list, &err);
        if (st == PAWL_OK)
            return NULL;
        if (st == PAWL_E_IN_DOUBT)
            return "owned() returned in doubt";
        const char *wrong = load_refused(l, "owned", st, &err);
        if (wrong)
            return wrong;
    }
}

/* The messages for the worker; an empty list when there is nothing. */
static const char *take_messages(load *l, pawl_owner owner, pawl_messages **ret_list)
{
    while (true) {
        pawl_error err = PAWL_ERROR_INIT;
        int64_t asked_ms = test_clock_ms();
        int64_t fence = atomic_load(&l->fence);
        pawl_status st = pawl_queue_claim(l->store, owner, LEASE_MS, LIMIT, NULL, ret_list, &err);
        if (st == PAWL_OK) {
            load_answered(l, asked_ms);
            if (pawl_messages_count(*ret_list) > 0 &&
                pawl_message_fence(pawl_messages_at(*ret_list, 0)) <= fence)
                return "a fence was given out that is not above an earlier one";
            return NULL;
        }
        const char *wrong = load_refused(l, "claim", st, &err);
        if (wrong)
            return wrong;
        if (st == PAWL_E_IN_DOUBT)
            return resume_claim(l, owner, ret_list);
    }
}

static void raise_fence(load *l, int64_t fence)
{
    int_fast64_t seen = atomic_load(&l->fence);

    while (seen < fence && !atomic_compare_exchange_weak(&l->fence, &seen, fence))
        continue;
}

static const char *handle_all(load *l, const pawl_messages *list, pawl_receipt *ret_owned)
{
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *m = pawl_messages_at(list, i);
        long number = strtol(pawl_message_payload(m, NULL), NULL, 10);
        if (number < 0 || number >= LOAD_SENDERS * LOAD_NUMBERS)
            return "a message was claimed that was never sent";
        if (atomic_fetch_add(&l->hands[number], 1) > 0)
            return test_note("message %ld was handed out twice", number);
        ret_owned[i] = (pawl_receipt){pawl_message_work_id(m), pawl_message_fence(m)};
        raise_fence(l, pawl_message_fence(m));
    }
    return NULL;
}

/* Repeating it is harmless: all of them once, or none because it was done before. */
static const char *finish_messages(load *l, pawl_owner owner, const pawl_receipt *owned,
                                   size_t count)
{
    bool doubt = false;

    while (true) {
        pawl_error err = PAWL_ERROR_INIT;
        int64_t asked_ms = test_clock_ms();
        size_t changed = 0;
        pawl_status st = pawl_queue_ack(l->store, owner, owned, count, &changed, &err);
        if (st == PAWL_OK) {
            load_answered(l, asked_ms);
            if (changed == count || (doubt && changed == 0))
                return NULL;
            return test_note("an ack changed %zu of %zu%s", changed, count,
                             doubt ? " after one in doubt" : "");
        }
        const char *wrong = load_refused(l, "ack", st, &err);
        if (wrong)
            return wrong;
        doubt = doubt || st == PAWL_E_IN_DOUBT;
    }
}

const char *load_work(load *l, int worker)
{
    pawl_owner owner = queue_owner(worker + 1);
    pawl_receipt owned[LIMIT];
    const char *wrong = NULL;

    while (!wrong) {
        bool last = atomic_load(&l->senders) == 0; /* before the claim */
        pawl_messages *list = NULL;
        pawl_error err = PAWL_ERROR_INIT;
        wrong = take_messages(l, owner, &list);
        size_t count = wrong ? 0 : pawl_messages_count(list);
        if (!wrong && count > 0)
            wrong = handle_all(l, list, owned);
        pawl_messages_free(list);
        if (!wrong && count > 0)
            wrong = finish_messages(l, owner, owned, count);
        if (!wrong && count == 0 && last)
            return NULL;
        if (!wrong && count == 0 && pawl_queue_wait(l->store, IDLE_MS, &err) != PAWL_OK)
            wrong = "waiting failed";
    }
    return wrong;
}
