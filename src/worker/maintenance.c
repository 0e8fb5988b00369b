/* src/worker/maintenance.c - maintenance: each task at its own interval, with its own time
 * limit. */
#include "maintenance.h"

#include <pawl/inbox_records.h>
#include <pawl/job_runs.h>
#include <pawl/lease.h>
#include <pawl/queue.h>

#include "cond.h"
#include "thread_deadline.h"
#include "log.h"
#include "store_private.h"
#include "text.h"
#include "worker_private.h"
#include "platform.h"

const char *pawl_maintenance_name(pawl_maintenance task_kind)
{
    static const char *const names[] = {"reap",       "expire", "prune", "compact_stats", "dead",
                                        "checkpoint", "inbox",  "jobs",  "schedule"};

    return (unsigned)task_kind < PAWL_MAINTENANCE_COUNT ? names[task_kind] : "unknown";
}

void pawli_maintenance_init(pawli_maintenance *maintenance)
{
    pthread_mutex_init(&maintenance->lock, NULL);
    for (int i = 0; i < PAWLI_MAINTENANCE_THREADS; i++)
        pthread_mutex_init(&maintenance->threads[i].doing, NULL);
    pawli_cond_init(&maintenance->wake);
    pawli_maintenance_reset(maintenance);
}

void pawli_maintenance_done(pawli_maintenance *maintenance)
{
    pthread_cond_destroy(&maintenance->wake);
    pthread_mutex_destroy(&maintenance->lock);
    for (int i = 0; i < PAWLI_MAINTENANCE_THREADS; i++)
        pthread_mutex_destroy(&maintenance->threads[i].doing);
}

void pawli_maintenance_reset(pawli_maintenance *maintenance)
{
    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++)
        maintenance->due[i] = (pawl_mono){INT64_MIN};
}

/* ---- one task ---- */

/* Prunes messages and leases that ended long enough ago. */
static pawl_status maintenance_prune(pawl_worker *worker, pawli_maintenance_result *ret,
                                     pawl_error *err)
{
    pawli_maintenance_result leases = {0};
    pawl_status st = pawl_queue_prune(worker->store, worker->options.retention_ms, &ret->changed,
                                      &ret->scan, err);

    if (st == PAWL_OK)
        st = pawl_lease_clean(worker->store, worker->options.retention_ms, &leases.changed,
                              &leases.scan, err);
    ret->changed += leases.changed;
    ret->scan.rows += leases.scan.rows;
    ret->scan.more |= leases.scan.more;
    return st;
}

static pawl_status maintenance_call(pawl_worker *worker, pawl_maintenance task_kind,
                                    pawli_maintenance_result *ret, pawl_error *err)
{
    pawl_store *store = worker->store;

    switch (task_kind) {
    case PAWL_MAINTENANCE_REAP:
        return pawl_queue_reap(store, &ret->changed, &ret->scan, err);
    case PAWL_MAINTENANCE_EXPIRE:
        return pawl_queue_expire(store, &ret->changed, &ret->scan, err);
    case PAWL_MAINTENANCE_PRUNE:
        return maintenance_prune(worker, ret, err);
    case PAWL_MAINTENANCE_COMPACT_STATS:
        return pawl_queue_compact_stats(store, &ret->changed, &ret->scan, err);
    case PAWL_MAINTENANCE_CHECKPOINT:
        return pawli_db_checkpoint(store->db, err);
    case PAWL_MAINTENANCE_INBOX:
        return pawl_inbox_clean(store, &ret->changed, &ret->scan, err);
    case PAWL_MAINTENANCE_JOBS:
        return pawl_job_clean(store, &ret->changed, &ret->scan, err);
    default:
        return PAWL_OK;
    }
}

/* The claim loop claims dead letters and passes them to the handler pool; jobs have the job
 * scheduler. */
static bool is_done_here(const pawl_worker *worker, pawl_maintenance task_kind)
{
    return task_kind != PAWL_MAINTENANCE_DEAD && task_kind != PAWL_MAINTENANCE_SCHEDULE &&
           worker->options.maintenance_interval_ms[task_kind] > 0;
}

static int thread_of(pawl_maintenance task_kind)
{
    return task_kind == PAWL_MAINTENANCE_REAP ? PAWLI_MAINTENANCE_REAP : PAWLI_MAINTENANCE_OTHERS;
}

