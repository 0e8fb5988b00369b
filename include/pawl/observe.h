/* include/pawl/observe.h - hearing what becomes of the messages that a worker takes. */
#ifndef PAWL_OBSERVE_H
#define PAWL_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/message.h>

PAWL_BEGIN_DECLS

/* What became of a message that a worker had claimed. */
typedef enum pawl_outcome {
    PAWL_OUTCOME_DONE = 0,
    PAWL_OUTCOME_RETRIED = 1,  /* put off; where it was the last attempt, it has failed */
    PAWL_OUTCOME_FAILED = 2,   /* a dead letter */
    PAWL_OUTCOME_RELEASED = 3, /* given back, the attempt not counted */
    PAWL_OUTCOME_LOST = 4      /* the result was dropped: cancelled by somebody, overtaken, or the
                                  store could not be told before the worker ended */
} pawl_outcome;

typedef struct pawl_settled {
    const pawl_message *message; /* borrowed until the call returns */
    pawl_outcome outcome;
    bool dead;         /* it was a dead letter's call */
    int attempt;       /* as pawl_task_attempt() */
    const char *error; /* what the handler explained; NULL: nothing. Borrowed */
    int64_t took_us;   /* the handler's call; 0: there was none */
} pawl_settled;

/*
 * Who wants to know. Each function may be NULL. They are called by the thread that is in
 * pawl_worker_run() or pawl_worker_step(), one at a time, with no lock held and no transaction
 * open; nothing is claimed and nothing answered before they return, so they should do so soon. They
 * must not call the worker, except pawl_worker_stop() and pawl_worker_read_stats().
 */
typedef struct pawl_observer {
    void *context;
    /* One message is settled: the answer is stored, or it is known that it will not be. Once per
     * claim. */
    void (*settled)(void *context, const pawl_settled *what);
    /* pawl_worker_run() only. The store has failed with *err and is tried again until it answers;
     * and, with NULL, that it does. By turns. */
    void (*store)(void *context, const pawl_error *err);
} pawl_observer;
#define PAWL_OBSERVER_INIT                                                                         \
    {                                                                                              \
        NULL, NULL, NULL                                                                           \
    }

PAWL_END_DECLS

#endif
