/* include/pawl/outbox.h - enqueueing messages; listing, cancelling and retrying them. */
#ifndef PAWL_OUTBOX_H
#define PAWL_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/message.h>
#include <pawl/page.h>
#include <pawl/store.h>
#include <pawl/tx.h>

PAWL_BEGIN_DECLS

/**
 * Stores a message with `topic` and `payload`, and the defaults of PAWL_MESSAGE_SPEC_INIT for
 * everything else: due now, for a handler of this database, with a new id.
 *
 * Ownership: nothing is kept. `payload` may be NULL if `size` is 0.
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout, as pawl_outbox_enqueue().
 * Durable:   on PAWL_OK the message is committed. PAWL_E_IN_DOUBT: it may or may not be committed,
 *            and calling again may store a second one; a program that must not do so uses
 *            pawl_outbox_enqueue() with an id of its own.
 * Errors:    as pawl_outbox_enqueue(), without PAWL_E_CONFLICT.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_send(pawl_store *store, const char *topic,
                                               const void *payload, size_t size, pawl_error *err);

/* The result of enqueueing one message. The struct is fixed: it will not get further members. */
typedef struct pawl_enqueued {
    pawl_work_id work_id;
    pawl_uuid message_id;
    /* A message with the given id and the same content already existed; possibly stored by this
     * same call, whose first response was lost. */
    bool existed;
    /* As stored: the requested time, even if it was in the past; if the message existed, the due
     * time of the first call. */
    pawl_wall due_at;
} pawl_enqueued;

/**
 * Stores a message in a transaction of its own.
 *
 * Ownership: nothing of `message` is kept. `ret_enqueued` may be NULL; written only on success,
 *            except for its message_id, which is also written with PAWL_E_IN_DOUBT.
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout. If the response is lost, the call
 *            looks the message id up again until that timeout.
 * Durable:   on PAWL_OK the message is committed. PAWL_E_IN_DOUBT: it may or may not be committed;
 *            enqueue it again with that message_id, which stores it once.
 * Errors:    PAWL_E_INVALID, PAWL_E_TOO_LARGE, PAWL_E_CONFLICT (same id, different topic or
 *            payload: nothing changed), PAWL_E_BUSY, PAWL_E_TIMEOUT, PAWL_E_IN_DOUBT,
 *            PAWL_E_UNAVAILABLE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_enqueue(pawl_store *store,
                                                         const pawl_message_spec *message,
                                                         pawl_enqueued *ret_enqueued,
                                                         pawl_error *err);

/*
 * The same for `count` messages: all or none, in one round trip. 1 .. PAWL_BATCH_MAX messages with
 * at most PAWL_BATCH_MAX_BYTES of payload. `ret_enqueued` is NULL or an array of `count` elements,
 * in the order of `messages`. An id that appears twice in one batch is stored once if the content
 * is the same.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_enqueue_batch(pawl_store *store,
                                                               const pawl_message_spec *messages,
                                                               size_t count,
                                                               pawl_enqueued *ret_enqueued,
                                                               pawl_error *err);

/*
 * The same inside the application's transaction: the message exists if the transaction commits and
 * does not if it rolls back. PAWL_E_BUSY: another transaction, not ended yet, is enqueueing the
 * same id; this transaction remains usable. PAWL_E_TX_RESTART: roll back and start again; in SQLite
 * with BEGIN IMMEDIATE (the transaction had begun with a read), in PostgreSQL because its
 * connection lost a response.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_enqueue(pawl_tx *tx, const pawl_message_spec *message,
                                                     pawl_enqueued *ret_enqueued, pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_enqueue_batch(pawl_tx *tx,
                                                           const pawl_message_spec *messages,
                                                           size_t count,
                                                           pawl_enqueued *ret_enqueued,
                                                           pawl_error *err);

/*
 * Returns one message in full, as a list of one. PAWL_E_NOT_FOUND if it does not exist (any more).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_get(pawl_store *store, pawl_work_id id,
                                                     pawl_messages **ret_one, pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_find(pawl_store *store, pawl_uuid id,
                                                      pawl_messages **ret_one, pawl_error *err);

/* Selects messages. A zeroed filter (PAWL_OUTBOX_FILTER_INIT) selects all. */
typedef struct pawl_outbox_filter {
    size_t size;       /* set by PAWL_OUTBOX_FILTER_INIT, never by hand */
    unsigned states;   /* bit set of 1u << PAWL_STATE_...; 0: any */
    const char *topic; /* NULL: any */
    const char *correlation_id;
    pawl_wall created_before; /* PAWL_TIME_UNSET: any */
    pawl_page after;          /* where the page begins: page.h */
    int limit;                /* 0: 100; at most 10000 */
    bool with_payload;        /* off: payloads are returned empty */
} pawl_outbox_filter;
#define PAWL_OUTBOX_FILTER_INIT                                                                    \
    {                                                                                              \
        sizeof(pawl_outbox_filter), 0, NULL, NULL, {0}, PAWL_PAGE_INIT, 0, false                   \
    }

