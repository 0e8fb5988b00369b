/* tests/sequences/queue_model_manage.c - maintenance and an administrator's changes. */
#include "queue_model.h"

#include <stdlib.h>
#include <string.h>

static bool lease_is_over(const model *m, const model_message *x)
{
    return x->present && x->state == PAWL_STATE_RUNNING && x->lease_until_us <= m->now_us;
}

bool model_reap_is_certain(const model *m, int store)
{
    for (int i = 0; i < MODEL_MESSAGES; i++)
        if (lease_is_over(m, &m->messages[i]) &&
            (m->messages[i].shaky || model_reap_is_behind(m, store)))
            return false;
    return true;
}

static void reap_one(model *m, model_message *x)
{
    x->error = "the lease expired";
    if (x->sent.remote) /* the delivery died, the destination has not refused it */
        x->deferrals++;
    else
        x->retries++;
    if (!x->sent.remote && x->retries >= x->max_attempts) {
        x->processed_by = model_owner_names[x->owner];
        model_finish(m, x, PAWL_STATE_FAILED);
    } else {
        model_make_ready(m, x, m->now_us);
        m->written_us = m->now_us;
    }
}

size_t model_reap(model *m, int store, const bool *still_leased, bool answered_none, finding *wrong)
{
    bool behind = model_reap_is_behind(m, store) && !answered_none;
    size_t changed = 0;

    for (int i = 0; i < MODEL_MESSAGES; i++) {
        model_message *x = &m->messages[i];

        if (!lease_is_over(m, x))
            continue;
        if (still_leased[i] && !x->shaky && !behind)
            finding_say(wrong, "the lease of message %d was over and was not reaped", i);
        if (still_leased[i])
            continue;
        reap_one(m, x);
        changed++;
    }
    model_reaped_at(m, store);
    return changed;
}

static bool is_overdue(const model *m, const model_message *x)
{
    return x->present && x->expires_us != 0 && x->expires_us <= m->now_us &&
           (x->state == PAWL_STATE_READY || x->state == PAWL_STATE_FAILED);
}

pawl_state model_shown_state(const model *m, const model_message *x)
{
    if (is_overdue(m, x))
        return PAWL_STATE_EXPIRED;
    if (x->state == PAWL_STATE_READY && x->run_at_us > m->now_us)
        return PAWL_STATE_SCHEDULED;
    return x->state;
}

static void expire_one(model *m, model_message *x)
{
    bool failed = x->state == PAWL_STATE_FAILED;
    int64_t finished_us = x->finished_us;

    model_finish(m, x, PAWL_STATE_EXPIRED);
    if (failed)
        x->finished_us = finished_us;
    else
        x->processed_by = NULL;
}

size_t model_expire(model *m)
{
    size_t changed = 0;

    for (int i = 0; i < MODEL_MESSAGES; i++)
        if (is_overdue(m, &m->messages[i])) {
            expire_one(m, &m->messages[i]);
            changed++;
        }
    return changed;
}

/* A message that reads as expired is changed as such, before maintenance, too. */
static void expire_ids(model *m, const pawl_work_id *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        model_message *x = model_by_work_id(m, ids[i].value);

        if (x && x->state == PAWL_STATE_READY && is_overdue(m, x))
            expire_one(m, x);
    }
}

static void forget_message(model_message *x)
{
    model_message gone = {.id = x->id, .work_id = x->work_id, .owner = NO_OWNER};

    *x = gone;
}

size_t model_retain(model *m, int64_t keep_ms)
{
    size_t changed = 0;

    for (int i = 0; i < MODEL_MESSAGES; i++) {
        model_message *x = &m->messages[i];

        if (x->present && (x->state == PAWL_STATE_DONE || x->state == PAWL_STATE_CANCELLED) &&
            x->finished_us <= m->now_us - keep_ms * 1000) {
            forget_message(x);
            changed++;
        }
    }
    return changed;
}

static bool has_unfinished(const model *m, int topic)
{
    for (int i = 0; i < MODEL_MESSAGES; i++) {
        const model_message *x = &m->messages[i];

        if (x->present && x->sent.topic == topic &&
            (x->state == PAWL_STATE_READY || x->state == PAWL_STATE_RUNNING))
            return true;
    }
    return false;
}