void pawli_maintenance_ended(pawl_worker *worker, pawl_maintenance task_kind, pawl_status st,
                             const pawli_maintenance_result *result, const pawl_error *err)
{
    pawl_maintenance_stats *stats = &worker->stats.maintenance[task_kind];
    bool step = atomic_load(&worker->mode) == PAWLI_MODE_STEP;
    bool finished_signal = false;

    pthread_mutex_lock(&worker->stats_lock);
    if (st == PAWL_OK) {
        stats->runs++;
        stats->changed += (int64_t)result->changed;
        stats->scanned += (int64_t)result->scan.rows;
        stats->last_success = step ? (pawl_wall){worker->step_now.us} : pawli_wall_now();
        stats->last_error[0] = '\0';
    } else {
        finished_signal = stats->last_error[0] == '\0';
        stats->failures++;
        pawli_utf8_clean(err->message, stats->last_error, sizeof stats->last_error);
    }
    pthread_mutex_unlock(&worker->stats_lock);
    if (finished_signal) /* logged once, until the task succeeds again */
        pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                  "maintenance task '{task}' failed, retrying at its next interval: {error}",
                  pawli_logged("task", pawl_maintenance_name(task_kind)),
                  pawli_logged("error", err->message));
}

pawl_status pawli_maintenance_run(pawl_worker *worker, pawl_maintenance task_kind,
                                  pawli_maintenance_result *ret_result, pawl_error *err)
{
    int64_t timeout_ms = worker->options.maintenance_timeout_ms[task_kind];
    pthread_mutex_t *doing = &worker->maintenance.threads[thread_of(task_kind)].doing;
    pawl_error why = PAWL_ERROR_INIT;

    *ret_result = (pawli_maintenance_result){0};
    pthread_mutex_lock(doing);
    pawli_thread_deadline_begin(pawli_mono_after(pawli_mono_now(), timeout_ms * 1000));
    pawl_status st = maintenance_call(worker, task_kind, ret_result, &why);
    pawli_thread_deadline_end();
    pthread_mutex_unlock(doing);
    pawli_maintenance_ended(worker, task_kind, st, ret_result, &why);
    if (st != PAWL_OK && err)
        *err = why;
    return st;
}

/* Adds jitter, so that workers started together spread out. */
static pawl_mono next_time(const pawl_worker *worker, pawl_maintenance task_kind, pawl_mono now)
{
    int64_t every_us = worker->options.maintenance_interval_ms[task_kind] * 1000;
    int64_t jitter_us = 0;

    if (atomic_load(&worker->mode) == PAWLI_MODE_RUN)
        jitter_us = (int64_t)(pawli_random_u64() % (uint64_t)(every_us / 10 + 1));
    return pawli_mono_after(now, every_us + jitter_us);
}

/* ---- all tasks ---- */

/* The task's next call: at once if it stopped at its limit. */
static pawl_status maintenance_run_task(pawl_worker *worker, pawl_maintenance task_kind,
                                        pawl_mono now, pawli_maintenance_result *ret_result,
                                        pawl_error *err)
{
    pawl_status st = pawli_maintenance_run(worker, task_kind, ret_result, err);
    bool again = st == PAWL_OK && ret_result->scan.more;

    worker->maintenance.due[task_kind] = again ? now : next_time(worker, task_kind, now);
    return st;
}

/* Calls each due task once. Returns the first error; an error does not prevent the other calls. */
static pawl_status step_once(pawl_worker *worker, pawl_mono now, size_t *ret_changed,
                             bool *ret_more, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    *ret_more = false;
    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++) {
        pawli_maintenance_result result;
        if (!is_done_here(worker, (pawl_maintenance)i) || worker->maintenance.due[i].us > now.us)
            continue;
        pawl_status one = maintenance_run_task(worker, (pawl_maintenance)i, now, &result,
                                               st == PAWL_OK ? err : NULL);
        *ret_changed += result.changed;
        *ret_more |= one == PAWL_OK && result.scan.more;
        if (st == PAWL_OK)
            st = one;
    }
    return st;
}