/*
 * Lists messages, newest first. *ret_next: see page.h. One call reads at most 10,000 rows, so a
 * page may be short or even empty although there is a next one.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_list(pawl_store *store,
                                                      const pawl_outbox_filter *filter,
                                                      pawl_messages **ret_list, pawl_page *ret_next,
                                                      pawl_error *err);

/*
 * Cancels messages that are scheduled, ready or running. A running handler is notified at its next
 * lease renewal, and its result is discarded. *ret_changed (may be NULL) is the number of messages
 * cancelled; unknown and finished ids are skipped. `ids` NULL is PAWL_E_INVALID, count 0 is a
 * no-op.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_cancel(pawl_store *store, const pawl_work_id *ids,
                                                        size_t count, size_t *ret_changed,
                                                        pawl_error *err);

/*
 * Retries failed, expired or cancelled messages: they become ready again with the same message id,
 * attempts 0, due now, and a new time to live as long as the original one. Others are skipped.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_retry(pawl_store *store, const pawl_work_id *ids,
                                                       size_t count, size_t *ret_changed,
                                                       pawl_error *err);

/*
 * Deletes finished messages permanently, including the record of their ids. Unfinished messages are
 * skipped.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_purge(pawl_store *store, const pawl_work_id *ids,
                                                       size_t count, size_t *ret_changed,
                                                       pawl_error *err);

/*
 * The same for all messages that match the filter, page by page, each page in its own transaction;
 * `after`, `limit` and `with_payload` of the filter are ignored. On failure *ret_changed is the
 * number of messages changed so far.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_cancel_matching(pawl_store *store,
                                                                 const pawl_outbox_filter *filter,
                                                                 size_t *ret_changed,
                                                                 pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_retry_matching(pawl_store *store,
                                                                const pawl_outbox_filter *filter,
                                                                size_t *ret_changed,
                                                                pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_purge_matching(pawl_store *store,
                                                                const pawl_outbox_filter *filter,
                                                                size_t *ret_changed,
                                                                pawl_error *err);

/* Counts of one topic. Owned by the library; members are added only at the end. */
typedef struct pawl_topic_stats {
    const char *topic; /* borrowed from the stats */
    int64_t ready;     /* ready or scheduled: counting stops early, so they are not distinguished */
    int64_t running;
    bool depth_is_at_least; /* counting stopped: ready + running is 10,000 or more */
    int64_t depth_estimate; /* == ready + running unless depth_is_at_least */
    /* Since the topic's first message. Deleted when the topic has no unfinished messages and none
     * has finished within the retention time of finished messages (pawl_queue_prune). */
    int64_t total_done;
    int64_t total_failed;
    int64_t total_expired;
    int64_t total_cancelled;
    pawl_wall oldest_due_at; /* of the messages ready and due; PAWL_TIME_UNSET if none */
} pawl_topic_stats;

typedef struct pawl_outbox_stats pawl_outbox_stats; /* opaque */

/*
 * Returns message counts per topic. Totals increase when a message finishes: a message that is
 * retried by pawl_outbox_retry() and fails again counts twice. Depths may be up to a second old.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_get_stats(pawl_store *store,
                                                           pawl_outbox_stats **ret_stats,
                                                           pawl_error *err);
PAWL_API size_t pawl_outbox_stats_count(const pawl_outbox_stats *stats);
/* Borrowed; NULL when `index` is out of range. Sorted by topic. */
PAWL_API const pawl_topic_stats *pawl_outbox_stats_at(const pawl_outbox_stats *stats, size_t index);
PAWL_API void pawl_outbox_stats_free(pawl_outbox_stats *stats); /* NULL is allowed */

PAWL_END_DECLS

#endif
