/*
 * src/worker/hand.h - tasks in flight: everything the worker has claimed and whose result is not
 * stored yet, and the threads that wait for it.
 *
 * The claim loop adds tasks, handler threads take and finish them, the claim loop takes finished
 * tasks and stores their results, and the lease renewer reads all of them. There is one lock, held
 * only briefly, never while user code or the database is called.
 */
#ifndef PAWLI_HAND_H
#define PAWLI_HAND_H

#include <pthread.h>

#include "index.h"
#include "task.h"
#include "waiter.h"

typedef struct pawli_line {
    pawl_task *first;
    pawl_task *last;
    size_t count;
} pawli_line;

/* How the claim loop waits, if it does. */
typedef enum pawli_watch {
    PAWLI_WATCH_NONE,  /* it is busy, and will check by itself */
    PAWLI_WATCH_NEWS,  /* in pawli_hand_wait() */
    PAWLI_WATCH_WAITER /* idle until a message is enqueued */
} pawli_watch;

typedef struct pawli_hand {
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t work;  /* for the handler threads */
    pthread_cond_t news;  /* for the claim loop */
    pawl_task *all;
    pawli_index index;
    size_t count;
    pawli_line queue;
    pawli_line finished;
    size_t running;
    size_t idle; /* handler threads that wait */
    bool waking; /* one of them is being woken */
    bool closed; /* the handler threads end */
    bool poked;  /* the claim loop must check again */
    pawli_watch watch;
    size_t low;           /* the threshold of pawli_hand_wait() */
    pawli_waiter *waiter; /* NULL: single-step mode */
    int64_t handler_us;   /* recent average duration of handlers; -1: unknown */
    int keeper_fd;        /* an eventfd that wakes the lease renewer; -1: there is none */
    pawl_mono keeper_at;  /* when it wakes up next by itself */
} pawli_hand;

void pawli_hand_init(pawli_hand *hand);
void pawli_hand_done(pawli_hand *hand);
/*
 * Prepares a run: handler threads may be started. Tasks left from before are dropped as if they had
 * never been claimed; returns their number.
 */
size_t pawli_hand_open(pawli_hand *hand, pawli_waiter *waiter);

/* ---- the claim loop ---- */

/* Whether exactly this claim of the message is in flight. */
bool pawli_hand_knows(pawli_hand *hand, pawl_held held);
/* Queues the tasks of a batch; those without a handler are finished at once. */
void pawli_hand_add(pawli_hand *hand, pawli_batch *batch, size_t count);
/* Returns all finished tasks, linked by `line`; their results are now being stored. */
pawl_task *pawli_hand_collect(pawli_hand *hand);
/*
 * The results in this list could not be stored: their leases are kept. The tasks stay the caller's.
 */
void pawli_hand_retain(pawli_hand *hand, pawl_task *list);
/* The results are about to be stored again. */
void pawli_hand_retell(pawli_hand *hand, pawl_task *list);
/* The results are stored: frees the tasks of the list. */
void pawli_hand_settle(pawli_hand *hand, pawl_task *list);
/*
 * Waits until at most `low` messages are queued or running, or until finished tasks have arrived
 * and no more have followed for a moment, or until pawli_hand_poke() or the deadline.
 */
void pawli_hand_wait(pawli_hand *hand, size_t low, pawl_mono deadline);
/* Waits until a task is finished, or until pawli_hand_poke() or the deadline. */
void pawli_hand_rest(pawli_hand *hand, pawl_mono deadline);
/*
 * Announces a wait in the waiter, which is then nudged for finished tasks; false: there already are
 * some.
 */
bool pawli_hand_doze(pawli_hand *hand);
void pawli_hand_rouse(pawli_hand *hand);
/* Ends the claim loop's wait, of either kind, or the next one. Any thread. */
void pawli_hand_poke(pawli_hand *hand);

/* ---- stopping ---- */

/* Finishes all queued tasks, to be released. */
void pawli_hand_empty_queue(pawli_hand *hand);
/* Cancels all running handlers. */
void pawli_hand_cancel_running(pawli_hand *hand);
/*
 * Disowns the running tasks, either dead letters or others, so that they can be released:
 * *ret_items has room for pawli_hand_running() items, and the results of their handlers are
 * discarded. Returns their number.
 */
size_t pawli_hand_disown_running(pawli_hand *hand, bool dead, pawl_held *ret_items, size_t room);
size_t pawli_hand_running(pawli_hand *hand);
/* Ends the threads that wait for work. */
void pawli_hand_close(pawli_hand *hand);

/* ---- handler threads ---- */

/* Returns `finished` (NULL: none) and takes the next task; NULL when it is closed. */
pawl_task *pawli_hand_next(pawli_hand *hand, pawl_task *finished);
/* Single-step mode: takes the next task without waiting, NULL if there is none; and returns it. */
pawl_task *pawli_hand_try_next(pawli_hand *hand, pawl_mono now);
void pawli_hand_in(pawli_hand *hand, pawl_task *finished, pawl_mono now);

/* ---- the lease renewer; with the lock held ---- */

/* The message has another owner: the handler is cancelled, and its result will be discarded. */
void pawli_hand_lose(pawli_hand *hand, pawl_task *task);
/* The handler has timed out. */
void pawli_hand_time_out(pawl_task *task);
/* Releases a pinned task. */
void pawli_hand_unpin(pawl_task *task);

#endif
