/* tests/conformance/queue_fixture.c - messages, owners and calls for the tests of the queue. */
#include "queue_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything a test wants kept; one entry of the harness's clean-up list whatever the number. */
static struct {
    void **items;
    void (**free_item)(void *);
    size_t count;
} kept;

static void free_kept(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < kept.count; i++)
        kept.free_item[i](kept.items[i]);
    free(kept.items);
    free(kept.free_item);
    memset(&kept, 0, sizeof kept);
}

static void *keep_item(void *item, void (*free_item)(void *))
{
    size_t size = (kept.count + 1) * sizeof(void *);

    if (kept.count == 0)
        test_defer(free_kept, &kept);
    kept.items = realloc(kept.items, size);
    kept.free_item = realloc(kept.free_item, size);
    if (!kept.items || !kept.free_item)
        abort();
    kept.items[kept.count] = item;
    kept.free_item[kept.count++] = free_item;
    return item;
}

static void free_list(void *list)
{
    pawl_messages_free(list);
}

pawl_messages *queue_keep(pawl_messages *list)
{
    return keep_item(list, free_list);
}

pawl_message_spec queue_message(const char *topic, const char *payload)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;

    message.topic = topic;
    message.payload = payload;
    message.payload_size = payload ? strlen(payload) : 0;
    return message;
}

pawl_enqueued queue_send(fixture *f, const pawl_message_spec *message)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued sent = {0};

    assert_ok(pawl_outbox_enqueue(fixture_store(f), message, &sent, &err), &err);
    return sent;
}

pawl_work_id queue_send_after(fixture *f, const char *topic, const char *payload, int64_t delay_ms)
{
    pawl_message_spec message = queue_message(topic, payload);

    message.delay_ms = delay_ms;
    return queue_send(f, &message).work_id;
}

pawl_work_id queue_send_priority(fixture *f, const char *topic, const char *payload, int priority)
{
    pawl_message_spec message = queue_message(topic, payload);

    message.priority = priority;
    return queue_send(f, &message).work_id;
}

pawl_owner queue_owner(int number)
{
    pawl_owner owner = {{0}};

    owner.bytes[0] = 0xee;
    owner.bytes[14] = (uint8_t)(number >> 8);
    owner.bytes[15] = (uint8_t)number;
    return owner;
}

pawl_uuid queue_id(int number)
{
    pawl_uuid id = {{0}};

    id.bytes[0] = 0xaa;
    id.bytes[6] = 0x40;
    id.bytes[8] = 0x80;
    id.bytes[12] = (uint8_t)(number >> 24);
    id.bytes[13] = (uint8_t)(number >> 16);
    id.bytes[14] = (uint8_t)(number >> 8);
    id.bytes[15] = (uint8_t)number;
    return id;
}

const pawl_message *queue_get(fixture *f, pawl_work_id id)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;

    assert_ok(pawl_outbox_get(fixture_store(f), id, &one, &err), &err);
    assert_int_equal(1, pawl_messages_count(one));
    return pawl_messages_at(queue_keep(one), 0);
}

const char *queue_payload(const pawl_message *message)
{
    return pawl_message_payload(message, NULL);
}

const char *queue_payloads(const pawl_messages *list)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        abort();
    for (size_t i = 0; i < pawl_messages_count(list); i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", queue_payload(pawl_messages_at(list, i)));
    fclose(out);
    return keep_item(text, free);
}

pawl_messages *queue_claim(fixture *f, pawl_owner owner, int64_t lease_ms, int limit,
                           const pawl_claim_options *opts)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    assert_ok(pawl_queue_claim(fixture_store(f), owner, lease_ms, limit, opts, &list, &err), &err);
    return queue_keep(list);
}

pawl_messages *queue_claim_for(fixture *f, pawl_owner owner, int64_t lease_ms, int limit,
                               const char *destination)
{
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;

    opts.destinations = &destination;
    opts.destination_count = 1;
    return queue_claim(f, owner, lease_ms, limit, &opts);
}

const pawl_receipt *queue_receipts(const pawl_messages *list)
{
    size_t count = pawl_messages_count(list);
    pawl_receipt *items = calloc(count + 1, sizeof *items);

    if (!items)
        abort();
    for (size_t i = 0; i < count; i++)
        items[i] = fixture_receipt(list, i);
    return keep_item(items, free);
}

size_t queue_ack(fixture *f, pawl_owner owner, const pawl_messages *list)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_queue_ack(fixture_store(f), owner, queue_receipts(list),
                             pawl_messages_count(list), &changed, &err),
              &err);
    return changed;
}

