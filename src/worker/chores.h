/*
 * src/worker/chores.h - maintenance: each chore at its own pace, with its own time limit.
 *
 * On threads of their own, so that a slow one delays no claim and no renewal; and reaping, which
 * others wait for, on one for itself, so that it waits for no other chore. A call does a bounded
 * amount of work and is repeated at once while it stops at its limit; between two calls of one
 * chore each other chore that is due has a call. One that fails is tried again at its usual time.
 * Any number of workers may do the same.
 */
#ifndef PAWLI_CHORES_H
#define PAWLI_CHORES_H

#include <pthread.h>

#include <pawl/worker.h>

/* Who does them: reaping has a thread, and the others have one together. */
enum { PAWLI_CHORES_REAP, PAWLI_CHORES_OTHERS, PAWLI_CHORE_THREADS };

typedef struct pawli_chore_thread {
    pawl_worker *worker;
    pthread_t thread;
    pthread_mutex_t doing; /* held while one of its chores is done, by whomever */
} pawli_chore_thread;

typedef struct pawli_chores {
    pawli_chore_thread threads[PAWLI_CHORE_THREADS];
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool leave;                      /* guarded by the lock */
    pawl_mono due[PAWL_CHORE_COUNT]; /* each its thread's */
} pawli_chores;

/* What one call of a chore did. */
typedef struct pawli_chore_result {
    size_t changed;
    pawl_scan scan;
} pawli_chore_result;

void pawli_chores_init(pawli_chores *chores);
void pawli_chores_done(pawli_chores *chores);
pawl_status pawli_chores_start(pawl_worker *worker, pawl_error *err);
/* No more of them; does not wait for the one that runs. */
void pawli_chores_leave(pawl_worker *worker);
void pawli_chores_end(pawl_worker *worker);

/* All of them are due. */
void pawli_chores_reset(pawli_chores *chores);
/*
 * Step by step: do what is due by the store's clock, until none of it stops at its limit.
 * *ret_changed: how many messages that changed.
 */
pawl_status pawli_chores_step(pawl_worker *worker, size_t *ret_changed, pawl_error *err);

/* One call of one now, whenever it was done last, and after the one that is being done. Any thread.
 */
pawl_status pawli_chore_do(pawl_worker *worker, pawl_chore chore, pawli_chore_result *ret_result,
                           pawl_error *err);
/* How one ended. Any thread. */
void pawli_chore_ended(pawl_worker *worker, pawl_chore chore, pawl_status st,
                       const pawli_chore_result *result, const pawl_error *err);

#endif
