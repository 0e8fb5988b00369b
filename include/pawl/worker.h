/* include/pawl/worker.h - handlers by topic, and the worker that calls them. */
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
#include <pawl/store.h>
#include <pawl/tx.h>

PAWL_BEGIN_DECLS

typedef struct pawl_worker pawl_worker; /* opaque */

/* ---- one message in a handler's hands ---- */

/* Valid during the handler's call, and used by its thread only. */
typedef struct pawl_task pawl_task;

/* What a handler answers. */
typedef enum pawl_verdict {
    PAWL_DONE = 0,  /* never comes again */
    PAWL_RETRY = 1, /* not now: again after a delay, as long as there are attempts left */
    PAWL_FAIL = 2,  /* never: a dead letter */
    /* Not by this worker: ready again at once, as if it had not been claimed, the attempt not
     * counted. For a process that is about to end; the same worker may well be next to get it. */
    PAWL_RELEASE = 3
} pawl_verdict;

/*
 * Called for one message, on one of the worker's threads, with no lock held and no transaction
 * open. It may be called again for the same message (a worker that died had not answered), never
 * twice at once by one worker. All signals but those of faults are blocked on that thread.
 */
typedef pawl_verdict (*pawl_handler)(pawl_task *task, void *context);

PAWL_API const pawl_message *pawl_task_message(const pawl_task *task);
/* 1 for the first try. */
PAWL_API int pawl_task_attempt(const pawl_task *task);
/* Grows with every claim: give it to whatever must refuse a handler that was overtaken. */
PAWL_API int64_t pawl_task_fence(const pawl_task *task);
PAWL_API pawl_store *pawl_task_store(const pawl_task *task);
/*
 * Whether the result is no longer wanted: the message was cancelled or is no longer this worker's,
 * the handler's time is up, or the worker stops. Ask now and then, and return soon when it is so:
 * with PAWL_RETRY, or PAWL_DONE if it is done all the same. It takes no time, except in
 * pawl_worker_step(), where nobody else renews the lease: there it does, when that is due.
 */
PAWL_API bool pawl_task_cancelled(const pawl_task *task);
/*
 * The same for a handler that waits in poll() for something else: *ret_fd becomes readable when
 * pawl_task_cancelled() becomes true, and stays so. It belongs to the task and is closed when the
 * handler returns: do not read from it, do not close it. In pawl_worker_step() only a call of
 * pawl_task_cancelled() finds out. PAWL_E_NOMEM: no descriptor is left.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_task_cancel_fd(pawl_task *task, int *ret_fd,
                                                         pawl_error *err);

/* Why it was not done; kept with the message for PAWL_RETRY and PAWL_FAIL. Copied, cut to 4 KB. */
PAWL_API void pawl_task_explain(pawl_task *task, const char *error);
/* When to try again after PAWL_RETRY, from now; at least 1 ms. Otherwise by the policy. */
PAWL_API void pawl_task_delay(pawl_task *task, int64_t delay_ms);
/*
 * How far it is, in words, kept with the message for others to see (`pawl show`). One round trip.
 * PAWL_E_LOST: the message is no longer this worker's. PAWL_E_MISUSE for a dead letter.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_task_progress(pawl_task *task, const char *text,
                                                        pawl_error *err);
/*
 * What it leaves for others to read when it is done: any bytes, kept with the message
 * (pawl_message_output()) and, if it is a run of a job, in the history; dropped unless the verdict
 * is PAWL_DONE. Copied; the last call counts. PAWL_E_TOO_LARGE beyond PAWL_OUTPUT_MAX,
 * PAWL_E_NOMEM; PAWL_E_MISUSE for a dead letter. Call it before pawl_task_begin(), which hands it
 * to the transaction; afterwards pawl_tx_output() does that.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_task_output(pawl_task *task, const void *output,
                                                      size_t output_size, pawl_error *err);
/*
 * Effect once: a transaction for rows of the application's own and further messages, which
 * pawl_message_commit() ends together with this message, or not at all. Open it when the work is
 * done, write, commit, pawl_tx_free() it in any case, and return PAWL_DONE; see
 * pawl_message_begin(). PAWL_E_LOST if the task is already known to be somebody else's,
 * PAWL_E_MISUSE for a dead letter.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_task_begin(pawl_task *task, pawl_tx **ret_tx,
                                                     pawl_error *err);

/* ---- the worker ---- */

/* What a worker does besides calling handlers, each at its own pace. */
typedef enum pawl_chore {
    PAWL_CHORE_REAP = 0,       /* leases that ended */
    PAWL_CHORE_EXPIRE = 1,     /* messages past their time to live */
    PAWL_CHORE_RETAIN = 2,     /* finished messages and ended leases past their retention */
    PAWL_CHORE_FOLD = 3,       /* the deltas behind the totals */
    PAWL_CHORE_DEAD = 4,       /* dead letters, where a handler is registered for them */
    PAWL_CHORE_CHECKPOINT = 5, /* SQLite: the write-ahead log */
    PAWL_CHORE_INBOX = 6,      /* the inbox's records past their retention */
    PAWL_CHORE_JOBS = 7,       /* the jobs' history past its retention */
    PAWL_CHORE_SCHEDULE = 8,   /* jobs that are due, unless `scheduler` is off: looked for at least
                                  this often; `changed` counts runs and skips */
    PAWL_CHORE_COUNT = 9
} pawl_chore;

