/* tests/conformance/waiter_test.c - events that end a worker's wait, and its rows in the tables.
 */
#include "queue_fixture.h"

#include <stdlib.h>
#include <time.h>

#include "store_private.h"
#include "waiter.h"

#define FAR_US (600 * INT64_C(1000000))

/* A waiter, the claims around it, and a second store as another process would have. */
typedef struct bed {
    fixture *f;
    pawl_store *other;
    pawli_waiter *waiter;
} bed;

/* The clock that deadlines are of. */
static pawl_mono after_us(int64_t us)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (pawl_mono){(int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + us};
}

static void free_waiter(void *waiter)
{
    pawli_waiter_free(waiter);
}

static void end_waiter(bed *b)
{
    test_defer_cancel(b->waiter);
    pawli_waiter_free(b->waiter);
}

/* Nothing but an event ends a wait before the test's own time is up, except where said. */
static bed make_bed(const fixture_options *fixture_opts, bool listen)
{
    pawli_waiter_options opts = PAWLI_WAITER_OPTIONS_INIT;
    bed b = {.f = fixture_open(fixture_opts)};
    pawl_error err = PAWL_ERROR_INIT;

    opts.use_notify = listen;
    opts.max_wait_us = FAR_US;
    opts.deaf_us = 20000; /* through PgBouncer there is nothing else */
    opts.poll_us = 20000;
    b.other = fixture_another_store(b.f);
    assert_ok(pawli_waiter_new(fixture_store(b.f)->db, &opts, &b.waiter, &err), &err);
    test_defer(free_waiter, b.waiter);
    return b;
}

static void arm(bed *b)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawli_waiter_arm(b->waiter, NULL, 0, &err), &err);
}

static pawli_woken wait_until(bed *b, int64_t ms)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_woken why = PAWLI_WOKEN_CALLED;
    pawl_mono deadline = after_us(ms * 1000);

    assert_ok(pawli_waiter_wait(b->waiter, deadline, &why, &err), &err);
    return why;
}

static int64_t sleepers(bed *b)
{
    return fixture_is_postgres(b->f) ? fixture_count(b->f, "SELECT count(*) FROM {idle_worker}")
                                     : 0;
}

/* Those that a sender takes for alive. */
static int64_t living(bed *b)
{
    return fixture_count(b->f, "SELECT count(*) FROM {idle_worker} WHERE {us:seen_at} > %lld",
                         (long long)(fixture_now(b->f).us - 90 * SECOND_MS * 1000));
}

/* Claim and wait, as a worker does, until there is something; it must not end by a deadline. */
static pawl_messages *claim_or_sleep(bed *b)
{
    while (true) {
        pawl_messages *list = fixture_claim(b->f, queue_owner(1), MINUTE_MS, 10);

        if (pawl_messages_count(list) > 0)
            return list;
        arm(b);
        list = fixture_claim(b->f, queue_owner(1), MINUTE_MS, 10);
        if (pawl_messages_count(list) > 0)
            return list;
        if (wait_until(b, 10 * MINUTE_MS) == PAWLI_WOKEN_DEADLINE)
            test_fail("slept for ten minutes");
    }
}

/*
 * Armed, and on PostgreSQL written down as asleep; false if a pooler is in between, through which
 * no notification arrives.
 */
static bool fall_asleep(bed *b)
{
    int tries = getenv("PAWL_TEST_POSTGRES_DIRECT") ? 5 : 3000;

    arm(b);
    while (fixture_is_postgres(b->f) && living(b) < 1 && --tries > 0) {
        wait_until(b, 20);
        arm(b);
    }
    return tries > 0;
}

static const char *send_here(bed *b)
{
    fixture_send(b->f, "t", "here");
    return "here";
}

static const char *send_elsewhere(bed *b)
{
    pawl_message_spec message = queue_message("t", "elsewhere");
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_outbox_enqueue(b->other, &message, NULL, &err), &err);
    return "elsewhere";
}

static const char *send_wrapped(bed *b)
{
    pawl_message_spec message = queue_message("t", "wrapped");
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = fixture_tx_begin(b->f, 0);

    assert_ok(pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    fixture_tx_exec(b->f, 0, "COMMIT"); /* and without a call of pawl_tx_committed() */
    return "wrapped";
}

static const char *redrive(bed *b)
{
    pawl_work_id id = {fixture_count(b->f, "SELECT max(id) FROM {outcome} WHERE state = 3")};
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_outbox_retry(b->other, &id, 1, NULL, &err), &err);
    return "failed";
}

