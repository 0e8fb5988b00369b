/* tests/jobs/down_test.c - two leaders, a week without a scheduler, a clock that is set back. */
#include "job_fixture.h"
#include "race_window.h"

#define WEEK_MS (7 * DAY_MS)

static pawl_job_definition hourly(const char *name, pawl_misfire misfire, pawl_overlap overlap)
{
    pawl_job_definition job = job_define(name, "@hourly");

    job.misfire = misfire;
    job.overlap = overlap;
    return job;
}

/* Put it, look at it, and nobody looks for a week. */
static void be_down(fixture *f, const pawl_job_definition *job)
{
    job_put(f, job);
    job_tick(f);
    fixture_advance(f, WEEK_MS + 30 * MINUTE_MS);
    job_tick(f);
}

PAWL_TEST(after_a_week_down_the_newest_occurrence_runs_once)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = hourly("once", PAWL_MISFIRE_ONCE, PAWL_OVERLAP_SKIP);

    be_down(f, &job);
    assert_string_equal("misfire@3600-601200*167 ready@604800", job_story(f, "once"));
    job_work(f);
    job_after(f, 30 * MINUTE_MS);
    assert_string_equal("misfire@3600-601200*167 done@604800 ready@608400", job_story(f, "once"));
}

PAWL_TEST(after_a_week_down_all_run_up_to_the_cap_one_after_the_other)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = hourly("all", PAWL_MISFIRE_ALL, PAWL_OVERLAP_SKIP);

    job.misfire_cap = 3;
    be_down(f, &job);
    assert_string_equal("misfire@3600-594000*165 ready@597600 waiting@601200 waiting@604800",
                        job_story(f, "all"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(1, job_work(f));
        job_tick(f);
    }
    assert_int_equal(0, job_work(f));
    assert_string_equal("misfire@3600-594000*165 done@597600 done@601200 done@604800",
                        job_story(f, "all"));
}

PAWL_TEST(after_a_week_down_all_run_beside_each_other_if_the_job_allows_it)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = hourly("all", PAWL_MISFIRE_ALL, PAWL_OVERLAP_ALLOW);

    job.misfire_cap = 1000;
    be_down(f, &job);
    assert_int_equal(168, pawl_runs_count(job_runs(f, "all")));
    assert_int_equal(168, job_work(f));
    assert_int_equal(0, job_tick(f).runs);
}

PAWL_TEST(after_a_week_down_late_occurrences_are_skipped_and_the_others_run)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = hourly("skip", PAWL_MISFIRE_SKIP, PAWL_OVERLAP_ALLOW);

    job.misfire_grace_ms = 2 * HOUR_MS;
    be_down(f, &job);
    assert_string_equal("misfire@3600-597600*166 ready@601200 ready@604800", job_story(f, "skip"));
}

PAWL_TEST(after_a_week_down_a_job_of_every_second_is_counted_up_to_a_limit)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("second", "every 1s");

    be_down(f, &job);
    const pawl_run *ran = pawl_runs_at(job_runs(f, "second"), 0);
    const pawl_run *skipped = pawl_runs_at(job_runs(f, "second"), 1);
    assert_time(fixture_now(f).us, ran->scheduled_at);
    assert_int_equal(PAWL_RUN_OCCURRENCES_MAX, skipped->occurrences);
    assert_true(skipped->occurrences_is_at_least);
    assert_time(fixture_now(f).us - 1000000, skipped->last_occurrence_at);
}

/* ---- two leaders ---- */

typedef struct other {
    fixture *f;
    pawl_store *store;
} other;

static void tick_too(void *context)
{
    other *o = context;

    assert_int_equal(1, job_tick_on(o->store).runs);
    fixture_advance(o->f, MINUTE_MS);
    assert_int_equal(1, job_tick_on(o->store).runs);
}

PAWL_TEST(a_stale_read_before_another_schedulers_write_makes_no_occurrence_again)
{
    fixture *f = fixture_open(NULL);
    other o = {f, fixture_another_store(f)};
    pawl_job_definition job = job_define("both", "* * * * *");
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    job.overlap = PAWL_OVERLAP_ALLOW;
    job_put(f, &job);
    job_tick(f);
    fixture_advance(f, MINUTE_MS);
    race_window_arm(tick_too, &o);
    pawl_status st = pawl_job_tick(fixture_store(f), &result, &err);
    bool paused = race_window_disarm();
    assert_ok(st, &err);
    assert_true(paused);
    assert_int_equal(0, result.runs);
    assert_string_equal("ready@60 ready@120", job_story(f, "both"));
    assert_int_equal(2, job_work(f));
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
}

static void change_job(void *context)
{
    pawl_job_definition job = job_define("both", "0 * * * *");

    job_put(context, &job);
}

PAWL_TEST(a_stale_read_before_the_job_changed_writes_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    job_add(f, "both", "* * * * *");
    job_tick(f);
    fixture_advance(f, MINUTE_MS);
    race_window_arm(change_job, f);
    pawl_status st = pawl_job_tick(fixture_store(f), NULL, &err);
    bool paused = race_window_disarm();
    assert_ok(st, &err);
    assert_true(paused);
    assert_string_equal("", job_story(f, "both"));
    job_tick(f);
    assert_time(FIXTURE_START.us + HOUR_MS * 1000, job_get(f, "both")->next_occurrence_at);
}

/* ---- a clock that is set back in between ---- */

static void set_back(void *context)
{
    fixture_set(context, (pawl_wall){FIXTURE_START.us + 30 * SECOND_MS * 1000});
}

PAWL_TEST(a_plan_is_not_stored_when_the_clock_was_set_back_since_it_was_made)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "* * * * *");
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    job.overlap = PAWL_OVERLAP_ALLOW;
    job_put(f, &job);
    job_tick(f);
    fixture_set(f, (pawl_wall){FIXTURE_START.us + HOUR_MS * 1000});
    race_window_arm(set_back, f);
    pawl_status st = pawl_job_tick(fixture_store(f), &result, &err);
    bool paused = race_window_disarm();
    assert_ok(st, &err);
    assert_true(paused);
    assert_string_equal("", job_story(f, "j"));
    assert_int_equal(0, result.runs);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {job} WHERE {us:planned_at} > %lld",
                                      (long long)fixture_now(f).us));
    assert_int_equal(0, job_tick(f).runs);
    fixture_advance(f, 30 * SECOND_MS);
    assert_int_equal(1, job_tick(f).runs);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_string_equal("ready@60 ready@120", job_story(f, "j"));
}
