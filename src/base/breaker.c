/* src/base/breaker.c - a circuit breaker: stops calling a failing dependency, and probes it
 * later. */
#include "breaker.h"

const pawli_breaker_policy pawli_breaker_usual = {5, {50, 500, 50}, {1000, 15000, 1000}};

bool pawli_store_error_is_final(pawl_status st, bool worked)
{
    switch (st) {
    case PAWL_E_INVALID:
    case PAWL_E_MISUSE:
    case PAWL_E_INCOMPATIBLE:
    case PAWL_E_NOT_OURS:
    case PAWL_E_UNSUPPORTED:
    case PAWL_E_CORRUPT:
        return true;
    default:
        return !pawl_status_retryable(st) && !worked;
    }
}

bool pawli_store_error_is_refusal(pawl_status st)
{
    return st == PAWL_E_INVALID || st == PAWL_E_TOO_LARGE || st == PAWL_E_CONFLICT ||
           st == PAWL_E_STORE;
}

void pawli_breaker_init(pawli_breaker *breaker, const pawli_breaker_policy *policy)
{
    *breaker = (pawli_breaker){.policy = policy, .retry_at = {INT64_MIN}};
}

bool pawli_breaker_allows(pawli_breaker *breaker, pawl_mono now)
{
    if (now.us < breaker->retry_at.us)
        return false;
    if (breaker->state == PAWLI_BREAKER_OPEN)
        breaker->state = PAWLI_BREAKER_HALF_OPEN;
    return true;
}

void pawli_breaker_wake(pawli_breaker *breaker)
{
    if (breaker->state == PAWLI_BREAKER_CLOSED)
        return;
    breaker->state = PAWLI_BREAKER_HALF_OPEN;
    breaker->failures = breaker->policy->opens_after - 1;
    breaker->retry_at.us = INT64_MIN;
}

bool pawli_breaker_succeeded(pawli_breaker *breaker)
{
    bool closes = breaker->state != PAWLI_BREAKER_CLOSED;

    pawli_breaker_init(breaker, breaker->policy);
    return closes;
}

bool pawli_breaker_failed(pawli_breaker *breaker, pawl_mono now, uint64_t random)
{
    const pawli_breaker_policy *policy = breaker->policy;
    bool was_closed = breaker->state == PAWLI_BREAKER_CLOSED;
    int64_t pause_ms;

    breaker->failures++;
    if (breaker->failures < policy->opens_after) {
        pause_ms = pawl_backoff_delay_ms(&policy->closed, breaker->failures - 1, random);
    } else {
        pause_ms =
            pawl_backoff_delay_ms(&policy->open, breaker->failures - policy->opens_after, random);
        breaker->state = PAWLI_BREAKER_OPEN;
    }
    breaker->retry_at.us = now.us + pause_ms * 1000;
    return was_closed && breaker->state == PAWLI_BREAKER_OPEN;
}
