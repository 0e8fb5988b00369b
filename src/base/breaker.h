/* src/base/breaker.h - a circuit breaker: stops calling a failing dependency, and probes it later.
 */
#ifndef PAWLI_BREAKER_H
#define PAWLI_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include <pawl/backoff.h>
#include <pawl/clock.h>
#include <pawl/error.h>

/*
 * Closed: calls work; after a failure the next attempt waits, longer each time. Open: enough
 * consecutive attempts have failed that an outage is likely, and attempts are rare. Half-open:
 * such an attempt is running; its result closes or opens the breaker. One thread at a time.
 */
typedef enum pawli_breaker_state {
    PAWLI_BREAKER_CLOSED = 0,
    PAWLI_BREAKER_OPEN = 1,
    PAWLI_BREAKER_HALF_OPEN = 2
} pawli_breaker_state;

typedef struct pawli_breaker_policy {
    int opens_after;     /* consecutive failures that open it */
    pawl_backoff closed; /* pauses while closed */
    pawl_backoff open;   /* pauses while open */
} pawli_breaker_policy;

/* For a database: five failures within about a second, then every 1 to 15 s. */
extern const pawli_breaker_policy pawli_breaker_usual;

typedef struct pawli_breaker {
    const pawli_breaker_policy *policy;
    pawli_breaker_state state;
    int failures;       /* consecutive */
    pawl_mono retry_at; /* no attempt before this */
} pawli_breaker;

/*
 * Whether an error of the store is permanent; shared by the worker and the delivery. `worked`: the
 * store has responded before. A standby can become the primary, a disk can be enlarged, privileges
 * can be granted: all but a few errors may go away. Before the store has worked for the first time,
 * they are configuration errors.
 */
bool pawli_store_error_is_final(pawl_status st, bool worked);

/*
 * Whether an error of the store may be caused by its input: a text, an output, a single message.
 * Then the rest of a batch may be accepted, and waiting does not help.
 */
bool pawli_store_error_is_refusal(pawl_status st);

void pawli_breaker_init(pawli_breaker *breaker, const pawli_breaker_policy *policy);
/* Whether to try now. The call makes an open breaker half-open when its pause is over. */
bool pawli_breaker_allows(pawli_breaker *breaker, pawl_mono now);
/* The dependency is known to be back: try now, and after a failure start with the first pause. */
void pawli_breaker_wake(pawli_breaker *breaker);
/* Records a success. True: it had not been closed. */
bool pawli_breaker_succeeded(pawli_breaker *breaker);
/*
 * Records a failure. True: that opened it, and it had been closed. `random` is a random number
 * drawn by the caller.
 */
bool pawli_breaker_failed(pawli_breaker *breaker, pawl_mono now, uint64_t random);

#endif
