/*
 * src/worker/chores.h - housekeeping: each chore at its own pace, with its own time limit.
 *
 * On a thread of its own, so that a slow one delays no claim and no renewal. One that fails is
 * tried again at its usual time and keeps nobody from theirs. Any number of workers may do the
 * same.
 */
#ifndef PAWLI_CHORES_H
#define PAWLI_CHORES_H

#include <pthread.h>

#include <pawl/worker.h>

typedef struct pawli_chores {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool leave;                      /* guarded by the lock */
    pawl_mono due[PAWL_CHORE_COUNT]; /* the thread's */
    pthread_mutex_t doing;           /* held while one is done, by whomever */
} pawli_chores;

void pawli_chores_init(pawli_chores *chores);
void pawli_chores_done(pawli_chores *chores);
pawl_status pawli_chores_start(pawl_worker *worker, pawl_error *err);
/* No more of them; does not wait for the one that runs. */
void pawli_chores_leave(pawl_worker *worker);
void pawli_chores_end(pawl_worker *worker);

/* All of them are due. */
void pawli_chores_reset(pawli_chores *chores);
/* Step by step: do what is due by the store's clock. *ret_changed: how many messages that changed.
 */
pawl_status pawli_chores_step(pawl_worker *worker, size_t *ret_changed, pawl_error *err);

/* Do one now, whenever it was done last, and after the one that is being done. Any thread. */
pawl_status pawli_chore_do(pawl_worker *worker, pawl_chore chore, size_t *ret_changed,
                           pawl_error *err);
/* How one ended. Any thread. */
void pawli_chore_ended(pawl_worker *worker, pawl_chore chore, pawl_status st, size_t changed,
                       const pawl_error *err);

#endif
