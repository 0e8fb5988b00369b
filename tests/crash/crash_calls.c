/* tests/crash/crash_calls.c - the calls of the scenario: sending, claiming, answering, managing,
 * leases. */
#include <stdio.h>

#include "crash_vfs.h"
#include "crash_run.h"
#include "operation.h"

/* ---- sending ---- */

#define PAYLOAD_ROOM 16384
#define BATCH_MAX 8

pawl_status crash_run_send_one(crash_run *l, int number, pawl_error *err)
{
    uint8_t payload[PAYLOAD_ROOM];
    pawl_message_spec message = model_outgoing(number, payload, step_now_ms(l->at));
    pawl_enqueued enqueued;
    pawl_status st = pawl_outbox_enqueue(l->store, &message, &enqueued, err);

    if (st == PAWL_OK)
        l->ids[number] = enqueued.work_id;
    return st;
}

/* After a fault the library, or this test, may have asked again for what is there. */
static void check_existed(crash_run *l, const step *s, const pawl_enqueued *enqueued)
{
    bool expected = s->verb == SEND_AGAIN;

    if (enqueued->existed != expected && !crash_vfs_fault_happened())
        crash_run_wrong(l, "answered that the message %s", expected ? "was new" : "existed");
}

static void fill_batch(crash_run *l, const step *s, pawl_message_spec *messages,
                       uint8_t (*payloads)[PAYLOAD_ROOM])
{
    for (int i = 0; i < s->count; i++) {
        messages[i] = model_outgoing(s->first + i, payloads[i], step_now_ms(l->at));
        if (s->verb == SEND_OTHER)
            messages[i].payload_size++;
        if (s->verb == SCHEDULE)
            messages[i].delay_ms = s->ms;
    }
}

pawl_status crash_run_send(crash_run *l, const step *s, pawl_error *err)
{
    pawl_message_spec messages[BATCH_MAX];
    pawl_enqueued enqueued[BATCH_MAX];
    uint8_t payloads[BATCH_MAX][PAYLOAD_ROOM] = {{0}};
    pawl_status st;

    fill_batch(l, s, messages, payloads);
    if (s->verb == SCHEDULE)
        st = operation_schedule(l->store, messages, (size_t)s->count, enqueued, err);
    else if (s->count == 1)
        st = pawl_outbox_enqueue(l->store, &messages[0], &enqueued[0], err);
    else
        st = pawl_outbox_enqueue_batch(l->store, messages, (size_t)s->count, enqueued, err);
    if (s->verb == SEND_OTHER) {
        if (st == PAWL_OK)
            crash_run_wrong(l, "other contents were taken under an id that is there");
        return st == PAWL_E_CONFLICT ? PAWL_OK : st;
    }
    for (int i = 0; i < s->count && st == PAWL_OK; i++) {
        l->ids[s->first + i] = enqueued[i].work_id;
        check_existed(l, s, &enqueued[i]);
    }
    return st;
}

static int application_run(crash_run *l, const char *sql)
{
    return sqlite3_exec(l->application, sql, NULL, NULL, NULL);
}

static pawl_status fill_transaction(crash_run *l, const step *s, pawl_error *err)
{
    pawl_message_spec messages[BATCH_MAX];
    uint8_t payloads[BATCH_MAX][PAYLOAD_ROOM];
    pawl_tx *tx = NULL;
    pawl_status st;

    for (int i = 0; i < s->count; i++) {
        char sql[80];
        snprintf(sql, sizeof sql, "INSERT INTO orders (n) VALUES (%d)", s->first + i);
        if (application_run(l, sql) != SQLITE_OK)
            return PAWL_E_IO;
    }
    fill_batch(l, s, messages, payloads);
    st = pawl_tx_foreign_sqlite(l->store, l->application, &tx, err);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue_batch(tx, messages, (size_t)s->count, NULL, err);
    pawl_tx_free(tx);
    return st;
}

/* As an application should: after a failure it opens a new connection. */
pawl_status crash_run_send_tx(crash_run *l, const step *s, pawl_error *err)
{
    bool undo = s->verb == SEND_TX_UNDO;
    pawl_status st = PAWL_E_IO;
    int code = SQLITE_OK;

    if (crash_run_application(l) && application_run(l, "BEGIN IMMEDIATE") == SQLITE_OK)
        st = fill_transaction(l, s, err);
    if (st == PAWL_OK)
        code = application_run(l, undo ? "ROLLBACK" : "COMMIT");
    if (st == PAWL_OK && code != SQLITE_OK)
        st = undo || (code & 0xff) == SQLITE_BUSY ? PAWL_E_BUSY : PAWL_E_IN_DOUBT;
    if (st != PAWL_OK) {
        sqlite3_close(l->application);
        l->application = NULL;
    }
    return st;
}

/* ---- claiming, answering and managing ---- */

#define ITEMS_MAX 16

static void check_claimed(crash_run *l, const step *s, const pawl_messages *list)
{
    int64_t before = l->highest_fence;
    bool seen[MODEL_MESSAGES] = {false};

    if (pawl_messages_count(list) != (size_t)s->count)
        crash_run_wrong(l, "claimed %zu messages", pawl_messages_count(list));
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *message = pawl_messages_at(list, i);
        pawl_uuid id = pawl_message_id(message);
        int number = model_number(id.bytes);

        if (number < s->first || number >= s->first + s->count || seen[number]) {
            crash_run_wrong(l, "claimed message %d", number);
            return;
        }
        seen[number] = true;
        if (pawl_message_fence(message) <= before)
            crash_run_wrong(l, "the claim's fence is %lld after %lld",
                            (long long)pawl_message_fence(message), (long long)before);
        l->ids[number] = pawl_message_work_id(message);
        l->earlier_fences[number] = l->fences[number];
        l->fences[number] = pawl_message_fence(message);
        if (l->fences[number] > l->highest_fence)
            l->highest_fence = l->fences[number];
    }
}

