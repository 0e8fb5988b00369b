/*
 * src/worker/maintenance.h - maintenance: each task at its own interval, with its own time limit.
 *
 * Maintenance runs on its own threads, so that a slow task does not delay claims or renewals.
 * Reaping, which others wait for, has a thread of its own, so that it does not wait for other
 * tasks. A call does a bounded amount of work and is repeated at once while it stops at its limit;
 * between two calls of one task each other due task gets one call. A failed task is retried at its
 * usual time. Any number of workers may run the same tasks.
 */
#ifndef PAWLI_MAINTENANCE_H
#define PAWLI_MAINTENANCE_H

#include <pthread.h>

#include <pawl/worker.h>

/* The threads: one for reaping, and one for all other tasks. */
enum { PAWLI_MAINTENANCE_REAP, PAWLI_MAINTENANCE_OTHERS, PAWLI_MAINTENANCE_THREADS };

typedef struct pawli_maintenance_thread {
    pawl_worker *worker;
    pthread_t thread;
    pthread_mutex_t doing; /* locked while one of its tasks runs, on any thread */
} pawli_maintenance_thread;

typedef struct pawli_maintenance {
    pawli_maintenance_thread threads[PAWLI_MAINTENANCE_THREADS];
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool leave;                            /* guarded by the lock */
    pawl_mono due[PAWL_MAINTENANCE_COUNT]; /* each entry belongs to its thread */
} pawli_maintenance;

/* The result of one maintenance call. */
typedef struct pawli_maintenance_result {
    size_t changed;
    pawl_scan scan;
} pawli_maintenance_result;

void pawli_maintenance_init(pawli_maintenance *maintenance);
void pawli_maintenance_done(pawli_maintenance *maintenance);
pawl_status pawli_maintenance_start(pawl_worker *worker, pawl_error *err);
/* Starts no further task; does not wait for the one that runs. */
void pawli_maintenance_leave(pawl_worker *worker);
void pawli_maintenance_end(pawl_worker *worker);

/* Makes all tasks due. */
void pawli_maintenance_reset(pawli_maintenance *maintenance);
/*
 * Single-step mode: runs what is due by the store's clock, until no task stops at its limit.
 * *ret_changed: the number of messages changed.
 */
pawl_status pawli_maintenance_step(pawl_worker *worker, size_t *ret_changed, pawl_error *err);

/*
 * Runs one call of one task now, regardless of when it last ran, after a call in progress. Any
 * thread.
 */
pawl_status pawli_maintenance_run(pawl_worker *worker, pawl_maintenance task_kind,
                                  pawli_maintenance_result *ret_result, pawl_error *err);
/* Records the result of a call. Any thread. */
void pawli_maintenance_ended(pawl_worker *worker, pawl_maintenance task_kind, pawl_status st,
                             const pawli_maintenance_result *result, const pawl_error *err);

#endif
