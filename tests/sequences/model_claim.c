/* tests/sequences/model_claim.c - is what a claim took a choice that the rules allow? */
#include "model.h"

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

        /* A claim that finds nothing looks again, at what ended late and after a clock's step. */
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

static void take(model *m, const model_claim *call, int number, int64_t fence, bool answer_known)
{
    model_message *x = &m->messages[number];
    int64_t lease_ms = x->sent.lease_ms ? x->sent.lease_ms : call->lease_ms;

    x->state = PAWL_STATE_IN_PROGRESS;
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
        take(m, call, numbers[i], fence, answer_known);
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