size_t queue_abandon(fixture *f, pawl_owner owner, const pawl_messages *list, const char *error,
                     int64_t delay_ms)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_queue_abandon(fixture_store(f), owner, queue_receipts(list),
                                 pawl_messages_count(list), error, delay_ms, &changed, &err),
              &err);
    return changed;
}

size_t queue_fail(fixture *f, pawl_owner owner, const pawl_messages *list, const char *error)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_queue_fail(fixture_store(f), owner, queue_receipts(list),
                              pawl_messages_count(list), error, &changed, &err),
              &err);
    return changed;
}

size_t queue_renew(fixture *f, pawl_owner owner, const pawl_messages *list, int64_t lease_ms)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_queue_renew(fixture_store(f), owner, queue_receipts(list),
                               pawl_messages_count(list), lease_ms, &changed, &err),
              &err);
    return changed;
}

size_t queue_release(fixture *f, pawl_owner owner, const pawl_messages *list)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_queue_release(fixture_store(f), owner, queue_receipts(list),
                                 pawl_messages_count(list), &changed, &err),
              &err);
    return changed;
}

size_t queue_reap(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_queue_reap(fixture_store(f), &changed, NULL, &err), &err);
    return changed;
}

size_t queue_expire(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_queue_expire(fixture_store(f), &changed, NULL, &err), &err);
    return changed;
}

size_t queue_prune(fixture *f, int64_t keep_ms)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_queue_prune(fixture_store(f), keep_ms, &changed, NULL, &err), &err);
    return changed;
}

size_t queue_cancel(fixture *f, pawl_work_id id)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_outbox_cancel(fixture_store(f), &id, 1, &changed, &err), &err);
    return changed;
}

size_t queue_retry(fixture *f, pawl_work_id id)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_outbox_retry(fixture_store(f), &id, 1, &changed, &err), &err);
    return changed;
}

size_t queue_purge(fixture *f, pawl_work_id id)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_outbox_purge(fixture_store(f), &id, 1, &changed, &err), &err);
    return changed;
}

/* Nothing else in the topic may be claimable, or that would be answered instead. */
static void take_and_end(fixture *f, const char *topic, pawl_state state)
{
    pawl_owner owner = queue_owner(999);
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    pawl_messages *list;

    opts.topics = &topic;
    opts.topic_count = 1;
    list = queue_claim(f, owner, MINUTE_MS, 1, &opts);
    assert_int_equal(1, pawl_messages_count(list));
    if (state == PAWL_STATE_DONE)
        assert_int_equal(1, queue_ack(f, owner, list));
    if (state == PAWL_STATE_FAILED)
        assert_int_equal(1, queue_fail(f, owner, list, "made to fail"));
}

pawl_work_id queue_make(fixture *f, const char *topic, const char *payload, pawl_state state)
{
    pawl_message_spec message = queue_message(topic, payload);
    pawl_work_id id;

    if (state == PAWL_STATE_EXPIRED)
        message.expires_at = (pawl_wall){fixture_now(f).us - 1};
    if (state == PAWL_STATE_SCHEDULED)
        message.delay_ms = DAY_MS;
    id = queue_send(f, &message).work_id;
    if (state == PAWL_STATE_CANCELLED)
        assert_int_equal(1, queue_cancel(f, id));
    else if (state == PAWL_STATE_EXPIRED)
        assert_int_equal(1, queue_expire(f));
    else if (state != PAWL_STATE_READY && state != PAWL_STATE_SCHEDULED)
        take_and_end(f, topic, state);
    assert_int_equal(state, fixture_state(f, id));
    return id;
}

const char *queue_fingerprint(fixture *f)
{
    return fixture_text(
        f, "SELECT"
           " 'body ' || (SELECT count(*) || '/' || coalesce(sum(id), 0) FROM {body}) ||"
           " ' lane ' || (SELECT count(*) FROM {lane}) ||"
           " ' queue ' || (SELECT count(*) || '/' || coalesce(sum(id), 0) || '/' ||"
           "                      coalesce(sum(retries), 0) || '/' || coalesce(sum(fence), 0)"
           "               FROM {queue}) ||"
           " ' due ' || (SELECT cast(coalesce(sum({us:next_attempt_at} / 1000), 0) AS bigint)"
           "             FROM {message}) ||"
           " ' lease ' || (SELECT cast(coalesce(sum({us:lease_until} / 1000), 0) AS bigint)"
           "               FROM {message}) ||"
           " ' outcome ' || (SELECT count(*) || '/' || coalesce(sum(id), 0) || '/' ||"
           "                        coalesce(sum(state), 0) FROM {outcome}) ||"
           " ' claim ' || (SELECT count(*) FROM {claim})");
}

