/*
 * src/worker/ticker.h - the worker's scheduler: runs of jobs are made when they are due.
 *
 * On a thread of its own, so that no chore delays a slot. One scheduler at a time does it, by a
 * lease, which is taken only when something is due: a store without jobs is only read. The lease
 * saves work; the promises do not rest on it (docs/internals/job.md).
 */
#ifndef PAWLI_TICKER_H
#define PAWLI_TICKER_H

#include <pthread.h>
#include <stdatomic.h>

#include <pawl/worker.h>

#define PAWLI_SCHEDULER_LEASE "pawl.scheduler"

typedef struct pawli_ticker {
    pthread_t thread;
    bool started;
    atomic_bool leave;
    /* The thread's, or step by step the caller's: */
    int64_t fence;        /* of the lease; 0: not held, as far as is known */
    pawl_wall lease_ends; /* by the store's clock */
    int64_t rest_us;      /* while there is no job at all */
} pawli_ticker;

/* Nothing happens if the worker has no scheduler. */
pawl_status pawli_ticker_start(pawl_worker *worker, pawl_error *err);
/* No more turns; does not wait for the one that runs. */
void pawli_ticker_leave(pawl_worker *worker);
/* Ends the thread and gives the lease back. */
void pawli_ticker_end(pawl_worker *worker);

/* Give the lease back, if it is held: nobody has to wait for its end. */
void pawli_ticker_release(pawl_worker *worker);

/* Step by step: a turn, if the worker has a scheduler. *ret_changed: runs and skips. */
pawl_status pawli_ticker_step(pawl_worker *worker, size_t *ret_changed, pawl_error *err);

#endif
