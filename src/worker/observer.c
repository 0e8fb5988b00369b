/* src/worker/observer.c - what a worker reports, and the store's circuit breaker. */
#include "observer.h"

#include <pawl/outbox.h>

#include "log.h"
#include "platform.h"
#include "store_health.h"
#include "text.h"
#include "worker_private.h"

/* ---- telling the application's observer what becomes of messages ---- */

static void observer_say(pawl_worker *worker, const pawl_task *task, pawl_result result)
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

    observer->settled(observer->context, &what);
}

static pawl_result observer_result(const pawl_task *task)
{
    pawl_result result = pawli_task_result(task);

    /* A dead letter is called for until it is done. */
    return task->dead && result == PAWL_FAIL ? PAWL_RETRY : result;
}

static bool observer_fits(pawl_result result, pawl_state state)
{
    switch (result) {
    case PAWL_DONE:
        return state == PAWL_STATE_DONE;
    case PAWL_FAIL:
        return state == PAWL_STATE_FAILED;
    case PAWL_RETRY:
        return state == PAWL_STATE_SCHEDULED || state == PAWL_STATE_READY ||
               state == PAWL_STATE_FAILED;
    default:
        return state == PAWL_STATE_SCHEDULED || state == PAWL_STATE_READY;
    }
}

/* The store said how many answers came too late, not which: look. */
static pawl_result find_out(pawl_worker *worker, const pawl_task *task)
{
    pawl_result result = observer_result(task);
    pawl_messages *one = NULL;

    if (task->dead || pawl_outbox_get(worker->store, task->receipt.id, &one, NULL) != PAWL_OK)
        return result;
    if (!observer_fits(result, pawl_message_state(pawl_messages_at(one, 0))))
        result = PAWL_LOST;
    pawl_messages_free(one);
    return result;
}

void pawli_observe_stored(pawl_worker *worker, const pawl_task *list, size_t count, size_t lost)
{
    if (!worker->options.observer.settled)
        return;
    for (const pawl_task *task = list; task; task = task->next_in_line) {
        if (lost == 0)
            observer_say(worker, task, observer_result(task));
        else if (lost >= count)
            observer_say(worker, task, PAWL_LOST);
        else
            observer_say(worker, task, find_out(worker, task));
    }
}

void pawli_observe_dropped(pawl_worker *worker, const pawl_task *task)
{
    if (!worker->options.observer.settled)
        return;
    if (pawli_task_acknowledged(task))
        observer_say(worker, task, PAWL_DONE);
    else
        observer_say(worker, task, task->disowned ? PAWL_RELEASE : PAWL_LOST);
}

void pawli_observe_store(pawl_worker *worker, const pawl_error *err)
{
    const pawl_observer *observer = &worker->options.observer;

    if (observer->store)
        observer->store(observer->context, err);
}

/* ---- whether the store answers, and when to try again if it does not ---- */

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

static void is_well(pawl_worker *worker)
{
    pawli_store_health *health = &worker->health;
    bool had_failed = health->breaker.failures > 0;

    health->worked = true;
    if (!had_failed)
        return;
    if (pawli_breaker_succeeded(&health->breaker))
        pawli_log(&worker->log, PAWL_LOG_INFO, "worker", "the store answers again");
    atomic_store(&health->state, health->breaker.state);
    set_error(worker, "");
    health->failing = false;
    pawli_observe_store(worker, NULL);
}

bool pawli_store_health_responded(pawl_worker *worker, pawl_status st, const pawl_error *err)
{
    pawli_store_health *health = &worker->health;

    if (st == PAWL_OK) {
        is_well(worker);
        return true;
    }
    if (st == PAWL_E_INTERRUPTED)
        return true; /* by the application; it says nothing of the store */
    if (pawli_store_error_is_final(st, health->worked))
        return false;
    set_error(worker, err->message);
    if (!health->failing)
        pawli_observe_store(worker, err);
    health->failing = true;
    if (pawli_breaker_failed(&health->breaker, pawli_mono_now(), pawli_random_u64()))
        pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                  "the store has failed %d times in a row and is left alone for a while: %s",
                  health->breaker.failures, err->message);
    else
        pawli_log(&worker->log, PAWL_LOG_DEBUG, "worker", "will try again: %s", err->message);
    atomic_store(&health->state, health->breaker.state);
    return true;
}
