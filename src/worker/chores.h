/*
 * src/worker/chores.h - maintenance: each task at its own interval, with its own time limit.
 *
 * Maintenance runs on its own threads, so that a slow task does not delay claims or renewals.
 * Reaping, which others wait for, has a thread of its own, so that it does not wait for other
 * tasks. A call does a bounded amount of work and is repeated at once while it stops at its limit;
 * between two calls of one task each other due task gets one call. A failed task is retried at its
 * usual time. Any number of workers may run the same tasks.
 */
#ifndef PAWLI_CHORES_H
#define PAWLI_CHORES_H

#include <pthread.h>

#include <pawl/worker.h>

/* The threads: one for reaping, and one for all other tasks. */
enum { PAWLI_CHORES_REAP, PAWLI_CHORES_OTHERS, PAWLI_CHORE_THREADS };

typedef struct pawli_chore_thread {
    pawl_worker *worker;
    pthread_t thread;
    pthread_mutex_t doing; /* locked while one of its tasks runs, on any thread */
} pawli_chore_thread;

typedef struct pawli_chores {
    pawli_chore_thread threads[PAWLI_CHORE_THREADS];
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool leave;                      /* guarded by the lock */
    pawl_mono due[PAWL_CHORE_COUNT]; /* each entry belongs to its thread */
} pawli_chores;

/* The result of one maintenance call. */
typedef struct pawli_chore_result {
    size_t changed;
    pawl_scan scan;
} pawli_chore_result;

void pawli_chores_init(pawli_chores *chores);
void pawli_chores_done(pawli_chores *chores);
pawl_status pawli_chores_start(pawl_worker *worker, pawl_error *err);
/* Starts no further task; does not wait for the one that runs. */
void pawli_chores_leave(pawl_worker *worker);
void pawli_chores_end(pawl_worker *worker);

/* Makes all tasks due. */
void pawli_chores_reset(pawli_chores *chores);
/*
 * Single-step mode: runs what is due by the store's clock, until no task stops at its limit.
 * *ret_changed: the number of messages changed.
 */
pawl_status pawli_chores_step(pawl_worker *worker, size_t *ret_changed, pawl_error *err);

/*
 * Runs one call of one task now, regardless of when it last ran, after a call in progress. Any
 * thread.
 */
pawl_status pawli_chore_do(pawl_worker *worker, pawl_chore chore, pawli_chore_result *ret_result,
                           pawl_error *err);
/* Records the result of a call. Any thread. */
void pawli_chore_ended(pawl_worker *worker, pawl_chore chore, pawl_status st,
                       const pawli_chore_result *result, const pawl_error *err);

#endif
