/*
 * src/worker/job_scheduler.h - the worker's job scheduler: creates the runs of jobs when they are
 * due.
 *
 * It has a thread of its own, so that maintenance does not delay an occurrence. One scheduler at a
 * time is active, elected by a lease, which is acquired only when something is due: a store without
 * jobs is only read. The lease avoids duplicate work; the guarantees do not depend on it
 * (docs/internals/job.md).
 */
#ifndef PAWLI_JOB_SCHEDULER_H
#define PAWLI_JOB_SCHEDULER_H

#include <pthread.h>
#include <stdatomic.h>

#include <pawl/worker.h>

#define PAWLI_SCHEDULER_LEASE "pawl.scheduler"

typedef struct pawli_job_scheduler {
    pthread_t thread;
    bool started;
    atomic_bool leave;
    /* Owned by the thread, or in single-step mode by the caller: */
    int64_t fence;        /* of the lease; 0: not owned, as far as is known */
    pawl_wall lease_ends; /* by the store's clock */
    int64_t rest_us;      /* pause while there is no job at all */
} pawli_job_scheduler;

/* Does nothing if the worker has no scheduler. */
pawl_status pawli_job_scheduler_start(pawl_worker *worker, pawl_error *err);
/* Starts no further pass; does not wait for the one that runs. */
void pawli_job_scheduler_leave(pawl_worker *worker);
/* Ends the thread and releases the lease. */
void pawli_job_scheduler_end(pawl_worker *worker);

/* Releases the lease if it is owned, so that others need not wait for it to expire. */
void pawli_job_scheduler_release(pawl_worker *worker);

/* Single-step mode: one pass, if the worker has a scheduler. *ret_changed: runs and skips. */
pawl_status pawli_job_scheduler_step(pawl_worker *worker, size_t *ret_changed, pawl_error *err);

#endif
