/* include/pawl/worker.h - the worker: claims messages and calls the handlers of their topics. */
#ifndef PAWL_WORKER_H
#define PAWL_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/log.h>
#include <pawl/message.h>
#include <pawl/observe.h>
#include <pawl/result.h>
#include <pawl/store.h>
#include <pawl/tx.h>

PAWL_BEGIN_DECLS

typedef struct pawl_worker pawl_worker; /* opaque */

/* ---- the message that a handler processes ---- */

/* Valid only during the handler's call, and only on its thread. */
typedef struct pawl_task pawl_task;

/*
 * Processes one message. The worker calls it on one of its handler threads, with no lock held and
 * no transaction open. It may be called again for the same message (if a worker died before it
 * stored the result), but one worker never calls it twice at once for the same message. All signals
 * except those for faults are blocked on that thread. It returns PAWL_DONE, PAWL_RETRY, PAWL_FAIL
 * or PAWL_RELEASE; any other value counts as PAWL_RETRY.
 */
typedef pawl_result (*pawl_handler)(pawl_task *task, void *context);

PAWL_API const pawl_message *pawl_task_message(const pawl_task *task);
/* 1 for the first attempt. */
PAWL_API int pawl_task_attempt(const pawl_task *task);
/*
 * The fencing token of this claim. It increases with every claim: pass it to systems that must
 * reject a handler whose lease has expired.
 */
PAWL_API int64_t pawl_task_fence(const pawl_task *task);
PAWL_API pawl_store *pawl_task_store(const pawl_task *task);
/*
 * Returns whether the result is no longer needed: the message was cancelled or is no longer owned
 * by this worker, the handler's timeout has passed, or the worker is shutting down. Long handlers
 * should check this periodically and return soon once it is true: PAWL_DONE if the work is
 * complete, otherwise PAWL_RETRY. The call is immediate, except in pawl_worker_step(), where no
 * other thread renews the lease: there it renews the lease when that is due.
 */
PAWL_API bool pawl_task_cancelled(const pawl_task *task);
/*
 * The same check for a handler that waits in poll(): *ret_fd becomes readable when
 * pawl_task_cancelled() becomes true, and stays readable. The task owns the descriptor and closes
 * it when the handler returns: do not read from it and do not close it. In pawl_worker_step() it
 * changes only during a call of pawl_task_cancelled(). PAWL_E_NOMEM: no descriptor is available.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_task_cancel_fd(pawl_task *task, int *ret_fd,
                                                         pawl_error *err);

/*
 * Sets the error text that is stored with the message for PAWL_RETRY and PAWL_FAIL. Copied and
 * truncated to 4 KB.
 */
PAWL_API void pawl_task_set_error(pawl_task *task, const char *error);
/*
 * Sets the delay until the next attempt after PAWL_RETRY, counted from now; at least 1 ms. Without
 * this call the backoff policy applies.
 */
PAWL_API void pawl_task_set_retry_delay(pawl_task *task, int64_t delay_ms);
/*
 * Stores a progress text with the message, where others can read it (`pawl show`). One round trip.
 * PAWL_E_LOST: this worker no longer owns the message. PAWL_E_MISUSE for a dead letter.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_task_progress(pawl_task *task, const char *text,
                                                        pawl_error *err);
/*
 * Sets the output of the message: any bytes, stored with the message (pawl_message_output()) and,
 * if the message is a run of a job, in the job's history. The output is discarded unless the
 * handler returns PAWL_DONE. Copied; a later call replaces it. Call it before pawl_task_begin(),
 * which passes the output to the transaction; after that, call pawl_tx_output(). PAWL_E_TOO_LARGE
 * beyond PAWL_OUTPUT_MAX, PAWL_E_NOMEM; PAWL_E_MISUSE for a dead letter.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_task_output(pawl_task *task, const void *output,
                                                      size_t output_size, pawl_error *err);
/*
 * Begins a transaction for exactly-once effects: the application's own rows and further messages,
 * which pawl_tx_commit_with_ack() commits together with the acknowledgement of this message, or not
 * at all. Begin it when the work is done, write, commit, call pawl_tx_free() in any case, and
 * return PAWL_DONE; see pawl_tx_begin_for(). PAWL_E_LOST if the task is already known to belong to
 * another owner, PAWL_E_MISUSE for a dead letter.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_task_begin(pawl_task *task, pawl_tx **ret_tx,
                                                     pawl_error *err);

/* ---- the worker ---- */

