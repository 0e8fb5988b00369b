/* include/pawl/timer.h - timers: messages for later; schedule, cancel and list them.
 *
 * A scheduler provides one set of calls over a strategy. `store` keeps a timer as a message that is
 * not due yet: it becomes claimable the moment the database's clock passes its due time, without
 * polling or moving it, and a worker (pawl/worker.h) handles it like any other message. `memory`
 * keeps a heap in this process, for development and tests: all timers are lost with the process. A
 * custom strategy is a table of functions (pawl/sys/strategy.h).
 *
 * A timer's state is its message's: pending is PAWL_STATE_SCHEDULED, and PAWL_STATE_READY once it
 * is due (PAWL_STATE_RUNNING while it is claimed), delivered is PAWL_STATE_DONE, cancelled is
 * PAWL_STATE_CANCELLED, failed is PAWL_STATE_FAILED, or PAWL_STATE_EXPIRED when its time to live
 * ended first.
 */
#ifndef PAWL_TIMER_H
#define PAWL_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/message.h>
#include <pawl/outbox.h>
#include <pawl/page.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

typedef struct pawl_scheduler pawl_scheduler; /* opaque */

/* ---- choosing a strategy ---- */

/**
 * Creates a scheduler whose timers are messages of `store`.
 *
 * Ownership: *ret_scheduler is the caller's (pawl_scheduler_free); untouched on failure. `store`
 *            must outlive it.
 * Threads:   any; any number of threads may use the scheduler.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (NULL), PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_scheduler_new_on_store(pawl_store *store,
                                                                 pawl_scheduler **ret_scheduler,
                                                                 pawl_error *err);

typedef struct pawl_scheduler_memory_options {
    size_t size; /* set by PAWL_SCHEDULER_MEMORY_OPTIONS_INIT, never by hand */
    /* The clock that decides what is due; called with no lock held, by any thread. NULL: the
     * machine's. A test can pass a clock that it controls. */
    pawl_wall (*now)(void *context);
    void *context;
    /* How many of the most recently taken or cancelled timers are remembered, for pawl_timer_get()
     * and to detect duplicate ids: 0 .. 100000000. */
    int64_t keep_finished;
} pawl_scheduler_memory_options;
#define PAWL_SCHEDULER_MEMORY_OPTIONS_INIT                                                         \
    {                                                                                              \
        sizeof(pawl_scheduler_memory_options), NULL, NULL, 10000                                   \
    }

/*
 * Creates a scheduler whose timers are lost with it. `opts` may be NULL: all defaults. Everything
 * else is as for pawl_scheduler_new_on_store().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_scheduler_new_in_memory(
    const pawl_scheduler_memory_options *opts, pawl_scheduler **ret_scheduler, pawl_error *err);

/* No call may be in progress on it. Timers in a store remain. NULL is allowed. */
PAWL_API void pawl_scheduler_free(pawl_scheduler *scheduler);

/* "store", "memory", or the name of the strategy. Borrowed. */
PAWL_API const char *pawl_scheduler_strategy(const pawl_scheduler *scheduler);

/* ---- scheduling ---- */

/**
 * Schedules a message: at `due_at`, or `delay_ms` from now by the strategy's clock (the database's;
 * for `memory` its own). A past time, a delay of 0 or neither means now; a negative delay, one
 * beyond 100 years and a time beyond the year 9999 are PAWL_E_INVALID. Priority, destination,
 * headers, correlation id and the rest are the message's.
 *
 * Ownership: nothing of `message` is kept. `ret_enqueued` may be NULL; written only on success: the
 *            id and the due time as stored, which is that of the first call when the id existed.
 *            The message_id is also written with PAWL_E_IN_DOUBT.
 * Threads:   any.
 * Blocks:    `store`: as pawl_outbox_enqueue(). `memory`: no.
 * Durable:   `store`: on PAWL_OK it is committed; after PAWL_E_IN_DOUBT schedule it again with the
 *            same id, which stores it once. `memory`: never.
 * Errors:    as pawl_outbox_enqueue(): PAWL_E_INVALID, PAWL_E_TOO_LARGE, PAWL_E_CONFLICT, ...
 *
 * To schedule in one transaction with the application's rows, use pawl_tx_enqueue() with a due
 * time.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_timer_schedule(pawl_scheduler *scheduler,
                                                         const pawl_message_spec *message,
                                                         pawl_enqueued *ret_enqueued,
                                                         pawl_error *err);

/* The same for several messages, all or none: as pawl_outbox_enqueue_batch(). */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_timer_schedule_batch(pawl_scheduler *scheduler,
                                                               const pawl_message_spec *messages,
                                                               size_t count,
                                                               pawl_enqueued *ret_enqueued,
                                                               pawl_error *err);

