/* src/worker/worker.c - a worker's life: made, given handlers, run, freed. */
#include <pawl/worker.h>

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "log.h"
#include "options.h"
#include "scope.h"
#include "store_private.h"
#include "text.h"
#include "worker_private.h"
#include "world.h"

#define SPAN_MAX_MS ((int64_t)7 * 24 * 3600 * 1000)
#define OWNER_NAME_MAX 255

PAWLI_AUTO_DEFINE(pawl_worker, pawl_worker_free);

/* ---- options ---- */

static pawl_status check_span(int64_t value_ms, int64_t least_ms, const char *what, pawl_error *err)
{
    if (value_ms < least_ms || value_ms > SPAN_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID, "%s must be %d ms to 7 days", what, (int)least_ms);
    return PAWL_OK;
}

static pawl_status check_chores(const pawl_worker_options *options, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (int i = 0; st == PAWL_OK && i < PAWL_CHORE_COUNT; i++) {
        st = check_span(options->chore_every_ms[i], 0, "chore_every_ms", err);
        if (st == PAWL_OK)
            st = check_span(options->chore_timeout_ms[i], 1, "chore_timeout_ms", err);
    }
    return st;
}

static pawl_status check_options(const pawl_worker_options *options, pawl_error *err)
{
    const char *name = options->owner_name;
    size_t characters = 1;
    pawl_status st;

    if (options->concurrency < 1 || options->concurrency > 1000)
        return pawli_fail(err, PAWL_E_INVALID, "concurrency must be 1 to 1000");
    if (options->batch < 1 || options->batch > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "batch must be 1 to %d", PAWL_BATCH_MAX);
    if (options->max_messages < 0)
        return pawli_fail(err, PAWL_E_INVALID, "max_messages must not be below 0");
    if (options->retention_ms < 0)
        return pawli_fail(err, PAWL_E_INVALID, "retention_ms must not be below 0");
    if (name && (!*name || !pawli_utf8_check(name, strlen(name), &characters) ||
                 characters > OWNER_NAME_MAX))
        return pawli_fail(err, PAWL_E_INVALID, "owner_name must be 1 to %d characters of UTF-8",
                          OWNER_NAME_MAX);
    st = check_span(options->lease_ms, 10, "lease_ms", err);
    if (st == PAWL_OK)
        st = check_span(options->grace_ms, 0, "grace_ms", err);
    if (st == PAWL_OK)
        st = check_span(options->cancel_ms, 0, "cancel_ms", err);
    if (st == PAWL_OK)
        st = check_span(options->missing_ms, 0, "missing_ms", err);
    if (st == PAWL_OK)
        st = check_span(options->longest_ms, 1, "longest_ms", err);
    return st == PAWL_OK ? check_chores(options, err) : st;
}

/* ---- life ---- */

static pawl_status fill(pawl_worker *worker, pawl_store *store, const pawl_worker_options *options,
                        pawl_error *err)
{
    pawl_status st;

    worker->store = store;
    worker->options = *options;
    worker->options.owner_name = NULL;
    worker->log = options->log.write ? options->log : store->log;
    worker->owner = pawl_owner_new();
    worker->stats.size = sizeof worker->stats;
    worker->stop.fd = worker->keeper.fd = -1;
    atomic_init(&worker->mode, PAWLI_MODE_REST);
    pthread_mutex_init(&worker->stats_lock, NULL);
    pawli_hand_init(&worker->hand);
    pawli_health_init(&worker->health);
    pawli_dead_reset(&worker->dead);
    pawli_chores_init(&worker->chores);
    worker->intake.ask_until = (pawl_mono){INT64_MIN};
    if (options->owner_name && !(worker->options.owner_name = strdup(options->owner_name)))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the worker");
    st = pawli_stop_init(&worker->stop, err);
    return st == PAWL_OK ? pawli_keeper_init(&worker->keeper, err) : st;
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
    if (st == PAWL_OK)
        st = check_options(&options, err);
    if (st != PAWL_OK)
        return st;
    worker = calloc(1, sizeof *worker);
    if (!worker)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the worker");
    st = fill(worker, store, &options, err);
    if (st == PAWL_OK)
        *ret_worker = pawl_worker_take(&worker);
    return st;
}

