/* tests/conformance/clock_test.c - the database's clock decides, also when it jumps. */
#include "queue_fixture.h"

#include <time.h>

#define YEAR_US (INT64_C(365) * DAY_MS * 1000)

static pawl_wall store_now(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now = PAWL_TIME_UNSET;

    assert_ok(pawl_store_now(fixture_store(f), &now, &err), &err);
    return now;
}

PAWL_TEST(the_store_reads_the_clock_of_the_database)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    assert_time(FIXTURE_START.us, store_now(f));
    fixture_advance(f, 1234);
    assert_time(FIXTURE_START.us + 1234000, store_now(f));
    assert_status(PAWL_E_INVALID, pawl_store_now(fixture_store(f), NULL, &err), &err);
}

PAWL_TEST(the_real_clock_is_the_machines)
{
    const fixture_options opts = {.real_clock = true};
    fixture *f = fixture_open(&opts);
    int64_t before = (int64_t)time(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_wall now = store_now(f);
    int64_t after = (int64_t)time(NULL);

    /* One second on either side: both are rounded. */
    assert_in_range(now.us / 1000000, before - 1, after + 1);
    assert_in_range(pawl_message_created_at(queue_get(f, id)).us / 1000000, before - 1, after + 1);
    assert_true(store_now(f).us >= now.us);
    assert_string_equal("x", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
}

PAWL_TEST_ON(sqlite, sqlites_clock_is_never_below_a_stored_time)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id;

    fixture_advance(f, HOUR_MS);
    fixture_send(f, "t", "x");
    fixture_set(f, FIXTURE_START);
    assert_time(FIXTURE_START.us + HOUR_MS * 1000, store_now(f));
    id = fixture_send(f, "t", "y");
    assert_time(FIXTURE_START.us + HOUR_MS * 1000, pawl_message_created_at(queue_get(f, id)));
    fixture_set(f, (pawl_wall){FIXTURE_START.us + 2 * HOUR_MS * 1000});
    fixture_claim(f, queue_owner(1), MINUTE_MS, 10);
    fixture_set(f, FIXTURE_START);
    fixture_reopen(f);
    assert_time(FIXTURE_START.us + 2 * HOUR_MS * 1000, store_now(f));
}

/* ---- SQLite: the wall clock was ahead ---- */

/* The wall clock is a year ahead while one message is stored, and right again after that. */
static void clock_spoil(fixture *f)
{
    fixture_set(f, (pawl_wall){FIXTURE_START.us + YEAR_US});
    fixture_send(f, "spoilt", "x");
    fixture_set(f, FIXTURE_START);
}

static void send_later(fixture *f, int64_t ms)
{
    pawl_message_spec message = queue_message("t", "later");

    message.delay_ms = ms;
    queue_send(f, &message);
}

PAWL_TEST_ON(sqlite, time_goes_on_while_the_wall_clock_is_behind)
{
    fixture *f = fixture_open(NULL);

    clock_spoil(f);
    send_later(f, 10 * SECOND_MS);
    assert_string_equal("x", queue_payloads(fixture_claim(f, queue_owner(1), SECOND_MS, 10)));
    fixture_advance(f, 10 * SECOND_MS);
    /* Nothing was written since: reading alone has to see that the time went on. */
    assert_time(FIXTURE_START.us + YEAR_US + 10 * SECOND_MS * 1000, store_now(f));
    assert_int_equal(1, queue_reap(f));
    assert_int_equal(2, (int)pawl_messages_count(fixture_claim(f, queue_owner(2), SECOND_MS, 10)));
}

PAWL_TEST_ON(sqlite, a_message_reads_as_expired_as_soon_as_its_time_has_passed)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "short-lived");
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    clock_spoil(f);
    message.expires_at = (pawl_wall){store_now(f).us + 10 * SECOND_MS * 1000};
    pawl_work_id id = queue_send(f, &message).work_id;
    fixture_advance(f, 10 * SECOND_MS);
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, id));
    filter.states = 1u << PAWL_STATE_EXPIRED;
    assert_ok(pawl_outbox_list(fixture_store(f), &filter, &list, NULL, &err), &err);
    assert_int_equal(1, pawl_messages_count(queue_keep(list)));
}

