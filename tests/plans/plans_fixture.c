/* tests/plans/plans_fixture.c - a big queue, and something to find in it for every statement. */
#include "plans_fixture.h"

#include <stdlib.h>

/* The numbers 1 to n, as both engines can make them. */
static const char *numbers(fixture *f, int64_t n)
{
    if (fixture_is_postgres(f))
        return test_note("(SELECT generate_series(1, %lld) AS n) AS numbers", (long long)n);
    return test_note("(WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up"
                     " WHERE n < %lld) SELECT n FROM up) AS numbers",
                     (long long)n);
}

/* A message id out of a number: sorted, so that the unique index grows at its end. */
static const char *made_id(fixture *f, int kind)
{
    if (fixture_is_postgres(f))
        return test_note("(lpad(to_hex(%d), 8, '0') || lpad(to_hex(n), 24, '0'))::uuid", kind);
    return test_note("CAST(printf('%%04d%%012d', %d, n) AS BLOB)", kind);
}

static void fill_bodies(fixture *f, int kind, int64_t count, const char *lane, const char *due_at)
{
    fixture_exec(
        f,
        "INSERT INTO {body} (id, message_id, topic, priority, destination, type, max_attempts,"
        " created_at, due_at, payload)"
        " SELECT (SELECT coalesce(max(id), 0) FROM {body}) + n, %s,"
        " l.topic, l.priority, nullif(l.destination, ''), 0, 10, {at:%lld}, %s, %s"
        " FROM %s, (SELECT * FROM {lane} WHERE %s ORDER BY id LIMIT 1) l",
        made_id(f, kind), (long long)FIXTURE_START.us, due_at,
        fixture_is_postgres(f) ? "'x'::bytea" : "CAST('x' AS BLOB)", numbers(f, count), lane);
}

static void queue_bodies(fixture *f, int64_t after)
{
    fixture_exec(f,
                 "INSERT INTO {queue} (id, lane_id, run_at)"
                 " SELECT b.id, l.id, b.due_at FROM {body} b JOIN {lane} l ON l.topic = b.topic"
                 " AND l.priority = b.priority AND l.destination = coalesce(b.destination, '')"
                 " WHERE b.id > %lld",
                 (long long)after);
}

static void fill_inbox(fixture *f, int64_t processed)
{
    fixture_exec(f,
                 "INSERT INTO {inbox_record} (source, id, state, first_seen, last_seen,"
                 " processed_at, expires_at)"
                 " SELECT 'shop', %s, 2, {at:%lld}, {at:%lld}, {at:%lld}, {at:%lld} FROM %s",
                 fixture_is_postgres(f) ? "n::text" : "CAST(n AS TEXT)",
                 (long long)FIXTURE_START.us, (long long)FIXTURE_START.us,
                 (long long)FIXTURE_START.us, (long long)(FIXTURE_START.us + 365 * DAY_MS * 1000),
                 numbers(f, processed));
}

/* Claimed for long, by another owner. */
static void fill_leases(fixture *f, int64_t leased)
{
    fixture_exec(f,
                 "INSERT INTO {lease} (name, owner, owner_name, fence, taken_at, renewed_at,"
                 " expires_at) SELECT 'name ' || n, %s, 'x', 1, {at:%lld}, {at:%lld}, {at:%lld}"
                 " FROM %s",
                 made_id(f, 9), (long long)FIXTURE_START.us, (long long)FIXTURE_START.us,
                 (long long)(FIXTURE_START.us + 365 * DAY_MS * 1000), numbers(f, leased));
}

