/*
 * src/core/job_tick.c - one pass of the job scheduler: read what is due, plan, store the plan.
 *
 * Planning happens outside any transaction. A plan takes effect only if the job has not changed
 * since it was read, so any number of schedulers may run concurrently; docs/internals/job.md has
 * the argument.
 */
#include <pawl/job.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "codes.h"
#include "fail.h"
#include "job_plan.h"
#include "job_private.h"
#include "job_steps.h"
#include "log.h"
#include "options.h"
#include "store_private.h"
#include "text.h"
#include "platform.h"

#define JOBS_PER_TICK 100
/* A job that another transaction was changing is read again after this. */
#define CHANGED_AGAIN_US INT64_C(100000)

/* The columns of job_due. Rows of kind 0 use only the first three, with times in JOB_ID and
 * SEEN; rows of kind 2 use the first four. */
enum {
    KIND,
    JOB_ID,
    SEEN,
    RUN_ID,
    ANCHOR,
    SINCE,
    SCHEDULE,
    ZONE,
    ENABLED,
    MISFIRE,
    MISFIRE_CAP,
    MISFIRE_GRACE,
    OVERLAP,
    JITTER,
    NEXT_OCCURRENCE_AT,
    LAST_OCCURRENCE_AT,
    HAS_WAITING,
    AWAITED_IS_THERE,
    AWAITED_SINCE,
    PLANNED_AT
};

typedef struct due_job {
    pawli_job_facts facts;
    int64_t version;
} due_job;

/* A pending event of a run. */
typedef struct pending_event {
    int64_t job_id;
    int64_t run_id;
    int64_t count;
} pending_event;

typedef struct agenda {
    pawl_wall now;
    pawl_wall next; /* of jobs that are not due yet; PAWL_TIME_UNSET: none */
    due_job *jobs;
    size_t job_count;
    pending_event *events;
    size_t event_count;
    pawli_arena memory;
} agenda;

/* ---- reading ---- */

static void job_tick_on_start(void *context)
{
    agenda *a = context;

    pawli_arena_done(&a->memory);
    *a = (agenda){.now = PAWL_TIME_UNSET};
}

/* Makes room for the most rows that one statement returns: due jobs and pending events. */
static void *job_tick_make_room(agenda *a, size_t item_size)
{
    return pawli_arena_alloc(&a->memory, (size_t)2 * JOBS_PER_TICK * item_size);
}

static const char *job_tick_copy(agenda *a, const pawli_row *row, int column)
{
    size_t size;
    const void *bytes = pawli_row_bytes(row, column, &size);

    return bytes ? pawli_arena_copy(&a->memory, bytes, size) : NULL;
}

static pawl_status tick_no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the jobs that are due");
}

static pawl_status add_job(agenda *a, const pawli_row *row, pawl_error *err)
{
    if (!a->jobs && !(a->jobs = job_tick_make_room(a, sizeof *a->jobs)))
        return tick_no_memory(err);
    if (a->job_count == 2 * (size_t)JOBS_PER_TICK)
        return PAWL_OK;
    due_job *job = &a->jobs[a->job_count];
    job->version = pawli_row_int(row, SEEN);
    job->facts = (pawli_job_facts){
        .id = pawli_row_int(row, JOB_ID),
        .schedule = job_tick_copy(a, row, SCHEDULE),
        .zone = job_tick_copy(a, row, ZONE),
        .enabled = pawli_row_int(row, ENABLED) != 0,
        .misfire = pawli_misfire_of(row, MISFIRE),
        .overlap = pawli_overlap_of(row, OVERLAP),
        .misfire_cap = (int)pawli_row_int(row, MISFIRE_CAP),
        .grace_us = pawli_row_int(row, MISFIRE_GRACE),
        .jitter_us = pawli_row_int(row, JITTER),
        .anchor = pawli_row_time(row, ANCHOR),
        .since = pawli_row_time(row, SINCE),
        .next_occurrence_at = pawli_row_time(row, NEXT_OCCURRENCE_AT),
        .last_occurrence_at = pawli_row_time(row, LAST_OCCURRENCE_AT),
        .planned_at = pawli_row_time(row, PLANNED_AT),
        .awaited_since = pawli_row_time(row, AWAITED_SINCE),
        .awaits = !pawli_row_is_null(row, RUN_ID),
        .awaited_is_there = pawli_row_int(row, AWAITED_IS_THERE) != 0,
        .has_waiting = pawli_row_int(row, HAS_WAITING) != 0,
    };
    if (!job->facts.schedule || !job->facts.zone)
        return tick_no_memory(err);
    a->job_count++;
    return PAWL_OK;
}

static pawl_status add_event(agenda *a, const pawli_row *row, pawl_error *err)
{
    if (!a->events && !(a->events = job_tick_make_room(a, sizeof *a->events)))
        return tick_no_memory(err);
    if (a->event_count < 2 * (size_t)JOBS_PER_TICK)
        a->events[a->event_count++] = (pending_event){
            .job_id = pawli_row_int(row, JOB_ID),
            .run_id = pawli_row_int(row, RUN_ID),
            .count = pawli_row_int(row, SEEN),
        };
    return PAWL_OK;
}