static pawl_receipt held_by(bed *b, pawl_owner owner)
{
    pawl_messages *list = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_queue_owned(b->other, owner, &list, &err), &err);
    return fixture_receipt(queue_keep(list), 0);
}

static const char *release(bed *b)
{
    pawl_receipt item = held_by(b, queue_owner(2));
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_queue_release(b->other, queue_owner(2), &item, 1, NULL, &err), &err);
    return "held";
}

static const char *reap(bed *b)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    fixture_exec(b->f, "UPDATE {queue} SET lease_until = {at:1} WHERE fence <> 0");
    fixture_exec(b->f, "UPDATE {claim} SET check_at = {at:1}");
    assert_ok(pawl_queue_reap(b->other, &changed, NULL, &err), &err);
    assert_int_equal(1, changed);
    return "held";
}

static const char *abandon(bed *b)
{
    pawl_receipt item = held_by(b, queue_owner(2));
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_queue_abandon(b->other, queue_owner(2), &item, 1, NULL, 1, NULL, &err), &err);
    return "held";
}

static const char *resume(bed *b)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_topic_resume(b->other, "paused", NULL, &err), &err);
    return "paused";
}

/* All but what `act` is about is out of the way: one failed, one running elsewhere, one paused. */
static void expect_woken(const char *(*act)(bed *b))
{
    const fixture_options real = {.real_clock = true};
    bed b = make_bed(&real, true);
    pawl_error err = PAWL_ERROR_INIT;

    queue_make(b.f, "t", "failed", PAWL_STATE_FAILED);
    assert_ok(pawl_topic_pause(b.other, "paused", NULL, &err), &err);
    fixture_send(b.f, "paused", "paused");
    fixture_send(b.f, "t", "held");
    fixture_claim(b.f, queue_owner(2), HOUR_MS, 1);
    fall_asleep(&b);
    assert_int_equal(0, pawl_messages_count(fixture_claim(b.f, queue_owner(1), MINUTE_MS, 10)));
    const char *expected = act(&b); /* after the second claim, before the wait */
    assert_string_equal(expected, queue_payloads(claim_or_sleep(&b)));
}

PAWL_TEST(resuming_a_topic_wakes)
{
    expect_woken(resume);
}

PAWL_TEST(sending_wakes)
{
    expect_woken(send_here);
}

PAWL_TEST(sending_through_another_store_wakes)
{
    expect_woken(send_elsewhere);
}

PAWL_TEST(sending_in_the_applications_transaction_wakes)
{
    expect_woken(send_wrapped);
}

PAWL_TEST(retrying_wakes)
{
    expect_woken(redrive);
}

PAWL_TEST(releasing_wakes)
{
    expect_woken(release);
}

PAWL_TEST(reaping_wakes)
{
    expect_woken(reap);
}

PAWL_TEST(an_abandoned_message_wakes_a_worker_when_due)
{
    expect_woken(abandon);
}

PAWL_TEST(a_message_for_later_ends_the_wait_when_it_is_due)
{
    const fixture_options real = {.real_clock = true};
    bed b = make_bed(&real, true);

    queue_send_after(b.f, "t", "later", HOUR_MS);
    queue_send_after(b.f, "t", "soon", 200);
    queue_send_priority(b.f, "u", "u", 3); /* another lane, which has nothing for later */
    assert_string_equal("u", queue_payloads(claim_or_sleep(&b)));
    assert_string_equal("soon", queue_payloads(claim_or_sleep(&b)));
}

