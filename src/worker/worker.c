/* src/worker/worker.c - the worker: creating, running, single steps, statistics. */
#include <pawl/worker.h>

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "log.h"
#include "options.h"
#include "platform.h"
#include "scope.h"
#include "store_private.h"
#include "text.h"
#include "worker_private.h"

/* ---- creating and running a worker ---- */

#define SPAN_MAX_MS ((int64_t)7 * 24 * 3600 * 1000)
#define OWNER_NAME_MAX 255

PAWLI_AUTO_DEFINE(pawl_worker, pawl_worker_free);

/* ---- options ---- */

static pawl_status worker_check_span(int64_t value_ms, int64_t least_ms, const char *what,
                                     pawl_error *err)
{
    if (value_ms < least_ms || value_ms > SPAN_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID, "%s must be %d ms to 7 days", what, (int)least_ms);
    return PAWL_OK;
}

/* Tasks that the caller's version did not know, and left at 0, get the defaults. */
static void maintenance_fill_defaults(pawl_worker_options *options)
{
    const pawl_worker_options defaults = PAWL_WORKER_OPTIONS_INIT;

    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++) {
        if (options->maintenance_interval_ms[i] != 0 || options->maintenance_timeout_ms[i] != 0)
            continue;
        options->maintenance_interval_ms[i] = defaults.maintenance_interval_ms[i];
        options->maintenance_timeout_ms[i] = defaults.maintenance_timeout_ms[i];
    }
}

static pawl_status check_chores(const pawl_worker_options *options, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (int i = 0; st == PAWL_OK && i < PAWL_MAINTENANCE_COUNT; i++) {
        st = worker_check_span(options->maintenance_interval_ms[i], 0, "maintenance_interval_ms",
                               err);
        if (st == PAWL_OK)
            st = worker_check_span(options->maintenance_timeout_ms[i], 1, "maintenance_timeout_ms",
                                   err);
    }
    for (int i = PAWL_MAINTENANCE_COUNT; st == PAWL_OK && i < PAWL_MAINTENANCE_MAX; i++)
        if (options->maintenance_interval_ms[i] != 0 || options->maintenance_timeout_ms[i] != 0)
            st = pawli_fail(err, PAWL_E_INVALID,
                            "maintenance task %d is not known to this library: use a libpawl at "
                            "least as new as the headers",
                            i);
    return st;
}

static pawl_status worker_check_options(const pawl_worker_options *options, pawl_error *err)
{
    const char *name = options->owner_name;
    size_t characters = 1;
    pawl_status st;

    if (options->concurrency < 1 || options->concurrency > 1000)
        return pawli_fail(err, PAWL_E_INVALID, "concurrency must be 1 to 1000");
    if (options->batch < 1 || options->batch > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "batch must be 1 to %d", PAWL_BATCH_MAX);
    if (options->max_messages < 0)
        return pawli_fail(err, PAWL_E_INVALID, "max_messages must not be negative");
    if (options->retention_ms < 0)
        return pawli_fail(err, PAWL_E_INVALID, "retention_ms must not be negative");
    if (name && (!*name || !pawli_utf8_check(name, strlen(name), &characters) ||
                 characters > OWNER_NAME_MAX))
        return pawli_fail(err, PAWL_E_INVALID, "owner_name must be 1 to %d characters of UTF-8",
                          OWNER_NAME_MAX);
    st = worker_check_span(options->lease_ms, 10, "lease_ms", err);
    if (st == PAWL_OK)
        st = worker_check_span(options->grace_ms, 0, "grace_ms", err);
    if (st == PAWL_OK)
        st = worker_check_span(options->cancel_ms, 0, "cancel_ms", err);
    if (st == PAWL_OK)
        st = worker_check_span(options->no_handler_warn_ms, 0, "no_handler_warn_ms", err);
    if (st == PAWL_OK)
        st = worker_check_span(options->max_poll_ms, 1, "max_poll_ms", err);
    return st == PAWL_OK ? check_chores(options, err) : st;
}

/* ---- creating and freeing ---- */

