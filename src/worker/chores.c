/* src/worker/chores.c - housekeeping: each chore at its own pace, with its own time limit. */
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
    pthread_mutex_init(&chores->doing, NULL);
    pawli_cond_init(&chores->wake);
    pawli_chores_reset(chores);
}

void pawli_chores_done(pawli_chores *chores)
{
    pthread_cond_destroy(&chores->wake);
    pthread_mutex_destroy(&chores->lock);
    pthread_mutex_destroy(&chores->doing);
}

void pawli_chores_reset(pawli_chores *chores)
{
    for (int i = 0; i < PAWL_CHORE_COUNT; i++)
        chores->due[i] = (pawl_mono){INT64_MIN};
}

/* ---- one chore ---- */

/* What has been finished, and leases that have ended, for long enough. */
static pawl_status retain(pawl_worker *worker, size_t *ret_changed, pawl_error *err)
{
    size_t leases = 0;
    pawl_status st =
        pawl_queue_retain(worker->store, worker->options.retention_ms, ret_changed, err);

    if (st == PAWL_OK)
        st = pawl_lease_clean(worker->store, worker->options.retention_ms, &leases, err);
    if (st == PAWL_OK)
        *ret_changed += leases;
    return st;
}

static pawl_status call(pawl_worker *worker, pawl_chore chore, size_t *ret_changed, pawl_error *err)
{
    switch (chore) {
    case PAWL_CHORE_REAP:
        return pawl_queue_reap(worker->store, ret_changed, err);
    case PAWL_CHORE_EXPIRE:
        return pawl_queue_expire(worker->store, ret_changed, err);
    case PAWL_CHORE_RETAIN:
        return retain(worker, ret_changed, err);
    case PAWL_CHORE_FOLD:
        return pawl_queue_fold(worker->store, err);
    case PAWL_CHORE_CHECKPOINT:
        return pawli_db_checkpoint(worker->store->db, err);
    case PAWL_CHORE_INBOX:
        return pawl_inbox_clean(worker->store, ret_changed, err);
    case PAWL_CHORE_JOBS:
        return pawl_job_clean(worker->store, ret_changed, err);
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

void pawli_chore_ended(pawl_worker *worker, pawl_chore chore, pawl_status st, size_t changed,
                       const pawl_error *err)
{
    pawl_chore_stats *stats = &worker->stats.chores[chore];
    bool step = atomic_load(&worker->mode) == PAWLI_MODE_STEP;
    bool news = false;

    pthread_mutex_lock(&worker->stats_lock);
    if (st == PAWL_OK) {
        stats->runs++;
        stats->changed += (int64_t)changed;
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

pawl_status pawli_chore_do(pawl_worker *worker, pawl_chore chore, size_t *ret_changed,
                           pawl_error *err)
{
    int64_t timeout_ms = worker->options.chore_timeout_ms[chore];
    pawl_error why = PAWL_ERROR_INIT;

    *ret_changed = 0;
    pthread_mutex_lock(&worker->chores.doing);
    pawli_limit_begin(pawli_mono_after(pawli_mono_now(), timeout_ms * 1000));
    pawl_status st = call(worker, chore, ret_changed, &why);
    pawli_limit_end();
    pthread_mutex_unlock(&worker->chores.doing);
    pawli_chore_ended(worker, chore, st, *ret_changed, &why);
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

static pawl_status do_due(pawl_worker *worker, pawl_mono now, size_t *ret_changed, pawl_error *err)
{
    pawli_chores *chores = &worker->chores;
    pawl_error *first_error = err;
    pawl_status st = PAWL_OK;

    *ret_changed = 0;
    for (int i = 0; i < PAWL_CHORE_COUNT; i++) {
        pawl_chore chore = (pawl_chore)i;
        size_t changed;
        if (!is_done_here(worker, chore) || chores->due[i].us > now.us)
            continue;
        pawl_status one = pawli_chore_do(worker, chore, &changed, first_error);
        /* Each call does a bounded amount; where it found something there may be more. */
        chores->due[i] = changed > 0 ? now : next_time(worker, chore, now);
        *ret_changed += changed;
        if (one != PAWL_OK && st == PAWL_OK) {
            st = one;
            first_error = NULL;
        }
    }
    return st;
}

pawl_status pawli_chores_step(pawl_worker *worker, size_t *ret_changed, pawl_error *err)
{
    return do_due(worker, pawli_worker_now(worker), ret_changed, err);
}

static pawl_mono soonest(const pawl_worker *worker, pawl_mono now)
{
    pawl_mono soonest = pawli_mono_after(now, INT64_C(3600000000));

    for (int i = 0; i < PAWL_CHORE_COUNT; i++)
        if (is_done_here(worker, (pawl_chore)i) && worker->chores.due[i].us < soonest.us)
            soonest = worker->chores.due[i];
    return soonest;
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

/* Thread: its own. While the store is likely to be down the intake alone tries it. */
static void *keep_house(void *context)
{
    pawl_worker *worker = context;
    pawl_mono until = pawli_mono_now();

    while (rest(&worker->chores, until)) {
        pawl_mono now = pawli_mono_now();
        size_t changed;
        if (!pawli_dead_is_announced(worker)) { /* the intake is about to */
            until = pawli_mono_after(now, 50000);
            continue;
        }
        if (pawli_health_is_open(&worker->health)) {
            until = pawli_mono_after(now, 1000000);
            continue;
        }
        (void)do_due(worker, now, &changed, NULL);
        until = soonest(worker, pawli_mono_now());
    }
    return NULL;
}

pawl_status pawli_chores_start(pawl_worker *worker, pawl_error *err)
{
    worker->chores.leave = false;
    pawli_chores_reset(&worker->chores);
    return pawli_thread_start(&worker->chores.thread, keep_house, worker, err);
}

void pawli_chores_leave(pawl_worker *worker)
{
    pawli_chores *chores = &worker->chores;

    pthread_mutex_lock(&chores->lock);
    chores->leave = true;
    pthread_cond_signal(&chores->wake);
    pthread_mutex_unlock(&chores->lock);
}

void pawli_chores_end(pawl_worker *worker)
{
    pawli_chores_leave(worker);
    pthread_join(worker->chores.thread, NULL);
}
