/* tests/sequences/queue_model.c - the messages of the model, and what sending does. */
#include "queue_model.h"

#include <stdio.h>
#include <string.h>

#define DAY_US (INT64_C(86400) * 1000000)
#define LATE_US 100000 /* transactions that take longer may be passed over for a while */

const char *const model_topics[MODEL_TOPICS] = {"audit", "mail", "orders"};
const char *const model_owner_names[MODEL_OWNERS] = {"A", "B", "C", "D"};
const pawl_backoff model_own_backoff = {500, 4000, 0};

pawl_owner model_owner(int owner)
{
    pawl_owner id = {{0xee}};

    id.bytes[15] = (uint8_t)(owner + 1);
    return id;
}

const char *model_correlation(int correlation)
{
    static const char *const texts[] = {NULL, "one", "two"};

    return texts[correlation];
}

pawl_uuid model_id(const model *m, int number)
{
    pawl_uuid id = {{0, 0, 0, 0, 0, 0, 0x40, 0, 0x80}};

    if (!pawl_uuid_is_zero(m->messages[number].id))
        return m->messages[number].id;
    id.bytes[0] = (uint8_t)(number * 37 + 11); /* batches are stored in another order than given */
    id.bytes[15] = (uint8_t)number;
    return id;
}

size_t model_payload(int number, int content, char ret_text[64])
{
    if (content == 2)
        return (size_t)snprintf(ret_text, 64, "%s", "");
    return (size_t)snprintf(ret_text, 64, "message %d, content %d", number, content);
}

void model_init(model *m, bool postgres, int64_t start_us, bool topics_known)
{
    memset(m, 0, sizeof *m);
    m->postgres = postgres;
    m->start_us = m->now_us = m->highest_us = start_us;
    for (int i = 0; i < MODEL_TOPICS; i++)
        m->topic_known[i] = topics_known;
}

model_message *model_by_work_id(model *m, int64_t work_id)
{
    for (int i = 0; i < MODEL_MESSAGES; i++)
        if (m->messages[i].present && m->messages[i].work_id == work_id)
            return &m->messages[i];
    return NULL;
}

bool model_in_flight(const model *m, int number, const model_tx *mine)
{
    for (int i = 0; i < MODEL_HANDLES; i++)
        if (m->txs[i].open && &m->txs[i] != mine && m->txs[i].messages[number].present)
            return true;
    return false;
}

model_message *model_sent(model *m, model_tx *tx, int number)
{
    if (m->messages[number].present)
        return &m->messages[number];
    return tx && tx->messages[number].present ? &tx->messages[number] : NULL;
}

void model_make_ready(model *m, model_message *x, int64_t run_at_us)
{
    x->state = PAWL_STATE_READY;
    x->owner = NO_OWNER;
    x->fence = 0;
    x->lease_until_us = 0;
    x->run_at_us = run_at_us;
    x->late = x->shaky = false;
    x->hidden = 0;
    for (int i = 0; m->postgres && i < MODEL_STORES; i++)
        if (run_at_us < m->claim_seen_us[i][x->sent.remote])
            x->hidden |= 1u << i;
}

void model_finish(model *m, model_message *x, pawl_state state)
{
    x->state = state;
    x->owner = NO_OWNER;
    x->fence = 0;
    x->finished_us = m->now_us;
    m->totals[x->sent.topic][state]++;
    m->ended_us[x->sent.topic] = m->now_us;
    m->topic_known[x->sent.topic] = true;
    m->written_us = m->now_us;
}

static int64_t queue_model_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static model_message new_message(model *m, const sending *s)
{
    model_message x = {.present = true, .sent = *s, .created_us = m->now_us};
    int64_t from;

    x.due_us = m->now_us + (s->due_ms ? s->due_ms : s->delay_ms) * 1000;
    from = queue_model_later(x.due_us, m->now_us);
    x.mortal = s->ttl_ms != 0 || s->remote;
    x.ttl_us = s->ttl_ms != 0 ? s->ttl_ms * 1000 : DAY_US;
    x.expires_us = x.mortal ? from + x.ttl_us : 0;
    x.max_attempts = s->max_attempts;
    if (x.max_attempts == 0)
        x.max_attempts = s->remote ? PAWL_MAX_ATTEMPTS_REMOTE : PAWL_MAX_ATTEMPTS_LOCAL;
    model_make_ready(m, &x, from);
    return x;
}

static bool same_content(const sending *a, const sending *b)
{
    return a->topic == b->topic && a->content == b->content;
}

/* The message with the same id: a stored one, or an earlier one of the same call. */
static const sending *rival(model *m, model_tx *tx, const sending *list, size_t at)
{
    const model_message *stored = model_sent(m, tx, list[at].number);

    if (stored)
        return &stored->sent;
    for (size_t i = 0; i < at; i++)
        if (list[i].number == list[at].number)
            return &list[i];
    return NULL;
}

pawl_status model_send(model *m, model_tx *tx, const sending *list, size_t count, bool *ret_existed)
{
    for (size_t i = 0; i < count; i++) {
        const sending *other = rival(m, tx, list, i);

        if (other && !same_content(other, &list[i]))
            return PAWL_E_CONFLICT;
        ret_existed[i] = other != NULL;
    }
    if (tx && !tx->open)
        return PAWL_E_MISUSE;
    for (size_t i = 0; i < count; i++) {
        model_message *location = tx ? &tx->messages[list[i].number] : &m->messages[list[i].number];
        pawl_uuid id = m->messages[list[i].number].id;

        if (ret_existed[i])
            continue;
        *location = new_message(m, &list[i]);
        location->id = id;
        if (!tx) {
            model_topic_used(m, list[i].topic);
            m->written_us = m->now_us;
        }
    }
    return PAWL_OK;
}

void model_learn_id(model *m, model_message *x, pawl_uuid id, int64_t work_id, finding *wrong)
{
    if (x->work_id != 0 && x->work_id != work_id)
        finding_say(wrong, "message %d has work id %lld, not %lld", x->sent.number,
                    (long long)x->work_id, (long long)work_id);
    if (x->work_id == 0) {
        for (int i = 0; i < MODEL_MESSAGES; i++)
            if (m->messages[i].work_id == work_id)
                finding_say(wrong, "work id %lld was given to message %d before",
                            (long long)work_id, i);
    }
    x->work_id = work_id;
    x->id = m->messages[x->sent.number].id = id;
}

void model_end(model *m, model_tx *tx, bool commit)
{
    bool late = m->postgres && (tx->stepped_back || m->now_us - tx->began_us >= LATE_US);

    for (int i = 0; commit && i < MODEL_MESSAGES; i++) {
        if (!tx->messages[i].present)
            continue;
        m->messages[i] = tx->messages[i];
        m->messages[i].late = late;
        model_topic_used(m, tx->messages[i].sent.topic);
        m->written_us = m->now_us;
    }
    memset(tx, 0, sizeof *tx);
}
