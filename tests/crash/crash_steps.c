/* tests/crash/crash_steps.c - the steps, and what each does to the model. */
#include "crash_steps.h"

#include <stdio.h>

/*
 * The crowd comes late: what its threads do differs from run to run, and everything before it is
 * the same operation by operation.
 */
const step scenario[] = {
    {DEPLOY, 0, 0, 0, 0},
    {MAKE_ORDERS, 0, 0, 0, 0},
    {SEND, 0, 1, 0, 0},
    {SEND, 1, 1, 0, 0},
    {SEND_BATCH, 4, 6, 0, 0},
    {SEND_TX, 10, 2, 0, 0},
    {SEND_TX_UNDO, 12, 2, 0, 0},
    {SEND_AGAIN, 0, 1, 0, 0},
    {SEND_OTHER, 1, 1, 0, 0},
    {CLAIM, 4, 4, 1, 30000},
    {CLAIM, 0, 2, 2, 30000},
    {READ_BACK, 4, 2, 0, 0},
    {ACK, 0, 2, 2, 0},
    {RENEW, 4, 2, 1, 120000},
    {ABANDON, 6, 1, 1, 5000},
    {FAIL, 7, 1, 1, 0},
    {LEASE_TAKE, 0, 0, 1, 30000},
    {LEASE_TAKE, 1, 0, 2, 30000},
    {LEASE_RENEW, 0, 0, 1, 60000},
    {LEASE_RELEASE, 1, 0, 2, 0},
    {CHECKPOINT_PASSIVE, 0, 0, 0, 0},
    {SEND, 2, 1, 0, 0},
    {CLAIM, 2, 1, 1, 30000},
    {RELEASE, 2, 1, 1, 0},
    {WAIT, 0, 0, 0, 121000},
    {REAP, 4, 2, 0, 0},
    {LEASE_TAKE, 0, 0, 1, 30000}, /* it ran out */
    {LEASE_LATE, 0, 0, 1, 0},
    {CLAIM, 8, 2, 3, 30000},
    {ACK, 8, 2, 3, 0},
    {CLAIM, 6, 1, 2, 30000},
    {CLAIM, 4, 2, 1, 30000}, /* the same owner as before */
    {ACK_LATE, 4, 2, 1, 0},
    {REDRIVE, 7, 1, 0, 0},
    {SEND_BATCH, 30, 2, 0, 0}, /* one attempt each */
    {CLAIM, 30, 2, 2, 10000},
    {WAIT, 0, 0, 0, 11000},
    {REAP, 30, 2, 0, 0}, /* which was the last */
    {CANCEL, 6, 1, 0, 0},
    {SEND, 34, 1, 0, 0},
    {WAIT, 0, 0, 0, 61000},
    {EXPIRE, 34, 1, 0, 0},
    {CHECKPOINT_TRUNCATE, 0, 0, 0, 0},
    {SEND, 35, 1, 0, 0},
    {SCHEDULE, 44, 2, 0, 600000},
    {UNSCHEDULE, 45, 1, 0, 0},
    {SEND_TX, 12, 3, 0, 0},
    {REOPEN, 0, 0, 0, 0}, /* the last connection takes the WAL with it */
    {SEND_BATCH, 38, 4, 0, 0},
    {REAP, 4, 2, 0, 0},
    {CLAIM, 38, 2, 2, 60000},
    {ACK_AND_CLAIM, 40, 2, 2, 60000},
    {RELEASE, 40, 2, 2, 0},
    {SEND_CROWD, 18, 12, 0, 0},
    {CLAIM, 18, 12, 3, 60000},
    {ACK, 18, 9, 3, 0},
    {FAIL, 27, 3, 3, 0},
    {CHECKPOINT_RESTART, 0, 0, 0, 0},
    {REDRIVE, 34, 1, 0, 0},
    {WAIT, 0, 0, 0, 8 * INT64_C(86400000)},
    {RETAIN, 0, 0, 0, 0},
    {LEASE_CLEAN, 0, 0, 0, 0},
    {CLAIM, 44, 1, 1, 60000}, /* its time has come */
    {PURGE, 30, 2, 0, 0},
    {SEND, 3, 1, 0, 0},
};
const size_t scenario_count = sizeof scenario / sizeof scenario[0];
_Static_assert(sizeof scenario / sizeof scenario[0] < SCENARIO_STEPS_MAX, "room for the models");

