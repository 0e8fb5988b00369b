/* tests/conformance/job_overlap_test.c - occurrences that come while a run has not ended; "from
 * start".
 */
#include "job_fixture.h"

#include <string.h>

static void put_with(fixture *f, const char *schedule, pawl_overlap overlap)
{
    pawl_job_definition job = job_define("j", schedule);

    job.overlap = overlap;
    job_put(f, &job);
    job_tick(f);
}

PAWL_TEST(skip_until_it_has_ended)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "* * * * *", PAWL_OVERLAP_SKIP);
    job_after(f, MINUTE_MS);
    assert_int_equal(1, job_after(f, MINUTE_MS).skips); /* not claimed is not ended */
    pawl_messages *list = job_claim(f);
    assert_int_equal(1, job_after(f, MINUTE_MS).skips);
    queue_ack(f, queue_owner(1), list);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_string_equal("done@60 overlap@120 overlap@180 ready@240", job_story(f, "j"));
    assert_int_equal(1, job_get(f, "j")->unfinished);
}

PAWL_TEST(allow_runs_beside_each_other)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "* * * * *", PAWL_OVERLAP_ALLOW);
    for (int i = 0; i < 3; i++)
        job_after(f, MINUTE_MS);
    assert_string_equal("ready@60 ready@120 ready@180", job_story(f, "j"));
    assert_int_equal(3, pawl_messages_count(job_claim(f)));
}

PAWL_TEST(queue_lets_one_wait)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "* * * * *", PAWL_OVERLAP_QUEUE);
    job_after(f, MINUTE_MS);
    pawl_messages *list = job_claim(f);
    job_after(f, MINUTE_MS);
    job_after(f, MINUTE_MS);
    assert_string_equal("running@60 waiting@120 overlap@180", job_story(f, "j"));
    assert_int_equal(0, pawl_messages_count(job_claim(f)));
    queue_ack(f, queue_owner(1), list);
    assert_int_equal(1, job_tick(f).started);
    assert_string_equal("done@60 ready@120 overlap@180", job_story(f, "j"));
    list = job_claim(f);
    assert_non_null(
        strstr(pawl_message_headers(pawl_messages_at(list, 0)), "2026-01-01T00:02:00Z"));
    queue_ack(f, queue_owner(1), list);
    assert_int_equal(0, job_tick(f).started);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
}

PAWL_TEST(a_queued_run_starts_after_any_end_of_the_previous_run)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "* * * * *");

    job.overlap = PAWL_OVERLAP_QUEUE;
    job.max_attempts = 1;
    job.ttl_ms = 10 * MINUTE_MS;
    job_put(f, &job);
    job_tick(f);
    for (int i = 0; i < 2; i++)
        job_after(f, MINUTE_MS);
    queue_fail(f, queue_owner(1), job_claim(f), "no");
    assert_int_equal(1, job_tick(f).started); /* the run of 120 */
    job_after(f, MINUTE_MS);                  /* 180 waits */
    queue_abandon(f, queue_owner(1), job_claim(f), "never", PAWL_DELAY_BY_POLICY);
    assert_int_equal(1, job_tick(f).started);
    job_after(f, MINUTE_MS); /* 240 waits */
    assert_int_equal(1, pawl_messages_count(job_claim(f)));
    fixture_advance(f, 3 * MINUTE_MS);
    assert_int_equal(1, queue_reap(f)); /* the worker with 180 has died */
    assert_int_equal(1, job_tick(f).started);
    pawl_runs *runs = job_runs(f, "j");
    size_t last = pawl_runs_count(runs) - 1;
    assert_int_equal(PAWL_RUN_FAILED, pawl_runs_at(runs, last)->state);
    assert_int_equal(PAWL_RUN_FAILED, pawl_runs_at(runs, last - 1)->state);
    assert_int_equal(PAWL_RUN_FAILED, pawl_runs_at(runs, last - 2)->state);
    assert_string_equal("the lease expired on the last attempt",
                        pawl_runs_at(runs, last - 2)->error);
    assert_int_equal(PAWL_RUN_READY, pawl_runs_at(runs, last - 3)->state);
    assert_int_equal(1, queue_cancel(f, pawl_runs_at(runs, last - 3)->work_id));
    job_tick(f);
    assert_int_equal(PAWL_RUN_CANCELLED, pawl_runs_at(job_runs(f, "j"), last - 3)->state);
    const pawl_run *ready = job_last_run(f, "j"); /* 420, which had waited meanwhile */
    assert_int_equal(PAWL_RUN_READY, ready->state);
    fixture_advance(f, 11 * MINUTE_MS);
    assert_int_equal(4, queue_expire(f)); /* the messages that failed, too; their runs stay so */
    assert_int_equal(PAWL_RUN_EXPIRED, job_last_run(f, "j")->state);
    assert_int_equal(1, job_tick(f).runs);
    queue_check(f);
}

