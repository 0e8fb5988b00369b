/* src/worker/health.h - whether the store answers, and when to try again if it does not. */
#ifndef PAWLI_HEALTH_H
#define PAWLI_HEALTH_H

#include <stdatomic.h>

#include <pawl/worker.h>

#include "breaker.h"

/* The intake's, except for `state`. */
typedef struct pawli_health {
    pawli_breaker breaker;
    bool worked;  /* at least once */
    bool failing; /* the observer knows that it has failed */
    _Atomic pawli_breaker_state state;
} pawli_health;

void pawli_health_init(pawli_health *health);
/* Whether to call the store now; otherwise not before *ret_retry_at. */
bool pawli_health_allows(pawli_health *health, pawl_mono *ret_retry_at);
/* Any thread: an outage is likely; what can wait should. */
bool pawli_health_is_open(pawli_health *health);
/*
 * What the store answered. False: that will not go away by waiting. Says once that it is down and
 * once that it is back.
 */
bool pawli_health_heard(pawl_worker *worker, pawl_status st, const pawl_error *err);

#endif
