/* tests/crash/life_answer.c - the worker's calls and the administrator's. */
#include "life.h"

#include "operation.h"

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
    operation_claim op = {.owner = model_owner(s->owner),
                          .acks = acks ? items : NULL,
                          .ack_count = (size_t)s->count,
                          .lease_ms = s->ms,
                          .limit = s->count,
                          .opts = &opts};

    for (int i = 0; acks && i < s->count; i++) {
        int number = s->first - s->count + i;
        items[i] = (pawl_held){l->ids[number], l->fences[number]};
    }
    opts.topics = &topic;
    opts.topic_count = 1;
    opts.owner_name = "worker";
    pawl_status st = operation_claim_call(l->store, &op, &acked, &list, err);
    if (st == PAWL_OK)
        check_claimed(l, s, list);
    if (st == PAWL_OK && acks)
        check_changed(l, s, acked);
    pawl_messages_free(list);
    return st;
}

static operation operation_of(const life *l, const step *s, const pawl_held *items)
{
    static const operation_kind kinds[] = {
        [RENEW] = OPERATION_RENEW,     [ACK] = OPERATION_ACK,       [ACK_LATE] = OPERATION_ACK,
        [ABANDON] = OPERATION_ABANDON, [FAIL] = OPERATION_FAIL,     [RELEASE] = OPERATION_RELEASE,
        [REAP] = OPERATION_REAP,       [EXPIRE] = OPERATION_EXPIRE, [CANCEL] = OPERATION_CANCEL,
        [REDRIVE] = OPERATION_REDRIVE, [RETAIN] = OPERATION_RETAIN, [PURGE] = OPERATION_PURGE,
    };

    return (operation){.kind = kinds[s->verb],
                       .owner = model_owner(s->owner),
                       .items = items,
                       .ids = &l->ids[s->first],
                       .count = (size_t)s->count,
                       .ms = s->verb == RETAIN ? PAWL_RETENTION_MS : s->ms,
                       .error = s->verb == FAIL ? "never" : "not now"};
}

static pawl_status unschedule(life *l, const step *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_id ids[ITEMS_MAX];

    for (int i = 0; i < s->count; i++)
        ids[i] = model_id(s->first + i);
    return operation_unschedule(l->store, ids, (size_t)s->count, ret_changed, err);
}

/* The worker's calls and the administrator's. */
pawl_status life_change(life *l, const step *s, pawl_error *err)
{
    pawl_held items[ITEMS_MAX];
    size_t changed = 0;

    for (int i = 0; i < s->count; i++) {
        const int64_t *fences = s->verb == ACK_LATE ? l->earlier_fences : l->fences;
        items[i] = (pawl_held){l->ids[s->first + i], fences[s->first + i]};
    }
    operation op = operation_of(l, s, items);
    pawl_status st = s->verb == UNSCHEDULE ? unschedule(l, s, &changed, err)
                                           : operation_call(l->store, &op, &changed, err);
    if (st == PAWL_OK)
        check_changed(l, s, changed);
    return st;
}
