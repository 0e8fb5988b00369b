/* include/pawl/queue.h - claiming messages, renewing and ending claims, and queue maintenance. */
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

/* The receipt of one claimed message: identifies this claim and no later one. The struct is fixed:
 * it will not get further members. */
typedef struct pawl_receipt {
    pawl_work_id id;
    int64_t fence;
} pawl_receipt;

typedef struct pawl_claim_options {
    size_t size;               /* set by PAWL_CLAIM_OPTIONS_INIT, never by hand */
    const char *const *topics; /* NULL: all; otherwise `topic_count` names, 1 .. 1000 */
    size_t topic_count;
    const char *owner_name; /* NULL: "host:pid"; up to 255 characters; stored as processed_by */
    /* NULL: messages without a destination, which are for local handlers. Otherwise only messages
     * for one of these `destination_count` names, 1 .. 1000, of all topics (`topics` must then be
     * NULL). */
    const char *const *destinations;
    size_t destination_count;
    const int64_t *destination_limits; /* NULL: only the claim's limit; otherwise one limit (> 0)
                                          per destination */
    /* For a process that claims without a pawl_worker: unless some process reaps, messages of a
     * process that died stay leased. On: a claim that finds nothing calls pawl_queue_reap() and
     * tries once more, and every 20th claim that finds something calls it afterwards. */
    bool reap;
} pawl_claim_options;
#define PAWL_CLAIM_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(pawl_claim_options), NULL, 0, NULL, NULL, 0, NULL, false                            \
    }

/**
 * Claims up to `limit` messages that are ready and due, under a lease of `lease_ms`. Higher
 * priorities come first; within a topic and priority, messages are ordered by due time; topics of
 * equal priority are served round-robin.
 *
 * Messages with a destination are claimed only by a claim that names their destination. Such a
 * claim goes through the destinations in the given order until it has `limit` messages, so set
 * destination_limits, or rotate the order between claims. Destinations that the claim does not name
 * do not slow it down, however many messages they have.
 *
 * When a lease expires, its message becomes ready again only when some process reaps: a pawl_worker
 * does so every second; a claim loop without a worker sets `reap` in `opts`.
 *
 * Ownership: *ret_list is the caller's (pawl_messages_free); an empty list when nothing is due.
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout; never waits for another worker.
 * Durable:   on PAWL_OK the leases are committed. PAWL_E_IN_DOUBT: call pawl_queue_owned().
 * Errors:    PAWL_E_INVALID (zero owner, lease_ms or limit <= 0, limit > 10000, lease over 7 days),
 *            PAWL_E_BUSY, PAWL_E_TIMEOUT, PAWL_E_IN_DOUBT, PAWL_E_UNAVAILABLE, PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_claim(pawl_store *store, pawl_owner owner,
                                                      int64_t lease_ms, int limit,
                                                      const pawl_claim_options *opts,
                                                      pawl_messages **ret_list, pawl_error *err);

/*
 * The six operations on claimed messages: ack, abandon, defer, fail, renew and release. Each is one
 * transaction and changes only the messages that this owner still owns under the given fence; all
 * others (unknown, finished, reaped, claimed by another owner) are skipped. `items` NULL is
 * PAWL_E_INVALID, count 0 is a no-op, duplicates are allowed, and `count` is at most
 * PAWL_BATCH_MAX. *ret_changed (may be NULL) is the number of messages changed.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_ack(pawl_store *store, pawl_owner owner,
                                                    const pawl_receipt *items, size_t count,
                                                    size_t *ret_changed, pawl_error *err);

/**
 * Combines pawl_queue_ack() of `items` with pawl_queue_claim() of the next messages in one round
 * trip and one commit. Recommended for loops that work in batches. `items` is as for
 * pawl_queue_ack() and may be empty; *ret_acked (may be NULL) is the number of messages that were
 * still owned and are now acknowledged. Everything else is as for pawl_queue_claim().
 *
 * Durable:   both or neither. PAWL_E_IN_DOUBT: call pawl_queue_owned(); the messages of `items`
 * that it returns were not acknowledged.
 */
