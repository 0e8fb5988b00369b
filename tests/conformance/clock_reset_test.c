/* tests/conformance/clock_reset_test.c - setting the clock back after the machine's was ahead. */
#include "job_fixture.h"

#define YEAR_MS (365 * DAY_MS)

static void set_clock(fixture *f, int64_t ms)
{
    fixture_set(f, (pawl_wall){FIXTURE_START.us + ms * 1000});
}

static pawl_clock_reset clock_reset_call(fixture *f, bool force)
{
    pawl_clock_reset done = PAWL_CLOCK_RESET_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_store_reset_clock(fixture_store(f), force, false, &done, &err), &err);
    return done;
}

static pawl_wall store_now(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now = PAWL_TIME_UNSET;

    assert_ok(pawl_store_now(fixture_store(f), &now, &err), &err);
    return now;
}

static pawl_work_id send_in(fixture *f, const char *payload, int64_t delay_ms)
{
    pawl_message_spec message = queue_message("t", payload);

    message.delay_ms = delay_ms;
    return queue_send(f, &message).work_id;
}

PAWL_TEST(a_correct_clock_is_not_changed)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "x");
    assert_false(clock_reset_call(f, false).done);
    fixture_advance(f, MINUTE_MS);
    assert_false(clock_reset_call(f, true).done);
    assert_time(FIXTURE_START.us + MINUTE_MS * 1000, store_now(f));
}

PAWL_TEST(delayed_messages_sent_while_the_clock_was_ahead_become_due_in_time)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id before, after;

    before = send_in(f, "before", DAY_MS);
    set_clock(f, HOUR_MS * 2);
    fixture_send(f, "t", "at once");
    after = send_in(f, "in a minute", MINUTE_MS);
    set_clock(f, 0);
    pawl_clock_reset done = clock_reset_call(f, false);
    assert_true(done.done);
    assert_int_equal(2 * HOUR_MS, done.ahead_ms);
    assert_time(FIXTURE_START.us, store_now(f));
    assert_time(FIXTURE_START.us + DAY_MS * 1000, pawl_message_due_at(queue_get(f, before)));
    assert_time(FIXTURE_START.us + MINUTE_MS * 1000, pawl_message_due_at(queue_get(f, after)));
    assert_time(FIXTURE_START.us, pawl_message_created_at(queue_get(f, after)));
    assert_string_equal("at once", queue_payloads(fixture_claim(f, queue_owner(1), DAY_MS, 10)));
    fixture_advance(f, MINUTE_MS);
    assert_string_equal("in a minute",
                        queue_payloads(fixture_claim(f, queue_owner(1), DAY_MS, 10)));
    assert_time(FIXTURE_START.us + MINUTE_MS * 1000, store_now(f));
    queue_check(f);
}

PAWL_TEST(other_processes_follow_the_clock_that_was_set_back)
{
    fixture *f = fixture_open(NULL);
    pawl_store *other = fixture_another_store(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now = PAWL_TIME_UNSET;

    set_clock(f, YEAR_MS);
    fixture_send(f, "t", "x");
    set_clock(f, 0);
    fixture_restart_machine(f); /* so that the other one goes by what it remembers */
    assert_ok(pawl_store_now(other, &now, &err), &err);
    clock_reset_call(f, false);
    assert_ok(pawl_store_now(other, &now, &err), &err);
    assert_time(FIXTURE_START.us, now);
    fixture_advance(f, MINUTE_MS);
    fixture_send(f, "t", "y");
    assert_ok(pawl_store_now(other, &now, &err), &err);
    assert_time(FIXTURE_START.us + MINUTE_MS * 1000, now);
}

PAWL_TEST(leased_messages_prevent_it_unless_forced)
{
    fixture *f = fixture_open(NULL);
    pawl_clock_reset done = PAWL_CLOCK_RESET_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    set_clock(f, YEAR_MS);
    fixture_send(f, "t", "x");
    fixture_claim(f, queue_owner(1), HOUR_MS, 1);
    set_clock(f, 0);
    assert_status(PAWL_E_HELD, pawl_store_reset_clock(fixture_store(f), false, false, &done, &err),
                  &err);
    assert_says(&err, "stop all workers");
    assert_ok(pawl_store_reset_clock(fixture_store(f), false, true, &done, &err), &err);
    assert_false(done.done);
    assert_int_equal(1, done.owned);
    assert_int_equal(YEAR_MS, done.ahead_ms);
    assert_true(clock_reset_call(f, true).done);
    fixture_advance(f, HOUR_MS - 1000);
    assert_int_equal(0, queue_reap(f));
    fixture_advance(f, 1000);
    assert_int_equal(1, queue_reap(f)); /* the lease ends an hour after the reset, not in a year */
    assert_string_equal("x", queue_payloads(fixture_claim(f, queue_owner(2), HOUR_MS, 1)));
    queue_check(f);
}

PAWL_TEST(records_that_ended_while_the_clock_was_ahead_are_kept_for_the_retention)
{
    fixture *f = fixture_open(NULL);

    set_clock(f, YEAR_MS);
    fixture_send(f, "t", "x");
    queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), HOUR_MS, 1));
    set_clock(f, 0);
    clock_reset_call(f, false);
    assert_time(FIXTURE_START.us,
                (pawl_wall){fixture_count(f, "SELECT {us:finished_at} FROM {outcome}")});
}

PAWL_TEST(jobs_go_by_the_clock_that_was_set_back_and_repeat_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "* * * * *");

    job.overlap = PAWL_OVERLAP_ALLOW;
    job_put(f, &job);
    job_tick(f);
    set_clock(f, 10 * MINUTE_MS);
    assert_int_equal(1, job_tick(f).runs);
    set_clock(f, 30 * SECOND_MS);
    clock_reset_call(f, false);
    job_tick(f);
    for (int i = 1; i < 10; i++)
        assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_int_equal(0, job_after(f, MINUTE_MS).runs);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_string_equal("ready@600 ready@60 ready@120 ready@180 ready@240 ready@300 ready@360 "
                        "ready@420 ready@480 ready@540 ready@660",
                        job_story(f, "j"));
}
