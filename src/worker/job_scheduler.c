/* src/worker/job_scheduler.c - the worker's job scheduler: creates the runs of jobs when they
 * are due. */
#include "job_scheduler.h"

#include <pawl/job.h>
#include <pawl/lease.h>

#include "job_private.h"
#include "thread_deadline.h"
#include "log.h"
#include "store_private.h"
#include "worker_private.h"
#include "platform.h"

#define LEASE_MS 15000
/* While another scheduler has the lease, check at this interval, in case that scheduler has
 * died. */
#define HELD_US INT64_C(1000000)
#define CLOSED_US INT64_C(1000000)
#define FAILED_US INT64_C(1000000)
/* While there are no jobs, the interval between checks grows to this. */
#define REST_MAX_US INT64_C(5000000)

/* ---- one pass ---- */

/* Whether this scheduler is the active one; renews the lease when half of it has passed. */
static pawl_status scheduler_lead(void *context, pawl_wall now, bool *ret_leads, pawl_error *err)
{
    pawl_worker *worker = context;
    pawli_job_scheduler *job_scheduler = &worker->job_scheduler;
    pawl_lease_grant grant;

    *ret_leads = true;
    if (job_scheduler->fence != 0 &&
        job_scheduler->lease_ends.us - now.us > (int64_t)LEASE_MS * 1000 / 2 &&
        job_scheduler->lease_ends.us - now.us <= (int64_t)LEASE_MS * 1000)
        return PAWL_OK;
    pawl_status st = pawl_lease_acquire(worker->store, PAWLI_SCHEDULER_LEASE, worker->owner,
                                        LEASE_MS, worker->options.owner_name, &grant, err);
    if (st == PAWL_OK) {
        job_scheduler->fence = grant.fence;
        job_scheduler->lease_ends = grant.expires_at;
        return PAWL_OK;
    }
    job_scheduler->fence = 0;
    *ret_leads = false;
    return st == PAWL_E_HELD ? PAWL_OK : st;
}

/* How long to pause if nothing is due before `next`. */
static int64_t pause_of(pawl_worker *worker, pawl_wall now, pawl_wall next, bool any)
{
    int64_t max_wait_us = worker->options.maintenance_interval_ms[PAWL_MAINTENANCE_SCHEDULE] * 1000;
    int64_t *rest_us = &worker->job_scheduler.rest_us;

    if (any || next.us != 0)
        *rest_us = 0;
    else if (*rest_us < REST_MAX_US)
        *rest_us += max_wait_us;
    if (next.us != 0 && next.us - now.us < max_wait_us)
        return next.us > now.us ? next.us - now.us : 0;
    return *rest_us > max_wait_us ? *rest_us : max_wait_us;
}

/* *ret_pause_us: the pause before the next pass. */
static pawl_status scheduler_tick(pawl_worker *worker, size_t *ret_changed, int64_t *ret_pause_us,
                                  pawl_error *err)
{
    pawl_job_tick_result tick = PAWL_JOB_TICK_RESULT_INIT;
    bool leads = true;
    pawl_status st = pawli_job_tick(worker->store, scheduler_lead, worker, &leads, &tick, err);

    *ret_changed = 0;
    if (st != PAWL_OK)
        return st;
    *ret_changed = (size_t)(tick.runs + tick.skips + tick.started + tick.problems);
    if (!leads)
        *ret_pause_us = HELD_US;
    else
        *ret_pause_us = tick.more ? 0 : pause_of(worker, tick.now, tick.next, tick.examined > 0);
    return PAWL_OK;
}

