/*
 * src/worker/inflight.h - tasks in flight: everything the worker has claimed and whose result is
 * not stored yet, and the threads that wait for it.
 *
 * The claim loop adds tasks, handler threads take and finish them, the claim loop takes finished
 * tasks and stores their results, and the lease renewer reads all of them. There is one lock, held
 * only briefly, never while user code or the database is called.
 */
#ifndef PAWLI_INFLIGHT_H
#define PAWLI_INFLIGHT_H

#include <pthread.h>

#include "task_index.h"
#include "task.h"
#include "waiter.h"

typedef struct pawli_task_queue {
    pawl_task *first;
    pawl_task *last;
    size_t count;
} pawli_task_queue;

/* How the claim loop waits, if it does. */
typedef enum pawli_wait_kind {
    PAWLI_WAIT_NONE,     /* it is busy, and will check by itself */
    PAWLI_WAIT_FINISHED, /* in pawli_inflight_wait() */
    PAWLI_WAIT_WAITER    /* idle until a message is enqueued */
} pawli_wait_kind;

typedef struct pawli_inflight {
    pthread_mutex_t lock;           /* guards the rest */
    pthread_cond_t work;            /* for the handler threads */
    pthread_cond_t finished_signal; /* for the claim loop */
    pawl_task *all;
    pawli_task_index index;
    size_t count;
    pawli_task_queue queue;
    pawli_task_queue finished;
    size_t running;
    size_t idle; /* handler threads that wait */
    bool waking; /* one of them is being woken */
    bool closed; /* the handler threads end */
    bool woken;  /* the claim loop must check again */
    pawli_wait_kind watch;
    size_t low;           /* the threshold of pawli_inflight_wait() */
    pawli_waiter *waiter; /* NULL: single-step mode */
    int64_t handler_us;   /* recent average duration of handlers; -1: unknown */
    int renewer_fd;       /* an eventfd that wakes the lease renewer; -1: there is none */
    pawl_mono renewer_at; /* when it wakes up next by itself */
} pawli_inflight;

void pawli_inflight_init(pawli_inflight *inflight);
void pawli_inflight_done(pawli_inflight *inflight);
/*
 * Prepares a run: handler threads may be started. Tasks left from before are dropped as if they had
 * never been claimed; returns their number.
 */
size_t pawli_inflight_open(pawli_inflight *inflight, pawli_waiter *waiter);

/* ---- the claim loop ---- */

/* Whether exactly this claim of the message is in flight. */
bool pawli_inflight_contains(pawli_inflight *inflight, pawl_receipt receipt);
/* Queues the tasks of a batch; those without a handler are finished at once. */
void pawli_inflight_add(pawli_inflight *inflight, pawli_batch *batch, size_t count);
/* Returns all finished tasks, linked by `line`; their results are now being stored. */
pawl_task *pawli_inflight_collect(pawli_inflight *inflight);
/*
 * The results in this list could not be stored: their leases are kept. The tasks stay the caller's.
 */
void pawli_inflight_keep_results(pawli_inflight *inflight, pawl_task *list);
/* The results are about to be stored again. */
void pawli_inflight_store_again(pawli_inflight *inflight, pawl_task *list);
/* The results are stored: frees the tasks of the list. */
void pawli_inflight_remove_stored(pawli_inflight *inflight, pawl_task *list);
/*
 * Waits until at most `low` messages are queued or running, or until finished tasks have arrived
 * and no more have followed for a moment, or until pawli_inflight_wake() or the deadline.
 */
void pawli_inflight_wait(pawli_inflight *inflight, size_t low, pawl_mono deadline);
/* Waits until a task is finished, or until pawli_inflight_wake() or the deadline. */
void pawli_inflight_wait_finished(pawli_inflight *inflight, pawl_mono deadline);
/*
 * Announces a wait in the waiter, which is then nudged for finished tasks; false: there already are
 * some.
 */
bool pawli_inflight_announce_wait(pawli_inflight *inflight);
void pawli_inflight_end_wait(pawli_inflight *inflight);
/* Ends the claim loop's wait, of either kind, or the next one. Any thread. */
void pawli_inflight_wake(pawli_inflight *inflight);

/* ---- stopping ---- */

/* Finishes all queued tasks, to be released. */
void pawli_inflight_empty_queue(pawli_inflight *inflight);
/* Cancels all running handlers. */
void pawli_inflight_cancel_running(pawli_inflight *inflight);
/*
 * Disowns the running tasks, either dead letters or others, so that they can be released:
 * *ret_items has room for pawli_inflight_running() items, and the results of their handlers are
 * discarded. Returns their number.
 */
size_t pawli_inflight_disown_running(pawli_inflight *inflight, bool dead, pawl_receipt *ret_items,
                                     size_t room);
size_t pawli_inflight_running(pawli_inflight *inflight);
/* Ends the threads that wait for work. */
void pawli_inflight_close(pawli_inflight *inflight);

/* ---- handler threads ---- */

/* Returns `finished` (NULL: none) and takes the next task; NULL when it is closed. */
pawl_task *pawli_inflight_next(pawli_inflight *inflight, pawl_task *finished);
/* Single-step mode: takes the next task without waiting, NULL if there is none; and returns it. */
pawl_task *pawli_inflight_try_next(pawli_inflight *inflight, pawl_mono now);
void pawli_inflight_finish(pawli_inflight *inflight, pawl_task *finished, pawl_mono now);

/* ---- the lease renewer; with the lock held ---- */

/* The message has another owner: the handler is cancelled, and its result will be discarded. */
void pawli_inflight_lose(pawli_inflight *inflight, pawl_task *task);
/* The handler has timed out. */
void pawli_inflight_time_out(pawl_task *task);
/* Releases a pinned task. */
void pawli_inflight_unpin(pawl_task *task);

#endif