PAWL_TEST(only_the_topics_asked_for_end_the_wait_by_being_due)
{
    static const char *const topics[] = {"mine", "none"};
    bed b = make_bed(NULL, true);
    pawl_error err = PAWL_ERROR_INIT;

    queue_send_after(b.f, "mine", "x", HOUR_MS);
    queue_send_after(b.f, "other", "x", 1);
    fall_asleep(&b);
    assert_ok(pawli_waiter_arm(b.waiter, topics, 2, &err), &err);
    fixture_advance(b.f, MINUTE_MS);
    assert_ok(pawli_waiter_arm(b.waiter, topics, 2, &err), &err);
    pawli_woken why = wait_until(&b, 0);
    assert_true(why == PAWLI_WOKEN_DEADLINE || why == PAWLI_WOKEN_POLL);
    assert_ok(pawli_waiter_arm(b.waiter, topics + 1, 1, &err), &err);
    fixture_advance(b.f, DAY_MS);
    why = wait_until(&b, 0);
    assert_true(why == PAWLI_WOKEN_DEADLINE || why == PAWLI_WOKEN_POLL);
}

static void send_later_to(bed *b, const char *destination, int64_t delay_ms)
{
    pawl_message_spec message = queue_message("t", "x");

    message.destination = destination;
    message.delay_ms = delay_ms;
    queue_send(b->f, &message);
}

static pawli_woken wait_remote(bed *b, const char *name, bool others, int64_t ms)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawli_waiter_arm_remote(b->waiter, name ? &name : NULL, name ? 1 : 0, others, &err),
              &err);
    return wait_until(b, ms);
}

PAWL_TEST(only_the_destinations_asked_for_end_the_wait_by_being_due)
{
    bed b = make_bed(NULL, true);

    send_later_to(&b, "far", HOUR_MS);
    send_later_to(&b, "near", 1);
    queue_send_after(b.f, "t", "local", 2 * HOUR_MS);
    fall_asleep(&b);
    assert_int_not_equal(PAWLI_WOKEN_DUE, wait_remote(&b, "far", false, 30));
    assert_int_not_equal(PAWLI_WOKEN_DUE, wait_remote(&b, "near", true, 30));
    assert_int_not_equal(PAWLI_WOKEN_DUE, wait_remote(&b, "none", false, 30));
    arm(&b);
    assert_int_not_equal(PAWLI_WOKEN_DUE, wait_until(&b, 30));
    if (!fixture_is_postgres(b.f)) { /* which may also end it by an echo of its own */
        assert_int_equal(PAWLI_WOKEN_DUE, wait_remote(&b, "near", false, 10 * MINUTE_MS));
        assert_int_equal(PAWLI_WOKEN_DUE, wait_remote(&b, "far", true, 10 * MINUTE_MS));
        assert_int_equal(PAWLI_WOKEN_DUE, wait_remote(&b, NULL, true, 10 * MINUTE_MS));
    }
}

PAWL_TEST(a_deadline_and_a_nudge_end_the_wait)
{
    bed b = make_bed(NULL, true);

    fall_asleep(&b);
    assert_int_equal(PAWLI_WOKEN_DEADLINE, wait_until(&b, 0));
    assert_int_equal(PAWLI_WOKEN_POLL, wait_until(&b, 0)); /* not armed: nothing to wait for */
    arm(&b);
    pawli_waiter_wake(b.waiter);
    assert_int_equal(PAWLI_WOKEN_CALLED, wait_until(&b, 10 * MINUTE_MS));
    arm(&b);
    assert_int_equal(PAWLI_WOKEN_DEADLINE, wait_until(&b, 0)); /* one nudge ends one wait */
    arm(&b);
    pawl_store_interrupt(fixture_store(b.f)); /* before the call: does nothing */
    assert_int_equal(PAWLI_WOKEN_DEADLINE, wait_until(&b, 0));
}

PAWL_TEST(without_notify_it_polls)
{
    bed b = make_bed(NULL, false);

    arm(&b);
    assert_int_equal(0, sleepers(&b));
    assert_int_equal(0, pawl_messages_count(fixture_claim(b.f, queue_owner(1), MINUTE_MS, 10)));
    send_elsewhere(&b);
    assert_string_equal("elsewhere", queue_payloads(claim_or_sleep(&b)));
    assert_int_equal(0, sleepers(&b));
}

PAWL_TEST_ON(postgres_direct, a_waiter_row_is_stored_and_removed_with_its_waiter)
{
    bed b = make_bed(NULL, true);

    assert_true(fall_asleep(&b));
    pawli_waiter_disarm(b.waiter);
    assert_int_equal(1, sleepers(&b)); /* a worker that is busy only for a moment keeps its row */
    end_waiter(&b);
    assert_int_equal(0, sleepers(&b));
}

