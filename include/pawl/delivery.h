/* include/pawl/delivery.h - delivery: sends the queued messages that have a destination.
 *
 * Part of libpawl-net. See docs/internals/delivery.md for how it works.
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
    const char *source;          /* required: the sender, the envelopes' sourceServiceId; copied */
    pawl_transports *transports; /* NULL: the built-in transports */
    const char *owner_name;      /* NULL: "host:pid"; copied */
    int batch;                   /* maximum messages per claim: 1 .. 10000 */
    int max_in_flight;           /* sends in flight, all destinations together: 1 .. 10000 */
    int64_t lease_ms;            /* renewed while a send is in flight: 3000 .. 7 days */
    int64_t grace_ms; /* shutdown: from pawl_delivery_request_stop() until sends are cancelled */
    /* A destination's circuit breaker opens after this many consecutive failures caused by the
     * destination: nothing is claimed for it, and one message is sent as a probe after each pause
     * of `breaker_open`. */
    int breaker_failures; /* 1 .. 1000 */
    pawl_backoff breaker_open;
    int64_t retry_after_max_ms; /* upper limit for the Retry-After of a destination */
    /* Enqueue the payload of an acknowledgement for this store's own handlers, as a message of type
     * response, in the same commit that finishes the request. */
    bool responses;
    const char *response_topic; /* NULL: the request's topic; copied */
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
 * Creates a delivery for the messages of `store` that have a destination: a name in `services` or a
 * URL. It does not run yet.
 *
 * Each destination has its own concurrency limit, its own circuit breaker and its own lanes in the
 * queue: a slow or failed destination does not delay the others. An acknowledged or duplicate
 * message is done. A refused message (a 4xx other than 408, 409, 425, 429), or one whose
 * destination is an invalid URL, fails at once. Anything else is retried until the message expires,
 * by the message's backoff policy or the service's, and not before a Retry-After. Sends that count
 * (pawl_count) are attempts: after max_attempts of them, if there is such a limit, the message
 * fails. All other failed sends are deferred, including messages that cannot be sent because of
 * this side's configuration, such as a service that is not in the map.
 *
 * Ownership: *ret_delivery is the caller's (pawl_delivery_free); untouched on failure. It takes a
 *            reference to `services`; `store` and opts->transports must outlive it.
 * Threads:   any; calls on one delivery must come from one thread at a time, except where noted.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (an option out of range; no source), PAWL_E_NOMEM, PAWL_E_IO.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_delivery_new(pawl_store *store, pawl_services *services,
                                                       const pawl_delivery_options *opts,
                                                       pawl_delivery **ret_delivery,
                                                       pawl_error *err);
/*
 * It must not be running. Messages that it still owns become ready when their leases expire. NULL
 * is allowed.
 */
PAWL_API void pawl_delivery_free(pawl_delivery *delivery);
/* The owner id under which it claims: new for every delivery. */
PAWL_API pawl_owner pawl_delivery_owner(const pawl_delivery *delivery);

/*
 * Replaces the service map; sends in flight finish with the map they began with. Messages that
 * could not be sent because of the old map (no such service, a private address without
 * allow_private) are retried now, as by pawl_queue_wake(). May be called from any thread, also
 * while it runs. Takes a reference of its own.
 */
PAWL_API void pawl_delivery_set_services(pawl_delivery *delivery, pawl_services *services);

/**
 * Runs the delivery until pawl_delivery_request_stop(): claims messages, sends them, stores the
 * results and renews leases. Transient database errors are retried with exponential backoff;
 * results of sends that end meanwhile are stored when the database is available again.
 *
 * Threads:   the calling thread; a second thread ends sends that time out while a database call is
 *            slow; inproc:// receivers have their own threads. Both threads call the log sink.
 * Blocks:    until stopped, and then until the sends in flight have ended or were cancelled: at
 *            most grace_ms, and a few seconds more if the database does not respond.
 * Durable:   on PAWL_OK it owns no lease any more.
 * Errors:    PAWL_E_MISUSE (it is already running), or the database's error if it is permanent or
 *            if owned messages could not be released; these are ready again when their leases
 *            expire.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_delivery_run(pawl_delivery *delivery, pawl_error *err);

/*
 * Stops claiming, lets sends finish for grace_ms, then cancels them; their messages are ready
 * again. A second call skips the rest of the grace period. Returns at once. May be called from any
 * thread and from a signal handler; if called before pawl_delivery_run(), that call returns at
 * once.
 */
PAWL_API void pawl_delivery_request_stop(pawl_delivery *delivery);

/*
 * Runs one iteration, for tests and custom loops: waits up to `wait_ms` (>= 0) for something to do,
 * then stores results, claims and sends. *ret_moved (may be NULL) is the number of messages that
 * were claimed or whose result was stored.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_delivery_step(pawl_delivery *delivery, int64_t wait_ms,
                                                        size_t *ret_moved, pawl_error *err);

/* ---- statistics ---- */

/* Counts of one destination. Owned by the library; members are added only at the end. */
typedef struct pawl_destination_stats {
    const char *destination; /* borrowed from the stats */
    size_t in_flight;
    pawl_breaker_state breaker; /* closed: messages are sent; half-open: one message probes */
    /* Counted since the delivery first sent to the destination. A destination that was unused for
     * five minutes is dropped, and counts from 0 when it is used again. */
    uint64_t sent;      /* acknowledged, including duplicates */
    uint64_t duplicate; /* of those, already processed by the destination */
    uint64_t retried;   /* failed sends that are retried, counted as attempts or not */
    uint64_t failed;    /* failed permanently */
    uint64_t deferred;  /* of those retried, not counted as attempts */
} pawl_destination_stats;

typedef struct pawl_delivery_stats pawl_delivery_stats;

/* Returns a snapshot. Any thread, also while it runs. PAWL_E_INVALID, PAWL_E_NOMEM. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_delivery_get_stats(pawl_delivery *delivery,
                                                             pawl_delivery_stats **ret_stats,
                                                             pawl_error *err);
PAWL_API size_t pawl_delivery_stats_count(const pawl_delivery_stats *stats);
/* Sorted by name; NULL past the end. */
PAWL_API const pawl_destination_stats *pawl_delivery_stats_at(const pawl_delivery_stats *stats,
                                                              size_t index);
PAWL_API void pawl_delivery_stats_free(pawl_delivery_stats *stats); /* NULL is allowed */

PAWL_END_DECLS

#endif
