/* src/worker/store_health.h - the store's circuit breaker: whether it responds, and when to try
 * again. */
#ifndef PAWLI_STORE_HEALTH_H
#define PAWLI_STORE_HEALTH_H

#include <stdatomic.h>

#include <pawl/worker.h>

#include "breaker.h"

/* Used by the claim loop's thread, except for `state`. */
typedef struct pawli_store_health {
    pawli_breaker breaker;
    bool worked;  /* at least once */
    bool failing; /* the failure was reported to the observer */
    _Atomic pawli_breaker_state state;
} pawli_store_health;

void pawli_store_health_init(pawli_store_health *health);
/* Whether to call the store now; otherwise not before *ret_retry_at. */
bool pawli_store_health_allows(pawli_store_health *health, pawl_mono *ret_retry_at);
/* Any thread: an outage is likely; work that can wait should. */
bool pawli_store_health_is_open(pawli_store_health *health);
/*
 * Records a status of the store. False: the error is permanent. Logs once that the store is down
 * and once that it is back.
 */
bool pawli_store_health_responded(pawl_worker *worker, pawl_status st, const pawl_error *err);

#endif