static pawl_status worker_fill(pawl_worker *worker, pawl_store *store,
                               const pawl_worker_options *options, pawl_error *err)
{
    pawl_status st;

    worker->store = store;
    worker->options = *options;
    worker->options.owner_name = NULL;
    worker->log = options->log.write ? options->log : store->log;
    worker->owner = pawl_owner_new();
    worker->stats.size = sizeof worker->stats;
    worker->stop.fd = worker->renewer.fd = -1;
    atomic_init(&worker->mode, PAWLI_MODE_IDLE);
    pthread_mutex_init(&worker->stats_lock, NULL);
    pawli_inflight_init(&worker->inflight);
    pawli_store_health_init(&worker->health);
    pawli_dead_letters_reset(&worker->dead);
    pawli_maintenance_init(&worker->maintenance);
    worker->claim_loop.ask_until = (pawl_mono){INT64_MIN};
    if (options->owner_name && !(worker->options.owner_name = strdup(options->owner_name)))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the worker");
    st = pawli_stop_init(&worker->stop, err);
    return st == PAWL_OK ? pawli_lease_renewer_init(&worker->renewer, err) : st;
}

pawl_status pawl_worker_new(pawl_store *store, const pawl_worker_options *opts,
                            pawl_worker **ret_worker, pawl_error *err)
{
    PAWLI_AUTO(pawl_worker) worker = NULL;
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_status st;

    if (!store || !ret_worker)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_worker must not be NULL");
    st = pawli_options_copy(&options, sizeof options, opts, err);
    maintenance_fill_defaults(&options);
    if (st == PAWL_OK)
        st = worker_check_options(&options, err);
    if (st != PAWL_OK)
        return st;
    worker = calloc(1, sizeof *worker);
    if (!worker)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the worker");
    st = worker_fill(worker, store, &options, err);
    if (st == PAWL_OK)
        *ret_worker = pawl_worker_take(&worker);
    return st;
}

void pawl_worker_free(pawl_worker *worker)
{
    if (!worker)
        return;
    pawli_job_scheduler_release(worker);
    pawli_claim_loop_done(&worker->claim_loop);
    pawli_dead_letters_done(&worker->dead);
    pawli_unhandled_topics_done(&worker->unhandled);
    pawli_maintenance_done(&worker->maintenance);
    pawli_lease_renewer_done(&worker->renewer);
    pawli_stop_done(&worker->stop);
    pawli_inflight_done(&worker->inflight);
    pawli_handlers_done(&worker->handlers);
    pawli_handlers_done(&worker->dead_handlers);
    pthread_mutex_destroy(&worker->stats_lock);
    free((void *)(uintptr_t)worker->options.owner_name);
    free(worker);
}

pawl_owner pawl_worker_owner(const pawl_worker *worker)
{
    return worker->owner;
}

pawl_mono pawli_worker_now(const pawl_worker *worker)
{
    return atomic_load(&worker->mode) == PAWLI_MODE_STEP ? worker->step_now : pawli_mono_now();
}

/* ---- handlers ---- */

static pawl_status check_resting(const pawl_worker *worker, pawl_error *err)
{
    if (!worker)
        return pawli_fail(err, PAWL_E_INVALID, "the worker must not be NULL");
    if (atomic_load(&worker->mode) != PAWLI_MODE_IDLE)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the worker is running: register handlers before running it");
    return PAWL_OK;
}

pawl_status pawl_worker_handle(pawl_worker *worker, const char *topic, pawl_handler handler,
                               void *context, const pawl_handler_options *opts, pawl_error *err)
{
    pawl_status st = check_resting(worker, err);

    if (st != PAWL_OK)
        return st;
    return pawli_handlers_add(&worker->handlers, topic, handler, context, opts, err);
}

pawl_status pawl_worker_handle_dead(pawl_worker *worker, const char *topic, pawl_handler handler,
                                    void *context, pawl_error *err)
{
    pawl_status st = check_resting(worker, err);

    if (st != PAWL_OK)
        return st;
    pawli_dead_letters_done(&worker->dead); /* the announced handlers are no longer complete */
    pawli_dead_letters_reset(&worker->dead);
    return pawli_handlers_add(&worker->dead_handlers, topic, handler, context, NULL, err);
}

/* ---- running ---- */

static pawl_status make_waiter(pawl_worker *worker, pawl_error *err)
{
    pawli_waiter_options options = PAWLI_WAITER_OPTIONS_INIT;

    options.use_notify = worker->options.use_notify;
    options.max_wait_us = worker->options.max_poll_ms * 1000;
    if (options.deaf_us > options.max_wait_us)
        options.deaf_us = options.max_wait_us;
    return pawli_waiter_new(worker->store->db, &options, &worker->claim_loop.waiter, err);
}

