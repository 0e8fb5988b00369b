/* tests/conformance/job_clock_test.c - jobs when the clock was ahead: they come back. */
#include "job_fixture.h"

#define YEAR_MS (365 * DAY_MS)

static void set_clock(fixture *f, int64_t ms)
{
    fixture_set(f, (pawl_wall){FIXTURE_START.us + ms * 1000});
}

static void put_each_minute(fixture *f)
{
    pawl_job_definition job = job_define("j", "* * * * *");

    job.overlap = PAWL_OVERLAP_ALLOW;
    job_put(f, &job);
    job_tick(f);
}

static void assert_comes_each_minute(fixture *f)
{
    job_tick(f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(1, job_after(f, MINUTE_MS).runs);
}

PAWL_TEST(jobs_come_back_when_the_clock_was_ahead)
{
    fixture *f = fixture_open(NULL);

    put_each_minute(f);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    set_clock(f, YEAR_MS);
    assert_int_equal(1, job_tick(f).runs);
    set_clock(f, 90 * SECOND_MS);
    assert_comes_each_minute(f);
}

PAWL_TEST(jobs_come_back_after_disable_and_enable)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    put_each_minute(f);
    set_clock(f, YEAR_MS);
    assert_int_equal(1, job_tick(f).runs);
    set_clock(f, 90 * SECOND_MS);
    assert_ok(pawl_job_disable(fixture_store(f), "j", NULL, &err), &err);
    job_tick(f);
    assert_ok(pawl_job_enable(fixture_store(f), "j", NULL, &err), &err);
    job_tick(f);
    assert_comes_each_minute(f);
}

PAWL_TEST(a_job_stored_while_the_clock_was_ahead_recovers)
{
    fixture *f = fixture_open(NULL);

    set_clock(f, YEAR_MS);
    put_each_minute(f);
    job_add(f, "interval", "every 1m");
    job_tick(f);
    set_clock(f, 0);
    job_tick(f);
    job_after(f, MINUTE_MS);
    job_after(f, MINUTE_MS);
    assert_true(pawl_runs_count(job_runs(f, "j")) >= 2);
    assert_true(pawl_runs_count(job_runs(f, "interval")) >= 2);
}

/* Its run is claimed while the clock is a year ahead, so that the next is a minute after that. */
static void run_from_start_ahead(fixture *f)
{
    job_add(f, "j", "every 1m from start");
    job_tick(f);
    set_clock(f, YEAR_MS);
    assert_int_equal(1, job_tick(f).runs);
    assert_int_equal(1, job_work(f));
    job_tick(f);
}

PAWL_TEST(a_job_from_start_comes_back)
{
    fixture *f = fixture_open(NULL);

    run_from_start_ahead(f);
    set_clock(f, 30 * SECOND_MS);
    job_tick(f);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
}

PAWL_TEST(a_job_from_start_comes_back_though_that_occurrence_has_run)
{
    fixture *f = fixture_open(NULL);

    run_from_start_ahead(f);
    set_clock(f, 0); /* a minute from here is the occurrence that has run */
    job_tick(f);
    job_after(f, MINUTE_MS);
    job_after(f, MINUTE_MS);
    assert_true(pawl_runs_count(job_runs(f, "j")) >= 2);
}

/* The run ends by the corrected clock, so the scheduler plans the job again: its start is known. */
PAWL_TEST(a_small_correction_leaves_the_occurrence_after_a_start_where_it_is)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "every 10m from start");

    job.overlap = PAWL_OVERLAP_QUEUE; /* an end is news for the scheduler */
    job_put(f, &job);
    job_tick(f);
    assert_int_equal(1, job_after(f, 10 * MINUTE_MS).runs);
    fixture_advance(f, 4 * MINUTE_MS);
    pawl_messages *list = job_claim(f);
    job_tick(f);
    int64_t next = FIXTURE_START.us + 24 * MINUTE_MS * 1000;
    assert_time(next, job_get(f, "j")->next_due_at);
    set_clock(f, 11 * MINUTE_MS);
    assert_int_equal(1, queue_ack(f, queue_owner(1), list));
    assert_int_equal(1, job_tick(f).examined);
    assert_time(next, job_get(f, "j")->next_due_at);
    fixture_set(f, (pawl_wall){next});
    assert_int_equal(1, job_tick(f).runs);
}

/* Ahead by ten minutes, in which it ran three times; then right again.
 * SQLite's clock is set back by pawl_store_reset_clock() alone. */
PAWL_TEST_ON(postgres, no_occurrence_runs_twice_when_the_clock_is_set_back)
{
    fixture *f = fixture_open(NULL);

    put_each_minute(f);
    set_clock(f, 10 * MINUTE_MS);
    assert_int_equal(1, job_tick(f).runs); /* of ten, by the misfire policy */
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    set_clock(f, 30 * SECOND_MS);
    job_tick(f);
    for (int i = 1; i < 10; i++)
        assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    for (int i = 10; i <= 12; i++)
        assert_int_equal(0, job_after(f, MINUTE_MS).runs);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_string_equal("ready@600 ready@660 ready@720 ready@60 ready@120 ready@180 ready@240 "
                        "ready@300 ready@360 ready@420 ready@480 ready@540 ready@780",
                        job_story(f, "j"));
}

/* The lease of a scheduler that died while the clock was ahead must not keep the others away. */
PAWL_TEST(a_lease_taken_by_a_clock_that_was_ahead_ends)
{
    fixture *f = fixture_open(NULL);
    pawl_lease_grant grant;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = fixture_store(f);
    int64_t ttl_ms = 15 * SECOND_MS;

    set_clock(f, YEAR_MS);
    assert_ok(pawl_lease_acquire(store, "l", queue_owner(1), ttl_ms, NULL, &grant, &err), &err);
    set_clock(f, 0);
    assert_status(PAWL_E_HELD,
                  pawl_lease_acquire(store, "l", queue_owner(2), ttl_ms, NULL, &grant, &err), &err);
    fixture_advance(f, ttl_ms);
    assert_ok(pawl_lease_acquire(store, "l", queue_owner(2), ttl_ms, NULL, &grant, &err), &err);
}
