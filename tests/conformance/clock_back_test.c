/*
 * tests/conformance/clock_back_test.c - the clock was ahead and is right again, or was behind:
 * maintenance alone recovers everything. SQLite's clock continues from the highest time;
 * PostgreSQL's rows are moved.
 */
#include "inbox_fixture.h"

#include <pawl/dead.h>

#define YEAR_MS (365 * DAY_MS)

static void set_clock(fixture *f, int64_t ms)
{
    fixture_set(f, (pawl_wall){FIXTURE_START.us + ms * 1000});
}

/* The steps of a worker, until nothing is left to do now. */
static void maintain(fixture *f)
{
    pawl_scan scan = {0, true};
    pawl_error err = PAWL_ERROR_INIT;

    while (scan.more)
        assert_ok(pawl_queue_reap(fixture_store(f), NULL, &scan, &err), &err);
}

/* As long as it may take until the clock is believed. */
static void minutes(fixture *f, int count)
{
    for (int i = 0; i < 6 * count; i++) {
        fixture_advance(f, 10 * SECOND_MS);
        maintain(f);
    }
}

/* Claims and acknowledges all due messages. */
static const char *ack_all(fixture *f)
{
    pawl_messages *list = fixture_claim(f, queue_owner(9), DAY_MS, 1000);

    queue_ack(f, queue_owner(9), list);
    return queue_payloads(list);
}

static void send_at(fixture *f, const char *payload, int64_t ms)
{
    pawl_message_spec message = queue_message("t", payload);

    message.due_at = (pawl_wall){FIXTURE_START.us + ms * 1000};
    queue_send(f, &message);
}

PAWL_TEST(immediate_messages_sent_while_the_clock_was_ahead_are_ready_at_once)
{
    fixture *f = fixture_open(NULL);

    maintain(f);
    set_clock(f, YEAR_MS);
    fixture_send(f, "t", "x");
    set_clock(f, 0);
    maintain(f);
    assert_string_equal("x", ack_all(f));
    queue_check(f);
}

PAWL_TEST(a_delay_passes_from_when_the_clock_was_set_back)
{
    fixture *f = fixture_open(NULL);

    set_clock(f, YEAR_MS);
    queue_send_after(f, "t", "x", 10 * MINUTE_MS);
    set_clock(f, 0);
    minutes(f, 9);
    assert_string_equal("", ack_all(f));
    minutes(f, 4);
    assert_string_equal("x", ack_all(f));
}

/* SQLite's clock stays ahead: there these times have come. */
PAWL_TEST_ON(postgres, a_time_that_was_named_while_the_clock_was_ahead_stays)
{
    fixture *f = fixture_open(NULL);

    set_clock(f, YEAR_MS);
    send_at(f, "passed", -DAY_MS);
    send_at(f, "soon", HOUR_MS);
    send_at(f, "late", YEAR_MS + HOUR_MS);
    set_clock(f, 0);
    maintain(f);
    assert_string_equal("passed", ack_all(f));
    minutes(f, 59);
    assert_string_equal("", ack_all(f));
    minutes(f, 1);
    assert_string_equal("soon", ack_all(f));
    set_clock(f, YEAR_MS + HOUR_MS - 1);
    maintain(f);
    assert_string_equal("", ack_all(f));
    fixture_advance(f, 1);
    assert_string_equal("late", ack_all(f));
}

PAWL_TEST(retries_and_releases_of_a_clock_that_was_ahead_become_ready)
{
    fixture *f = fixture_open(NULL);
    pawl_owner owner = queue_owner(1);

    fixture_send(f, "t", "retried");
    set_clock(f, YEAR_MS);
    queue_abandon(f, owner, fixture_claim(f, owner, DAY_MS, 1), "no", 10 * MINUTE_MS);
    fixture_send(f, "t", "released");
    queue_release(f, owner, fixture_claim(f, owner, DAY_MS, 1));
    maintain(f);
    set_clock(f, 0);
    maintain(f);
    assert_string_equal("released", ack_all(f));
    minutes(f, 9);
    assert_string_equal("", ack_all(f));
    minutes(f, 4);
    assert_string_equal("retried", ack_all(f));
}

PAWL_TEST(claims_of_workers_that_died_while_the_clock_was_ahead_end)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec own = queue_message("t", "own");

    own.lease_ms = 2 * MINUTE_MS;
    queue_send(f, &own);
    fixture_send(f, "t", "x");
    set_clock(f, YEAR_MS);
    fixture_claim(f, queue_owner(1), 10 * MINUTE_MS, 2);
    maintain(f);
    set_clock(f, 0);
    minutes(f, 5);
    assert_string_equal("own", ack_all(f));
    minutes(f, 4);
    assert_string_equal("", ack_all(f));
    minutes(f, 5);
    assert_string_equal("x", ack_all(f));
    queue_check(f);
}

PAWL_TEST(a_delivery_whose_receiver_died_while_the_clock_was_ahead_is_recovered)
{
    fixture *f = fixture_open(NULL);

    set_clock(f, YEAR_MS);
    maintain(f);
    pawl_inbox_task *lost = inbox_call(f, "a", NULL);
    assert_answer(PAWL_INBOX_NEW, lost);
    set_clock(f, 0);
    assert_answer(PAWL_INBOX_IN_PROGRESS, inbox_call(f, "a", NULL));
    minutes(f, 4);
    assert_answer(PAWL_INBOX_NEW, inbox_call(f, "a", NULL));
}

/* For some seconds: nothing that waits may run before its time when the clock is right again. */
PAWL_TEST(a_clock_that_was_behind_makes_no_timer_run_early)
{
    fixture *f = fixture_open(NULL);

    queue_send_after(f, "t", "delayed", HOUR_MS);
    send_at(f, "named", HOUR_MS);
    fixture_send(f, "t", "x");
    maintain(f);
    set_clock(f, -YEAR_MS);
    for (int i = 0; i < 5; i++) {
        maintain(f);
        fixture_advance(f, 10 * SECOND_MS);
    }
    assert_string_equal("x", ack_all(f)); /* it was due when it was sent */
    set_clock(f, MINUTE_MS);
    minutes(f, 57);
    assert_string_equal("", ack_all(f));
    minutes(f, 3);
    assert_string_equal("delayed named", ack_all(f));
}

PAWL_TEST(more_than_one_batch_comes_back_after_the_clock_was_ahead)
{
    fixture *f = fixture_open(NULL);

    set_clock(f, YEAR_MS);
    for (int i = 0; i < 1200; i++)
        queue_send_after(f, "t", "x", i % 2 ? MINUTE_MS : 0);
    set_clock(f, 0);
    maintain(f);
    assert_int_equal(600, pawl_messages_count(fixture_claim(f, queue_owner(1), DAY_MS, 1000)));
    minutes(f, 4);
    assert_int_equal(600, pawl_messages_count(fixture_claim(f, queue_owner(1), DAY_MS, 1000)));
}

PAWL_TEST_ON(postgres, a_clock_that_goes_on_writes_nothing_more_than_every_ten_seconds)
{
    fixture *f = fixture_open(NULL);

    maintain(f);
    const char *before = fixture_text(f, "SELECT ctid FROM {clock_watch}");
    fixture_advance(f, 9 * SECOND_MS);
    maintain(f);
    assert_string_equal(before, fixture_text(f, "SELECT ctid FROM {clock_watch}"));
    fixture_advance(f, 2 * SECOND_MS);
    maintain(f);
    assert_string_not_equal(before, fixture_text(f, "SELECT ctid FROM {clock_watch}"));
}
