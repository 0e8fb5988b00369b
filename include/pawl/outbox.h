/* include/pawl/outbox.h - sending, and looking after what was sent. */
#ifndef PAWL_OUTBOX_H
#define PAWL_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/message.h>
#include <pawl/store.h>
#include <pawl/tx.h>

PAWL_BEGIN_DECLS

/* The answer to one enqueued message. */
typedef struct pawl_enqueued {
    pawl_work_id work_id;
    pawl_message_id message_id;
    /* A message with the id you brought and the same content was already there; perhaps stored by
     * this very call, whose first answer was lost. */
    bool existed;
    /* As stored: as asked for, also when that was in the past; when it existed, the first call's.
     */
    pawl_wall due_at;
} pawl_enqueued;

/**
 * Store a message, in a transaction of its own.
 *
 * Ownership: nothing of `message` is kept. `ret_enqueued` may be NULL; written only on success.
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout. An answer lost on the way is asked
 *            for again by the message id until then.
 * Durable:   on PAWL_OK the message is committed. PAWL_E_IN_DOUBT: it may or may not be; send it
 *            again with the same id, which stores it once. (Pass an id of your own to be able to.)
 * Errors:    PAWL_E_INVALID, PAWL_E_TOO_LARGE, PAWL_E_CONFLICT (same id, other topic or payload:
 *            nothing changed), PAWL_E_BUSY, PAWL_E_TIMEOUT, PAWL_E_IN_DOUBT, PAWL_E_UNAVAILABLE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_enqueue(pawl_store *store,
                                                         const pawl_outgoing *message,
                                                         pawl_enqueued *ret_enqueued,
                                                         pawl_error *err);

/*
 * The same for `count` messages at once: all or none, in one round trip. 1 .. PAWL_BATCH_MAX
 * messages, PAWL_BATCH_MAX_BYTES of payload. `ret_enqueued` may be NULL or has `count` places, in
 * the order of `messages`. The same id twice in one batch is stored once if the content agrees.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_enqueue_batch(pawl_store *store,
                                                               const pawl_outgoing *messages,
                                                               size_t count,
                                                               pawl_enqueued *ret_enqueued,
                                                               pawl_error *err);

/*
 * The same inside the application's transaction: there when it commits, gone when it rolls back.
 * PAWL_E_BUSY: another transaction that has not ended yet is sending the same id; this one is
 * unharmed. PAWL_E_TX_RESTART: roll back and start again, in SQLite with BEGIN IMMEDIATE (the
 * transaction had begun with a read), in PostgreSQL because its connection lost an answer.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_enqueue(pawl_tx *tx, const pawl_outgoing *message,
                                                     pawl_enqueued *ret_enqueued, pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_enqueue_batch(pawl_tx *tx,
                                                           const pawl_outgoing *messages,
                                                           size_t count,
                                                           pawl_enqueued *ret_enqueued,
                                                           pawl_error *err);

/* One message, whole. PAWL_E_NOT_FOUND if it is not (or no longer) there. A list of one. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_get(pawl_store *store, pawl_work_id id,
                                                     pawl_messages **ret_one, pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_find(pawl_store *store, pawl_message_id id,
                                                      pawl_messages **ret_one, pawl_error *err);

/* Which messages. A zeroed filter (PAWL_FILTER_INIT) means all. */
typedef struct pawl_filter {
    size_t size;       /* set by PAWL_FILTER_INIT, never by hand */
    unsigned states;   /* bit set of 1u << PAWL_STATE_...; 0: any */
    const char *topic; /* NULL: any */
    const char *correlation_id;
    pawl_wall created_before; /* PAWL_NEVER: any */
    pawl_work_id before;      /* keyset page: only ids below; 0: from the newest */
    int limit;                /* 0: 100; at most 10000 */
    bool with_payload;        /* off: payloads come back empty */
} pawl_filter;
#define PAWL_FILTER_INIT                                                                           \
    {                                                                                              \
        sizeof(pawl_filter), 0, NULL, NULL, {0}, {0}, 0, false                                     \
    }

/*
 * Newest first. *ret_next (may be NULL) is the `before` of the next page, or 0 when there is none.
 * One call looks at 10,000 rows at most, so a page may be short, even empty, and have a next one.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_list(pawl_store *store, const pawl_filter *filter,
                                                      pawl_messages **ret_list,
                                                      pawl_work_id *ret_next, pawl_error *err);

/*
 * End messages that are ready or in progress. A running handler learns of it at its next renewal
 * and its result is dropped. *ret_changed (may be NULL) counts those that were cancelled; ids that
 * are unknown or finished are passed over. `ids` NULL is PAWL_E_INVALID, count 0 a no-op.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_cancel(pawl_store *store, const pawl_work_id *ids,
                                                        size_t count, size_t *ret_changed,
                                                        pawl_error *err);

/*
 * Redrive: failed, expired or cancelled messages become ready again: same message id, attempts 0,
 * due now, a new time to live as long as the first. Others are passed over.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_redrive(pawl_store *store, const pawl_work_id *ids,
                                                         size_t count, size_t *ret_changed,
                                                         pawl_error *err);

/*
 * Remove finished messages for good (their ids are forgotten, too). Ready and in-progress ones
 * are passed over.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_purge(pawl_store *store, const pawl_work_id *ids,
                                                       size_t count, size_t *ret_changed,
                                                       pawl_error *err);

/*
 * The same for everything that matches, page by page, each page a transaction of its own; `before`,
 * `limit` and `with_payload` of the filter are not used. On failure *ret_changed counts what was
 * already changed.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_cancel_matching(pawl_store *store,
                                                                 const pawl_filter *filter,
                                                                 size_t *ret_changed,
                                                                 pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_redrive_matching(pawl_store *store,
                                                                  const pawl_filter *filter,
                                                                  size_t *ret_changed,
                                                                  pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_purge_matching(pawl_store *store,
                                                                const pawl_filter *filter,
                                                                size_t *ret_changed,
                                                                pawl_error *err);

/* Counts of one topic. */
typedef struct pawl_topic_stats {
    const char *topic; /* borrowed from the stats */
    int64_t ready;     /* due or not, unfinished and held by nobody */
    int64_t in_progress;
    bool depth_is_at_least; /* counting stopped: ready + in_progress is 10,000 or more */
    int64_t depth_estimate; /* == ready + in_progress unless depth_is_at_least */
    /* Since the topic's first message. Forgotten when the topic has no unfinished messages and none
     * has ended for as long as finished messages are kept (pawl_queue_retain). */
    int64_t total_done;
    int64_t total_failed;
    int64_t total_expired;
    int64_t total_cancelled;
    pawl_wall oldest_due_at; /* of what is ready and due; PAWL_NEVER if nothing is */
} pawl_topic_stats;

typedef struct pawl_stats pawl_stats; /* opaque */

/*
 * Totals move when a message finishes: a redriven message that fails again counts twice. Depths
 * may be up to a second old.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_outbox_stats(pawl_store *store, pawl_stats **ret_stats,
                                                       pawl_error *err);
PAWL_API size_t pawl_stats_count(const pawl_stats *stats);
/* Borrowed; NULL when `index` is out of range. Sorted by topic. */
PAWL_API const pawl_topic_stats *pawl_stats_at(const pawl_stats *stats, size_t index);
PAWL_API void pawl_stats_free(pawl_stats *stats); /* NULL is fine */

PAWL_END_DECLS

#endif