static void free_waiter(pawl_worker *worker)
{
    pawli_waiter_free(worker->claim_loop.waiter);
    worker->claim_loop.waiter = NULL;
}

/* Starts the other threads one after the other; if one fails to start, ends those already
 * started. */
static pawl_status worker_start_threads(pawl_worker *worker, pawl_error *err)
{
    pawl_status st = pawli_stop_start(worker, err);

    if (st != PAWL_OK)
        return st;
    st = pawli_lease_renewer_start(worker, err);
    if (st == PAWL_OK) {
        st = pawli_maintenance_start(worker, err);
        if (st == PAWL_OK) {
            st = pawli_job_scheduler_start(worker, err);
            if (st == PAWL_OK) {
                st = pawli_handler_pool_start(worker, err);
                if (st == PAWL_OK)
                    return PAWL_OK;
                pawli_job_scheduler_end(worker);
            }
            pawli_maintenance_end(worker);
        }
        pawli_lease_renewer_end(worker);
    }
    pawli_stop_end(worker);
    return st;
}

static pawl_status worker_work(pawl_worker *worker, pawl_error *err)
{
    pawl_status st, ended;

    st = pawli_claim_loop_run(worker, err);
    if (st != PAWL_OK)
        pawli_log(&worker->log, PAWL_LOG_ERROR, "worker",
                  "the worker stopped after a permanent error: {error}",
                  pawli_logged("error", pawl_status_text(st)));
    pawli_maintenance_leave(worker);
    pawli_job_scheduler_leave(worker);
    ended = pawli_worker_shut_down(worker, st == PAWL_OK ? err : NULL);
    pawli_job_scheduler_end(worker);
    pawli_maintenance_end(worker);
    pawli_lease_renewer_end(worker);
    pawli_stop_end(worker);
    return st != PAWL_OK ? st : ended;
}

/* A failed step measured its leases with another clock: read the owned messages again. */
static void get_ready(pawl_worker *worker)
{
    worker->claim_loop.results.list = NULL;
    worker->claim_loop.in_doubt |=
        pawli_inflight_open(&worker->inflight, worker->claim_loop.waiter) > 0;
    worker->claim_loop.ask_until = (pawl_mono){INT64_MIN};
    worker->claim_loop.armed = worker->claim_loop.drained = false;
    worker->claim_loop.clock.known = worker->claim_loop.over = worker->claim_loop.swept = false;
    worker->claim_loop.taken = 0;
    worker->claim_loop.empty_at = (pawl_mono){INT64_MAX};
    pawli_dead_letters_reset(&worker->dead);
    pawli_store_health_init(&worker->health);
}

pawl_status pawl_worker_run(pawl_worker *worker, pawl_error *err)
{
    pawli_mode rest = PAWLI_MODE_IDLE;
    pawl_status st;

    if (!worker)
        return pawli_fail(err, PAWL_E_INVALID, "the worker must not be NULL");
    if (!worker->options.maintenance_only && !worker->options.scheduler &&
        pawli_handlers_empty(&worker->handlers) && pawli_handlers_empty(&worker->dead_handlers))
        return pawli_fail(
            err, PAWL_E_MISUSE,
            "the worker has no handler and no scheduler: register one with pawl_worker_handle()");
    if (!atomic_compare_exchange_strong(&worker->mode, &rest, PAWLI_MODE_RUN))
        return pawli_fail(err, PAWL_E_MISUSE, "the worker is already running");
    st = make_waiter(worker, err);
    if (st == PAWL_OK) {
        get_ready(worker);
        st = worker_start_threads(worker, err);
        if (st == PAWL_OK)
            st = worker_work(worker, err);
        free_waiter(worker);
    }
    atomic_store(&worker->mode, PAWLI_MODE_IDLE);
    return st;
}

/* ---- single-step mode, for tests ---- */

pawl_status pawli_worker_read_clock(pawl_worker *worker, pawl_error *err)
{
    pawl_wall now;
    pawl_status st = pawl_store_now(worker->store, &now, err);

    if (st == PAWL_OK)
        worker->step_now = (pawl_mono){now.us};
    return st;
}