PAWL_TEST(a_triggered_run_counts_and_waits_like_others)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    put_with(f, "* * * * *", PAWL_OVERLAP_QUEUE);
    assert_false(job_trigger(f, "j").waiting);
    pawl_job_triggered second = job_trigger(f, "j");
    assert_true(second.waiting);
    assert_true(pawl_uuid_is_zero(second.message_id));
    assert_status(PAWL_E_BUSY, pawl_job_trigger(fixture_store(f), "j", NULL, NULL, &err), &err);
    assert_says(&err, "waiting");
    assert_int_equal(1, job_after(f, MINUTE_MS).skips);
    assert_int_equal(1, job_work(f));
    assert_int_equal(1, job_tick(f).started);
    assert_int_equal(1, job_work(f));
    assert_string_equal("t-done@0 t-done@0 overlap@60", job_story(f, "j"));
}

PAWL_TEST(disabling_and_changing_leave_queued_runs)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    put_with(f, "* * * * *", PAWL_OVERLAP_QUEUE);
    job_after(f, MINUTE_MS);
    job_after(f, MINUTE_MS);
    assert_ok(pawl_job_disable(fixture_store(f), "j", NULL, &err), &err);
    job_tick(f);
    assert_int_equal(1, job_work(f));
    assert_int_equal(1, job_tick(f).started);
    assert_int_equal(1, job_work(f));
    assert_string_equal("done@60 done@120", job_story(f, "j"));
}

/* ---- "from start" ---- */

PAWL_TEST(from_start_counts_from_the_claim)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "every 10m from start", PAWL_OVERLAP_SKIP);
    assert_int_equal(1, job_after(f, 10 * MINUTE_MS).runs);
    assert_time(0, job_get(f, "j")->next_due_at);
    assert_int_equal(0,
                     job_after(f, HOUR_MS).examined); /* nothing to examine until it is claimed */
    pawl_messages *list = job_claim(f);
    job_tick(f);
    int64_t next = FIXTURE_START.us + 80 * MINUTE_MS * 1000;
    assert_time(next, job_get(f, "j")->next_due_at);
    fixture_advance(f, MINUTE_MS);
    queue_abandon(f, queue_owner(1), list, "again", 1000);
    fixture_advance(f, MINUTE_MS);
    assert_int_equal(1, job_work(f)); /* a retry does not move it */
    job_tick(f);
    assert_time(next, job_get(f, "j")->next_due_at);
    fixture_set(f, (pawl_wall){next});
    assert_int_equal(1, job_tick(f).runs);
    assert_string_equal("done@600 ready@4800", job_story(f, "j"));
}

PAWL_TEST(from_start_continues_after_a_run_that_never_began)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "every 10m from start", PAWL_OVERLAP_SKIP);
    job_after(f, 10 * MINUTE_MS);
    fixture_advance(f, MINUTE_MS);
    assert_int_equal(1, queue_cancel(f, job_last_run(f, "j")->work_id));
    job_tick(f);
    assert_time(FIXTURE_START.us + 21 * MINUTE_MS * 1000, job_get(f, "j")->next_due_at);
    assert_int_equal(1, job_after(f, 10 * MINUTE_MS).runs);
    assert_string_equal("cancelled@600 ready@1260", job_story(f, "j"));
}

PAWL_TEST(from_start_skips_beside_a_triggered_run_and_continues)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "every 10m from start", PAWL_OVERLAP_SKIP);
    job_trigger(f, "j");
    assert_int_equal(1, job_after(f, 10 * MINUTE_MS).skips);
    assert_time(FIXTURE_START.us + 20 * MINUTE_MS * 1000, job_get(f, "j")->next_due_at);
    assert_int_equal(1, job_work(f)); /* which moves nothing */
    job_tick(f);
    assert_time(FIXTURE_START.us + 20 * MINUTE_MS * 1000, job_get(f, "j")->next_due_at);
    assert_int_equal(1, job_after(f, 10 * MINUTE_MS).runs);
}

PAWL_TEST(from_start_late_and_changed)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "every 10m from start");

    job.misfire = PAWL_MISFIRE_SKIP;
    job_put(f, &job);
    job_tick(f);
    assert_int_equal(1, job_after(f, DAY_MS).skips);
    assert_time(fixture_now(f).us + 600000000, job_get(f, "j")->next_due_at);
    job.misfire = PAWL_MISFIRE_ONCE;
    job_put(f, &job);
    assert_int_equal(1, job_after(f, DAY_MS).runs);
    assert_time(0, job_get(f, "j")->next_due_at);
    job.schedule = "@hourly"; /* no longer awaited */
    job_put(f, &job);
    job_tick(f);
    assert_time(FIXTURE_START.us + (2 * DAY_MS + HOUR_MS) * 1000, job_get(f, "j")->next_due_at);
}

PAWL_TEST(a_queued_run_starts_after_the_previous_run_was_pruned)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("line", "* * * * *");
    pawl_error err = PAWL_ERROR_INIT;

    job.overlap = PAWL_OVERLAP_QUEUE;
    job.keep_runs = 1;
    job_put(f, &job);
    job_tick(f);
    job_after(f, MINUTE_MS);
    job_after(f, MINUTE_MS);
    assert_string_equal("ready@60 waiting@120", job_story(f, "line"));
    assert_int_equal(1, job_work(f));
    assert_ok(pawl_job_clean(fixture_store(f), NULL, NULL, &err), &err);
    assert_int_equal(1, job_tick(f).started);
    assert_string_equal("done@60 ready@120", job_story(f, "line"));
    queue_check(f);
}
