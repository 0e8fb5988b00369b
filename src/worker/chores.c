/* src/worker/chores.c - maintenance: each chore at its own pace, with its own time limit. */
#include "chores.h"

#include <pawl/inbox_records.h>
#include <pawl/job_runs.h>
#include <pawl/lease.h>
#include <pawl/queue.h>

#include "cond.h"
#include "limit.h"
#include "log.h"
#include "store_private.h"
#include "text.h"
#include "worker_private.h"
#include "world.h"

const char *pawl_chore_name(pawl_chore chore)
{
    static const char *const names[] = {"reap",       "expire", "retain", "fold",    "dead",
                                        "checkpoint", "inbox",  "jobs",   "schedule"};

    return (unsigned)chore < PAWL_CHORE_COUNT ? names[chore] : "unknown";
}

void pawli_chores_init(pawli_chores *chores)
{
    pthread_mutex_init(&chores->lock, NULL);
    for (int i = 0; i < PAWLI_CHORE_THREADS; i++)
        pthread_mutex_init(&chores->threads[i].doing, NULL);
    pawli_cond_init(&chores->wake);
    pawli_chores_reset(chores);
}

void pawli_chores_done(pawli_chores *chores)
{
    pthread_cond_destroy(&chores->wake);
    pthread_mutex_destroy(&chores->lock);
    for (int i = 0; i < PAWLI_CHORE_THREADS; i++)
        pthread_mutex_destroy(&chores->threads[i].doing);
}

void pawli_chores_reset(pawli_chores *chores)
{
    for (int i = 0; i < PAWL_CHORE_COUNT; i++)
        chores->due[i] = (pawl_mono){INT64_MIN};
}

/* ---- one chore ---- */

/* What has been finished, and leases that have ended, for long enough. */
static pawl_status retain(pawl_worker *worker, pawli_chore_result *ret, pawl_error *err)
{
    pawli_chore_result leases = {0};
    pawl_status st = pawl_queue_retain(worker->store, worker->options.retention_ms, &ret->changed,
                                       &ret->scan, err);

    if (st == PAWL_OK)
        st = pawl_lease_clean(worker->store, worker->options.retention_ms, &leases.changed,
                              &leases.scan, err);
    ret->changed += leases.changed;
    ret->scan.rows += leases.scan.rows;
    ret->scan.more |= leases.scan.more;
    return st;
}

static pawl_status call(pawl_worker *worker, pawl_chore chore, pawli_chore_result *ret,
                        pawl_error *err)
{
    pawl_store *store = worker->store;

    switch (chore) {
    case PAWL_CHORE_REAP:
        return pawl_queue_reap(store, &ret->changed, &ret->scan, err);
    case PAWL_CHORE_EXPIRE:
        return pawl_queue_expire(store, &ret->changed, &ret->scan, err);
    case PAWL_CHORE_RETAIN:
        return retain(worker, ret, err);
    case PAWL_CHORE_FOLD:
        return pawl_queue_fold(store, &ret->changed, &ret->scan, err);
    case PAWL_CHORE_CHECKPOINT:
        return pawli_db_checkpoint(store->db, err);
    case PAWL_CHORE_INBOX:
        return pawl_inbox_clean(store, &ret->changed, &ret->scan, err);
    case PAWL_CHORE_JOBS:
        return pawl_job_clean(store, &ret->changed, &ret->scan, err);
    default:
        return PAWL_OK;
    }
}

/* Dead letters are called for by the intake, which hands them to the crew; jobs have the ticker. */
static bool is_done_here(const pawl_worker *worker, pawl_chore chore)
{
    return chore != PAWL_CHORE_DEAD && chore != PAWL_CHORE_SCHEDULE &&
           worker->options.chore_every_ms[chore] > 0;
}

static int thread_of(pawl_chore chore)
{
    return chore == PAWL_CHORE_REAP ? PAWLI_CHORES_REAP : PAWLI_CHORES_OTHERS;
}

void pawli_chore_ended(pawl_worker *worker, pawl_chore chore, pawl_status st,
                       const pawli_chore_result *result, const pawl_error *err)
{
    pawl_chore_stats *stats = &worker->stats.chores[chore];
    bool step = atomic_load(&worker->mode) == PAWLI_MODE_STEP;
    bool news = false;

    pthread_mutex_lock(&worker->stats_lock);
    if (st == PAWL_OK) {
        stats->runs++;
        stats->changed += (int64_t)result->changed;
        stats->scanned += (int64_t)result->scan.rows;
        stats->last_success = step ? (pawl_wall){worker->step_now.us} : pawli_wall_now();
        stats->last_error[0] = '\0';
    } else {
        news = stats->last_error[0] == '\0';
        stats->failures++;
        pawli_utf8_clean(err->message, stats->last_error, sizeof stats->last_error);
    }
    pthread_mutex_unlock(&worker->stats_lock);
    if (news) /* said once, until it has worked again */
        pawli_log(&worker->log, PAWL_LOG_WARNING, "worker", "the chore '%s' failed: %s",
                  pawl_chore_name(chore), err->message);
}

pawl_status pawli_chore_do(pawl_worker *worker, pawl_chore chore, pawli_chore_result *ret_result,
                           pawl_error *err)
{
    int64_t timeout_ms = worker->options.chore_timeout_ms[chore];
    pthread_mutex_t *doing = &worker->chores.threads[thread_of(chore)].doing;
    pawl_error why = PAWL_ERROR_INIT;

    *ret_result = (pawli_chore_result){0};
    pthread_mutex_lock(doing);
    pawli_limit_begin(pawli_mono_after(pawli_mono_now(), timeout_ms * 1000));
    pawl_status st = call(worker, chore, ret_result, &why);
    pawli_limit_end();
    pthread_mutex_unlock(doing);
    pawli_chore_ended(worker, chore, st, ret_result, &why);
    if (st != PAWL_OK && err)
        *err = why;
    return st;
}