void model_fold(model *m)
{
    for (int i = 0; i < MODEL_TOPICS; i++)
        m->folded[i] = !has_unfinished(m, i);
}

bool model_totals_may_go(const model *m, int topic, int64_t keep_ms)
{
    return m->folded[topic] && !has_unfinished(m, topic) &&
           m->ended_us[topic] <= m->now_us - keep_ms * 1000;
}

void model_totals_gone(model *m, int topic)
{
    m->topic_known[topic] = false;
    memset(m->totals[topic], 0, sizeof m->totals[topic]);
}

void model_topic_used(model *m, int topic)
{
    m->topic_known[topic] = true;
    m->folded[topic] = false;
}

bool model_topic_counted(const model *m, int topic)
{
    for (int i = 0; i < MODEL_MESSAGES; i++)
        if (m->messages[i].sent.topic == topic && is_overdue(m, &m->messages[i]))
            return true;
    return m->topic_known[topic];
}

size_t model_cancel(model *m, const pawl_work_id *ids, size_t count)
{
    size_t changed = 0;

    for (size_t i = 0; i < count; i++) {
        model_message *x = model_by_work_id(m, ids[i].value);

        if (!x || (x->state != PAWL_STATE_READY && x->state != PAWL_STATE_RUNNING))
            continue;
        x->processed_by = NULL;
        model_finish(m, x, PAWL_STATE_CANCELLED);
        changed++;
    }
    return changed;
}

size_t model_redrive(model *m, const pawl_work_id *ids, size_t count)
{
    size_t changed = 0;

    expire_ids(m, ids, count);
    for (size_t i = 0; i < count; i++) {
        model_message *x = model_by_work_id(m, ids[i].value);

        if (!x || (x->state != PAWL_STATE_FAILED && x->state != PAWL_STATE_EXPIRED &&
                   x->state != PAWL_STATE_CANCELLED))
            continue;
        x->retries = x->deferrals = 0;
        x->finished_us = 0;
        x->processed_by = NULL;
        x->expires_us = x->mortal ? m->now_us + x->ttl_us : 0;
        model_make_ready(m, x, m->now_us);
        m->written_us = m->now_us;
        model_topic_used(m, x->sent.topic);
        changed++;
    }
    return changed;
}

size_t model_purge(model *m, const pawl_work_id *ids, size_t count)
{
    size_t changed = 0;

    expire_ids(m, ids, count);
    for (size_t i = 0; i < count; i++) {
        model_message *x = model_by_work_id(m, ids[i].value);

        if (!x || x->state == PAWL_STATE_READY || x->state == PAWL_STATE_RUNNING)
            continue;
        forget_message(x);
        changed++;
    }
    return changed;
}

static bool matches(const model *m, const model_message *x, const pawl_outbox_filter *filter)
{
    const char *correlation = model_correlation(x->sent.correlation);

    return x->present &&
           (filter->states == 0 || (filter->states & (1u << model_shown_state(m, x))) != 0) &&
           (!filter->topic || strcmp(filter->topic, model_topics[x->sent.topic]) == 0) &&
           (!filter->correlation_id ||
            (correlation && strcmp(filter->correlation_id, correlation) == 0)) &&
           (filter->created_before.us == 0 || x->created_us < filter->created_before.us) &&
           (PAWL_PAGE_IS_NONE(filter->after) || x->work_id < strtoll(filter->after.text, NULL, 10));
}

size_t model_matching(const model *m, const pawl_outbox_filter *filter,
                      pawl_work_id ret_ids[MODEL_MESSAGES])
{
    size_t count = 0;

    for (int i = 0; i < MODEL_MESSAGES; i++) {
        pawl_work_id id = {m->messages[i].work_id};
        size_t at = count;

        if (!matches(m, &m->messages[i], filter))
            continue;
        for (; at > 0 && ret_ids[at - 1].value < id.value; at--)
            ret_ids[at] = ret_ids[at - 1];
        ret_ids[at] = id;
        count++;
    }
    return count;
}