/* "reap", "expire", ... Never NULL. */
PAWL_API const char *pawl_chore_name(pawl_chore chore);

typedef struct pawl_worker_options {
    size_t size;            /* set by PAWL_WORKER_OPTIONS_INIT, never by hand */
    int concurrency;        /* handlers at once, each on a thread of its own: 1 .. 1000 */
    int batch;              /* most messages per claim: 1 .. 10000 */
    int64_t lease_ms;       /* renewed while the handler runs; 3 s or more where SQLite is used
                               with pawl_task_begin(), whose turn may last 1 s */
    int64_t grace_ms;       /* after pawl_worker_stop(), until handlers are cancelled */
    int64_t cancel_ms;      /* after that, until their messages are given back all the same */
    const char *owner_name; /* NULL: "host:pid"; copied */
    /* Claim topics without a handler, too: they are warned of and abandoned. Off: they are left
     * to other workers, and still warned of while messages of theirs are due. */
    bool all_topics;
    int64_t missing_ms;   /* one such warning per topic in this time; 0: of every message that was
                             claimed, and of topics that are left to others none */
    int64_t longest_ms;   /* look for messages at least this often, whatever wakes */
    bool listen;          /* off: only look, every second, as where LISTEN does not work */
    int64_t retention_ms; /* how long done and cancelled messages are kept */
    /* How often each chore is done, and how long one call of it may take. A call that stopped at
     * its limit is repeated at once. 0 ms: never by this worker. */
    int64_t chore_every_ms[PAWL_CHORE_COUNT];
    int64_t chore_timeout_ms[PAWL_CHORE_COUNT];
    pawl_log_sink log; /* write NULL: the store's */
    /* pawl_worker_run() returns by itself when nothing is in hand any more and */
    bool until_empty;     /* nothing is due; what is put off until later is left */
    int64_t max_messages; /* so many were claimed; 0: any number. Where the answer to a claim was
                             lost it may have been more */
    /* Off: claim only what a thread is free for, so that nothing waits in line, leased, behind slow
     * handlers. On: also what handlers will need until the next claim has answered. */
    bool claim_ahead;
    pawl_observer observer; /* hears what becomes of messages; see pawl/observe.h */
    /* Make the runs of jobs that are due (pawl/job.h). Of all workers of a store that may, one does
     * at a time, by the lease "pawl.scheduler"; the others see to it that one does. */
    bool scheduler;
    bool chores_only; /* it needs no handler: housekeeping for others */
} pawl_worker_options;
#define PAWL_WORKER_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(pawl_worker_options), 10, 50, 30000, 30000, 2000, NULL, false, 60000, 30000, true,  \
            (int64_t)7 * 24 * 3600 * 1000,                                                         \
            {1000, 5000, 300000, 30000, 1000, 60000, 300000, 60000, 1000},                         \
            {10000, 10000, 30000, 10000, 10000, 10000, 30000, 30000, 10000},                       \
            {NULL, NULL, PAWL_LOG_INFO}, false, 0, true, PAWL_OBSERVER_INIT, true, false           \
    }

/**
 * A worker on `store`, not running yet: register its handlers, then run it.
 *
 * Ownership: *ret_worker is the caller's (pawl_worker_free); untouched on failure. `store` must
 *            outlive it. `opts` may be NULL: all defaults.
 * Threads:   any; all calls on a worker by one thread at a time, except where said.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (an option out of range), PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_new(pawl_store *store,
                                                     const pawl_worker_options *opts,
                                                     pawl_worker **ret_worker, pawl_error *err);
/* It must not be running. NULL is fine. */
PAWL_API void pawl_worker_free(pawl_worker *worker);
/* Who its messages belong to: new for every worker. */
PAWL_API pawl_owner pawl_worker_owner(const pawl_worker *worker);

typedef struct pawl_handler_options {
    size_t size;        /* set by PAWL_HANDLER_OPTIONS_INIT, never by hand */
    int concurrency;    /* calls at once; 0: only the worker's own limit */
    int64_t timeout_ms; /* a call that lasts longer is cancelled, its lease no longer renewed; 0:
                           none */
} pawl_handler_options;
#define PAWL_HANDLER_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(pawl_handler_options), 0, 0                                                         \
    }

