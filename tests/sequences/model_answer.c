/* tests/sequences/model_answer.c - what ack, abandon, defer, fail, renew and release do. */
#include "model.h"

static int64_t policy_delay_ms(const model_message *x)
{
    const pawl_backoff local = PAWL_BACKOFF_LOCAL, remote = PAWL_BACKOFF_REMOTE;
    pawl_backoff policy = x->sent.remote ? remote : local;
    int64_t delay_ms;

    if (x->sent.own_backoff)
        policy = model_own_backoff;
    delay_ms = policy.base_ms;
    for (int i = 0; i < x->retries + x->deferrals && delay_ms < policy.max_ms; i++)
        delay_ms *= 2;
    return delay_ms < policy.max_ms ? delay_ms : policy.max_ms;
}

static void set_error(model_message *x, const char *error)
{
    if (error)
        x->error = error;
}

static void fail_for_good(model *m, model_message *x)
{
    x->retries++;
    x->processed_by = model_owner_names[x->owner];
    model_finish(m, x, PAWL_STATE_FAILED);
}

static void apply(model *m, const model_answer *answer, model_message *x)
{
    int64_t delay_ms;

    switch (answer->kind) {
    case ANSWER_ACK:
        x->processed_by = model_owner_names[x->owner];
        x->error = NULL;
        model_finish(m, x, PAWL_STATE_DONE);
        break;
    case ANSWER_ABANDON:
        set_error(x, answer->error);
        if (x->max_attempts > 0 && x->retries + 1 >= x->max_attempts) {
            fail_for_good(m, x);
            break;
        }
        delay_ms = answer->delay_ms == PAWL_DELAY_BY_POLICY ? policy_delay_ms(x) : answer->delay_ms;
        x->retries++;
        model_make_ready(m, x, m->now_us + delay_ms * 1000);
        m->written_us = m->now_us;
        break;
    case ANSWER_DEFER:
        set_error(x, answer->error);
        delay_ms = answer->delay_ms == PAWL_DELAY_BY_POLICY ? policy_delay_ms(x) : answer->delay_ms;
        x->deferrals++;
        model_make_ready(m, x, m->now_us + delay_ms * 1000);
        m->written_us = m->now_us;
        break;
    case ANSWER_FAIL:
        set_error(x, answer->error);
        fail_for_good(m, x);
        break;
    case ANSWER_RENEW:
        x->lease_until_us =
            m->now_us + (x->sent.lease_ms ? x->sent.lease_ms : answer->lease_ms) * 1000;
        break;
    case ANSWER_RELEASE:
        model_make_ready(m, x, m->now_us);
        m->written_us = m->now_us;
        break;
    }
}

size_t model_answer_apply(model *m, const model_answer *answer)
{
    size_t changed = 0;

    for (size_t i = 0; i < answer->count; i++) {
        const pawl_held *item = &answer->items[i];
        model_message *x = model_by_work_id(m, item->id.value);
        bool again = false;

        for (size_t before = 0; before < i; before++)
            again = again || (answer->items[before].id.value == item->id.value &&
                              answer->items[before].fence == item->fence);
        if (again || !x || x->state != PAWL_STATE_IN_PROGRESS || x->fence != item->fence ||
            x->owner != answer->owner)
            continue;
        apply(m, answer, x);
        changed++;
    }
    if (answer->kind == ANSWER_RENEW && changed > 0)
        model_shake(m);
    return changed;
}
