/* src/worker/observer.c - reports results to the application's observer; the store's circuit
 * breaker. */
#include "observer.h"

#include "log.h"
#include "platform.h"
#include "store_health.h"
#include "text.h"
#include "worker_private.h"

/* ---- calling the application's observer ---- */

static void observer_report(pawl_worker *worker, const pawl_task *task, pawl_result result)
{
    const pawl_observer *observer = &worker->options.observer;
    pawl_message_result what = {
        .message = task->message,
        .result = result,
        .dead = task->dead,
        .attempt = pawl_task_attempt(task),
        .error = task->error,
        .took_us = task->took_us,
    };

    observer->message(observer->context, &what);
}

static pawl_result observer_result(const pawl_task *task)
{
    pawl_result result = pawli_task_result(task);

    /* A dead letter is retried until its handler succeeds. */
    return task->dead && result == PAWL_FAIL ? PAWL_RETRY : result;
}

void pawli_observe_stored(pawl_worker *worker, const pawl_task *task, bool lost)
{
    if (worker->options.observer.message)
        observer_report(worker, task, lost ? PAWL_LOST : observer_result(task));
}

void pawli_observe_dropped(pawl_worker *worker, const pawl_task *task)
{
    if (!worker->options.observer.message)
        return;
    if (pawli_task_acknowledged(task))
        observer_report(worker, task, PAWL_DONE);
    else
        observer_report(worker, task, task->disowned ? PAWL_RELEASE : PAWL_LOST);
}

void pawli_observe_store(pawl_worker *worker, const pawl_error *err)
{
    const pawl_observer *observer = &worker->options.observer;

    if (observer->store)
        observer->store(observer->context, err);
}

/* ---- the store's circuit breaker ---- */

void pawli_store_health_init(pawli_store_health *health)
{
    pawli_breaker_init(&health->breaker, &pawli_breaker_usual);
    health->worked = health->failing = false;
    atomic_store(&health->state, PAWLI_BREAKER_CLOSED);
}

bool pawli_store_health_allows(pawli_store_health *health, pawl_mono *ret_retry_at)
{
    bool allows = pawli_breaker_allows(&health->breaker, pawli_mono_now());

    atomic_store(&health->state, health->breaker.state);
    *ret_retry_at = health->breaker.retry_at;
    return allows;
}

bool pawli_store_health_is_open(pawli_store_health *health)
{
    return atomic_load(&health->state) == PAWLI_BREAKER_OPEN;
}

static void set_error(pawl_worker *worker, const char *text)
{
    pthread_mutex_lock(&worker->stats_lock);
    pawli_utf8_clean(text, worker->stats.last_error, sizeof worker->stats.last_error);
    pthread_mutex_unlock(&worker->stats_lock);
}

static void store_responded(pawl_worker *worker)
{
    pawli_store_health *health = &worker->health;
    bool had_failed = health->breaker.failures > 0;

    health->worked = true;
    if (!had_failed)
        return;
    if (pawli_breaker_succeeded(&health->breaker))
        pawli_log(&worker->log, PAWL_LOG_INFO, "worker",
                  "circuit breaker closed, the database responds again",
                  pawli_logged("store", pawl_store_engine(worker->store)));
    atomic_store(&health->state, health->breaker.state);
    set_error(worker, "");
    health->failing = false;
    pawli_observe_store(worker, NULL);
}

static void log_store(const pawl_worker *worker, pawl_log_level level, const pawl_error *err,
                      const char *pattern)
{
    pawli_log_fields fields = {0};

    pawli_log_text(&fields, "store", pawl_store_engine(worker->store));
    pawli_log_number(&fields, "failures", worker->health.breaker.failures);
    pawli_log_text(&fields, "error", err->message);
    pawli_log_record(&worker->log, level, "worker", &fields, pattern);
}

bool pawli_store_health_responded(pawl_worker *worker, pawl_status st, const pawl_error *err)
{
    pawli_store_health *health = &worker->health;

    if (st == PAWL_OK) {
        store_responded(worker);
        return true;
    }
    if (st == PAWL_E_INTERRUPTED)
        return true; /* interrupted by the application: says nothing about the store */
    if (pawli_store_error_is_final(st, health->worked))
        return false;
    set_error(worker, err->message);
    if (!health->failing)
        pawli_observe_store(worker, err);
    health->failing = true;
    if (pawli_breaker_failed(&health->breaker, pawli_mono_now(), pawli_random_u64()))
        log_store(worker, PAWL_LOG_WARNING, err,
                  "store: circuit breaker opened after {failures} consecutive failures: {error}");
    else
        log_store(worker, PAWL_LOG_DEBUG, err, "store call failed, retrying: {error}");
    atomic_store(&health->state, health->breaker.state);
    return true;
}