const char *verb_name(verb v)
{
    static const char *const names[] = {
        [DEPLOY] = "deploy",
        [MAKE_ORDERS] = "make the application's table",
        [SEND] = "send",
        [SEND_BATCH] = "send a batch",
        [SEND_TX] = "send in a transaction",
        [SEND_TX_UNDO] = "send in a transaction that is rolled back",
        [SEND_CROWD] = "send from several threads",
        [SEND_AGAIN] = "send again",
        [SEND_OTHER] = "send other contents",
        [SCHEDULE] = "schedule",
        [UNSCHEDULE] = "unschedule",
        [CLAIM] = "claim",
        [ACK_AND_CLAIM] = "ack and claim",
        [RENEW] = "renew",
        [ACK] = "ack",
        [ACK_LATE] = "ack late",
        [ABANDON] = "abandon",
        [FAIL] = "fail",
        [RELEASE] = "release",
        [REAP] = "reap",
        [EXPIRE] = "expire",
        [CANCEL] = "cancel",
        [REDRIVE] = "redrive",
        [RETAIN] = "retain",
        [PURGE] = "purge",
        [CHECKPOINT_PASSIVE] = "checkpoint passive",
        [CHECKPOINT_RESTART] = "checkpoint restart",
        [CHECKPOINT_TRUNCATE] = "checkpoint truncate",
        [LEASE_TAKE] = "take a lease",
        [LEASE_RENEW] = "renew a lease",
        [LEASE_RELEASE] = "release a lease",
        [LEASE_LATE] = "release a lease late",
        [LEASE_CLEAN] = "clean leases",
        [READ_BACK] = "read back",
        [REOPEN] = "reopen",
        [WAIT] = "wait",
    };
    return names[v];
}

const char *step_name(size_t index)
{
    static char text[96];
    const step *s = &scenario[index];

    if (index >= scenario_count)
        return "the end";
    int used = snprintf(text, sizeof text, "step %zu, %s", index + 1, verb_name(s->verb));
    if (s->count > 0)
        snprintf(text + used, sizeof text - (size_t)used, " %d-%d", s->first,
                 s->first + s->count - 1);
    return text;
}

int step_calls(const step *s)
{
    return s->verb == SEND_CROWD ? s->count : 1;
}

int64_t step_now_ms(size_t index)
{
    int64_t now_ms = MODEL_START_MS;

    for (size_t i = 0; i < index; i++) {
        if (scenario[i].verb == WAIT)
            now_ms += scenario[i].ms;
    }
    return now_ms;
}

static void make_ready(model_message *m, int retries, int64_t run_at_ms)
{
    *m = (model_message){.state = PAWL_STATE_READY, .retries = retries, .run_at_ms = run_at_ms};
}

static void finish_message(model_message *m, pawl_state state, int retries)
{
    *m = (model_message){.state = (int)state, .retries = retries};
}

/* Messages of the group "fragile" have one attempt. */
static bool was_last_attempt(int number)
{
    uint8_t payload[16384];

    return model_outgoing(number, payload, 0).max_attempts == 1;
}