static const struct {
    const char *sql;
    const char *meaning;
} rules[] = {
    {"SELECT count(*) FROM {queue} q JOIN {outcome} o ON o.id = q.id",
     "messages are unfinished and finished at once"},
    {"SELECT count(*) FROM {body} b WHERE NOT EXISTS (SELECT 1 FROM {queue} q WHERE q.id = b.id)"
     " AND NOT EXISTS (SELECT 1 FROM {outcome} o WHERE o.id = b.id)",
     "messages are neither unfinished nor finished"},
    {"SELECT count(*) FROM {queue} q WHERE NOT EXISTS (SELECT 1 FROM {body} b WHERE b.id = q.id)",
     "queue rows have no message"},
    {"SELECT count(*) FROM {outcome} o WHERE NOT EXISTS (SELECT 1 FROM {body} b WHERE b.id = o.id)",
     "outcome rows have no message"},
    {"SELECT count(*) FROM {queue} q WHERE q.fence <> 0"
     " AND NOT EXISTS (SELECT 1 FROM {claim} c WHERE c.fence = q.fence)",
     "running messages have no claim row, so they would never be reaped"},
    {"SELECT count(*) FROM {message} WHERE state = 1"
     " AND (owner IS NULL OR lease_until IS NULL OR claimed_by IS NULL OR fence = 0)",
     "running messages lack an owner, a lease or a fence"},
    {"SELECT count(*) FROM {message} WHERE state <> 1"
     " AND (owner IS NOT NULL OR lease_until IS NOT NULL OR fence <> 0)",
     "messages that are not running have an owner, a lease or a fence"},
    /* A message past its time to live reads as expired (4) before maintenance moves it. */
    {"SELECT count(*) FROM {message} WHERE (state BETWEEN 2 AND 5) <> (finished_at IS NOT NULL)"
     " AND NOT (state = 4 AND next_attempt_at IS NOT NULL)",
     "finish times do not agree with states"},
    {"SELECT count(*) FROM {message} WHERE max_attempts < 0 OR (max_attempts > 0 AND retries > "
     "max_attempts)",
     "messages were tried more often than allowed"},
    {"SELECT count(*) FROM {queue} q JOIN {body} b ON b.id = q.id"
     " WHERE NOT EXISTS (SELECT 1 FROM {lane} l WHERE l.id = q.lane_id AND l.topic = b.topic"
     "  AND l.priority = b.priority AND l.destination = coalesce(b.destination, ''))",
     "messages are in no lane, or not in their own"},
    {"SELECT count(*) FROM {dead} d WHERE NOT EXISTS (SELECT 1 FROM {outcome} o"
     " WHERE o.id = d.id AND o.state IN (3, 4))",
     "dead letters are recorded that are none"},
};

const char *queue_check_note(fixture *f)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        int64_t wrong = fixture_count(f, "%s", fixture_expand(f, rules[i].sql));

        if (wrong != 0)
            return test_note("%lld %s", (long long)wrong, rules[i].meaning);
    }
    /* SQLite counts the running messages of a lane. */
    if (!fixture_is_postgres(f) &&
        fixture_count(
            f,
            "SELECT count(*) FROM {lane_stats} t WHERE running <> (SELECT count(*) FROM {queue} q"
            " WHERE q.lane_id = t.lane_id AND q.fence <> 0)") != 0)
        return "the lanes count other messages as running than the queue";
    /* It has one writer at a time, so a claim's row always goes with the last message. */
    if (!fixture_is_postgres(f) &&
        fixture_count(f, "SELECT count(*) FROM {claim} WHERE fence NOT IN"
                         " (SELECT fence FROM {queue})") != 0)
        return "claim rows have outlived the last message of their claim";
    /* And keeps there what is said of its topic. */
    if (!fixture_is_postgres(f) &&
        fixture_count(f, "SELECT count(*) FROM {lane_stats} t JOIN {lane} l ON l.id = t.lane_id"
                         " WHERE t.paused <> EXISTS (SELECT 1 FROM {topic} p"
                         "  WHERE p.name = l.topic AND p.paused_at IS NOT NULL)"
                         " OR t.dead <> EXISTS (SELECT 1 FROM {topic} p"
                         "  WHERE p.name IN ('', l.topic) AND p.dead)") != 0)
        return "a lane does not know what was said of its topic";
    return NULL;
}

void queue_check(fixture *f)
{
    const char *wrong = queue_check_note(f);

    if (wrong)
        test_fail("%s", wrong);
}

void queue_assert_says(const pawl_error *error, const char *text, const char *file, int line)
{
    if (!strstr(error->message, text))
        test_fail_at(file, line, "the message \"%s\" does not name \"%s\"", error->message, text);
}