PAWL_API PAWL_MUST_CHECK pawl_status
pawl_queue_ack_and_claim(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                         size_t count, int64_t lease_ms, int limit, const pawl_claim_options *opts,
                         size_t *ret_acked, pawl_messages **ret_list, pawl_error *err);

/* The message's backoff policy determines the delay. */
#define PAWL_DELAY_BY_POLICY INT64_MIN
/*
 * The attempt failed: counts it and makes the message ready after `delay_ms` (> 0, or
 * PAWL_DELAY_BY_POLICY); after the last attempt the message becomes failed. `error` may be NULL; ""
 * is stored as NULL.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_abandon(pawl_store *store, pawl_owner owner,
                                                        const pawl_receipt *items, size_t count,
                                                        const char *error, int64_t delay_ms,
                                                        size_t *ret_changed, pawl_error *err);
/*
 * The same with PAWL_DELAY_BY_POLICY, using `policy` (base_ms > 0, max_ms >= base_ms, jitter_ms >=
 * 0 or PAWL_JITTER_TENTH) instead of the store's policy for messages without a policy of their own.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_abandon_by(pawl_store *store, pawl_owner owner,
                                                           const pawl_receipt *items, size_t count,
                                                           const char *error,
                                                           const pawl_backoff *policy,
                                                           size_t *ret_changed, pawl_error *err);
/*
 * Retries the message later without counting an attempt, because the failure is not the message's
 * fault. It is ready again after `delay_ms` (>= 0, or PAWL_DELAY_BY_POLICY: min(base * 2^(retries +
 * deferrals), max) + jitter, by the message's own policy, otherwise by `policy`, or the store's if
 * that is NULL). `error` is stored as by pawl_queue_abandon(); pawl_message_retries() does not
 * change, pawl_message_deferrals() increases. Only the time to live limits how often a message is
 * deferred.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_defer(pawl_store *store, pawl_owner owner,
                                                      const pawl_receipt *items, size_t count,
                                                      const char *error, int64_t delay_ms,
                                                      const pawl_backoff *policy,
                                                      size_t *ret_changed, pawl_error *err);
/* Fails the messages permanently: they become dead letters. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_fail(pawl_store *store, pawl_owner owner,
                                                     const pawl_receipt *items, size_t count,
                                                     const char *error, size_t *ret_changed,
                                                     pawl_error *err);
/* Extends the lease to `lease_ms` (or the message's own lease time) from now. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_renew(pawl_store *store, pawl_owner owner,
                                                      const pawl_receipt *items, size_t count,
                                                      int64_t lease_ms, size_t *ret_changed,
                                                      pawl_error *err);
/* The same; ret_each[i] is whether the lease of items[i] was renewed. It has room for `count`. */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status
pawl_queue_renew_each(pawl_store *store, pawl_owner owner, const pawl_receipt *items, size_t count,
                      int64_t lease_ms, bool *ret_each, size_t *ret_changed, pawl_error *err);
