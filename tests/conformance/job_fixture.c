/* tests/conformance/job_fixture.c - helpers shared by the tests of jobs. */
#include "job_fixture.h"

#include <stdio.h>
#include <string.h>

pawl_job_definition job_define(const char *name, const char *schedule)
{
    pawl_job_definition definition = PAWL_JOB_DEFINITION_INIT;

    definition.name = name;
    definition.schedule = schedule;
    definition.topic = "t";
    definition.payload = "p";
    definition.payload_size = 1;
    return definition;
}

void job_put(fixture *f, const pawl_job_definition *definition)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_job_put(fixture_store(f), definition, NULL, &err), &err);
}

void job_add(fixture *f, const char *name, const char *schedule)
{
    pawl_job_definition definition = job_define(name, schedule);

    job_put(f, &definition);
}

static void free_jobs(void *jobs)
{
    pawl_jobs_free(jobs);
}

const pawl_job *job_get(fixture *f, const char *name)
{
    pawl_jobs *one = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_job_get(fixture_store(f), name, &one, &err), &err);
    test_defer(free_jobs, one);
    return pawl_jobs_at(one, 0);
}

pawl_job_tick_result job_tick_on(pawl_store *store)
{
    pawl_job_tick_result sum = PAWL_JOB_TICK_RESULT_INIT, one = PAWL_JOB_TICK_RESULT_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    int turns = 0;

    do {
        assert_ok(pawl_job_tick(store, &one, &err), &err);
        sum.examined += one.examined;
        sum.runs += one.runs;
        sum.skips += one.skips;
        sum.started += one.started;
        sum.problems += one.problems;
        sum.now = one.now;
        sum.next = one.next;
        if (++turns > 10000)
            test_fail("the scheduler finds no end");
    } while (one.more);
    return sum;
}

pawl_job_tick_result job_tick(fixture *f)
{
    return job_tick_on(fixture_store(f));
}

pawl_job_tick_result job_after(fixture *f, int64_t ms)
{
    fixture_advance(f, ms);
    return job_tick(f);
}

static void free_runs(void *runs)
{
    pawl_runs_free(runs);
}

pawl_runs *job_runs(fixture *f, const char *name)
{
    pawl_run_filter filter = PAWL_RUN_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_runs *runs = NULL;

    filter.limit = 10000;
    filter.with_output = true;
    assert_ok(pawl_run_list(fixture_store(f), name, &filter, &runs, NULL, &err), &err);
    test_defer(free_runs, runs);
    return runs;
}

const pawl_run *job_last_run(fixture *f, const char *name)
{
    const pawl_run *run = pawl_runs_at(job_runs(f, name), 0);

    if (!run)
        test_fail("the job %s has no run", name);
    return run;
}

static int seconds(pawl_wall at)
{
    return (int)((at.us - FIXTURE_START.us) / 1000000);
}

static const char *describe_run(const pawl_run *run)
{
    const char *what = run->state == PAWL_RUN_SKIPPED ? pawl_run_reason_name(run->reason)
                                                      : pawl_run_state_name(run->state);

    if (run->occurrences == 1)
        return test_note("%s%s@%d", run->triggered ? "t-" : "", what, seconds(run->scheduled_at));
    return test_note("%s@%d-%d*%d%s", what, seconds(run->scheduled_at),
                     seconds(run->last_occurrence_at), (int)run->occurrences,
                     run->occurrences_is_at_least ? "+" : "");
}

const char *job_story(fixture *f, const char *name)
{
    pawl_runs *runs = job_runs(f, name);
    const char *story = "";

    for (size_t i = pawl_runs_count(runs); i-- > 0;)
        story = test_note("%s%s%s", story, *story ? " " : "", describe_run(pawl_runs_at(runs, i)));
    return story;
}

pawl_messages *job_claim(fixture *f)
{
    return queue_claim(f, queue_owner(1), 30 * SECOND_MS, 1000, NULL);
}

size_t job_work(fixture *f)
{
    pawl_messages *list = job_claim(f);

    return pawl_messages_count(list) > 0 ? queue_ack(f, queue_owner(1), list) : 0;
}

pawl_job_triggered job_trigger(fixture *f, const char *name)
{
    pawl_job_triggered triggered = PAWL_JOB_TRIGGERED_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_job_trigger(fixture_store(f), name, NULL, &triggered, &err), &err);
    return triggered;
}
