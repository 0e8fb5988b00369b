/* include/pawl/queue.h - the worker's side: claim, renew, finish; and the queue's housekeeping. */
#ifndef PAWL_QUEUE_H
#define PAWL_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/maintenance.h>
#include <pawl/message.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

/* One held item: what proves that it is still this claim and not a later one. */
typedef struct pawl_held {
    pawl_work_id id;
    int64_t fence;
} pawl_held;

typedef struct pawl_claim_options {
    size_t size;               /* set by PAWL_CLAIM_OPTIONS_INIT, never by hand */
    const char *const *topics; /* NULL: all; else `topic_count` names, 1 .. 1000 */
    size_t topic_count;
    const char *owner_name; /* NULL: "host:pid"; up to 255 characters; kept as processed_by */
    /* NULL: messages without a destination, which are for local handlers. Else only those for one
     * of these `destination_count` names, 1 .. 1000, of all topics (`topics` must be NULL then). */
    const char *const *destinations;
    size_t destination_count;
    const int64_t
        *destination_limits; /* NULL: no other than the claim's; else one (> 0) for each */
    /* For a process that claims without a pawl_worker: where none reaps, messages of a process that
     * died stay leased. On: a claim that finds nothing calls pawl_queue_reap() and tries once more,
     * and every 20th claim that finds something calls it afterwards. */
    bool reap;
} pawl_claim_options;
#define PAWL_CLAIM_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(pawl_claim_options), NULL, 0, NULL, NULL, 0, NULL, false                            \
    }

/**
 * Take up to `limit` messages that are ready and due, for `lease_ms`. Higher priorities first, and
 * within a topic and priority by due time; topics of equal priority take turns.
 *
 * Messages with a destination are somebody else's: they are taken only by a claim that names their
 * destination. Such a claim goes through the destinations in the order given, until it has `limit`;
 * so give each a limit of its own, or begin with another one each time. What it does not name costs
 * it nothing, however much is waiting there.
 *
 * A lease that has ended makes its message ready only when a process reaps: a pawl_worker does,
 * every second; a loop of claims without one sets `reap` in `opts`.
 *
 * Ownership: *ret_list is the caller's (pawl_messages_free); an empty list when nothing is due.
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout; never waits for another worker.
 * Durable:   on PAWL_OK the leases are committed. PAWL_E_IN_DOUBT: ask pawl_queue_held().
 * Errors:    PAWL_E_INVALID (zero owner, lease_ms or limit <= 0, limit > 10000, lease over 7 days),
 *            PAWL_E_BUSY, PAWL_E_TIMEOUT, PAWL_E_IN_DOUBT, PAWL_E_UNAVAILABLE, PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_claim(pawl_store *store, pawl_owner owner,
                                                      int64_t lease_ms, int limit,
                                                      const pawl_claim_options *opts,
                                                      pawl_messages **ret_list, pawl_error *err);

/*
 * The six answers to a claim. Each is one transaction and changes only the items that this owner
 * still holds under the given fence; all others (unknown, finished, reaped, somebody else's) are
 * passed over. `items` NULL is PAWL_E_INVALID, count 0 a no-op, duplicates are tolerated, at most
 * PAWL_BATCH_MAX. *ret_changed (may be NULL) counts what changed.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_ack(pawl_store *store, pawl_owner owner,
                                                    const pawl_held *items, size_t count,
                                                    size_t *ret_changed, pawl_error *err);

/**
 * pawl_queue_ack() of `items` and pawl_queue_claim() of the next ones, in one round trip and one
 * commit: what a loop that works in batches should use. `items` as for pawl_queue_ack(), also none;
 * *ret_acked (may be NULL) counts those that were still this owner's. All else as for
 * pawl_queue_claim().
 *
 * Durable:   both or neither. PAWL_E_IN_DOUBT: ask pawl_queue_held(); what it answers of `items`
 * was not acknowledged.
 */
PAWL_API PAWL_MUST_CHECK pawl_status
pawl_queue_ack_and_claim(pawl_store *store, pawl_owner owner, const pawl_held *items, size_t count,
                         int64_t lease_ms, int limit, const pawl_claim_options *opts,
                         size_t *ret_acked, pawl_messages **ret_list, pawl_error *err);

