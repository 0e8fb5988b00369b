/* src/worker/task.h - a task: one claimed message, from its claim until its result is stored. */
#ifndef PAWLI_TASK_H
#define PAWLI_TASK_H

#include <stdatomic.h>

#include <pawl/queue.h>
#include <pawl/worker.h>

#include "handlers.h"
#include "output.h"

/*
 * queued -> running -> finished -> storing -> freed. A task that is lost while queued goes
 * directly to finished; a task whose result could not be stored goes from storing back to
 * finished.
 */
typedef enum pawli_phase {
    PAWLI_PHASE_QUEUED,   /* waits for a thread */
    PAWLI_PHASE_RUNNING,  /* its handler is running */
    PAWLI_PHASE_FINISHED, /* there is a result that is not stored yet */
    PAWLI_PHASE_STORING   /* the result is being stored */
} pawli_phase;

/*
 * Why a handler is cancelled. The first cause stays, except that a lost lease overrides all others.
 */
typedef enum pawli_cause {
    PAWLI_CAUSE_NONE,
    PAWLI_CAUSE_TIMEOUT, /* the handler's timeout */
    PAWLI_CAUSE_STOP,    /* the worker is shutting down */
    PAWLI_CAUSE_LOST     /* a renewal was rejected, or was not possible in time */
} pawli_cause;

/* The messages of one claim and their tasks; freed with the last of them. */
typedef struct pawli_batch {
    pawl_messages *list;
    size_t users; /* guarded by the lock of pawli_inflight */
    pawl_task *tasks;
    struct pawli_batch *next; /* while several are freed */
} pawli_batch;

struct pawl_task {
    pawl_worker *worker;
    pawli_batch *batch;
    const pawl_message *message;
    pawli_handler *handler; /* NULL: there is none */
    pawl_receipt receipt;
    bool dead;          /* a call of a dead-letter handler */
    int64_t timeout_us; /* of the call: the message's or the handler's; 0: none */
    bool doubt; /* the result may have been stored although the call failed; claim loop only */
    atomic_bool cancelled;
    int64_t took_us; /* duration of the handler's call; 0: not called. Set when it has finished */

    /* Owned by the handler's thread until it has finished: */
    pawl_result result;
    bool effect; /* pawl_task_begin() was called: the handler may have acknowledged the message */
    char *error;
    pawli_output output;
    int64_t delay_ms; /* or PAWL_DELAY_BY_POLICY */

    /* Guarded by the lock of pawli_inflight: */
    pawli_phase phase;
    pawli_cause cause;
    int cancel_fd; /* an eventfd, created on request; -1: none. Changed by the handler's thread */
    bool disowned; /* released while its handler runs */
    bool twin;     /* an earlier claim of the same message was in flight when it was claimed */
    int64_t lease_us;
    pawl_mono renew_at;
    pawl_mono deadline; /* local clock: lost if not renewed by then */
    int failures;       /* consecutive failed renewals */
    pawl_mono started;
    int pins;                   /* in use by the lease renewer */
    bool gone;                  /* ended meanwhile: the lease renewer frees it */
    pawl_task *previous, *next; /* all tasks in flight */
    pawl_task *same_bucket;     /* of the index */
    pawl_task *next_in_line;    /* the next one in the queue, or among the finished */
};

static inline bool pawli_task_lost(const pawl_task *task)
{
    return task->cause == PAWLI_CAUSE_LOST;
}

/* A handler that began a transaction and returns PAWL_DONE has acknowledged the message itself. */
static inline bool pawli_task_acknowledged(const pawl_task *task)
{
    return task->effect && task->result == PAWL_DONE;
}

/* Calls the handler. No lock is held. */
void pawli_task_run(pawl_task *task);
/*
 * The result to store: the handler's, except that a retry during the shutdown is a release, and
 * that the result of a lost task is lost. With the lock of pawli_inflight held, or when no other
 * thread can access the task.
 */
pawl_result pawli_task_result(const pawl_task *task);
/* Finishes the task with "no handler" without calling anything. */
void pawli_task_refuse(pawl_task *task);

#endif
