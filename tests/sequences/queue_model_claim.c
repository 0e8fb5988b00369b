/* tests/sequences/queue_model_claim.c - the model of claims, and of what is answered for them. */
#include "queue_model.h"

/* ---- claims ---- */

static bool claimable(const model *m, const model_message *x, const model_claim *call)
{
    return x->present && x->state == PAWL_STATE_READY && x->run_at_us <= m->now_us &&
           (x->expires_us == 0 || x->expires_us > m->now_us) && call->remote == x->sent.remote &&
           (call->topics == 0 || (call->topics & (1u << x->sent.topic)) != 0);
}

static bool same_lane(const model_message *a, const model_message *b)
{
    return a->sent.topic == b->sent.topic && a->sent.priority == b->sent.priority;
}

/* Nothing twice; priorities fall; a lane in one piece and by run_at. */
static bool check_order(const model *m, const int *numbers, size_t count, finding *wrong)
{
    for (size_t i = 1; i < count; i++) {
        const model_message *x = &m->messages[numbers[i]];
        const model_message *previous = &m->messages[numbers[i - 1]];

        if (x->sent.priority > previous->sent.priority)
            return finding_say(wrong, "message %d has priority %d and came after one of %d",
                               numbers[i], x->sent.priority, previous->sent.priority);
        if (same_lane(x, previous) && x->run_at_us < previous->run_at_us)
            return finding_say(wrong, "message %d came after %d, which was due later", numbers[i],
                               numbers[i - 1]);
        for (size_t before = 0; before < i; before++) {
            if (numbers[before] == numbers[i])
                return finding_say(wrong, "message %d was claimed twice by one claim", numbers[i]);
            if (same_lane(x, &m->messages[numbers[before]]) && !same_lane(x, previous))
                return finding_say(wrong, "topic %s was left and taken up again",
                                   model_topics[x->sent.topic]);
        }
    }
    return true;
}

static bool is_in(const int *numbers, size_t count, int number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* The claim left `x`, which it could have taken: only because it had enough before it came to it.
 */
static bool may_leave(const model *m, const model_claim *call, const int *numbers, size_t count,
                      const model_message *x)
{
    const model_message *last = count > 0 ? &m->messages[numbers[count - 1]] : NULL;

    if (count < (size_t)call->limit || !last || x->sent.priority > last->sent.priority)
        return false;
    if (x->sent.priority < last->sent.priority)
        return true;
    if (same_lane(x, last))
        return x->run_at_us >= last->run_at_us;
    for (size_t i = 0; i < count; i++)
        if (same_lane(x, &m->messages[numbers[i]]))
            return false; /* that lane was begun and not finished, but another one begun */
    return true;
}

static bool check_left(const model *m, const model_claim *call, const int *numbers, size_t count,
                       finding *wrong)
{
    for (int i = 0; i < MODEL_MESSAGES; i++) {
        const model_message *x = &m->messages[i];
        bool hidden = (x->hidden & (1u << call->store)) != 0;
        bool missed = model_may_miss(m, x, call->store);

        /* A claim that finds nothing scans again, for late commits and after a clock step. */
        if (count == 0 && (model_claim_is_behind(m, call->store, call->remote) || !hidden))
            missed = false;
        if (!claimable(m, x, call) || is_in(numbers, count, i) || missed)
            continue;
        if (!may_leave(m, call, numbers, count, x))
            return finding_say(
                wrong,
                "message %d (%s, priority %d) was there to be claimed and was passed "
                "over by a claim that took %zu",
                i, model_topics[x->sent.topic], x->sent.priority, count);
    }
    return true;
}

static void take_message(model *m, const model_claim *call, int number, int64_t fence,
                         bool answer_known)
{
    model_message *x = &m->messages[number];
    int64_t lease_ms = x->sent.lease_ms ? x->sent.lease_ms : call->lease_ms;

    x->state = PAWL_STATE_RUNNING;
    x->owner = call->owner;
    x->fence = fence;
    x->lease_until_us = m->now_us + lease_ms * 1000;
    x->late = false;
    if (m->ticket_count < MODEL_TICKETS)
        m->tickets[m->ticket_count++] =
            (ticket){number, call->owner, x->work_id, fence, answer_known};
}

bool model_claim_check(model *m, const model_claim *call, const int *numbers, size_t count,
                       int64_t fence, bool answer_known, finding *wrong)
{
    if (count > (size_t)call->limit)
        return finding_say(wrong, "%zu were claimed, the limit is %d", count, call->limit);
    for (size_t i = 0; i < count; i++)
        if (!claimable(m, &m->messages[numbers[i]], call))
            return finding_say(wrong, "message %d was claimed, and was not there to be claimed",
                               numbers[i]);
    if (count > 0 && fence <= m->last_fence)
        return finding_say(wrong, "fence %lld is not above %lld, the last one", (long long)fence,
                           (long long)m->last_fence);
    if (!check_order(m, numbers, count, wrong) || !check_left(m, call, numbers, count, wrong))
        return false;
    for (size_t i = 0; i < count; i++)
        take_message(m, call, numbers[i], fence, answer_known);
    if (count > 0) {
        m->last_fence = fence;
        m->written_us = m->now_us;
    }
    model_claimed_at(m, call->store, call->remote);
    model_shake(m);
    return true;
}

void model_forget(model *m, int owner)
{
    for (size_t i = 0; i < m->ticket_count; i++)
        if (m->tickets[i].owner == owner)
            m->tickets[i].known = false;
}

void model_remember(model *m, int owner)
{
    model_forget(m, owner);
    for (size_t i = 0; i < m->ticket_count; i++) {
        const model_message *x = &m->messages[m->tickets[i].number];

        if (m->tickets[i].owner == owner && x->present && x->fence == m->tickets[i].fence)
            m->tickets[i].known = true;
    }
}

/* ---- answers ---- */

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
        const pawl_receipt *item = &answer->items[i];
        model_message *x = model_by_work_id(m, item->id.value);
        bool again = false;

        for (size_t before = 0; before < i; before++)
            again = again || (answer->items[before].id.value == item->id.value &&
                              answer->items[before].fence == item->fence);
        if (again || !x || x->state != PAWL_STATE_RUNNING || x->fence != item->fence ||
            x->owner != answer->owner)
            continue;
        apply(m, answer, x);
        changed++;
    }
    if (answer->kind == ANSWER_RENEW && changed > 0)
        model_shake(m);
    return changed;
}