static pawl_status job_tick_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    agenda *a = context;

    switch (pawli_row_int(row, KIND)) {
    case PAWLI_JOB_DUE_CLOCK:
        a->now = pawli_row_time(row, ANCHOR);
        a->next = pawli_row_time(row, SINCE);
        return PAWL_OK;
    case PAWLI_JOB_DUE_JOB:
        return add_job(a, row, err);
    default:
        return add_event(a, row, err);
    }
}

static pawl_status read_agenda(pawl_store *store, agenda *a, pawl_error *err)
{
    pawli_param params[] = {{"limit", pawli_int(JOBS_PER_TICK)}};
    pawli_op op = {
        .sql = PAWLI_SQL_JOB_DUE,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = job_tick_on_row,
        .on_start = job_tick_on_start,
        .context = a,
    };

    return pawli_db_run(store->db, &op, err);
}

/* Schedulers that lock several jobs lock them in the same order. */
static int job_tick_by_id(const void *a, const void *b)
{
    int64_t x = ((const due_job *)a)->facts.id, y = ((const due_job *)b)->facts.id;

    return (x > y) - (x < y);
}

/* ---- planning ---- */

static bool job_tick_sooner(pawl_wall a, pawl_wall b)
{
    return a.us != 0 && (b.us == 0 || a.us < b.us);
}

static pawl_status add_steps(pawli_job_steps *steps, const agenda *a, const due_job *job,
                             const pawli_job_plan *plan, pawl_error *err)
{
    bool fits = pawli_job_steps_move(steps, job->facts.id, job->version, a->now, plan);

    for (size_t i = 0; fits && i < a->event_count; i++)
        if (a->events[i].job_id == job->facts.id)
            fits = pawli_job_steps_heard(steps, job->facts.id, a->events[i].run_id,
                                         a->events[i].count);
    if (fits && plan->promote)
        fits = pawli_job_steps_promote(steps, job->facts.id);
    if (fits && plan->skips)
        fits = pawli_job_steps_skip(steps, job->facts.id, plan);
    for (size_t i = 0; fits && i < plan->run_count; i++)
        fits = pawli_job_steps_run(steps, job->facts.id, plan->runs[i], plan);
    return fits ? PAWL_OK : tick_no_memory(err);
}

static void note_plan(pawl_store *store, const due_job *job, const pawli_job_plan *plan,
                      pawl_job_tick_result *result)
{
    if (job_tick_sooner(plan->next_check_at, result->next))
        result->next = plan->next_check_at;
    result->more |= plan->next_check_at.us != 0 && plan->next_check_at.us <= result->now.us;
    if (plan->rewinds)
        pawli_log(
            &store->log, PAWL_LOG_WARNING, "job",
            "job {job_id}: the clock was set back; its next occurrence is computed from now on",
            pawli_logged_number("job_id", job->facts.id));
    if (plan->problem[0] == '\0')
        return;
    result->problems++;
    pawli_log(&store->log, PAWL_LOG_WARNING, "job", "job {job_id} cannot be scheduled: {error}",
              pawli_logged_number("job_id", job->facts.id), pawli_logged("error", plan->problem));
}

static pawl_status job_tick_decide(pawl_store *store, const agenda *a, pawli_job_steps *steps,
                                   pawl_job_tick_result *result, pawl_error *err)
{
    PAWLI_AUTO_FREE pawli_job_plan *plan = malloc(sizeof *plan);
    pawl_status st = plan ? PAWL_OK : tick_no_memory(err);

    for (size_t i = 0; plan && st == PAWL_OK && i < a->job_count; i++) {
        const due_job *job = &a->jobs[i];
        st = pawli_job_plan_make(&job->facts, a->now, plan, err);
        if (st == PAWL_OK)
            st = add_steps(steps, a, job, plan, err);
        if (st == PAWL_OK)
            note_plan(store, job, plan, result);
    }
    return st;
}

/* ---- one transaction per job, after the database rejected a batch ---- */

/* Whether the rows to be stored caused the error, not the state of the database. */
static bool is_refused(pawl_status st)
{
    return st == PAWL_E_INVALID || st == PAWL_E_TOO_LARGE || st == PAWL_E_STORE;
}

/* Leaves the job where it is and records the problem; the job is retried after a change, or
 * after a while. */
static void plan_problem(const due_job *job, pawl_wall now, const char *why, pawli_job_plan *plan)
{
    const pawli_job_facts *facts = &job->facts;
    char text[sizeof plan->problem];

    snprintf(text, sizeof text, "its message cannot be stored; correct the job: %.180s", why);
    pawli_utf8_clean(text, plan->problem, sizeof plan->problem);
    plan->since = facts->since.us && !plan->rewinds ? facts->since : now;
    plan->next_occurrence_at = plan->rewinds ? PAWL_TIME_UNSET : facts->next_occurrence_at;
    plan->next_due_at = plan->last_occurrence_at = PAWL_TIME_UNSET;
    plan->next_check_at = (pawl_wall){now.us + PAWLI_JOB_PROBLEM_AGAIN_US};
    plan->still_awaits = facts->awaits;
    plan->promote = plan->skips = plan->awaits = false;
    plan->run_count = 0;
}

