/* tests/sequences/runner_send.c - sending, alone and in the application's transaction. */
#include <string.h>

#include "runner.h"

/* One call: what is sent, and the storage its strings are in. */
typedef struct parcel {
    sending list[STEP_SENDINGS];
    size_t count;
    pawl_message_spec messages[STEP_SENDINGS];
    char payloads[STEP_SENDINGS][64];
    bool existed[STEP_SENDINGS];
    pawl_enqueued answers[STEP_SENDINGS];
} parcel;

static pawl_message_spec outgoing(const model *m, const sending *s, char payload[64])
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    int64_t wait_ms = s->due_ms ? s->due_ms : s->delay_ms;

    message.topic = model_topics[s->topic];
    message.payload_size = model_payload(s->number, s->content, payload);
    message.payload = payload;
    if (!s->library_id)
        message.id = model_id(m, s->number);
    message.priority = s->priority;
    if (s->due_ms)
        message.due_at = (pawl_wall){m->now_us + s->due_ms * 1000};
    else
        message.delay_ms = s->delay_ms;
    if (s->ttl_ms)
        message.expires_at =
            (pawl_wall){m->now_us + ((wait_ms > 0 ? wait_ms : 0) + s->ttl_ms) * 1000};
    message.max_attempts = s->max_attempts;
    message.lease_ms = s->lease_ms;
    if (s->own_backoff)
        message.backoff = model_own_backoff;
    message.destination = s->remote ? "there" : NULL;
    message.correlation_id = model_correlation(s->correlation);
    return message;
}

/* Whether the call has the number more than once. */
static bool is_repeated(const step *s, int number)
{
    size_t count = 0;

    for (size_t i = 0; i < s->sending_count; i++)
        count += s->sendings[i].number == number;
    return count > 1;
}

static void pack_parcel(model *m, model_tx *tx, const step *s, parcel *c)
{
    c->count = 0;
    for (size_t i = 0; i < s->sending_count; i++) {
        sending one = s->sendings[i];

        /* Another open transaction would be waited for. */
        if (model_in_flight(m, one.number, tx))
            continue;
        /* A new id gets a number, which must be free. */
        if (!pawl_uuid_is_zero(m->messages[one.number].id) || is_repeated(s, one.number))
            one.library_id = false;
        c->list[c->count] = one;
        c->messages[c->count] = outgoing(m, &one, c->payloads[c->count]);
        c->count++;
    }
}

/* How many results of the call report a new message: of two, either may be the new one. */
static size_t new_ones(const parcel *c, int number)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++)
        count += c->list[i].number == number && !c->answers[i].existed;
    return count;
}

/* The results of a call that was done; `again`: it may have met what it had stored itself. */
static void check_answers(runner *p, model_tx *tx, const parcel *c, bool again)
{
    for (size_t i = 0; i < c->count; i++) {
        int number = c->list[i].number;
        size_t fresh = new_ones(c, number);
        bool is_first = true;

        p->covered.repeated += c->existed[i];
        for (size_t k = 0; k < i; k++)
            is_first = is_first && c->list[k].number != number;
        model_learn_id(&p->m, model_sent(&p->m, tx, number), c->answers[i].message_id,
                       c->answers[i].work_id.value, &p->wrong);
        if (is_first && fresh != (c->existed[i] ? 0 : 1) && !(again && fresh == 0))
            finding_say(&p->wrong, "message %d %s, and %zu answers say that it is new", number,
                        c->existed[i] ? "existed" : "is new", fresh);
    }
}

/* In doubt: all of it is there, or nothing. */
static void find_messages(runner *p, const step *s, parcel *c)
{
    size_t found = 0, expected = 0;
    model after = p->m;

    (void)model_send(&after, NULL, c->list, c->count, c->existed);
    for (size_t i = 0; i < c->count; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_messages *one = NULL;

        if (c->existed[i])
            continue;
        expected++;
        if (pawl_outbox_find(runner_store(p, s), c->messages[i].id, &one, &err) == PAWL_OK) {
            const pawl_message *message = pawl_messages_at(one, 0);

            model_learn_id(&after, &after.messages[c->list[i].number], pawl_message_id(message),
                           pawl_message_work_id(message).value, &p->wrong);
            found++;
        }
        pawl_messages_free(one);
    }
    if (found != 0 && found != expected)
        finding_say(&p->wrong, "in doubt: %zu of %zu messages were stored", found, expected);
    if (found != 0)
        p->m = after;
}

void run_send(runner *p, const step *s)
{
    parcel c = {.count = 0};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st, expected;
    model before = p->m;

    pack_parcel(&p->m, NULL, s, &c);
    if (c.count == 0 || s->lost == LOST_REQUEST)
        return;
    runner_arm(p, s);
    st = pawl_outbox_enqueue_batch(runner_store(p, s), c.messages, c.count, c.answers, &err);
    expected = model_send(&p->m, NULL, c.list, c.count, c.existed);
    if (st == PAWL_E_CONFLICT && expected == st) {
        (void)runner_result(p, s, PAWL_OK, NULL);
        p->covered.conflicts++;
        return;
    }
    call_result became = runner_result(p, s, st, &err);
    p->covered.effective[s->kind] += became == CALL_DONE;
    if (became == CALL_DONE && expected != PAWL_OK)
        finding_say(&p->wrong, "it should have been refused: other content under the same id");
    else if (became == CALL_DONE)
        check_answers(p, NULL, &c, s->fault > 0);
    else
        p->m = before;
    if (became == CALL_IN_DOUBT && expected == PAWL_OK)
        find_messages(p, s, &c);
}

void run_tx_send(runner *p, const step *s)
{
    int which = p->m.postgres ? s->handle : 0;
    model_tx *mine = &p->m.txs[which];
    parcel c = {.count = 0};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st, expected;
    pawl_tx *tx = sequences_tx(p->at, which, s->store, &p->wrong);

    if (!tx)
        return;
    if (!mine->open) {
        mine->open = true;
        mine->store = s->store;
        mine->began_us = p->m.now_us;
    }
    pack_parcel(&p->m, mine, s, &c);
    if (c.count == 0)
        return;
    st = pawl_tx_enqueue_batch(tx, c.messages, c.count, c.answers, &err);
    expected = model_send(&p->m, mine, c.list, c.count, c.existed);
    if (st != expected)
        finding_say(&p->wrong, "it answered %s instead of %s: %s", pawl_status_name(st),
                    pawl_status_name(expected), st == PAWL_OK ? "" : err.message);
    else if (st == PAWL_OK)
        check_answers(p, mine, &c, false);
    p->covered.effective[s->kind] += st == PAWL_OK;
}

void run_tx_end(runner *p, int which, bool commit)
{
    if (!p->m.txs[which].open)
        return;
    sequences_tx_end(p->at, which, commit);
    p->covered.effective[STEP_TX_END]++;
    p->covered.committed += commit;
    model_end(&p->m, &p->m.txs[which], commit);
}