/* Between two handlers, leases are renewed as the lease renewer's thread would. */
static pawl_status handle_all(pawl_worker *worker, pawl_error *err)
{
    pawl_status st = PAWL_OK;
    pawl_task *task;

    while (st == PAWL_OK &&
           (task = pawli_inflight_try_next(&worker->inflight, worker->step_now)) != NULL) {
        pawli_task_run(task);
        st = pawli_lease_renewer_step(worker, err);
        pawli_inflight_finish(&worker->inflight, task, worker->step_now);
    }
    return st;
}

static pawl_status do_step(pawl_worker *worker, bool *ret_idle, pawl_error *err)
{
    size_t changed = 0, found = 0, resumed = 0, dead = 0, scheduled = 0;
    bool answered;
    pawl_status st = pawli_lease_renewer_step(worker, err);

    if (st == PAWL_OK)
        st = pawli_dead_letters_announce(worker, err);
    if (st == PAWL_OK)
        st = pawli_maintenance_step(worker, &changed, err);
    if (st == PAWL_OK)
        st = pawli_job_scheduler_step(worker, &scheduled, err);
    pawli_result_batch_gather(worker);
    answered = !pawli_result_batch_empty(&worker->claim_loop.results);
    if (st == PAWL_OK)
        st = pawli_result_batch_store(worker, err);
    if (st == PAWL_OK)
        st = pawli_claim_loop_resume(worker, &resumed, err);
    if (st == PAWL_OK)
        st = pawli_dead_letters_claim(worker, &dead, err);
    if (st == PAWL_OK)
        st = pawli_claim_plan_one_batch(worker, err);
    if (st == PAWL_OK)
        pawli_unhandled_topics_check(worker);
    if (st == PAWL_OK)
        st = pawli_claim_loop_claim(worker, &found, err);
    if (st == PAWL_OK)
        st = handle_all(worker, err);
    pawli_result_batch_gather(worker);
    if (st == PAWL_OK)
        st = pawli_result_batch_store(worker, err);
    pawli_result_batch_postpone(worker);
    if (st == PAWL_OK && ret_idle)
        *ret_idle = changed + found + resumed + dead + scheduled == 0 && !answered;
    return st;
}

pawl_status pawl_worker_step(pawl_worker *worker, bool *ret_idle, pawl_error *err)
{
    pawli_mode rest = PAWLI_MODE_IDLE;
    pawl_status st;

    if (!worker)
        return pawli_fail(err, PAWL_E_INVALID, "the worker must not be NULL");
    if (!atomic_compare_exchange_strong(&worker->mode, &rest, PAWLI_MODE_STEP))
        return pawli_fail(err, PAWL_E_MISUSE, "the worker is running: it cannot be stepped");
    st = do_step(worker, ret_idle, err);
    atomic_store(&worker->mode, PAWLI_MODE_IDLE);
    return st;
}

pawl_status pawl_worker_until_idle(pawl_worker *worker, pawl_error *err)
{
    bool idle = false;
    pawl_status st = PAWL_OK;

    while (st == PAWL_OK && !idle)
        st = pawl_worker_step(worker, &idle, err);
    return st;
}

/* ---- status and statistics ---- */

_Static_assert((int)PAWL_BREAKER_CLOSED == (int)PAWLI_BREAKER_CLOSED &&
                   (int)PAWL_BREAKER_OPEN == (int)PAWLI_BREAKER_OPEN &&
                   (int)PAWL_BREAKER_HALF_OPEN == (int)PAWLI_BREAKER_HALF_OPEN,
               "the breaker states are part of the public interface");

void pawli_worker_count(pawl_worker *worker, int64_t *counter, size_t count)
{
    if (count == 0)
        return;
    pthread_mutex_lock(&worker->stats_lock);
    *counter += (int64_t)count;
    pthread_mutex_unlock(&worker->stats_lock);
}

void pawl_worker_get_stats(pawl_worker *worker, pawl_worker_stats *ret_stats)
{
    pawl_worker_stats stats;

    pthread_mutex_lock(&worker->stats_lock);
    stats = worker->stats;
    pthread_mutex_unlock(&worker->stats_lock);
    pthread_mutex_lock(&worker->inflight.lock);
    stats.in_flight = (int64_t)worker->inflight.count;
    stats.running = (int64_t)worker->inflight.running;
    pthread_mutex_unlock(&worker->inflight.lock);
    stats.breaker = (pawl_breaker_state)atomic_load(&worker->health.state);
    pawli_returned_copy(ret_stats, &stats, sizeof stats);
}
