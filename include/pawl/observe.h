/* include/pawl/observe.h - observing the results of the messages that a worker claims. */
#ifndef PAWL_OBSERVE_H
#define PAWL_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/message.h>
#include <pawl/result.h>

PAWL_BEGIN_DECLS

/* The result of a message that a worker had claimed. */
/* As an observer gets it. Owned by the library; members are added only at the end. */
typedef struct pawl_message_result {
    const pawl_message *message; /* borrowed until the call returns */
    /* As stored: PAWL_RELEASE for a handler that was cancelled by the shutdown, PAWL_RETRY for each
     * failed call of a dead-letter handler, PAWL_LOST if it was not stored. With PAWL_RETRY at the
     * last attempt the message has failed. */
    pawl_result result;
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
    void (*message)(void *context, const pawl_message_result *what);
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