PAWL_TEST_ON(sqlite, time_goes_on_in_every_process)
{
    fixture *f = fixture_open(NULL);
    pawl_store *other = fixture_another_store(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now = PAWL_TIME_UNSET;

    clock_spoil(f);
    fixture_advance(f, HOUR_MS);
    assert_ok(pawl_store_now(other, &now, &err), &err);
    assert_time(FIXTURE_START.us + YEAR_US + HOUR_MS * 1000, now);
    fixture_reopen(f);
    assert_time(now.us, store_now(f));
}

PAWL_TEST_ON(sqlite, time_continues_after_a_reboot)
{
    fixture *f = fixture_open(NULL);
    int64_t ahead_us = FIXTURE_START.us + YEAR_US;

    clock_spoil(f);
    fixture_restart_machine(f);
    fixture_reopen(f);
    assert_time(ahead_us, store_now(f)); /* how long it was off is not known */
    fixture_advance(f, MINUTE_MS);
    assert_time(ahead_us + MINUTE_MS * 1000, store_now(f)); /* nothing was written yet */
    fixture_send(f, "t", "x");
    fixture_reopen(f);
    fixture_advance(f, MINUTE_MS);
    assert_time(ahead_us + 2 * MINUTE_MS * 1000, store_now(f));
}

/* As in a container with a time namespace of its own, or under a program that fakes clocks. */
PAWL_TEST_ON(sqlite, time_goes_on_when_the_boot_clock_was_ahead_as_well)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "x");
    fixture_advance(f, YEAR_US / 1000);
    fixture_send(f, "t", "y");
    fixture_advance(f, -YEAR_US / 1000);
    fixture_advance(f, MINUTE_MS);
    store_now(f);
    fixture_advance(f, MINUTE_MS);
    assert_time(FIXTURE_START.us + YEAR_US + MINUTE_MS * 1000, store_now(f));
}

PAWL_TEST(a_wall_clock_that_is_right_again_is_followed)
{
    fixture *f = fixture_open(NULL);

    clock_spoil(f);
    fixture_set(f, (pawl_wall){FIXTURE_START.us + YEAR_US + 1000000});
    assert_time(FIXTURE_START.us + YEAR_US + 1000000, store_now(f));
    fixture_advance(f, SECOND_MS);
    assert_time(FIXTURE_START.us + YEAR_US + 2000000, store_now(f));
}

PAWL_TEST_ON(sqlite, a_clock_that_is_ahead_is_an_error_in_the_log_once)
{
    fixture *f = fixture_open(NULL);

    store_now(f);
    assert_false(fixture_logged(f, PAWL_LOG_ERROR, "ahead"));
    clock_spoil(f);
    store_now(f);
    assert_true(fixture_logged(f, PAWL_LOG_ERROR, "--reset-clock"));
    assert_true(fixture_logged_field(f, "--reset-clock", "store", "sqlite"));
    fixture_log_clear(f);
    fixture_send(f, "t", "x");
    store_now(f);
    assert_false(fixture_logged(f, PAWL_LOG_ERROR, ""));
    fixture_set(f, (pawl_wall){FIXTURE_START.us + 2 * YEAR_US});
    store_now(f);
    fixture_set(f, FIXTURE_START);
    fixture_log_clear(f);
    store_now(f);
    assert_true(fixture_logged(f, PAWL_LOG_ERROR, "--reset-clock")); /* another time */
}

PAWL_TEST(a_clock_that_steps_back_loses_nothing)
{
    fixture *f = fixture_open(NULL);

    fixture_advance(f, HOUR_MS);
    fixture_send(f, "t", "before");
    assert_string_equal("before", queue_payloads(fixture_claim(f, queue_owner(1), DAY_MS, 10)));
    fixture_send(f, "t", "waits");
    fixture_set(f, FIXTURE_START);
    fixture_send(f, "t", "after");
    /* PostgreSQL gives what was sent after the step at once, the rest when its time comes again. */
    fixture_claim(f, queue_owner(1), DAY_MS, 10);
    fixture_advance(f, 2 * HOUR_MS);
    fixture_claim(f, queue_owner(1), DAY_MS, 10);
    assert_int_equal(3, fixture_count(f, "SELECT count(*) FROM {message} WHERE state = 1"));
    queue_check(f);
}

PAWL_TEST(messages_sent_after_a_step_back_are_claimed)
{
    fixture *f = fixture_open(NULL);

    fixture_advance(f, HOUR_MS);
    for (int i = 0; i < 3; i++) {
        fixture_send(f, "t", "old");
        assert_string_equal("old", queue_payloads(fixture_claim(f, queue_owner(1), DAY_MS, 10)));
        fixture_advance(f, SECOND_MS);
    }
    fixture_set(f, FIXTURE_START);
    fixture_send(f, "t", "new");
    assert_string_equal("new", queue_payloads(fixture_claim(f, queue_owner(1), DAY_MS, 10)));
}

PAWL_TEST(a_clock_that_jumps_ahead_ends_leases_and_the_fence_protects)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *early, *late;

    fixture_send(f, "t", "x");
    early = fixture_claim(f, queue_owner(1), HOUR_MS, 1);
    fixture_advance(f, DAY_MS);
    assert_int_equal(1, queue_reap(f));
    late = fixture_claim(f, queue_owner(2), HOUR_MS, 1);
    assert_int_equal(0, queue_ack(f, queue_owner(1), early));
    assert_int_equal(1, queue_ack(f, queue_owner(2), late));
}

PAWL_TEST(times_keep_their_microseconds)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    const pawl_message *m;

    fixture_set(f, (pawl_wall){FIXTURE_START.us + 123457});
    message.due_at = (pawl_wall){FIXTURE_START.us + 987654321};
    m = queue_get(f, queue_send(f, &message).work_id);
    assert_time(FIXTURE_START.us + 123457, pawl_message_created_at(m));
    assert_time(FIXTURE_START.us + 987654321, pawl_message_due_at(m));
}
