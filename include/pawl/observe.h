/* include/pawl/observe.h - observing the results of the messages that a worker claims. */
#ifndef PAWL_OBSERVE_H
#define PAWL_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/message.h>

PAWL_BEGIN_DECLS

/* The result of a message that a worker had claimed. */
typedef enum pawl_outcome {
    PAWL_OUTCOME_DONE = 0,
    PAWL_OUTCOME_RETRIED = 1,  /* to be retried; if it was the last attempt, failed */
    PAWL_OUTCOME_FAILED = 2,   /* a dead letter */
    PAWL_OUTCOME_RELEASED = 3, /* ready again, the attempt not counted */
    /* The result was discarded: the message was cancelled, is owned by another worker, or the
     * result could not be stored before the worker ended. */
    PAWL_OUTCOME_LOST = 4
} pawl_outcome;

/* The result of one message, as an observer gets it. Owned by the library; members are added only
 * at the end. */
typedef struct pawl_message_result {
    const pawl_message *message; /* borrowed until the call returns */
    pawl_outcome outcome;
    bool dead;         /* it was a call of a dead-letter handler */
    int attempt;       /* as pawl_task_attempt() */
    const char *error; /* the error text of the handler; NULL: none. Borrowed */
    int64_t took_us;   /* duration of the handler's call; 0: there was none */
} pawl_message_result;

/*
 * The observer's callbacks. Each may be NULL. They are called by the thread that is in
 * pawl_worker_run() or pawl_worker_step(), one at a time, with no lock held and no transaction
 * open. Nothing is claimed and no result is stored until they return, so they should return soon.
 * They must not call the worker, except pawl_worker_request_stop() and pawl_worker_get_stats().
 * The struct is fixed: it will not get further members.
 */
typedef struct pawl_observer {
    void *context;
    /* A message has ended for this worker: its result is stored, or is known to be discarded.
     * Called once per claim. */
    void (*settled)(void *context, const pawl_message_result *what);
    /* pawl_worker_run() only. Called with *err when the store fails, which is then retried until it
     * responds, and with NULL when it responds again. The two calls alternate. */
    void (*store)(void *context, const pawl_error *err);
} pawl_observer;
#define PAWL_OBSERVER_INIT                                                                         \
    {                                                                                              \
        NULL, NULL, NULL                                                                           \
    }

PAWL_END_DECLS

#endif