/* Not due for long, each with a history. */
static void fill_jobs(fixture *f, int64_t count)
{
    fixture_exec(
        f,
        "INSERT INTO {job} (name, schedule, topic, next_check_at, next_occurrence_at, created_at,"
        " since, anchor) SELECT 'idle ' || n, '@yearly', 'busy', {at:%lld}, {at:%lld},"
        " {at:%lld}, {at:%lld}, {at:%lld} FROM %s",
        (long long)(FIXTURE_START.us + 365 * DAY_MS * 1000),
        (long long)(FIXTURE_START.us + 365 * DAY_MS * 1000), (long long)FIXTURE_START.us,
        (long long)FIXTURE_START.us, (long long)FIXTURE_START.us, numbers(f, count));
    fixture_exec(
        f,
        "INSERT INTO {job_run} (job_id, state, scheduled_at, last_occurrence_at, created_at,"
        " started_at, ended_at) SELECT id, 2, {at:%lld}, {at:%lld}, {at:%lld}, {at:%lld},"
        " {at:%lld} FROM {job}",
        (long long)FIXTURE_START.us, (long long)FIXTURE_START.us, (long long)FIXTURE_START.us,
        (long long)FIXTURE_START.us, (long long)FIXTURE_START.us);
}

void plans_fill(fixture *f, int64_t finished, int64_t future)
{
    const char *soon = fixture_expand(f, test_note("{at:%lld}", (long long)FIXTURE_START.us));
    const char *late =
        fixture_expand(f, test_note("{at:%lld + CAST(n AS bigint) * 1000000}",
                                    (long long)(FIXTURE_START.us + 365 * DAY_MS * 1000)));
    int64_t first;

    fill_inbox(f, 200 + finished / 10);
    fill_leases(f, 200 + finished / 10);
    fill_jobs(f, finished > 50000 ? 100000 : 2 * finished);
    first = fixture_count(f, "SELECT coalesce(max(id), 0) FROM {body}");
    fill_bodies(f, 1, finished, "topic = 'busy'", soon);
    fixture_exec(f,
                 "INSERT INTO {outcome} (id, state, finished_at, retries)"
                 " SELECT id, 2, {at:%lld}, 0 FROM {body} WHERE id > %lld",
                 (long long)FIXTURE_START.us, (long long)first);
    fixture_exec(f,
                 "INSERT INTO {dead} (id, run_at)"
                 " SELECT id, {at:%lld} FROM {body} WHERE id > %lld",
                 (long long)(FIXTURE_START.us + 365 * DAY_MS * 1000), (long long)first);
    for (int i = 0; i < 2; i++) { /* behind what is due, and in a lane that is scanned first */
        first = fixture_count(f, "SELECT max(id) FROM {body}");
        fill_bodies(f, 2 + i, future / 2, i ? "topic = 'urgent'" : "topic = 'busy'", late);
        queue_bodies(f, first);
    }
    /* Due, urgent, and for a destination that is never claimed. */
    first = fixture_count(f, "SELECT max(id) FROM {body}");
    fill_bodies(f, 4, finished / 10, "destination = 'dead'", soon);
    queue_bodies(f, first);
    if (fixture_is_postgres(f))
        fixture_exec(f, "SELECT setval('{body}_id_seq', (SELECT max(id) FROM {body}))");
}

static void send_to(fixture *f, const char *destination, int priority, int64_t delay_ms)
{
    pawl_message_spec message = queue_message("busy", "x");

    message.destination = destination;
    message.priority = priority;
    message.delay_ms = delay_ms;
    message.expires_at.us = FIXTURE_START.us + 1000 * DAY_MS * 1000;
    queue_send(f, &message);
}

void plans_lanes(fixture *f)
{
    fixture_send(f, "busy", "makes the lane");
    queue_send_priority(f, "urgent", "makes the lane", 9);
    send_to(f, "dead", 9, 0);
    send_to(f, "idle", 0, 365 * DAY_MS);
    send_to(f, "there", 0, 0);
}

static void send_many(fixture *f, const char *topic, int count, int64_t expires_us)
{
    for (int i = 0; i < count; i++) {
        pawl_message_spec message = queue_message(topic, "x");

        message.expires_at.us = expires_us;
        queue_send(f, &message);
    }
}

