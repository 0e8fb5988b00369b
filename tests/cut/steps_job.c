/* tests/cut/steps_job.c - the steps about jobs: put, looked at, triggered, run, deleted. */
#include "steps.h"

#define OWNER kit_owner(2)

/* "each" runs every slot, "last" only the newest of those that are late. */
static pawl_status put(world *w, const char *name, pawl_overlap overlap, int64_t grace_ms,
                       size_t *ret_changed, pawl_error *err)
{
    pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;
    bool created = false;

    job.name = name;
    job.schedule = "* * * * *";
    job.topic = "job";
    job.overlap = overlap;
    job.misfire_grace_ms = grace_ms;
    pawl_status st = pawl_job_put(w->store, &job, &created, err);
    *ret_changed = created;
    return st;
}

pawl_status step_job_put(world *w, size_t *ret_changed, pawl_error *err)
{
    return put(w, "each", PAWL_OVERLAP_ALLOW, DAY_MS, ret_changed, err);
}

pawl_status step_job_put_another(world *w, size_t *ret_changed, pawl_error *err)
{
    return put(w, "last", PAWL_OVERLAP_SKIP, 0, ret_changed, err);
}

void step_job_three_minutes(world *w)
{
    fixture_advance(w->f, 3 * MINUTE_MS);
}

/* In doubt is resolved by looking again: what was made is not made again. */
pawl_status step_job_tick(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;
    pawl_status st = pawl_job_tick(w->store, &result, err);

    *ret_changed = (size_t)(2 * result.runs + result.skips);
    return st;
}

pawl_status step_job_trigger(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = pawl_job_trigger(w->store, "each", NULL, NULL, err);

    *ret_changed = st == PAWL_OK;
    return st;
}

/* The history tells whether there is a run. */
pawl_status step_job_resolve_trigger(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_runs *runs = NULL;
    pawl_status st = pawl_job_runs(w->store, "each", NULL, &runs, NULL, err);
    bool there = false;

    for (size_t i = 0; i < pawl_runs_count(runs); i++)
        there |= pawl_runs_at(runs, i)->triggered;
    pawl_runs_free(runs);
    return st == PAWL_OK && !there ? step_job_trigger(w, ret_changed, err) : st;
}

static void remember(world *w, const pawl_messages *list, size_t *ret_changed)
{
    *ret_changed = pawl_messages_count(list);
    if (*ret_changed > 0)
        w->run = fixture_held(list, 0);
}

pawl_status step_job_claim(world *w, size_t *ret_changed, pawl_error *err)
{
    static const char *const topics[] = {"job"};
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_messages *list = NULL;

    options.topics = topics;
    options.topic_count = 1;
    pawl_status st = pawl_queue_claim(w->store, OWNER, MINUTE_MS, 1, &options, &list, err);
    if (st == PAWL_OK)
        remember(w, list, ret_changed);
    pawl_messages_free(list);
    return st;
}

pawl_status step_job_resolve_claim(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_messages *list = NULL;
    size_t held = 0;
    pawl_status st = pawl_queue_held(w->store, OWNER, &list, err);

    if (st == PAWL_OK)
        remember(w, list, &held);
    pawl_messages_free(list);
    return st == PAWL_OK && held == 0 ? step_job_claim(w, ret_changed, err) : st;
}

pawl_status step_job_ack(world *w, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_ack(w->store, OWNER, &w->run, 1, ret_changed, err);
}

pawl_status step_job_disable(world *w, size_t *ret_changed, pawl_error *err)
{
    bool changed = false;
    pawl_status st = pawl_job_disable(w->store, "last", &changed, err);

    *ret_changed = changed;
    return st;
}

/* Deleted twice: the second time it is not there, which is what was wanted. */
pawl_status step_job_delete(world *w, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = pawl_job_delete(w->store, "each", NULL, err);

    *ret_changed = st == PAWL_OK;
    return st == PAWL_E_NOT_FOUND ? PAWL_OK : st;
}
