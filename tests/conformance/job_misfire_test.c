/* tests/conformance/job_misfire_test.c - occurrences that no scheduler processed in time. */
#include "job_fixture.h"

static void put_with(fixture *f, const char *schedule, pawl_misfire misfire, pawl_overlap overlap)
{
    pawl_job_definition job = job_define("j", schedule);

    job.misfire = misfire;
    job.overlap = overlap;
    job_put(f, &job);
    job_tick(f);
}

PAWL_TEST(within_the_grace_period_every_occurrence_runs)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "*/10 * * * * *", PAWL_MISFIRE_ONCE, PAWL_OVERLAP_ALLOW);
    assert_int_equal(3, job_after(f, 35 * SECOND_MS).runs);
    assert_string_equal("ready@10 ready@20 ready@30", job_story(f, "j"));
    assert_int_equal(4, job_after(f, 35 * SECOND_MS).runs); /* the oldest is 30 s late */
}

PAWL_TEST(after_a_week_once)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "0 * * * *", PAWL_MISFIRE_ONCE, PAWL_OVERLAP_SKIP);
    pawl_job_tick_result result = job_after(f, 7 * DAY_MS + MINUTE_MS);
    assert_int_equal(1, result.runs);
    assert_int_equal(1, result.skips);
    assert_string_equal("misfire@3600-601200*167 ready@604800", job_story(f, "j"));
    assert_time(FIXTURE_START.us + (7 * DAY_MS + HOUR_MS) * 1000,
                job_get(f, "j")->next_occurrence_at);
}

PAWL_TEST(after_a_week_all_up_to_the_cap_one_after_the_other)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "0 0 * * *");

    job.misfire = PAWL_MISFIRE_ALL;
    job.misfire_cap = 3;
    job_put(f, &job);
    job_tick(f);
    assert_int_equal(3, job_after(f, 7 * DAY_MS + HOUR_MS).runs);
    assert_string_equal("misfire@86400-345600*4 ready@432000 waiting@518400 waiting@604800",
                        job_story(f, "j"));
    assert_int_equal(0, job_tick(f).started);
    assert_int_equal(1, job_work(f));
    assert_int_equal(1, job_tick(f).started);
    assert_string_equal("misfire@86400-345600*4 done@432000 ready@518400 waiting@604800",
                        job_story(f, "j"));
    assert_int_equal(1, job_work(f));
    assert_int_equal(1, job_tick(f).started);
    assert_int_equal(1, job_work(f));
    assert_int_equal(0, job_tick(f).started);
    assert_string_equal("misfire@86400-345600*4 done@432000 done@518400 done@604800",
                        job_story(f, "j"));
    assert_int_equal(0, job_get(f, "j")->unfinished);
}

PAWL_TEST(all_together_where_overlaps_are_allowed)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "0 0 * * *", PAWL_MISFIRE_ALL, PAWL_OVERLAP_ALLOW);
    assert_int_equal(7, job_after(f, 7 * DAY_MS + HOUR_MS).runs);
    assert_int_equal(7, job_work(f));
}

PAWL_TEST(after_a_week_skip)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "0 * * * *", PAWL_MISFIRE_SKIP, PAWL_OVERLAP_SKIP);
    pawl_job_tick_result result = job_after(f, 7 * DAY_MS + 10 * MINUTE_MS);
    assert_int_equal(0, result.runs);
    assert_string_equal("misfire@3600-604800*168", job_story(f, "j"));
    assert_int_equal(1, job_after(f, 50 * MINUTE_MS).runs);
}

PAWL_TEST(skip_runs_occurrences_that_are_not_late)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "*/30 * * * * *", PAWL_MISFIRE_SKIP, PAWL_OVERLAP_ALLOW);
    assert_int_equal(3, job_after(f, 10 * MINUTE_MS).runs); /* 540 is just in time */
    assert_string_equal("misfire@30-510*17 ready@540 ready@570 ready@600", job_story(f, "j"));
}

PAWL_TEST(a_year_of_seconds_is_no_more_work_than_a_minute)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "* * * * * *", PAWL_MISFIRE_ONCE, PAWL_OVERLAP_SKIP);
    pawl_job_tick_result result = job_after(f, 365 * DAY_MS);
    assert_int_equal(1, result.runs);
    assert_string_equal("misfire@1-31535999*10000+ ready@31536000", job_story(f, "j"));
}

PAWL_TEST(many_due_occurrences_are_made_in_several_steps)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "* * * * * *");
    pawl_job_tick_result one = PAWL_JOB_TICK_RESULT_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    job.misfire_grace_ms = DAY_MS;
    job.overlap = PAWL_OVERLAP_ALLOW;
    job_put(f, &job);
    job_tick(f);
    fixture_advance(f, 250 * SECOND_MS);
    assert_ok(pawl_job_tick(fixture_store(f), &one, &err), &err);
    assert_int_equal(100, one.runs);
    assert_true(one.more);
    assert_int_equal(150, job_tick(f).runs);
    assert_int_equal(250, job_work(f));
}

PAWL_TEST(a_clock_that_is_stepped_back_repeats_nothing)
{
    fixture *f = fixture_open(NULL);

    put_with(f, "* * * * *", PAWL_MISFIRE_ONCE, PAWL_OVERLAP_ALLOW);
    for (int i = 0; i < 5; i++)
        job_after(f, MINUTE_MS);
    fixture_set(f, FIXTURE_START);
    assert_int_equal(0, job_tick(f).runs);
    /* PostgreSQL's jobs wait; SQLite's time continues. */
    for (int i = 0; i < 5 && fixture_is_postgres(f); i++)
        assert_int_equal(0, job_after(f, MINUTE_MS).runs);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_string_equal("ready@60 ready@120 ready@180 ready@240 ready@300 ready@360",
                        job_story(f, "j"));
}

PAWL_TEST(jitter_is_the_same_for_every_scheduler_and_stays_before_the_next_occurrence)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "* * * * *");

    job.jitter_ms = HOUR_MS;
    job.overlap = PAWL_OVERLAP_ALLOW;
    job_put(f, &job);
    job_tick(f);
    for (int i = 1; i <= 20; i++) {
        const pawl_job *now = job_get(f, "j");
        int64_t occurrence = FIXTURE_START.us + i * MINUTE_MS * 1000;
        assert_time(occurrence, now->next_occurrence_at);
        assert_true(now->next_due_at.us >= occurrence &&
                    now->next_due_at.us < occurrence + 60000000);
        fixture_set(f, (pawl_wall){now->next_due_at.us - 1});
        assert_int_equal(0, job_tick(f).runs);
        fixture_set(f, now->next_due_at);
        assert_int_equal(1, job_tick_on(i % 2 ? fixture_another_store(f) : fixture_store(f)).runs);
        assert_time(occurrence, job_last_run(f, "j")->scheduled_at);
    }
    const char *dues = fixture_text(f, "SELECT count(DISTINCT {us:created_at} %% 60000000) FROM "
                                       "{job_run}");
    assert_string_not_equal("1", dues);
}