static pawl_status scheduler_step(pawl_worker *worker, size_t *ret_changed, int64_t *ret_pause_us,
                                  pawl_error *err)
{
    int64_t timeout_ms = worker->options.maintenance_timeout_ms[PAWL_MAINTENANCE_SCHEDULE];
    pawl_error why = PAWL_ERROR_INIT;

    pawli_thread_deadline_begin(pawli_mono_after(pawli_mono_now(), timeout_ms * 1000));
    pawl_status st = scheduler_tick(worker, ret_changed, ret_pause_us, &why);
    pawli_thread_deadline_end();
    if (st != PAWL_OK)
        *ret_pause_us = FAILED_US;
    pawli_maintenance_result result = {*ret_changed, {*ret_changed, false}};
    pawli_maintenance_ended(worker, PAWL_MAINTENANCE_SCHEDULE, st, &result, &why);
    if (st != PAWL_OK && err)
        *err = why;
    return st;
}

static bool scheduler_is_wanted(const pawl_worker *worker)
{
    return worker->options.scheduler &&
           worker->options.maintenance_interval_ms[PAWL_MAINTENANCE_SCHEDULE] > 0;
}

/* Repeats passes until nothing is due. */
pawl_status pawli_job_scheduler_step(pawl_worker *worker, size_t *ret_changed, pawl_error *err)
{
    int64_t pause_us = 0;
    size_t changed;
    pawl_status st = PAWL_OK;

    *ret_changed = 0;
    while (st == PAWL_OK && pause_us == 0 && scheduler_is_wanted(worker)) {
        st = scheduler_step(worker, &changed, &pause_us, err);
        *ret_changed += changed;
    }
    return st;
}

/* ---- the thread ---- */

/* Thread: its own. While the store is probably down, only the claim loop calls it. */
static void *scheduler_schedule(void *context)
{
    pawl_worker *worker = context;
    pawli_job_scheduler *job_scheduler = &worker->job_scheduler;
    pawli_wake *wake = &worker->store->job_wake;

    while (!atomic_load(&job_scheduler->leave)) {
        uint64_t seen = pawli_wake_sent(wake);
        int64_t pause_us = CLOSED_US;
        size_t changed;
        if (!pawli_store_health_is_open(&worker->health))
            (void)scheduler_step(worker, &changed, &pause_us, NULL);
        if (pause_us > 0 && !atomic_load(&job_scheduler->leave))
            (void)pawli_wake_wait(wake, seen, pawli_mono_after(pawli_mono_now(), pause_us));
    }
    return NULL;
}

void pawli_job_scheduler_release(pawl_worker *worker)
{
    int64_t fence = worker->job_scheduler.fence;

    worker->job_scheduler.fence = 0;
    if (fence != 0 && pawl_lease_release(worker->store, PAWLI_SCHEDULER_LEASE, worker->owner, fence,
                                         NULL, NULL) != PAWL_OK)
        pawli_log(&worker->log, PAWL_LOG_DEBUG, "worker",
                  "the scheduler's lease '{lease}' could not be released: it will expire by itself",
                  pawli_logged("lease", PAWLI_SCHEDULER_LEASE));
}

pawl_status pawli_job_scheduler_start(pawl_worker *worker, pawl_error *err)
{
    pawli_job_scheduler *job_scheduler = &worker->job_scheduler;

    *job_scheduler = (pawli_job_scheduler){.fence = 0};
    atomic_init(&job_scheduler->leave, false);
    if (!scheduler_is_wanted(worker))
        return PAWL_OK;
    pawl_status st = pawli_thread_start(&job_scheduler->thread, scheduler_schedule, worker, err);
    job_scheduler->started = st == PAWL_OK;
    return st;
}

void pawli_job_scheduler_leave(pawl_worker *worker)
{
    atomic_store(&worker->job_scheduler.leave, true);
    pawli_jobs_changed(worker->store);
}

void pawli_job_scheduler_end(pawl_worker *worker)
{
    pawli_job_scheduler *job_scheduler = &worker->job_scheduler;

    if (!job_scheduler->started)
        return;
    pawli_job_scheduler_leave(worker);
    pthread_join(job_scheduler->thread, NULL);
    job_scheduler->started = false;
    pawli_job_scheduler_release(worker);
}
