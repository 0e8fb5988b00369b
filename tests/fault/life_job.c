/* tests/fault/life_job.c - the calls of a life of jobs: put, tick, trigger, look, delete. */
#include "life.h"
#include "life_steps.h"

static pawl_status put(life *l, pawl_error *err)
{
    pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;

    job.name = "j";
    job.schedule = "* * * * *";
    job.zone = "Europe/Berlin";
    job.topic = "jobs";
    job.correlation_id = "1";
    return pawl_job_put(l->store, &job, NULL, err);
}

static pawl_status tick(life *l, pawl_error *err)
{
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;

    return pawl_job_tick(l->store, &result, err);
}

/* A week late: a skip and a run. */
static void let_slots_pass(life *l)
{
    fixture_set(l->f, (pawl_wall){FIXTURE_START.us + 7 * DAY_MS * 1000});
}

static pawl_status trigger(life *l, pawl_error *err)
{
    pawl_job_trigger_options force = PAWL_JOB_TRIGGER_OPTIONS_INIT;

    force.force = true;
    return pawl_job_trigger(l->store, "j", &force, NULL, err);
}

static pawl_status read_everything(life *l, pawl_error *err)
{
    pawl_jobs *jobs = NULL;
    pawl_runs *runs = NULL;
    pawl_status st = pawl_job_list(l->store, NULL, &jobs, err);

    pawl_jobs_free(jobs);
    jobs = NULL;
    if (st == PAWL_OK)
        st = pawl_job_get(l->store, "j", &jobs, err);
    pawl_jobs_free(jobs);
    if (st == PAWL_OK)
        st = pawl_job_runs(l->store, "j", NULL, &runs, NULL, err);
    if (st == PAWL_OK && pawl_runs_count(runs) != 3)
        test_fail("the history has %zu entries", pawl_runs_count(runs));
    pawl_runs_free(runs);
    return st;
}

static pawl_status disable(life *l, pawl_error *err)
{
    return pawl_job_disable(l->store, "j", NULL, err);
}

static pawl_status clean(life *l, pawl_error *err)
{
    return pawl_job_clean(l->store, NULL, NULL, err);
}

static pawl_status delete (life *l, pawl_error *err)
{
    return pawl_job_delete(l->store, "j", NULL, err);
}

static const life_step steps[] = {
    {"open", NULL, life_open, NULL, NULL, 0},
    {"put", NULL, put, NULL, "SELECT count(*) FROM {job}", 1},
    {"first look", NULL, tick, NULL, "SELECT count(*) FROM {job} WHERE next_slot_at IS NOT NULL",
     1},
    {"tick", let_slots_pass, tick, NULL,
     "SELECT (SELECT count(*) FROM {job_run}) + (SELECT count(*) FROM {body})"
     " + (SELECT count(*) FROM {queue}) + (SELECT count(*) FROM {job} WHERE last_slot_at IS NOT "
     "NULL)",
     5},
    {"trigger", NULL, trigger, NULL,
     "SELECT 2 * count(*) - 2 FROM {body} WHERE id IN (SELECT work_id FROM {job_run})", 2},
    {"looking at jobs", NULL, read_everything, NULL, NULL, 0},
    {"disable", NULL, disable, NULL,
     "SELECT count(*) FROM {job} WHERE next_slot_at IS NULL AND last_slot_at IS NOT NULL", 1},
    {"clean", NULL, clean, NULL, NULL, 0},
    {"delete", NULL, delete, NULL,
     "SELECT (SELECT count(*) FROM {outcome} WHERE state = 5) + 1 - (SELECT count(*) FROM {job})",
     3},
    {NULL, NULL, NULL, NULL, NULL, 0},
};

const life_story life_job = {steps, "1:5/0 1:5/0"};
