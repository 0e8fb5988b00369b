/*
 * src/worker/hand.h - everything the worker has claimed and not answered yet, and who waits for it.
 *
 * The intake adds, crew threads take and finish, the intake takes what is finished and settles it,
 * the keeper looks at all of it. One lock, held for moments, never while user code or the database
 * is called.
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

/* How the intake waits, if it does. */
typedef enum pawli_watch {
    PAWLI_WATCH_NONE,  /* it is busy, and will look by itself */
    PAWLI_WATCH_NEWS,  /* in pawli_hand_wait() */
    PAWLI_WATCH_WAITER /* asleep until something is sent */
} pawli_watch;

typedef struct pawli_hand {
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t work;  /* for the crew */
    pthread_cond_t news;  /* for the intake */
    pawl_task *all;
    pawli_index index;
    size_t count;
    pawli_line queue;
    pawli_line finished;
    size_t running;
    size_t idle; /* crew threads that wait */
    bool waking; /* one of them is on its way */
    bool closed; /* the crew goes home */
    bool poked;  /* the intake must look at the world again */
    pawli_watch watch;
    size_t low;           /* what pawli_hand_wait() waits for */
    pawli_waiter *waiter; /* NULL: step by step */
    int64_t handler_us;   /* how long handlers take, on the average of late; -1: not known */
    int keeper_fd;        /* an eventfd that wakes the keeper; -1: there is none */
    pawl_mono keeper_at;  /* when it looks next by itself */
} pawli_hand;

void pawli_hand_init(pawli_hand *hand);
void pawli_hand_done(pawli_hand *hand);
/*
 * Begin to run: the crew may come. Whatever was there is forgotten, as if it had never been
 * claimed; how much that was.
 */
size_t pawli_hand_open(pawli_hand *hand, pawli_waiter *waiter);

/* ---- the intake ---- */

/* Whether this very claim of the message is in hand. */
bool pawli_hand_knows(pawli_hand *hand, pawl_held held);
/* Queue the tasks of a batch; those without a handler are finished at once. */
void pawli_hand_add(pawli_hand *hand, pawli_batch *batch, size_t count);
/* All that is finished, linked by `line`, now being told. */
pawl_task *pawli_hand_collect(pawli_hand *hand);
/* The answers in this list could not be given: keep their leases. They stay the caller's. */
void pawli_hand_retain(pawli_hand *hand, pawl_task *list);
/* Ready to tell them again. */
void pawli_hand_retell(pawli_hand *hand, pawl_task *list);
/* The database knows: forget those of the list. */
void pawli_hand_settle(pawli_hand *hand, pawl_task *list);
/*
 * Wait until at most `low` messages are queued or running, or nothing else to be told has come for
 * a moment after something had, or somebody pokes, or the deadline.
 */
void pawli_hand_wait(pawli_hand *hand, size_t low, pawl_mono deadline);
/* Wait until something is finished, or somebody pokes, or the deadline. */
void pawli_hand_rest(pawli_hand *hand, pawl_mono deadline);
/* About to wait in the waiter, which is nudged for news from now on; false: there are some. */
bool pawli_hand_doze(pawli_hand *hand);
void pawli_hand_rouse(pawli_hand *hand);
/* Any thread: end the intake's wait, of whichever kind, or the next one. */
void pawli_hand_poke(pawli_hand *hand);

/* ---- stopping ---- */

/* What is queued becomes finished, to be released. */
void pawli_hand_empty_queue(pawli_hand *hand);
/* Tell all running handlers to end. */
void pawli_hand_cancel_running(pawli_hand *hand);
/*
 * What still runs, dead letters or others, is given back: *ret_items has room for
 * pawli_hand_running() items, and whatever their handlers answer is dropped. How many there were.
 */
size_t pawli_hand_disown_running(pawli_hand *hand, bool dead, pawl_held *ret_items, size_t room);
size_t pawli_hand_running(pawli_hand *hand);
/* Threads that wait for work end. */
void pawli_hand_close(pawli_hand *hand);

/* ---- the crew ---- */

/* Hand in `finished` (NULL: none) and take the next; NULL when it is closed. */
pawl_task *pawli_hand_next(pawli_hand *hand, pawl_task *finished);
/* Step by step: take the next without waiting; NULL when there is nothing. And hand it in. */
pawl_task *pawli_hand_try_next(pawli_hand *hand, pawl_mono now);
void pawli_hand_in(pawli_hand *hand, pawl_task *finished, pawl_mono now);

/* ---- the keeper; with the lock held ---- */

/* It is somebody else's: the handler is told, the result will be dropped. */
void pawli_hand_lose(pawli_hand *hand, pawl_task *task);
/* The handler's time is up. */
void pawli_hand_time_out(pawl_task *task);
/* Let go of a task that was pinned. */
void pawli_hand_unpin(pawl_task *task);

#endif
