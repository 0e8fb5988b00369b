/* src/worker/store_health.c - whether the store answers, and when to try again if it does not. */
#include "store_health.h"

#include "log.h"
#include "observer.h"
#include "text.h"
#include "worker_private.h"
#include "platform.h"

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