/* The next attempt by the message's backoff policy. */
#define PAWL_DELAY_BY_POLICY INT64_MIN
/*
 * Not now: counts the attempt and makes it ready after `delay_ms` (> 0, or PAWL_DELAY_BY_POLICY);
 * at the last attempt it becomes failed. `error` may be NULL; "" is stored as NULL.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_abandon(pawl_store *store, pawl_owner owner,
                                                        const pawl_held *items, size_t count,
                                                        const char *error, int64_t delay_ms,
                                                        size_t *ret_changed, pawl_error *err);
/*
 * The same, by policy, with `policy` (base_ms > 0, max_ms >= base_ms, jitter_ms >= 0 or
 * PAWL_JITTER_TENTH) in the place of the store's for messages that bring none of their own.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_abandon_by(pawl_store *store, pawl_owner owner,
                                                           const pawl_held *items, size_t count,
                                                           const char *error,
                                                           const pawl_backoff *policy,
                                                           size_t *ret_changed, pawl_error *err);
/*
 * Not now, and not counted: nothing was wrong with the message. Ready again after `delay_ms` (>= 0,
 * or PAWL_DELAY_BY_POLICY: min(base * 2^(retries + deferrals), max) + jitter, of the message's own
 * policy, else of `policy`, NULL: the store's). `error` is stored as by pawl_queue_abandon();
 * pawl_message_retries() stays, pawl_message_deferrals() grows. Only the time to live ends it.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_defer(pawl_store *store, pawl_owner owner,
                                                      const pawl_held *items, size_t count,
                                                      const char *error, int64_t delay_ms,
                                                      const pawl_backoff *policy,
                                                      size_t *ret_changed, pawl_error *err);
/* Never: becomes failed, a dead letter. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_fail(pawl_store *store, pawl_owner owner,
                                                     const pawl_held *items, size_t count,
                                                     const char *error, size_t *ret_changed,
                                                     pawl_error *err);
/* The lease now ends `lease_ms` (or the message's own lease) from now. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_renew(pawl_store *store, pawl_owner owner,
                                                      const pawl_held *items, size_t count,
                                                      int64_t lease_ms, size_t *ret_changed,
                                                      pawl_error *err);
/* Ready again at once, the attempt not counted: for shutdown. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_release(pawl_store *store, pawl_owner owner,
                                                        const pawl_held *items, size_t count,
                                                        size_t *ret_changed, pawl_error *err);

/*
 * pawl_queue_ack() of one message, with what its handler leaves for others to read: kept with the
 * message (pawl_message_output()), and in the history if it is a run of a job. Any bytes, up to
 * PAWL_OUTPUT_MAX: PAWL_E_TOO_LARGE. PAWL_E_LOST: this owner does not hold it under this fence.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_ack_output(pawl_store *store, pawl_owner owner,
                                                           pawl_held item, const void *output,
                                                           size_t output_size, pawl_error *err);
/* One of several. */
typedef struct pawl_held_output {
    pawl_held item;
    const void *output; /* NULL: none */
    size_t output_size;
} pawl_held_output;
/* The same of many in one transaction; otherwise as pawl_queue_ack(). */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_ack_outputs(pawl_store *store, pawl_owner owner,
                                                            const pawl_held_output *items,
                                                            size_t count, size_t *ret_changed,
                                                            pawl_error *err);

/*
 * How far it is, in words, for others to see: kept with the message until it says something else,
 * also across attempts and when it has ended. NULL or "": nothing. At most 4095 bytes are kept.
 * PAWL_E_LOST: this owner does not hold it under this fence any more.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_progress(pawl_store *store, pawl_owner owner,
                                                         pawl_held item, const char *text,
                                                         pawl_error *err);

/* Names of destinations; borrowed from the list they are in. */
typedef struct pawl_destinations pawl_destinations;

/**
 * Destinations for which there are unfinished messages: ready, in progress or due later. By name,
 * those after `after` (NULL: from the beginning), up to `limit` (1 .. 10000). When
 * pawl_destinations_more() is true, go on after pawl_destinations_last(): also if the page is
 * empty, since it was looked at no more than 10 names for each one asked for.
 *
 * Ownership: *ret_list is the caller's (pawl_destinations_free); untouched on failure.
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout.
 * Errors:    PAWL_E_INVALID, PAWL_E_BUSY, PAWL_E_TIMEOUT, PAWL_E_UNAVAILABLE, PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_destinations(pawl_store *store, const char *after,
                                                             int limit,
                                                             pawl_destinations **ret_list,
                                                             pawl_error *err);
PAWL_API size_t pawl_destinations_count(const pawl_destinations *list);
/* NULL past the end. */
PAWL_API const char *pawl_destinations_at(const pawl_destinations *list, size_t index);
PAWL_API int pawl_destinations_more(const pawl_destinations *list);
/* Where the next page begins; NULL: nothing was found. */
PAWL_API const char *pawl_destinations_last(const pawl_destinations *list);
/* Grows with every pawl_queue_wake() of that destination; 0: none so far, or past the end. */
PAWL_API int64_t pawl_destinations_woken(const pawl_destinations *list, size_t index);
PAWL_API void pawl_destinations_free(pawl_destinations *list); /* NULL is fine */

