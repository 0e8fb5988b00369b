/* src/base/breaker.h - when to leave something alone that keeps failing, and when to try it again.
 */
#ifndef PAWLI_BREAKER_H
#define PAWLI_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include <pawl/backoff.h>
#include <pawl/clock.h>
#include <pawl/error.h>

/*
 * Closed: it works; after a failure the next try waits a moment, longer each time. Open: it has
 * failed so often in a row that an outage is likely, and tries are rare. Half-open: the moment of
 * such a try, whose outcome closes it or opens it again. One thread at a time.
 */
typedef enum pawli_breaker_state {
    PAWLI_BREAKER_CLOSED = 0,
    PAWLI_BREAKER_OPEN = 1,
    PAWLI_BREAKER_HALF_OPEN = 2
} pawli_breaker_state;

typedef struct pawli_breaker_policy {
    int opens_after;     /* failures in a row */
    pawl_backoff closed; /* pauses before that */
    pawl_backoff open;   /* pauses from then on */
} pawli_breaker_policy;

/* For a database: five failures within about a second, then every 1 to 15 s. */
extern const pawli_breaker_policy pawli_breaker_usual;

typedef struct pawli_breaker {
    const pawli_breaker_policy *policy;
    pawli_breaker_state state;
    int failures;       /* in a row */
    pawl_mono retry_at; /* not before this */
} pawli_breaker;

/*
 * Whether an error of the store will not go away by waiting; the worker and the delivery ask the
 * same. `worked`: the store has answered before. A standby that becomes the primary, a disk that is
 * made larger, rights that are granted: all but a few errors may end. Before anything has worked
 * they are a mistake in the configuration.
 */
bool pawli_store_error_is_final(pawl_status st, bool worked);

/*
 * Whether an error of the store may be due to what it was given: a text, an output, a single
 * message. Then the rest of a batch may well be accepted, and waiting does not help.
 */
bool pawli_store_error_is_refusal(pawl_status st);

void pawli_breaker_init(pawli_breaker *breaker, const pawli_breaker_policy *policy);
/* Whether to try now. An open breaker whose time has come becomes half-open by asking. */
bool pawli_breaker_allows(pawli_breaker *breaker, pawl_mono now);
/* Somebody knows that it is back: try now, and if that fails, with the first pause. */
void pawli_breaker_wake(pawli_breaker *breaker);
/* True: it had not been closed. */
bool pawli_breaker_succeeded(pawli_breaker *breaker);
/* True: that opened it, and it had been closed. `random` is a number the caller drew. */
bool pawli_breaker_failed(pawli_breaker *breaker, pawl_mono now, uint64_t random);

#endif