void pawl_worker_free(pawl_worker *worker)
{
    if (!worker)
        return;
    pawli_ticker_release(worker);
    pawli_intake_done(&worker->intake);
    pawli_dead_done(&worker->dead);
    pawli_missing_done(&worker->missing);
    pawli_chores_done(&worker->chores);
    pawli_keeper_done(&worker->keeper);
    pawli_stop_done(&worker->stop);
    pawli_hand_done(&worker->hand);
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
    if (atomic_load(&worker->mode) != PAWLI_MODE_REST)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the worker is running: register handlers before it is run");
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
    pawli_dead_done(&worker->dead); /* what it knows of the handlers is no longer all */
    pawli_dead_reset(&worker->dead);
    return pawli_handlers_add(&worker->dead_handlers, topic, handler, context, NULL, err);
}

/* ---- running ---- */

static pawl_status make_waiter(pawl_worker *worker, pawl_error *err)
{
    pawli_waiter_options options = PAWLI_WAITER_OPTIONS_INIT;

    options.listen = worker->options.listen;
    options.longest_us = worker->options.longest_ms * 1000;
    if (options.deaf_us > options.longest_us)
        options.deaf_us = options.longest_us;
    return pawli_waiter_new(worker->store->db, &options, &worker->intake.waiter, err);
}

static void free_waiter(pawl_worker *worker)
{
    pawli_waiter_free(worker->intake.waiter);
    worker->intake.waiter = NULL;
}

/* The others are started by turns, and ended by turns if one cannot be. */
static pawl_status start_threads(pawl_worker *worker, pawl_error *err)
{
    pawl_status st = pawli_stop_start(worker, err);

    if (st != PAWL_OK)
        return st;
    st = pawli_keeper_start(worker, err);
    if (st == PAWL_OK) {
        st = pawli_chores_start(worker, err);
        if (st == PAWL_OK) {
            st = pawli_ticker_start(worker, err);
            if (st == PAWL_OK) {
                st = pawli_crew_start(worker, err);
                if (st == PAWL_OK)
                    return PAWL_OK;
                pawli_ticker_end(worker);
            }
            pawli_chores_end(worker);
        }
        pawli_keeper_end(worker);
    }
    pawli_stop_end(worker);
    return st;
}

static pawl_status work(pawl_worker *worker, pawl_error *err)
{
    pawl_status st, ended;

    st = pawli_intake_run(worker, err);
    if (st != PAWL_OK)
        pawli_log(&worker->log, PAWL_LOG_ERROR, "worker", "the worker gives up: %s",
                  pawl_status_text(st));
    pawli_chores_leave(worker);
    pawli_ticker_leave(worker);
    ended = pawli_worker_wind_up(worker, st == PAWL_OK ? err : NULL);
    pawli_ticker_end(worker);
    pawli_chores_end(worker);
    pawli_keeper_end(worker);
    pawli_stop_end(worker);
    return st != PAWL_OK ? st : ended;
}

/* What a step left behind when it failed was measured with another clock: it is asked for anew. */
static void get_ready(pawl_worker *worker)
{
    worker->intake.answers.list = NULL;
    worker->intake.in_doubt |= pawli_hand_open(&worker->hand, worker->intake.waiter) > 0;
    worker->intake.ask_until = (pawl_mono){INT64_MIN};
    worker->intake.armed = worker->intake.drained = false;
    worker->intake.clock.known = worker->intake.over = worker->intake.swept = false;
    worker->intake.taken = 0;
    worker->intake.empty_at = (pawl_mono){INT64_MAX};
    pawli_dead_reset(&worker->dead);
    pawli_health_init(&worker->health);
}

pawl_status pawl_worker_run(pawl_worker *worker, pawl_error *err)
{
    pawli_mode rest = PAWLI_MODE_REST;
    pawl_status st;

    if (!worker)
        return pawli_fail(err, PAWL_E_INVALID, "the worker must not be NULL");
    if (!worker->options.chores_only && !worker->options.scheduler &&
        pawli_handlers_empty(&worker->handlers) && pawli_handlers_empty(&worker->dead_handlers))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the worker has neither a handler nor a scheduler: register one with "
                          "pawl_worker_handle()");
    if (!atomic_compare_exchange_strong(&worker->mode, &rest, PAWLI_MODE_RUN))
        return pawli_fail(err, PAWL_E_MISUSE, "the worker is running already");
    st = make_waiter(worker, err);
    if (st == PAWL_OK) {
        get_ready(worker);
        st = start_threads(worker, err);
        if (st == PAWL_OK)
            st = work(worker, err);
        free_waiter(worker);
    }
    atomic_store(&worker->mode, PAWLI_MODE_REST);
    return st;
}