/* Many workers that were started together need not meet every time. */
static pawl_mono next_time(const pawl_worker *worker, pawl_chore chore, pawl_mono now)
{
    int64_t every_us = worker->options.chore_every_ms[chore] * 1000;
    int64_t jitter_us = 0;

    if (atomic_load(&worker->mode) == PAWLI_MODE_RUN)
        jitter_us = (int64_t)(pawli_random_u64() % (uint64_t)(every_us / 10 + 1));
    return pawli_mono_after(now, every_us + jitter_us);
}

/* ---- all of them ---- */

/* The chore's next call: at once if it stopped at its limit. */
static pawl_status do_one(pawl_worker *worker, pawl_chore chore, pawl_mono now,
                          pawli_chore_result *ret_result, pawl_error *err)
{
    pawl_status st = pawli_chore_do(worker, chore, ret_result, err);
    bool again = st == PAWL_OK && ret_result->scan.more;

    worker->chores.due[chore] = again ? now : next_time(worker, chore, now);
    return st;
}

/* One call of each that is due. The first error is answered; it keeps no other from being done. */
static pawl_status step_once(pawl_worker *worker, pawl_mono now, size_t *ret_changed,
                             bool *ret_more, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    *ret_more = false;
    for (int i = 0; i < PAWL_CHORE_COUNT; i++) {
        pawli_chore_result result;
        if (!is_done_here(worker, (pawl_chore)i) || worker->chores.due[i].us > now.us)
            continue;
        pawl_status one = do_one(worker, (pawl_chore)i, now, &result, st == PAWL_OK ? err : NULL);
        *ret_changed += result.changed;
        *ret_more |= one == PAWL_OK && result.scan.more;
        if (st == PAWL_OK)
            st = one;
    }
    return st;
}

pawl_status pawli_chores_step(pawl_worker *worker, size_t *ret_changed, pawl_error *err)
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

/* When the next of the thread's chores is due. */
static pawl_mono soonest(const pawl_worker *worker, int thread, pawl_mono now)
{
    pawl_mono soonest = pawli_mono_after(now, INT64_C(3600000000));

    for (int i = 0; i < PAWL_CHORE_COUNT; i++)
        if (thread_of((pawl_chore)i) == thread && is_done_here(worker, (pawl_chore)i) &&
            worker->chores.due[i].us < soonest.us)
            soonest = worker->chores.due[i];
    return soonest;
}

static bool is_leaving(pawli_chores *chores)
{
    pthread_mutex_lock(&chores->lock);
    bool leaving = chores->leave;
    pthread_mutex_unlock(&chores->lock);
    return leaving;
}

/* False: it is time to leave. */
static bool rest(pawli_chores *chores, pawl_mono until)
{
    pthread_mutex_lock(&chores->lock);
    while (!chores->leave && !pawli_mono_passed(until))
        pawli_cond_wait_until(&chores->wake, &chores->lock, until);
    bool stay = !chores->leave;
    pthread_mutex_unlock(&chores->lock);
    return stay;
}

/* One call of each of the thread's chores that is due, until it is time to leave. */
static void do_due(pawl_worker *worker, int thread, pawl_mono now)
{
    pawli_chore_result result;

    for (int i = 0; i < PAWL_CHORE_COUNT; i++)
        if (thread_of((pawl_chore)i) == thread && is_done_here(worker, (pawl_chore)i) &&
            worker->chores.due[i].us <= now.us && !is_leaving(&worker->chores))
            (void)do_one(worker, (pawl_chore)i, now, &result, NULL);
}

/* Thread: its own. While the store is likely to be down the intake alone tries it. */
static void *maintain(void *context)
{
    pawl_worker *worker = ((pawli_chore_thread *)context)->worker;
    int thread = (int)((pawli_chore_thread *)context - worker->chores.threads);
    pawl_mono until = pawli_mono_now();

    while (rest(&worker->chores, until)) {
        pawl_mono now = pawli_mono_now();
        if (!pawli_dead_is_announced(worker)) { /* the intake is about to */
            until = pawli_mono_after(now, 50000);
            continue;
        }
        if (pawli_health_is_open(&worker->health)) {
            until = pawli_mono_after(now, 1000000);
            continue;
        }
        do_due(worker, thread, now);
        until = soonest(worker, thread, pawli_mono_now());
    }
    return NULL;
}

static void end_threads(pawl_worker *worker, int count)
{
    pawli_chores_leave(worker);
    for (int i = 0; i < count; i++)
        pthread_join(worker->chores.threads[i].thread, NULL);
}

pawl_status pawli_chores_start(pawl_worker *worker, pawl_error *err)
{
    pawl_status st = PAWL_OK;
    int started = 0;

    worker->chores.leave = false;
    pawli_chores_reset(&worker->chores);
    while (started < PAWLI_CHORE_THREADS && st == PAWL_OK) {
        pawli_chore_thread *next = &worker->chores.threads[started];
        next->worker = worker;
        st = pawli_thread_start(&next->thread, maintain, next, err);
        started += st == PAWL_OK;
    }
    if (st != PAWL_OK)
        end_threads(worker, started);
    return st;
}

void pawli_chores_leave(pawl_worker *worker)
{
    pawli_chores *chores = &worker->chores;

    pthread_mutex_lock(&chores->lock);
    chores->leave = true;
    pthread_cond_broadcast(&chores->wake);
    pthread_mutex_unlock(&chores->lock);
}

void pawli_chores_end(pawl_worker *worker)
{
    end_threads(worker, PAWLI_CHORE_THREADS);
}