/* Makes the messages ready again at once without counting the attempt; for shutdown. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_release(pawl_store *store, pawl_owner owner,
                                                        const pawl_receipt *items, size_t count,
                                                        size_t *ret_changed, pawl_error *err);

/*
 * Acknowledges one message and stores the handler's output with it (pawl_message_output()), and in
 * the job's history if the message is a run of a job. Any bytes; PAWL_E_TOO_LARGE beyond
 * PAWL_OUTPUT_MAX. PAWL_E_LOST: this owner does not own the message under this fence.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_ack_output(pawl_store *store, pawl_owner owner,
                                                           pawl_receipt item, const void *output,
                                                           size_t output_size, pawl_error *err);
/*
 * Stores a progress text with the message for others to read. It stays until it is replaced, across
 * attempts and after the message has finished. NULL or "": no text. At most 4095 bytes are stored.
 * PAWL_E_LOST: this owner no longer owns the message under this fence.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_progress(pawl_store *store, pawl_owner owner,
                                                         pawl_receipt item, const char *text,
                                                         pawl_error *err);

/**
 * Retries a destination now: messages that wait for their next attempt there become due at once,
 * and processes that deliver end the pause of its circuit breaker and send one message. Messages
 * that were scheduled for later keep their due time.
 *
 * Threads:   any.
 * Blocks:    one round trip per 10,000 messages, each bounded by the store's timeout.
 * Durable:   on PAWL_OK it is committed; repeating the call is safe. *ret_changed (may be NULL) is
 *            the number of messages that became due.
 * Errors:    PAWL_E_INVALID, PAWL_E_BUSY, PAWL_E_TIMEOUT, PAWL_E_IN_DOUBT, PAWL_E_UNAVAILABLE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_wake(pawl_store *store, const char *destination,
                                                     size_t *ret_changed, pawl_error *err);

/*
 * Returns all messages that `owner` owns now, in full: for use after an in-doubt claim or a
 * restart.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_owned(pawl_store *store, pawl_owner owner,
                                                      pawl_messages **ret_list, pawl_error *err);

/*
 * Maintenance. Each call does a bounded amount of work in one transaction; any number of processes
 * may call it. *ret_changed (may be NULL) is the number of messages changed; *ret_scan (may be
 * NULL) says how much was read and whether there may be more: see pawl/maintenance.h.
 */
/*
 * Makes messages whose lease has expired ready again and counts an attempt; after the last attempt
 * they become failed. A message with a destination is deferred instead, unless its count is
 * PAWL_COUNT_ALL, because a delivery process that was killed is not a refusal by the destination.
 * Reads 100 claims. After PostgreSQL's clock was set back, the call also moves times that were
 * stored while the clock was ahead: 1000 rows per call, the rest in further calls
 * (docs/internals/clock.md).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_reap(pawl_store *store, size_t *ret_changed,
                                                     pawl_scan *ret_scan, pawl_error *err);
/* Marks ready and failed messages past their time to live as expired. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_expire(pawl_store *store, size_t *ret_changed,
                                                       pawl_scan *ret_scan, pawl_error *err);
#define PAWL_RETENTION_MS ((int64_t)7 * 24 * 3600 * 1000)
/*
 * Deletes done and cancelled messages that finished more than `keep_ms` (>= 0) ago; *ret_changed
 * counts those. Also deletes the totals of topics that have no unfinished message, in which no
 * message has finished since then, and for which pawl_queue_compact_stats() has removed everything
 * else.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_prune(pawl_store *store, int64_t keep_ms,
                                                      size_t *ret_changed, pawl_scan *ret_scan,
                                                      pawl_error *err);
/*
 * Compacts the deltas behind the totals of pawl_outbox_get_stats (*ret_changed counts those), and
 * removes the bookkeeping of topics and destinations that have had no unfinished message for five
 * minutes, so that claims no longer examine it. On PostgreSQL a removal takes three calls, and
 * waits for transactions that were open. *ret_scan counts both.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_compact_stats(pawl_store *store,
                                                              size_t *ret_changed,
                                                              pawl_scan *ret_scan, pawl_error *err);

/*
 * A claimant remembers the fences of its claims, so that its owner needs only the work ids. Use it
 * from one thread at a time.
 */
typedef struct pawl_claimant pawl_claimant;

PAWL_API PAWL_MUST_CHECK pawl_status pawl_claimant_new(pawl_store *store, pawl_owner owner,
                                                       const pawl_claim_options *opts,
                                                       pawl_claimant **ret_claimant,
                                                       pawl_error *err);
/* Does not release the messages it owns; NULL is allowed. */
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
 * Waits until a message was enqueued through this store, in this process, since the store's last
 * claim began, for at most `timeout_ms` (>= 0). A hint for claim loops: PAWL_OK in either case;
 * PAWL_E_INTERRUPTED after pawl_store_interrupt().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_queue_wait(pawl_store *store, int64_t timeout_ms,
                                                     pawl_error *err);

PAWL_END_DECLS

#endif