/*
 * Call `handler` for messages of `topic`: exactly that text, case and all. NULL: for all topics
 * that have none of their own; for those the concurrency of `opts` (may be NULL) is the limit of
 * all of them together. PAWL_E_INVALID for an empty topic, for a second handler of a topic, and
 * for more than 1000 topics; PAWL_E_MISUSE while it runs.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_handle(pawl_worker *worker, const char *topic,
                                                        pawl_handler handler, void *context,
                                                        const pawl_handler_options *opts,
                                                        pawl_error *err);
/*
 * Call `handler` for messages of `topic` (NULL: of topics without such a handler of their own)
 * that failed or expired. The call is recorded with the message's end and made again, with growing
 * delays, until it answers PAWL_DONE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_handle_dead(pawl_worker *worker, const char *topic,
                                                             pawl_handler handler, void *context,
                                                             pawl_error *err);

/**
 * Work until pawl_worker_stop(), or until the options say that it is enough: claim, call handlers,
 * answer, renew, do the chores. Database errors that may go away are waited out, with growing
 * pauses.
 *
 * Ownership: -
 * Threads:   this one claims and answers; handlers run on threads that exist only during the call.
 * Blocks:    until stopped and every handler has returned. A handler that ignores its cancellation
 *            holds up the return; its message is given back all the same. So does, for 5 s at
 *            most, a claim whose answer was lost just before: a server may still commit it.
 * Durable:   when it returns PAWL_OK, nothing is leased by it any more; except dead letters whose
 *            claim was in doubt, which come again when that lease ends.
 * Errors:    PAWL_E_MISUSE (neither a handler nor a scheduler, or it runs already), PAWL_E_NOMEM
 * (no threads), or what the database answered if that will not go away by waiting, or if what was
 * held could not be given back; it is then ready again when the leases end.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_run(pawl_worker *worker, pawl_error *err);

/*
 * Stop claiming, let running handlers finish for grace_ms, then cancel them. A second call skips
 * the rest of the grace period. Returns at once. Any thread, also a signal handler; before
 * pawl_worker_run() it makes that return at once.
 */
PAWL_API void pawl_worker_stop(pawl_worker *worker);

/* ---- step by step, for tests ---- */

/*
 * The chores that are due by the store's clock, one claim, its handlers one after the other, and
 * their answers: all in the calling thread, without waiting. *ret_idle (may be NULL): there was
 * nothing to do. Errors are returned at once and not waited out; the next step goes on from there.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_step(pawl_worker *worker, bool *ret_idle,
                                                      pawl_error *err);
/* Steps until there is nothing to do at this moment of the store's clock. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_worker_until_idle(pawl_worker *worker, pawl_error *err);

/* ---- how it is doing ---- */

/* The store as the worker sees it. */
typedef enum pawl_breaker_state {
    PAWL_BREAKER_CLOSED = 0,   /* it answers */
    PAWL_BREAKER_OPEN = 1,     /* it has failed for a while: left alone until the next try */
    PAWL_BREAKER_HALF_OPEN = 2 /* being tried */
} pawl_breaker_state;

typedef struct pawl_chore_stats {
    int64_t runs;           /* ended well */
    int64_t failures;       /* ended with an error */
    int64_t changed;        /* messages or records it changed */
    int64_t scanned;        /* rows it read to find them */
    pawl_wall last_success; /* or PAWL_NEVER */
    char last_error[256];   /* "" if the last run was good */
} pawl_chore_stats;

typedef struct pawl_worker_stats {
    size_t size;     /* set by PAWL_WORKER_STATS_INIT, never by hand */
    int64_t claimed; /* messages taken */
    int64_t done;    /* answered so; these four are counted when the answer is stored */
    int64_t retried;
    int64_t failed;
    int64_t released; /* given back untouched */
    int64_t lost;     /* results dropped: cancelled by somebody, or overtaken */
    int64_t missing;  /* had no handler (they count as retried, too) */
    int64_t renewals; /* leases prolonged */
    int64_t dead;     /* dead letters handled */
    int64_t in_hand;  /* now: claimed and not answered yet */
    int64_t running;  /* now: handlers */
    pawl_breaker_state breaker;
    char last_error[256]; /* of the store; "" while it answers */
    pawl_chore_stats chores[PAWL_CHORE_COUNT];
} pawl_worker_stats;
#define PAWL_CHORE_STATS_INIT                                                                      \
    {                                                                                              \
        0, 0, 0, 0, {0}, ""                                                                        \
    }
#define PAWL_WORKER_STATS_INIT                                                                     \
    {                                                                                              \
        sizeof(pawl_worker_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, PAWL_BREAKER_CLOSED, "",       \
        {                                                                                          \
            PAWL_CHORE_STATS_INIT, PAWL_CHORE_STATS_INIT, PAWL_CHORE_STATS_INIT,                   \
                PAWL_CHORE_STATS_INIT, PAWL_CHORE_STATS_INIT, PAWL_CHORE_STATS_INIT,               \
                PAWL_CHORE_STATS_INIT, PAWL_CHORE_STATS_INIT, PAWL_CHORE_STATS_INIT                \
        }                                                                                          \
    }

/* Any thread. */
PAWL_API void pawl_worker_read_stats(pawl_worker *worker, pawl_worker_stats *ret_stats);

PAWL_END_DECLS

#endif