pawl_status pawli_maintenance_step(pawl_worker *worker, size_t *ret_changed, pawl_error *err)
{
    pawl_mono now = pawli_worker_now(worker);
    pawl_status st;
    bool more;

    *ret_changed = 0;
    do
        st = step_once(worker, now, ret_changed, &more, err);
    while (st == PAWL_OK && more);
    return st;
}

/* When the next task of this thread is due. */
static pawl_mono maintenance_soonest(const pawl_worker *worker, int thread, pawl_mono now)
{
    pawl_mono soonest = pawli_mono_after(now, INT64_C(3600000000));

    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++)
        if (thread_of((pawl_maintenance)i) == thread && is_done_here(worker, (pawl_maintenance)i) &&
            worker->maintenance.due[i].us < soonest.us)
            soonest = worker->maintenance.due[i];
    return soonest;
}

static bool is_leaving(pawli_maintenance *maintenance)
{
    pthread_mutex_lock(&maintenance->lock);
    bool leaving = maintenance->leave;
    pthread_mutex_unlock(&maintenance->lock);
    return leaving;
}

/* Returns false if the thread must end. */
static bool maintenance_rest(pawli_maintenance *maintenance, pawl_mono until)
{
    pthread_mutex_lock(&maintenance->lock);
    while (!maintenance->leave && !pawli_mono_passed(until))
        pawli_cond_wait_until(&maintenance->wake, &maintenance->lock, until);
    bool stay = !maintenance->leave;
    pthread_mutex_unlock(&maintenance->lock);
    return stay;
}

/* Calls each due task of this thread once, unless the thread must end. */
static void maintenance_run_due(pawl_worker *worker, int thread, pawl_mono now)
{
    pawli_maintenance_result result;

    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++)
        if (thread_of((pawl_maintenance)i) == thread && is_done_here(worker, (pawl_maintenance)i) &&
            worker->maintenance.due[i].us <= now.us && !is_leaving(&worker->maintenance))
            (void)maintenance_run_task(worker, (pawl_maintenance)i, now, &result, NULL);
}

/* Thread: its own. While the store is probably down, only the claim loop calls it. */
static void *maintenance_maintain(void *context)
{
    pawl_worker *worker = ((pawli_maintenance_thread *)context)->worker;
    int thread = (int)((pawli_maintenance_thread *)context - worker->maintenance.threads);
    pawl_mono until = pawli_mono_now();

    while (maintenance_rest(&worker->maintenance, until)) {
        pawl_mono now = pawli_mono_now();
        if (!pawli_dead_letters_is_announced(worker)) { /* the claim loop is about to */
            until = pawli_mono_after(now, 50000);
            continue;
        }
        if (pawli_store_health_is_open(&worker->health)) {
            until = pawli_mono_after(now, 1000000);
            continue;
        }
        maintenance_run_due(worker, thread, now);
        until = maintenance_soonest(worker, thread, pawli_mono_now());
    }
    return NULL;
}

static void end_threads(pawl_worker *worker, int count)
{
    pawli_maintenance_leave(worker);
    for (int i = 0; i < count; i++)
        pthread_join(worker->maintenance.threads[i].thread, NULL);
}

pawl_status pawli_maintenance_start(pawl_worker *worker, pawl_error *err)
{
    pawl_status st = PAWL_OK;
    int started = 0;

    worker->maintenance.leave = false;
    pawli_maintenance_reset(&worker->maintenance);
    while (started < PAWLI_MAINTENANCE_THREADS && st == PAWL_OK) {
        pawli_maintenance_thread *next = &worker->maintenance.threads[started];
        next->worker = worker;
        st = pawli_thread_start(&next->thread, maintenance_maintain, next, err);
        started += st == PAWL_OK;
    }
    if (st != PAWL_OK)
        end_threads(worker, started);
    return st;
}

void pawli_maintenance_leave(pawl_worker *worker)
{
    pawli_maintenance *maintenance = &worker->maintenance;

    pthread_mutex_lock(&maintenance->lock);
    maintenance->leave = true;
    pthread_cond_broadcast(&maintenance->wake);
    pthread_mutex_unlock(&maintenance->lock);
}

void pawli_maintenance_end(pawl_worker *worker)
{
    end_threads(worker, PAWLI_MAINTENANCE_THREADS);
}
