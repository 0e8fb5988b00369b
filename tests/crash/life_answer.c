/* tests/crash/life_answer.c - the worker's calls and the administrator's. */
#include "life.h"

#include <stddef.h>
#include <string.h>

#define ITEMS_MAX 16

static void check_claimed(life *l, const step *s, const pawl_messages *list)
{
    int64_t before = l->highest_fence;
    bool seen[MODEL_MESSAGES] = {false};

    if (pawl_messages_count(list) != (size_t)s->count)
        life_wrong(l, "claimed %zu messages", pawl_messages_count(list));
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *message = pawl_messages_at(list, i);
        pawl_message_id id = pawl_message_get_id(message);
        int number = model_number(id.bytes);

        if (number < s->first || number >= s->first + s->count || seen[number]) {
            life_wrong(l, "claimed message %d", number);
            return;
        }
        seen[number] = true;
        if (pawl_message_fence(message) <= before)
            life_wrong(l, "the claim's fence is %lld after %lld",
                       (long long)pawl_message_fence(message), (long long)before);
        l->ids[number] = pawl_message_work_id(message);
        l->earlier_fences[number] = l->fences[number];
        l->fences[number] = pawl_message_fence(message);
        if (l->fences[number] > l->highest_fence)
            l->highest_fence = l->fences[number];
    }
}

static void check_changed(life *l, const step *s, size_t changed)
{
    size_t expected = model_changes(scenario_model(l->at), s);

    if (changed != expected)
        life_wrong(l, "changed %zu messages instead of %zu", changed, expected);
}

pawl_status life_claim(life *l, const step *s, pawl_error *err)
{
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    const char *topic = model_topic(s->first);
    bool acks = s->verb == ACK_AND_CLAIM;
    pawl_messages *list = NULL;
    pawl_held items[ITEMS_MAX];
    size_t acked = 0;
    pawl_status st;

    for (int i = 0; acks && i < s->count; i++) {
        int number = s->first - s->count + i;
        items[i] = (pawl_held){l->ids[number], l->fences[number]};
    }

    opts.topics = &topic;
    opts.topic_count = 1;
    opts.owner_name = "worker";
    if (acks)
        st = pawl_queue_ack_and_claim(l->store, model_owner(s->owner), items, (size_t)s->count,
                                      s->ms, s->count, &opts, &acked, &list, err);
    else
        st = pawl_queue_claim(l->store, model_owner(s->owner), s->ms, s->count, &opts, &list, err);
    if (st == PAWL_OK)
        check_claimed(l, s, list);
    if (st == PAWL_OK && acks)
        check_changed(l, s, acked);
    pawl_messages_free(list);
    return st;
}

pawl_status life_answer(life *l, const step *s, pawl_error *err)
{
    pawl_owner owner = model_owner(s->owner);
    size_t count = (size_t)s->count;
    pawl_held items[ITEMS_MAX];
    size_t changed = 0;
    pawl_status st;

    for (int i = 0; i < s->count; i++) {
        const int64_t *fences = s->verb == ACK_LATE ? l->earlier_fences : l->fences;
        items[i] = (pawl_held){l->ids[s->first + i], fences[s->first + i]};
    }
    switch (s->verb) {
    case RENEW:
        st = pawl_queue_renew(l->store, owner, items, count, s->ms, &changed, err);
        break;
    case ABANDON:
        st = pawl_queue_abandon(l->store, owner, items, count, "not now", s->ms, &changed, err);
        break;
    case FAIL:
        st = pawl_queue_fail(l->store, owner, items, count, "never", &changed, err);
        break;
    case RELEASE:
        st = pawl_queue_release(l->store, owner, items, count, &changed, err);
        break;
    default:
        st = pawl_queue_ack(l->store, owner, items, count, &changed, err);
        break;
    }
    if (st == PAWL_OK)
        check_changed(l, s, changed);
    return st;
}

static pawl_status unschedule(life *l, const step *s, size_t *ret_changed, pawl_error *err)
{
    pawl_scheduler *scheduler = NULL;
    pawl_message_id ids[ITEMS_MAX];
    pawl_status st = pawl_scheduler_new_on_store(l->store, &scheduler, err);

    for (int i = 0; i < s->count; i++)
        ids[i] = model_id(s->first + i);
    if (st == PAWL_OK)
        st = pawl_timer_cancel(scheduler, ids, (size_t)s->count, ret_changed, err);
    pawl_scheduler_free(scheduler);
    return st;
}

pawl_status life_manage(life *l, const step *s, pawl_error *err)
{
    const pawl_work_id *ids = &l->ids[s->first];
    size_t count = (size_t)s->count;
    size_t changed = 0;
    pawl_status st;

    switch (s->verb) {
    case REAP:
        st = pawl_queue_reap(l->store, &changed, NULL, err);
        break;
    case EXPIRE:
        st = pawl_queue_expire(l->store, &changed, NULL, err);
        break;
    case CANCEL:
        st = pawl_outbox_cancel(l->store, ids, count, &changed, err);
        break;
    case UNSCHEDULE:
        st = unschedule(l, s, &changed, err);
        break;
    case REDRIVE:
        st = pawl_outbox_redrive(l->store, ids, count, &changed, err);
        break;
    case RETAIN:
        st = pawl_queue_retain(l->store, PAWL_RETENTION_MS, &changed, NULL, err);
        break;
    default:
        st = pawl_outbox_purge(l->store, ids, count, &changed, err);
        break;
    }
    if (st == PAWL_OK)
        check_changed(l, s, changed);
    return st;
}
