/* tests/jobs/job_model.c - jobs as they should be: their occurrences, their runs, what calls do to
 * them.
 */
#include "job_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_plan.h"

/* Less is what corrections of a clock are: jobs wait for it. */
#define SET_BACK_US INT64_C(300000000)

/* ---- runs ---- */

void model_runs_add(model_runs *runs, model_run run)
{
    if (runs->count == runs->room) {
        runs->room = runs->room ? runs->room * 2 : 16;
        runs->list = realloc(runs->list, runs->room * sizeof *runs->list);
        if (!runs->list)
            abort();
    }
    runs->list[runs->count++] = run;
}

size_t model_runs_waiting(const model_runs *runs)
{
    size_t count = 0;

    for (size_t i = 0; i < runs->count; i++)
        count += runs->list[i].waits;
    return count;
}

static model_run *find_run(const model_job *job, int64_t run_id)
{
    for (size_t i = 0; i < job->open.count; i++)
        if (job->open.list[i].id == run_id)
            return &job->open.list[i];
    return NULL;
}

bool model_claimed(model_job *job, int64_t run_id, int64_t work_id, pawl_wall now)
{
    model_run *run = find_run(job, run_id);

    if (!run)
        return true;
    if (!run->started && job->awaited == run_id)
        job->awaited_since = now;
    run->started = true;
    if (run->work_id == 0)
        run->work_id = work_id;
    return run->work_id == work_id;
}

void model_ended(model_job *job, int64_t run_id, pawl_wall now)
{
    model_run *run = find_run(job, run_id);

    if (!run)
        return;
    if (job->awaited == run_id && !run->started)
        job->awaited_since = now;
    size_t place = (size_t)(run - job->open.list);
    memmove(run, run + 1, (job->open.count - place - 1) * sizeof *run);
    job->open.count--;
}

/* ---- occurrences ---- */

pawl_wall model_next(const model_job *job, pawl_wall after)
{
    pawl_occurrence fire;

    return pawl_schedule_next(job->schedule, after, &fire, NULL) == PAWL_OK ? fire.at
                                                                            : PAWL_TIME_UNSET;
}

pawl_wall model_due(const model_job *job, pawl_wall occurrence)
{
    return pawli_job_due(job->schedule, job->id, occurrence, job->asked.jitter_ms * 1000);
}

static pawl_wall job_model_later(pawl_wall a, pawl_wall b)
{
    return a.us > b.us ? a : b;
}

bool model_base(const model_job *job, pawl_wall *ret_after)
{
    if (!job->enabled || (job->awaited && job->awaited_since.us == 0))
        return false;
    *ret_after = job_model_later(job->awaited ? job->awaited_since : job->since, job->last);
    return true;
}

void model_made(model_job *job, pawl_wall occurrence)
{
    if (job->made_count == job->made_room) {
        job->made_room = job->made_room ? job->made_room * 2 : 64;
        job->made = realloc(job->made, job->made_room * sizeof *job->made);
        if (!job->made)
            abort();
    }
    job->made[job->made_count++] = occurrence;
}

void model_check_epoch(model_job *job, finding *wrong)
{
    pawl_wall occurrence = job->epoch;

    /* The occurrences of "from start" depend on its runs: they are compared as they are made. */
    for (size_t i = 0; i < job->made_count && !job->from_start; i++) {
        occurrence = model_next(job, occurrence);
        if (job->made[i].us != occurrence.us)
            finding_say(wrong,
                        "%s: occurrence %zu since %" PRId64 " is %" PRId64 ", recorded %" PRId64,
                        job->name, i, job->epoch.us, occurrence.us, job->made[i].us);
    }
    job->made_count = 0;
}

static void begin_epoch(model_job *job, pawl_wall since, finding *wrong)
{
    if (job->schedule)
        model_check_epoch(job, wrong);
    job->since = since;
    job->awaited = 0;
    job->epoch = job_model_later(since, job->last);
}

/* ---- a clock that was set back ---- */

void model_recorded(model_job *job, pawl_wall occurrence, bool skipped)
{
    if (job->history_count == job->history_room) {
        job->history_room = job->history_room ? job->history_room * 2 : 64;
        job->history = realloc(job->history, job->history_room * sizeof *job->history);
        if (!job->history)
            abort();
    }
    job->history[job->history_count++] = (model_entry){occurrence, skipped};
}