static pawl_status store_one(pawl_store *store, const agenda *a, const due_job *job,
                             const pawli_job_plan *plan, pawli_job_done *ret_done, pawl_error *err)
{
    pawli_job_steps steps = PAWLI_JOB_STEPS_INIT;
    pawl_status st = add_steps(&steps, a, job, plan, err);

    if (st == PAWL_OK)
        st = pawli_job_steps_store(&steps, store, ret_done, err);
    pawli_job_steps_done(&steps);
    return st;
}

/*
 * Stores each job in its own transaction. Only used after the batch was rejected, so that a tick
 * needs one commit as long as all jobs are valid.
 */
static pawl_status store_apart(pawl_store *store, const agenda *a, pawl_job_tick_result *result,
                               pawli_job_done *ret_done, pawl_error *err)
{
    PAWLI_AUTO_FREE pawli_job_plan *plan = malloc(sizeof *plan);
    pawl_status st = PAWL_OK;

    if (!plan)
        return tick_no_memory(err);
    for (size_t i = 0; st == PAWL_OK && i < a->job_count; i++) {
        const due_job *job = &a->jobs[i];
        pawl_error why = PAWL_ERROR_INIT;
        pawli_job_done done = {0};
        st = pawli_job_plan_make(&job->facts, a->now, plan, err);
        if (st != PAWL_OK)
            return st;
        st = store_one(store, a, job, plan, &done, &why);
        if (is_refused(st)) {
            plan_problem(job, a->now, why.message, plan);
            note_plan(store, job, plan, result);
            st = store_one(store, a, job, plan, &done, err);
            if (is_refused(st)) /* even the problem was rejected: continue with the other jobs */
                st = PAWL_OK;
        } else if (st != PAWL_OK && err) {
            *err = why;
        }
        pawli_job_done_add(ret_done, &done);
    }
    return st;
}

/* ---- one pass ---- */

static void job_tick_count(const pawli_job_done *done, size_t job_count,
                           pawl_job_tick_result *result)
{
    pawl_wall again = {result->now.us + CHANGED_AGAIN_US};

    result->runs = done->runs;
    result->skips = done->skips;
    result->started = done->promoted;
    result->more |= done->skipped_from_start;
    if (done->moved < (int64_t)job_count && job_tick_sooner(again, result->next))
        result->next = again;
}

static pawl_status job_tick_as_leader(pawl_store *store, agenda *a, pawl_job_tick_result *result,
                                      pawl_error *err)
{
    pawli_job_steps steps = PAWLI_JOB_STEPS_INIT;
    pawli_job_done done = {0};
    pawl_status st;

    result->now = a->now;
    result->next = a->next;
    result->examined = (int64_t)a->job_count;
    result->more = a->job_count >= JOBS_PER_TICK || a->event_count >= JOBS_PER_TICK;
    if (a->job_count == 0)
        return PAWL_OK;
    qsort(a->jobs, a->job_count, sizeof *a->jobs, job_tick_by_id);
    st = job_tick_decide(store, a, &steps, result, err);
    if (st == PAWL_OK)
        st = pawli_job_steps_store(&steps, store, &done, err);
    pawli_job_steps_done(&steps);
    if (is_refused(st))
        st = store_apart(store, a, result, &done, err);
    if (st != PAWL_OK)
        return st;
    job_tick_count(&done, a->job_count, result);
    if (done.started > 0)
        pawli_wake_signal(pawli_db_wake(store->db));
    if (done.runs + done.skips + done.promoted > 0)
        pawli_log(&store->log, PAWL_LOG_DEBUG, "job",
                  "{due} jobs due: {created} runs created, {skipped} occurrences skipped, "
                  "{started} waiting runs started",
                  pawli_logged_number("due", result->examined),
                  pawli_logged_number("created", done.runs),
                  pawli_logged_number("skipped", done.skips),
                  pawli_logged_number("started", done.promoted));
    return PAWL_OK;
}

pawl_status pawli_job_tick(pawl_store *store, pawli_job_permit permit, void *context,
                           bool *ret_permitted, pawl_job_tick_result *result, pawl_error *err)
{
    agenda a = {.now = PAWL_TIME_UNSET};
    pawl_status st = read_agenda(store, &a, err);

    *ret_permitted = true;
    if (st == PAWL_OK && permit && a.job_count > 0)
        st = permit(context, a.now, ret_permitted, err);
    if (st == PAWL_OK && *ret_permitted)
        st = job_tick_as_leader(store, &a, result, err);
    pawli_arena_done(&a.memory);
    return st;
}

pawl_status pawl_job_tick(pawl_store *store, pawl_job_tick_result *ret_result, pawl_error *err)
{
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;
    bool permitted;

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    pawl_status st = pawli_job_tick(store, NULL, NULL, &permitted, &result, err);
    if (st == PAWL_OK)
        pawli_returned_copy(ret_result, &result, sizeof result);
    return st;
}