/**
 * Try a destination now: what waits for another attempt there is due at once, and whoever delivers
 * closes the pause of its circuit breaker and sends one message. What was sent for later stays.
 *
 * Threads:   any.
 * Blocks:    a round trip for each 10,000 messages, each bounded by the store's timeout.
 * Durable:   on PAWL_OK it is committed; repeating it does no harm. *ret_changed (may be NULL)
 * counts the messages that became due. Errors:    PAWL_E_INVALID, PAWL_E_BUSY, PAWL_E_TIMEOUT,
 * PAWL_E_IN_DOUBT, PAWL_E_UNAVAILABLE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_wake(pawl_store *store, const char *destination,
                                                     size_t *ret_changed, pawl_error *err);

/* Everything `owner` holds now, whole: after an in-doubt claim, or after a restart. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_held(pawl_store *store, pawl_owner owner,
                                                     pawl_messages **ret_list, pawl_error *err);

/*
 * Maintenance. Each call does a bounded amount of work in one transaction and may be made by any
 * number of processes. *ret_changed (may be NULL) counts messages; *ret_scan (may be NULL) says how
 * much was read and whether there may be more: see pawl/maintenance.h.
 */
/* Expired leases become ready again and count as an attempt; at the last one, failed. Of a message
 * with a destination it is deferred instead, unless its count is PAWL_COUNT_ALL: that a delivery
 * was killed is not the destination's refusal. Reads 100 claims. After PostgreSQL's clock was set
 * back it also moves what waits for a time that the clock showed while it was ahead: 1000 rows a
 * call, the rest in further ones (docs/internals/clock.md). */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_reap(pawl_store *store, size_t *ret_changed,
                                                     pawl_scan *ret_scan, pawl_error *err);
/* Ready messages (and failed ones) past their time to live become expired. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_expire(pawl_store *store, size_t *ret_changed,
                                                       pawl_scan *ret_scan, pawl_error *err);
#define PAWL_RETENTION_MS ((int64_t)7 * 24 * 3600 * 1000)
/*
 * Forget done and cancelled messages that finished longer than `keep_ms` (>= 0) ago (*ret_changed
 * counts those), and the totals of topics that have no unfinished message, of which none has ended
 * since then, and for which pawl_queue_fold() has removed everything else.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_retain(pawl_store *store, int64_t keep_ms,
                                                       size_t *ret_changed, pawl_scan *ret_scan,
                                                       pawl_error *err);
/*
 * Fold the deltas behind the totals of pawl_outbox_stats (*ret_changed counts those), and remove
 * what is kept for topics and destinations that had no unfinished message for five minutes, so that
 * claims do not examine them any more. On PostgreSQL a removal takes three calls, and waits for
 * transactions that were open. *ret_scan counts both.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_fold(pawl_store *store, size_t *ret_changed,
                                                     pawl_scan *ret_scan, pawl_error *err);

/*
 * A claimant keeps the fences it was given, so that its owner can answer by work id alone. One
 * thread at a time.
 */
typedef struct pawl_claimant pawl_claimant;

PAWL_API PAWL_MUST_CHECK pawl_status pawl_claimant_new(pawl_store *store, pawl_owner owner,
                                                       const pawl_claim_options *opts,
                                                       pawl_claimant **ret_claimant,
                                                       pawl_error *err);
/* Does not release what is held; NULL is fine. */
PAWL_API void pawl_claimant_free(pawl_claimant *claimant);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_claimant_claim(pawl_claimant *claimant, int64_t lease_ms,
                                                         int limit, pawl_messages **ret_list,
                                                         pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_claimant_ack(pawl_claimant *claimant,
                                                       const pawl_work_id *ids, size_t count,
                                                       size_t *ret_changed, pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_claimant_abandon(pawl_claimant *claimant,
                                                           const pawl_work_id *ids, size_t count,
                                                           const char *error, int64_t delay_ms,
                                                           size_t *ret_changed, pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_claimant_fail(pawl_claimant *claimant,
                                                        const pawl_work_id *ids, size_t count,
                                                        const char *error, size_t *ret_changed,
                                                        pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_claimant_renew(pawl_claimant *claimant,
                                                         const pawl_work_id *ids, size_t count,
                                                         int64_t lease_ms, size_t *ret_changed,
                                                         pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_claimant_release(pawl_claimant *claimant,
                                                           const pawl_work_id *ids, size_t count,
                                                           size_t *ret_changed, pawl_error *err);

/*
 * Wait until something was sent through this store, in this process, since its last claim began;
 * `timeout_ms` (>= 0) at most. A hint for claim loops: PAWL_OK either way; PAWL_E_INTERRUPTED after
 * pawl_store_interrupt().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_wait(pawl_store *store, int64_t timeout_ms,
                                                     pawl_error *err);

PAWL_END_DECLS

#endif