/* Maintenance tasks that a worker runs besides calling handlers, each at its own interval. */
typedef enum pawl_maintenance {
    PAWL_MAINTENANCE_REAP = 0,   /* make messages with expired leases ready again */
    PAWL_MAINTENANCE_EXPIRE = 1, /* expire messages past their time to live */
    PAWL_MAINTENANCE_PRUNE = 2, /* delete finished messages and ended leases past their retention */
    PAWL_MAINTENANCE_COMPACT_STATS = 3, /* compact the deltas behind the statistics totals */
    PAWL_MAINTENANCE_DEAD = 4,          /* call dead-letter handlers, if any are registered */
    PAWL_MAINTENANCE_CHECKPOINT = 5,    /* SQLite: checkpoint the write-ahead log */
    PAWL_MAINTENANCE_INBOX = 6,         /* delete inbox records past their retention */
    PAWL_MAINTENANCE_JOBS = 7,          /* delete job history past its retention */
    PAWL_MAINTENANCE_SCHEDULE = 8, /* run jobs that are due, unless `scheduler` is off: checked at
                                least this often; `changed` counts runs and skips */
    PAWL_MAINTENANCE_COUNT = 9
} pawl_maintenance;
/* The size of arrays that have an element per maintenance task: room for tasks of later versions,
 * so that they do not move the members behind them. */
#define PAWL_MAINTENANCE_MAX 16

/* "reap", "expire", ... Never NULL. */
PAWL_API const char *pawl_maintenance_name(pawl_maintenance maintenance);

typedef struct pawl_worker_options {
    size_t size;       /* set by PAWL_WORKER_OPTIONS_INIT, never by hand */
    int concurrency;   /* handler threads: 1 .. 1000 */
    int batch;         /* maximum messages per claim: 1 .. 10000 */
    int64_t lease_ms;  /* renewed while the handler runs; at least 3 s where SQLite is used with
                          pawl_task_begin(), whose transaction may last 1 s */
    int64_t grace_ms;  /* shutdown: from pawl_worker_request_stop() until handlers are cancelled */
    int64_t cancel_ms; /* shutdown: from then until their messages are released even if handlers
                          still run */
    const char *owner_name; /* NULL: "host:pid"; copied */
    /* Also claim topics without a handler: the worker logs a warning and abandons the messages.
     * Off: such topics are left to other workers; the worker still warns while messages of such a
     * topic are due. */
    bool all_topics;
    int64_t no_handler_warn_ms; /* log this warning at most once per topic in this time; 0: for
                           every claimed message, and never for topics left to other workers */
    int64_t max_poll_ms;        /* poll for messages at least this often, even without a wake-up */
    bool use_notify; /* use wake-ups; off: only poll, every second, for example where LISTEN does
                    not work */
    int64_t retention_ms; /* how long done and cancelled messages are kept */
    pawl_log_sink log;    /* write NULL: use the store's */
    /* pawl_worker_run() returns by itself once no message is in flight and one of these applies: */
    bool until_empty;     /* no message is due; messages scheduled for later remain */
    int64_t max_messages; /* this many messages were claimed; 0: no limit. More may have been
                             claimed if the response to a claim was lost */
    /* Off: claim only as many messages as there are idle handler threads, so that no leased message
     * waits behind slow handlers. On: also claim the messages that handlers will need before the
     * next claim returns. */
    bool claim_ahead;
    pawl_observer observer; /* receives the result of every message; see pawl/observe.h */
    /* Create the runs of due jobs (pawl/job.h). Of all workers of a store with this option, one
     * schedules at a time, elected by the lease "pawl.scheduler"; the others take over if it
     * stops. */
    bool scheduler;
    bool maintenance_only; /* no handler is required: for a worker that only runs maintenance */
    /* The interval of each maintenance task, and the time limit of one call. A call that stopped at
     * its limit is repeated at once. Interval 0: this worker never runs that task. Both 0: the
     * library's defaults, so that a program built before a task existed gets it. */
    int64_t maintenance_interval_ms[PAWL_MAINTENANCE_MAX];
    int64_t maintenance_timeout_ms[PAWL_MAINTENANCE_MAX];
} pawl_worker_options;
#define PAWL_WORKER_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(pawl_worker_options), 10, 50, 30000, 30000, 2000, NULL, false, 60000, 30000, true,  \
            (int64_t)7 * 24 * 3600 * 1000, {NULL, NULL, PAWL_LOG_INFO}, false, 0, true,            \
            PAWL_OBSERVER_INIT, true, false,                                                       \
            {1000, 5000, 300000, 30000, 1000, 60000, 300000, 60000, 1000},                         \
            {10000, 10000, 30000, 10000, 10000, 10000, 30000, 30000, 10000},                       \
    }