PAWL_TEST_ON(postgres, senders_notify_only_when_a_live_waiter_waits)
{
    bed b = make_bed(NULL, true);

    assert_int_equal(0, fixture_count(b.f, "SELECT {wake}()"));
    fixture_exec(b.f, "INSERT INTO {idle_worker} VALUES (gen_random_uuid(), {at:%lld})",
                 (long long)fixture_now(b.f).us);
    assert_int_equal(1, fixture_count(b.f, "SELECT {wake}()"));
    fixture_advance(b.f, 2 * MINUTE_MS);
    assert_int_equal(0, fixture_count(b.f, "SELECT {wake}()"));
}

PAWL_TEST_ON(postgres_direct, registering_a_waiter_removes_dead_waiter_rows)
{
    bed b = make_bed(NULL, true);

    fixture_exec(b.f, "INSERT INTO {idle_worker} VALUES (gen_random_uuid(), {at:%lld})",
                 (long long)fixture_now(b.f).us);
    fixture_advance(b.f, 2 * MINUTE_MS);
    assert_true(fall_asleep(&b));
    assert_int_equal(1, sleepers(&b));
    assert_int_equal(1, fixture_count(b.f, "SELECT {wake}()"));
}

PAWL_TEST_ON(postgres, a_dead_waiter_row_locked_by_another_session_is_skipped)
{
    bed b = make_bed(NULL, true);

    fixture_exec(b.f, "INSERT INTO {idle_worker} VALUES (gen_random_uuid(), {at:1})");
    fixture_tx_exec(b.f, 0, "BEGIN");
    fixture_tx_exec(b.f, 0, "SELECT FROM {idle_worker} FOR UPDATE");
    fixture_exec(b.f, "SELECT {idle}('5ee9e700-0000-4000-8000-000000000001', true)");
    assert_int_equal(2, sleepers(&b));
    fixture_tx_exec(b.f, 0, "ROLLBACK");
    fixture_exec(b.f, "SELECT {idle}('5ee9e700-0000-4000-8000-000000000001', true)");
    assert_int_equal(1, sleepers(&b));
}