static pawl_messages *take_messages(fixture *f, const char *topic, int owner, int64_t lease_ms,
                                    int limit)
{
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    pawl_messages *list;

    opts.topics = &topic;
    opts.topic_count = 1;
    list = queue_claim(f, queue_owner(owner), lease_ms, limit, &opts);
    assert_int_equal(limit, pawl_messages_count(list));
    return list;
}

/* Past their retention, dead, and one in progress. */
static void receive_many(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = fixture_store(f);

    for (int i = 0; i < 4 * PLANS_BATCH; i++) {
        const char *id = test_note("%d", i);
        assert_ok(pawl_inbox_mark_processing(store, "few", id, &err), &err);
        if (i % 2)
            assert_ok(pawl_inbox_mark_processed(store, "few", id, &err), &err);
        else
            assert_ok(pawl_inbox_mark_dead(store, "few", id, "x", &err), &err);
    }
    assert_ok(pawl_inbox_mark_processing(store, "few", "held", &err), &err);
}

/* Ended long ago when the clock has moved. */
static void claim_many(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_grant grant;

    for (int i = 0; i < 2 * PLANS_BATCH; i++)
        assert_ok(pawl_lease_acquire(fixture_store(f), test_note("short %d", i), queue_owner(1),
                                     SECOND_MS, NULL, &grant, &err),
                  &err);
}

/* Ten that are due when the clock has moved; of one a run is there. */
static void schedule_some(plans_fixture *w)
{
    pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    job.schedule = "@daily";
    job.topic = "jobs";
    for (int i = 0; i < 10; i++) {
        job.name = i == 0 ? "x" : test_note("due %d", i);
        assert_ok(pawl_job_put(fixture_store(w->f), &job, NULL, &err), &err);
    }
    assert_ok(pawl_job_tick(fixture_store(w->f), NULL, &err), &err);
    assert_ok(pawl_job_trigger(fixture_store(w->f), "x", NULL, NULL, &err), &err);
    w->job = fixture_count(w->f, "SELECT id FROM {job} WHERE name = 'x'");
    if (!fixture_is_postgres(w->f)) /* as if by the tick that is measured */
        fixture_exec(w->f, "UPDATE {job} SET tick = 7 WHERE name = 'x'");
}

void plans_people(plans_fixture *w)
{
    fixture *f = w->f;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list;

    assert_ok(pawl_topic_dead_letters(fixture_store(f), "busy", true, &err), &err);
    receive_many(f);
    claim_many(f);
    schedule_some(w);
    send_many(f, "busy", 2 * PLANS_BATCH, 0); /* done, long ago when the clock has moved */
    queue_ack(f, queue_owner(1), take_messages(f, "busy", 1, HOUR_MS, 2 * PLANS_BATCH));
    send_many(f, "busy", 2 * PLANS_BATCH, 0); /* leased by a dead worker */
    for (int i = 0; i < PLANS_BATCH; i++)
        take_messages(f, "busy", 2, SECOND_MS, 2);
    send_many(f, "busy", 2 * PLANS_BATCH, 0); /* dead letters */
    list = take_messages(f, "busy", 1, HOUR_MS, 2 * PLANS_BATCH);
    queue_fail(f, queue_owner(1), list, "made to fail");
    w->dead = fixture_receipt(list, 0).id.value;
    send_many(f, "busy", PLANS_BATCH, FIXTURE_START.us + 1000000); /* past their time to live */
    fixture_advance(f, 10 * DAY_MS);
    send_many(f, "busy", 10, 0); /* leased by a live one */
    list = take_messages(f, "busy", 1, HOUR_MS, 10);
    w->leased = fixture_receipt(list, 3).id.value;
    w->fence = fixture_receipt(list, 3).fence;
    send_many(f, "busy", 2 * PLANS_BATCH, 0); /* due */
    for (int i = 0; i < PLANS_BATCH; i++)
        send_to(f, "there", 0, 0);
    w->ready = fixture_send(f, "busy", "x").value;
    w->find = pawl_message_id(queue_get(f, (pawl_work_id){w->ready}));
}