/**
 * Creates a worker on `store`. It does not run yet: register its handlers, then run it.
 *
 * Ownership: *ret_worker is the caller's (pawl_worker_free); untouched on failure. `store` must
 *            outlive it. `opts` may be NULL: all defaults.
 * Threads:   any; calls on one worker must come from one thread at a time, except where noted.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (an option out of range), PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_new(pawl_store *store,
                                                     const pawl_worker_options *opts,
                                                     pawl_worker **ret_worker, pawl_error *err);
/* The worker must not be running. NULL is allowed. */
PAWL_API void pawl_worker_free(pawl_worker *worker);
/* The owner id under which it claims: new for every worker. */
PAWL_API pawl_owner pawl_worker_owner(const pawl_worker *worker);

typedef struct pawl_handler_options {
    size_t size;        /* set by PAWL_HANDLER_OPTIONS_INIT, never by hand */
    int concurrency;    /* maximum concurrent calls; 0: only the worker's own limit */
    int64_t timeout_ms; /* longer calls are cancelled, the lease no longer renewed; 0: none */
} pawl_handler_options;
#define PAWL_HANDLER_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(pawl_handler_options), 0, 0                                                         \
    }

/*
 * Registers `handler` for messages of `topic`, which is compared exactly, including case. NULL: for
 * all topics that have no handler of their own; for those, the concurrency in `opts` (may be NULL)
 * limits all of them together. PAWL_E_INVALID for an empty topic, for a second handler of a topic,
 * and for more than 1000 topics; PAWL_E_MISUSE while the worker runs.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_handle(pawl_worker *worker, const char *topic,
                                                        pawl_handler handler, void *context,
                                                        const pawl_handler_options *opts,
                                                        pawl_error *err);
/*
 * Registers `handler` for messages of `topic` (NULL: of topics without a dead-letter handler of
 * their own) that failed or expired. The call is recorded in the same transaction in which the
 * message fails or expires, and is retried with exponential backoff until the handler returns
 * PAWL_DONE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_handle_dead(pawl_worker *worker, const char *topic,
                                                             pawl_handler handler, void *context,
                                                             pawl_error *err);

/**
 * Runs the worker until pawl_worker_request_stop(), or until a limit in the options is reached: it
 * claims messages, calls handlers, stores their results, renews leases and runs maintenance.
 * Transient database errors are retried with exponential backoff.
 *
 * Ownership: -
 * Threads:   the calling thread claims messages and stores results; handlers run on threads that
 *            exist only during the call.
 * Blocks:    until the worker is stopped and every handler has returned. A handler that ignores
 *            cancellation delays the return; its message is released anyway. A claim whose response
 *            was lost just before also delays it, by at most 5 s, because the server may still
 *            commit it.
 * Durable:   on PAWL_OK the worker owns no lease any more, except for dead letters whose claim was
 *            in doubt: those become claimable again when their lease expires.
 * Errors:    PAWL_E_MISUSE (no handler and no scheduler, or it is already running), PAWL_E_NOMEM
 *            (threads cannot be created), or the database's error if it is permanent or if owned
 *            messages could not be released; these are ready again when their leases expire.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_run(pawl_worker *worker, pawl_error *err);

/*
 * Stops claiming, lets running handlers finish for grace_ms, then cancels them. A second call skips
 * the rest of the grace period. Returns at once. May be called from any thread and from a signal
 * handler; if called before pawl_worker_run(), that call returns at once.
 */