static void check_changed(crash_run *l, const step *s, size_t changed)
{
    size_t expected = model_changes(scenario_model(l->at), s);

    if (changed != expected)
        crash_run_wrong(l, "changed %zu messages instead of %zu", changed, expected);
}

pawl_status crash_run_claim(crash_run *l, const step *s, pawl_error *err)
{
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    const char *topic = model_topic(s->first);
    bool acks = s->verb == ACK_AND_CLAIM;
    pawl_messages *list = NULL;
    pawl_receipt items[ITEMS_MAX];
    size_t acked = 0;
    operation_claim op = {.owner = model_owner(s->owner),
                          .acks = acks ? items : NULL,
                          .ack_count = (size_t)s->count,
                          .lease_ms = s->ms,
                          .limit = s->count,
                          .opts = &opts};

    for (int i = 0; acks && i < s->count; i++) {
        int number = s->first - s->count + i;
        items[i] = (pawl_receipt){l->ids[number], l->fences[number]};
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

static operation operation_of(const crash_run *l, const step *s, const pawl_receipt *items)
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

static pawl_status unschedule(crash_run *l, const step *s, size_t *ret_changed, pawl_error *err)
{
    pawl_uuid ids[ITEMS_MAX];

    for (int i = 0; i < s->count; i++)
        ids[i] = model_id(s->first + i);
    return operation_unschedule(l->store, ids, (size_t)s->count, ret_changed, err);
}

/* The worker's calls and the administrator's. */
pawl_status crash_run_change(crash_run *l, const step *s, pawl_error *err)
{
    pawl_receipt items[ITEMS_MAX];
    size_t changed = 0;

    for (int i = 0; i < s->count; i++) {
        const int64_t *fences = s->verb == ACK_LATE ? l->earlier_fences : l->fences;
        items[i] = (pawl_receipt){l->ids[s->first + i], fences[s->first + i]};
    }
    operation op = operation_of(l, s, items);
    pawl_status st = s->verb == UNSCHEDULE ? unschedule(l, s, &changed, err)
                                           : operation_call(l->store, &op, &changed, err);
    if (st == PAWL_OK)
        check_changed(l, s, changed);
    return st;
}

/* ---- leases ---- */

static void check_lease_end(crash_run *l, const step *s, const pawl_lease_grant *grant)
{
    if (grant->expires_at.us / 1000 != step_now_ms(l->at) + s->ms)
        crash_run_wrong(l, "the lease ends at another time");
}

static void check_token(crash_run *l, const pawl_lease_grant *grant)
{
    if (!grant->taken || grant->fence <= l->highest_fence)
        crash_run_wrong(l, "the lease's token is %lld after %lld", (long long)grant->fence,
                        (long long)l->highest_fence);
    l->highest_fence = grant->fence;
}

/* An owner that lost the result of its acquire would repeat it, too. */
static pawl_status learn_token(crash_run *l, const char *name, int64_t *ret_fence, pawl_error *err)
{
    pawl_leases *one = NULL;
    pawl_status st = pawl_lease_get(l->store, name, &one, err);

    if (st == PAWL_OK)
        *ret_fence = pawl_leases_at(one, 0)->fence;
    if (st == PAWL_OK && *ret_fence > l->highest_fence)
        l->highest_fence = *ret_fence;
    pawl_leases_free(one);
    return st;
}

static pawl_status clean_leases(crash_run *l, pawl_error *err)
{
    const model *before = scenario_model(l->at), *after = scenario_model(l->at + 1);
    size_t removed = 0, expected = 0;
    pawl_status st = pawl_lease_clean(l->store, 0, &removed, NULL, err);

    for (int i = 0; i < MODEL_LEASES; i++)
        expected += before->leases[i].fence != 0 && after->leases[i].fence == 0;
    if (st == PAWL_OK && removed != expected)
        crash_run_wrong(l, "forgot %zu leases instead of %zu", removed, expected);
    return st;
}

static pawl_status change_lease(crash_run *l, const step *s, const char *name, pawl_error *err)
{
    pawl_owner owner = model_owner(s->owner);
    pawl_lease_grant grant;
    int64_t fence = 0;
    pawl_status st = learn_token(l, name, &fence, err);

    if (st != PAWL_OK)
        return st;
    if (s->verb == LEASE_RENEW) {
        st = pawl_lease_renew(l->store, name, owner, fence, s->ms, &grant, err);
        if (st == PAWL_OK)
            check_lease_end(l, s, &grant);
        return st;
    }
    if (s->verb == LEASE_RELEASE)
        return pawl_lease_release(l->store, name, owner, fence, NULL, err);
    st = pawl_lease_release(l->store, name, owner, fence - 1, NULL, err);
    if (st == PAWL_OK)
        crash_run_wrong(l, "a token that is not the owner's released the lease");
    return st == PAWL_E_LOST ? PAWL_OK : st;
}

pawl_status crash_run_lease(crash_run *l, const step *s, pawl_error *err)
{
    const char *name = model_lease_name(s->first);
    pawl_lease_grant grant;

    if (s->verb == LEASE_CLEAN)
        return clean_leases(l, err);
    if (s->verb != LEASE_TAKE)
        return change_lease(l, s, name, err);
    pawl_status st =
        pawl_lease_acquire(l->store, name, model_owner(s->owner), s->ms, "worker", &grant, err);
    if (st == PAWL_OK) {
        check_token(l, &grant);
        check_lease_end(l, s, &grant);
    }
    return st;
}
