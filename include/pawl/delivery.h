/* include/pawl/delivery.h - sending what is in the queue to where it is to go.
 *
 * Part of libpawl-net. docs/internals/delivery.md says how.
 */
#ifndef PAWL_DELIVERY_H
#define PAWL_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/log.h>
#include <pawl/services.h>
#include <pawl/store.h>
#include <pawl/transport.h>
#include <pawl/worker.h>

PAWL_BEGIN_DECLS

typedef struct pawl_delivery pawl_delivery; /* opaque */

typedef struct pawl_delivery_options {
    size_t size;                 /* set by PAWL_DELIVERY_OPTIONS_INIT, never by hand */
    const char *source;          /* required: who sends, the envelopes' sourceServiceId; copied */
    pawl_transports *transports; /* NULL: those that are known from the beginning */
    const char *owner_name;      /* NULL: "host:pid"; copied */
    int batch;                   /* most messages per claim: 1 .. 10000 */
    int max_in_flight;           /* sends at once, of all destinations together: 1 .. 10000 */
    int64_t lease_ms;            /* renewed while a send lasts: 3000 .. 7 days */
    int64_t grace_ms;            /* after pawl_delivery_stop(), until sends are cancelled */
    /* After this many failures in a row by the destination's fault its circuit breaker opens:
     * nothing is claimed for it, and one message is sent after each pause of `breaker_open`. */
    int breaker_failures; /* 1 .. 1000 */
    pawl_backoff breaker_open;
    int64_t retry_after_max_ms; /* a destination that asks for a longer pause gets this one */
    /* An acknowledgement's payload is sent to this store's own handlers, as a message of type
     * response, in the same commit as the end of the request. */
    bool responses;
    const char *response_topic; /* NULL: the request's own; copied */
    pawl_log_sink log;          /* write NULL: silent */
} pawl_delivery_options;
#define PAWL_DELIVERY_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(pawl_delivery_options), NULL, NULL, NULL, 100, 1000, 60000, 30000, 5,               \
            {1000, 300000, PAWL_JITTER_TENTH}, 3600000, false, NULL,                               \
        {                                                                                          \
            NULL, NULL, PAWL_LOG_INFO                                                              \
        }                                                                                          \
    }

/**
 * Deliver the messages of `store` that have a destination: a name of `services` or a URL. Not
 * running yet.
 *
 * Each destination has places of its own (its concurrency), a breaker of its own, and lanes of its
 * own in the queue: one that is slow or down holds up nobody. Acknowledged, or a duplicate, is
 * done. Refused (a 4xx other than 408, 409, 425, 429), or a URL of the message's own that is none,
 * fails at once. Anything else is retried, by the message's policy or the service's, not before a
 * Retry-After, until the message expires. Sends that count (pawl_count) are attempts: after
 * max_attempts of them, if there is such a limit, it has failed. All others are deferred, also what
 * cannot be sent because of this side's configuration, such as a service that is not in the map.
 *
 * Ownership: *ret_delivery is the caller's (pawl_delivery_free); untouched on failure. It takes a
 *            reference to `services`; `store` and opts->transports must outlive it.
 * Threads:   any; all calls on a delivery by one thread at a time, except where said.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (an option out of range; no source), PAWL_E_NOMEM, PAWL_E_IO.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_delivery_new(pawl_store *store, pawl_services *services,
                                                       const pawl_delivery_options *opts,
                                                       pawl_delivery **ret_delivery,
                                                       pawl_error *err);
/* It must not be running. What it still holds comes back when the leases end. NULL is fine. */
PAWL_API void pawl_delivery_free(pawl_delivery *delivery);
/* Who its messages belong to: new for every delivery. */
PAWL_API pawl_owner pawl_delivery_owner(const pawl_delivery *delivery);

/*
 * Use another map from now on; sends under way end with the one they began with. Messages that the
 * old map prevented from being sent (no such service, a private address without allow_private) are
 * tried now, as by pawl_queue_wake(). Any thread, also while it runs. Takes a reference of its own.
 */
PAWL_API void pawl_delivery_use(pawl_delivery *delivery, pawl_services *services);

/**
 * Deliver until pawl_delivery_stop(): claim, send, answer, renew. Database errors that may go away
 * are waited out, with growing pauses; what was sent meanwhile is answered for when it is back.
 *
 * Threads:   this one; a second one ends sends whose time is up while a call of the database is
 *            slow; receivers of inproc:// have their own. The log sink is called by both.
 * Blocks:    until stopped, and then until what is in flight has ended or was cancelled, grace_ms
 *            at most, and a few seconds more where the database does not answer.
 * Durable:   when it returns PAWL_OK, nothing is leased by it any more.
 * Errors:    PAWL_E_MISUSE (it runs already), or what the database answered if that will not go
 *            away by waiting, or if what was held could not be given back: it is then ready again
 *            when the leases end.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_delivery_run(pawl_delivery *delivery, pawl_error *err);

/*
 * No new claims; sends may end for grace_ms, then they are cancelled, and their messages are ready
 * again. A second call skips the rest of the grace. Returns at once. Any thread, also a signal
 * handler; before pawl_delivery_run() it makes that return at once.
 */
PAWL_API void pawl_delivery_stop(pawl_delivery *delivery);

/*
 * One turn, for tests and loops of one's own: wait up to `wait_ms` (>= 0) for something to do, then
 * answer, claim, send. *ret_moved (may be NULL) counts messages that were claimed or answered for.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_delivery_step(pawl_delivery *delivery, int64_t wait_ms,
                                                        size_t *ret_moved, pawl_error *err);

/* ---- how it goes ---- */

typedef struct pawl_destination_stats {
    const char *destination; /* borrowed from the stats */
    size_t in_flight;
    pawl_breaker_state breaker; /* closed: it is sent to; half-open: one message tries */
    /* These four since the delivery first sent to it. A destination that was not in use for five
     * minutes is forgotten, and counts from 0 when it is used again. */
    uint64_t sent;      /* acknowledged, duplicates among them */
    uint64_t duplicate; /* of those, the ones that had been there already */
    uint64_t retried;   /* to be retried, counted or not */
    uint64_t failed;    /* for good */
    uint64_t deferred;  /* of those retried, the ones that did not count as an attempt */
} pawl_destination_stats;

typedef struct pawl_delivery_stats pawl_delivery_stats;

/* As it was at one moment. Any thread, also while it runs. PAWL_E_INVALID, PAWL_E_NOMEM. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_delivery_stats_get(pawl_delivery *delivery,
                                                             pawl_delivery_stats **ret_stats,
                                                             pawl_error *err);
PAWL_API size_t pawl_delivery_stats_count(const pawl_delivery_stats *stats);
/* By name; NULL past the end. */
PAWL_API const pawl_destination_stats *pawl_delivery_stats_at(const pawl_delivery_stats *stats,
                                                              size_t index);
PAWL_API void pawl_delivery_stats_free(pawl_delivery_stats *stats); /* NULL is fine */

PAWL_END_DECLS

#endif