bool model_has(const model_job *job, pawl_wall occurrence)
{
    for (size_t i = job->history_count; i-- > 0;)
        if (job->history[i].occurrence.us == occurrence.us)
            return true;
    return false;
}

void model_forget(model_job *job, pawl_wall occurrence)
{
    size_t kept = 0;

    for (size_t i = 0; i < job->history_count; i++)
        if (job->history[i].occurrence.us != occurrence.us)
            job->history[kept++] = job->history[i];
    job->history_count = kept;
}

bool model_is_ahead(const model_job *job, pawl_wall planned, pawl_wall read)
{
    return job_model_later(job_model_later(planned, job->since), job->last).us - read.us >
           SET_BACK_US;
}

void model_heard(model_job *job, pawl_wall read)
{
    if (!job->awaited || job->awaited_is_known || job->awaited_since.us <= read.us)
        return;
    job->awaited = 0;
    job->since = read;
}

void model_rewind(model_job *job, pawl_wall read, pawl_wall now, finding *wrong)
{
    size_t kept = 0;

    model_check_epoch(job, wrong);
    job->last = PAWL_TIME_UNSET;
    job->since = job->epoch = read;
    if (job->awaited_is_known) /* its place was taken by the time of the rewind */
        job->awaited = 0;
    for (size_t i = 0; i < job->history_count; i++)
        if (!job->history[i].skipped || job->history[i].occurrence.us <= now.us)
            job->history[kept++] = job->history[i];
    job->history_count = kept;
    job->version++;
}

/* ---- calls ---- */

static void read_schedule(model_job *job, finding *wrong)
{
    pawl_schedule_options options = PAWL_SCHEDULE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    pawl_schedule_free(job->schedule);
    job->schedule = NULL;
    options.zone = job->asked.zone;
    options.anchor = job->anchor;
    if (pawl_schedule_parse(job->asked.schedule, &options, &job->schedule, &err) != PAWL_OK)
        finding_say(wrong, "%s", err.message);
    else
        job->from_start = pawl_schedule_kind_of(job->schedule) == PAWL_SCHEDULE_FROM_START;
}

void model_put(model_job *job, const pawl_job_definition *asked, pawl_wall now, finding *wrong)
{
    bool is_new = !job->exists;
    bool same = !is_new && strcmp(job->asked.schedule, asked->schedule) == 0 &&
                strcmp(job->asked.zone, asked->zone) == 0;

    if (!same) {
        begin_epoch(job, now, wrong);
        job->anchor = now;
    }
    if (is_new)
        job->enabled = !asked->disabled;
    job->lax_line |= model_runs_waiting(&job->open) > 0;
    job->exists = true;
    job->asked = *asked;
    job->had_ttl |= asked->ttl_ms > 0;
    job->forgets |= asked->keep_runs < MODEL_KEEPS_ALL;
    job->version++;
    if (!same)
        read_schedule(job, wrong);
}

void model_switch(model_job *job, bool enabled, pawl_wall now, finding *wrong)
{
    if (job->enabled == enabled)
        return;
    begin_epoch(job, now, wrong);
    job->enabled = enabled;
    job->version++;
}

bool model_trigger_is_busy(const model_job *job)
{
    if (job->asked.overlap == PAWL_OVERLAP_SKIP)
        return job->open.count > 0;
    return job->asked.overlap == PAWL_OVERLAP_QUEUE && model_runs_waiting(&job->open) > 0;
}

void model_triggered(model_job *job, const pawl_job_triggered *triggered)
{
    model_runs_add(&job->open, (model_run){.id = triggered->run_id, .waits = triggered->waiting});
    job->version++;
}

void model_deleted(model_job *job, finding *wrong)
{
    model_check_epoch(job, wrong);
    job->exists = job->lax_line = job->forgets = false;
    job->open.count = job->history_count = 0;
    job->last = PAWL_TIME_UNSET;
    job->awaited = 0;
    job->version++;
}

void model_job_free(model_job *job)
{
    pawl_schedule_free(job->schedule);
    free(job->open.list);
    free(job->made);
    free(job->history);
}