/* The snapshot of such a transaction may be older than the waiter's row. */
PAWL_TEST_ON(postgres, a_transaction_with_an_old_snapshot_always_notifies)
{
    bed b = make_bed(NULL, true);

    fixture_tx_exec(b.f, 0, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_int_equal(0, fixture_tx_count(b.f, 0, "SELECT count(*) FROM {queue}"));
    fall_asleep(&b);
    assert_int_equal(0, pawl_messages_count(fixture_claim(b.f, queue_owner(1), MINUTE_MS, 10)));
    fixture_tx_exec(b.f, 0, "SELECT {enqueue}('t', 'old snapshot')");
    fixture_tx_exec(b.f, 0, "COMMIT");
    assert_string_equal("old snapshot", queue_payloads(claim_or_sleep(&b)));
}

/* It sent before anybody slept, so it does not notify; but it had its id before that. */
PAWL_TEST_ON(postgres, a_transaction_that_sent_before_the_waiter_registered_is_waited_for)
{
    const fixture_options real = {.real_clock = true};
    bed b = make_bed(&real, true);

    fixture_tx_exec(b.f, 0, "BEGIN");
    fixture_tx_exec(b.f, 0, "SELECT {enqueue}('t', 'early')");
    fall_asleep(&b);
    assert_int_equal(0, pawl_messages_count(fixture_claim(b.f, queue_owner(1), MINUTE_MS, 10)));
    assert_int_equal(PAWLI_WOKEN_POLL, wait_until(&b, 10 * MINUTE_MS)); /* keeps polling */
    fixture_tx_exec(b.f, 0, "COMMIT");
    assert_string_equal("early", queue_payloads(claim_or_sleep(&b)));
}

/*
 * The waiter gets its transaction id first; the sender has a higher one, and reads before the
 * waiter's commit. So it is not enough that no transaction below the waiter's id is left.
 */
PAWL_TEST_ON(postgres, a_sender_that_began_after_the_waiter_and_did_not_see_it_is_waited_for)
{
    bed b = make_bed(NULL, true);

    fixture_tx_exec(b.f, 0, "BEGIN");
    fixture_tx_exec(b.f, 0, "SELECT {idle}('5ee9e700-0000-4000-8000-000000000001', true)");
    fixture_tx_exec(b.f, 1, "BEGIN");
    assert_int_equal(0, fixture_tx_count(b.f, 1, "SELECT {wake}() FROM pg_current_xact_id()"));
    fixture_tx_exec(b.f, 0, "COMMIT");
    int64_t epoch = fixture_count(b.f, "SELECT since FROM {snapshot_passed}()");
    assert_int_equal(0, fixture_count(b.f, "SELECT passed FROM {snapshot_passed}()"));
    assert_int_equal(
        0, fixture_count(b.f, "SELECT passed FROM {snapshot_passed}(%lld)", (long long)epoch));
    fixture_tx_exec(b.f, 1, "COMMIT");
}

PAWL_TEST_ON(postgres, a_prepared_transaction_can_send_without_notifying)
{
    bed b = make_bed(NULL, true);

    fixture_exec(b.f, "INSERT INTO {idle_worker} VALUES (gen_random_uuid(), {at:%lld})",
                 (long long)fixture_now(b.f).us);
    fixture_tx_exec(b.f, 0, "BEGIN");
    fixture_tx_exec(b.f, 0, "SET LOCAL {notify} = off");
    assert_int_equal(0, fixture_tx_count(b.f, 0, "SELECT {wake}()"));
    fixture_tx_exec(b.f, 0, "ROLLBACK");
    assert_int_equal(1, fixture_count(b.f, "SELECT {wake}()"));
}

PAWL_TEST_ON(postgres_direct, a_listening_connection_that_was_lost_is_made_again)
{
    const fixture_options real = {.real_clock = true};
    bed b = make_bed(&real, true);

    assert_true(fall_asleep(&b));
    assert_int_equal(1, fixture_count(b.f,
                                      "SELECT count(pg_terminate_backend(pid))"
                                      " FROM pg_stat_activity WHERE query LIKE 'LISTEN%%'"
                                      " AND query LIKE '%%%s.wake%%'",
                                      fixture_store_options(b.f)->schema));
    assert_int_equal(PAWLI_WOKEN_POLL, wait_until(&b, 10 * MINUTE_MS));
    assert_true(fall_asleep(&b));
    assert_int_equal(0, pawl_messages_count(fixture_claim(b.f, queue_owner(1), MINUTE_MS, 10)));
    send_elsewhere(&b);
    assert_string_equal("elsewhere", queue_payloads(claim_or_sleep(&b)));
}

PAWL_TEST(unrelated_writes_do_not_end_the_wait)
{
    bed b = make_bed(NULL, true);

    fixture_exec(b.f, "CREATE TABLE {orders} (n integer)");
    queue_send_after(b.f, "t", "x",
                     HOUR_MS); /* not while it sleeps: that would be a notification */
    fall_asleep(&b);
    fixture_exec(b.f, "INSERT INTO {orders} VALUES (1)");
    fixture_exec(b.f, "INSERT INTO {orders} VALUES (2)");
    arm(&b);
    fixture_exec(b.f, "INSERT INTO {orders} VALUES (3)");
    pawli_woken why = wait_until(&b, 0);
    assert_true(why == PAWLI_WOKEN_DEADLINE || why == PAWLI_WOKEN_POLL);
}

PAWL_TEST_ON(sqlite, an_in_memory_database_is_checked)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    pawli_waiter *waiter = NULL;
    pawl_message_spec message = queue_message("t", "x");
    pawli_woken why;

    opts.deploy_schema = true;
    assert_ok(pawl_store_open("sqlite::memory:", &opts, &store, &err), &err);
    assert_ok(pawli_waiter_new(store->db, NULL, &waiter, &err), &err);
    assert_ok(pawli_waiter_arm(waiter, NULL, 0, &err), &err);
    assert_ok(pawl_outbox_enqueue(store, &message, NULL, &err), &err);
    assert_ok(pawli_waiter_wait(waiter, after_us(FAR_US), &why, &err), &err);
    assert_int_equal(PAWLI_WOKEN_SENT, why);
    pawli_waiter_free(waiter);
    pawl_store_close(store);
}