/*
 * Cancels timers that have not been claimed, due or not. *ret_cancelled (may be NULL) is their
 * number; ids that are unknown, finished, already cancelled or claimed are skipped
 * (pawl_outbox_cancel() also cancels messages in progress). `ids` NULL is PAWL_E_INVALID, count 0
 * is a no-op, at most PAWL_BATCH_MAX. Durable on PAWL_OK; after PAWL_E_IN_DOUBT call
 * pawl_timer_get().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_timer_cancel(pawl_scheduler *scheduler,
                                                       const pawl_uuid *ids, size_t count,
                                                       size_t *ret_cancelled, pawl_error *err);

/* ---- reading ---- */

/* Returns one timer in full, in any state. PAWL_E_NOT_FOUND if it does not exist (any more). */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_timer_get(pawl_scheduler *scheduler, pawl_uuid id,
                                                    pawl_messages **ret_one, pawl_error *err);

/* Selects pending timers. A zeroed filter (PAWL_TIMER_FILTER_INIT) selects all. */
typedef struct pawl_timer_filter {
    size_t size;       /* set by PAWL_TIMER_FILTER_INIT, never by hand */
    const char *topic; /* this and the next two: NULL means any */
    const char *destination;
    const char *correlation_id;
    pawl_wall due_from;   /* due then or later; PAWL_TIME_UNSET: any */
    pawl_wall due_before; /* due before then; PAWL_TIME_UNSET: any */
    pawl_page after;      /* where the page begins: page.h */
    int limit;            /* 0: 100; at most 10000 */
    bool with_payload;    /* off: payloads are returned empty */
} pawl_timer_filter;
#define PAWL_TIMER_FILTER_INIT                                                                     \
    {                                                                                              \
        sizeof(pawl_timer_filter), NULL, NULL, NULL, {0}, {0}, PAWL_PAGE_INIT, 0, false            \
    }

/**
 * Lists the pending timers: those scheduled for later that are not claimed, including those that
 * are due but not yet claimed. Ordered by due time, then by work id; a timer that is retried is
 * ordered by its next attempt (pawl_message_next_attempt_at()). A message that was due at once when
 * it was sent is not a timer.
 *
 * Ownership: *ret_list is the caller's (pawl_messages_free). *ret_next: see page.h.
 * Threads:   any.
 * Blocks:    `store`: a few round trips. It reads the queue in due order and only as much as the
 *            page needs, at most 10,000 rows, so a page behind many other messages may be short or
 *            even empty although there is a next one. PostgreSQL does so for each topic and
 *            priority selected. `memory`: examines all of its timers.
 * Errors:    PAWL_E_INVALID, PAWL_E_UNAVAILABLE, PAWL_E_TIMEOUT, PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_timer_list(pawl_scheduler *scheduler,
                                                     const pawl_timer_filter *filter,
                                                     pawl_messages **ret_list, pawl_page *ret_next,
                                                     pawl_error *err);

/* The result of pawl_timer_count(). The struct is fixed: it will not get further members. */
typedef struct pawl_timer_total {
    int64_t count;
    bool is_at_least; /* counting stopped after 10,000 messages: there are this many or more */
} pawl_timer_total;

/* Counts the pending timers. `limit` and `with_payload` of the filter are ignored. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_timer_count(pawl_scheduler *scheduler,
                                                      const pawl_timer_filter *filter,
                                                      pawl_timer_total *ret_total, pawl_error *err);

/*
 * Returns when the next pending timer is due, possibly in the past; PAWL_TIME_UNSET if none is
 * pending. For a loop that takes timers itself and needs to know how long to sleep.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_timer_next_due(pawl_scheduler *scheduler,
                                                         pawl_wall *ret_due, pawl_error *err);

/* ---- taking timers: strategies without a worker ---- */

/**
 * Takes up to `limit` (1 .. 10000) timers that are due, higher priorities first, then by due time.
 * They are thereby delivered: PAWL_STATE_DONE, never returned again, and can no longer be
 * cancelled.
 *
 * Ownership: *ret_list is the caller's (pawl_messages_free); an empty list when nothing is due.
 * Threads:   any; each timer goes to one caller.
 * Blocks:    `memory`: no.
 * Durable:   no: a process that dies with them has lost them.
 * Errors:    PAWL_E_UNSUPPORTED (`store`: its due timers are claimed, by a worker or with
 *            pawl_queue_claim(), so that none is lost), PAWL_E_INVALID, PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_timer_take_due(pawl_scheduler *scheduler, int limit,
                                                         pawl_messages **ret_list, pawl_error *err);

PAWL_END_DECLS

#endif