PAWL_API void pawl_worker_request_stop(pawl_worker *worker);

/* ---- single steps, for tests ---- */

/*
 * Runs the maintenance tasks that are due by the store's clock, makes one claim, calls its handlers
 * one after the other, and stores their results: all in the calling thread, without waiting.
 * *ret_idle (may be NULL): there was nothing to do. Errors are returned at once instead of being
 * retried; the next step continues from there.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_step(pawl_worker *worker, bool *ret_idle,
                                                      pawl_error *err);
/*
 * Repeats pawl_worker_step() until there is nothing to do at the current time of the store's clock.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_until_idle(pawl_worker *worker, pawl_error *err);

/* ---- statistics ---- */

/* State of the worker's circuit breaker for the store. */
typedef enum pawl_breaker_state {
    PAWL_BREAKER_CLOSED = 0,   /* the store responds */
    PAWL_BREAKER_OPEN = 1,     /* the store keeps failing: not used until the next probe */
    PAWL_BREAKER_HALF_OPEN = 2 /* a probe is under way */
} pawl_breaker_state;

/* An element of an array, and therefore fixed: it will not get further members. */
typedef struct pawl_maintenance_stats {
    int64_t runs;           /* completed without an error */
    int64_t failures;       /* ended with an error */
    int64_t changed;        /* messages or records that it changed */
    int64_t scanned;        /* rows that it read to find them */
    pawl_wall last_success; /* or PAWL_TIME_UNSET */
    char last_error[256];   /* "" if the last run succeeded */
} pawl_maintenance_stats;

typedef struct pawl_worker_stats {
    size_t size;     /* set by PAWL_WORKER_STATS_INIT, never by hand */
    int64_t claimed; /* messages claimed */
    int64_t done;    /* this and the next three are counted when the result is stored */
    int64_t retried;
    int64_t failed;
    int64_t released; /* released without counting the attempt */
    int64_t lost; /* results discarded: the message was cancelled or is owned by another worker */
    int64_t unhandled; /* messages without a handler (also counted as retried) */
    int64_t renewals;  /* leases renewed */
    int64_t dead;      /* dead letters handled */
    int64_t in_flight; /* now: claimed, result not stored yet */
    int64_t running;   /* now: handlers being called */
    pawl_breaker_state breaker;
    char last_error[256]; /* of the store; "" while it responds */
    pawl_maintenance_stats maintenance[PAWL_MAINTENANCE_MAX]; /* indexed by pawl_maintenance */
} pawl_worker_stats;
#define PAWL_MAINTENANCE_STATS_INIT                                                                \
    {                                                                                              \
        0, 0, 0, 0, {0}, ""                                                                        \
    }
#define PAWL_WORKER_STATS_INIT                                                                     \
    {                                                                                              \
        sizeof(pawl_worker_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, PAWL_BREAKER_CLOSED, "",       \
        {                                                                                          \
            PAWL_MAINTENANCE_STATS_INIT                                                            \
        }                                                                                          \
    }

/* Any thread. */
PAWL_API void pawl_worker_get_stats(pawl_worker *worker, pawl_worker_stats *ret_stats);

PAWL_END_DECLS

#endif