static void apply_to(model *all, const step *s, int number, int64_t now_ms)
{
    model_message *m = &all->messages[number];

    switch (s->verb) {
    case SEND:
    case SEND_BATCH:
    case SEND_CROWD:
    case SEND_TX:
        make_ready(m, 0, now_ms);
        all->orders[number] = s->verb == SEND_TX;
        break;
    case SCHEDULE:
        make_ready(m, 0, now_ms + s->ms);
        break;
    case CLAIM:
    case ACK_AND_CLAIM:
        *m = (model_message){.state = PAWL_STATE_RUNNING,
                             .retries = m->retries,
                             .owner = s->owner,
                             .fence = all->fence,
                             .lease_until_ms = now_ms + s->ms};
        break;
    case RENEW:
        m->lease_until_ms = now_ms + s->ms;
        break;
    case ACK:
        finish_message(m, PAWL_STATE_DONE, m->retries);
        break;
    case ABANDON:
        make_ready(m, m->retries + 1, now_ms + s->ms);
        break;
    case FAIL:
        finish_message(m, PAWL_STATE_FAILED, m->retries + 1);
        break;
    case RELEASE:
        make_ready(m, m->retries, now_ms);
        break;
    case REAP:
        if (was_last_attempt(number))
            finish_message(m, PAWL_STATE_FAILED, m->retries + 1);
        else
            make_ready(m, m->retries + 1, now_ms);
        break;
    case EXPIRE:
        finish_message(m, PAWL_STATE_EXPIRED, m->retries);
        break;
    case CANCEL:
    case UNSCHEDULE:
        finish_message(m, PAWL_STATE_CANCELLED, m->retries);
        break;
    case REDRIVE:
        make_ready(m, 0, now_ms);
        break;
    case PURGE:
        *m = (model_message){.state = MODEL_ABSENT};
        break;
    default:
        break;
    }
}

static bool is_forgettable(const model_message *m)
{
    return m->state == PAWL_STATE_DONE || m->state == PAWL_STATE_CANCELLED;
}

static void forget_finished(model *m)
{
    for (int i = 0; i < MODEL_MESSAGES; i++) {
        if (is_forgettable(&m->messages[i]))
            m->messages[i] = (model_message){.state = MODEL_ABSENT};
    }
}

static void apply_to_lease(model *m, const step *s, int64_t now_ms)
{
    model_lease *lease = &m->leases[s->first % MODEL_LEASES]; /* other verbs name messages */

    switch (s->verb) {
    case LEASE_TAKE:
        *lease = (model_lease){s->owner, ++m->fence, now_ms + s->ms, false};
        break;
    case LEASE_RENEW:
        lease->expires_at_ms = now_ms + s->ms;
        break;
    case LEASE_RELEASE:
        lease->expires_at_ms = now_ms;
        lease->released = true;
        break;
    case LEASE_CLEAN:
        for (int i = 0; i < MODEL_LEASES; i++)
            if (m->leases[i].expires_at_ms <= now_ms)
                m->leases[i] = (model_lease){0};
        break;
    default:
        break;
    }
}

void model_apply_call(model *m, const step *s, int call, int64_t now_ms)
{
    bool crowd = s->verb == SEND_CROWD;
    int first = crowd ? s->first + call : s->first;
    int count = crowd ? 1 : s->count;

    if (s->verb == DEPLOY)
        m->schema = true;
    else if (s->verb == MAKE_ORDERS)
        m->orders_table = true;
    else if (s->verb == RETAIN)
        forget_finished(m);
    else if (s->verb == CLAIM || s->verb == ACK_AND_CLAIM)
        m->fence++;
    apply_to_lease(m, s, now_ms);
    for (int i = first - count; s->verb == ACK_AND_CLAIM && i < first; i++)
        finish_message(&m->messages[i], PAWL_STATE_DONE, m->messages[i].retries);
    for (int i = first; i < first + count; i++)
        apply_to(m, s, i, now_ms);
}

void model_apply(model *m, const step *s, int64_t now_ms)
{
    for (int call = 0; call < step_calls(s); call++)
        model_apply_call(m, s, call, now_ms);
}

size_t model_changes(const model *m, const step *s)
{
    size_t count = 0;

    if (s->verb == ACK_LATE)
        return 0;
    if (s->verb != RETAIN)
        return (size_t)s->count;
    for (int i = 0; i < MODEL_MESSAGES; i++)
        count += is_forgettable(&m->messages[i]);
    return count;
}

const model *scenario_model(size_t index)
{
    static model models[SCENARIO_STEPS_MAX];
    static bool made;

    if (!made) {
        model_init(&models[0]);
        for (size_t i = 0; i < scenario_count; i++) {
            models[i + 1] = models[i];
            model_apply(&models[i + 1], &scenario[i], step_now_ms(i));
        }
        made = true;
    }
    return &models[index];
}
