/* src/worker/task.h - one message in the worker's hands, from its claim to its answer. */
#ifndef PAWLI_TASK_H
#define PAWLI_TASK_H

#include <stdatomic.h>

#include <pawl/queue.h>
#include <pawl/worker.h>

#include "handlers.h"
#include "output.h"

/*
 * queued -> running -> finished -> telling -> gone; a task that was lost while queued goes from
 * there to finished, one whose answer failed from telling back to finished.
 */
typedef enum pawli_phase {
    PAWLI_PHASE_QUEUED,   /* waits for a thread */
    PAWLI_PHASE_RUNNING,  /* its handler runs */
    PAWLI_PHASE_FINISHED, /* there is an answer, which nobody was told yet */
    PAWLI_PHASE_TELLING   /* the database is being told */
} pawli_phase;

/* What the database is told in the end. */
typedef enum pawli_answer {
    PAWLI_ANSWER_ACK,
    PAWLI_ANSWER_ABANDON,
    PAWLI_ANSWER_FAIL,
    PAWLI_ANSWER_RELEASE,
    PAWLI_ANSWER_NONE /* it is somebody else's now */
} pawli_answer;

/* Why a handler should end; the first reason stays, except that a loss outdoes all others. */
typedef enum pawli_cause {
    PAWLI_CAUSE_NONE,
    PAWLI_CAUSE_TIMEOUT, /* the handler's own limit */
    PAWLI_CAUSE_STOP,    /* the worker stops */
    PAWLI_CAUSE_LOST     /* renewing said so, or could not be done in time */
} pawli_cause;

/* The messages of one claim and their tasks; freed with the last of them. */
typedef struct pawli_batch {
    pawl_messages *list;
    size_t users; /* guarded by the hand's lock */
    pawl_task *tasks;
    struct pawli_batch *next; /* while several are freed */
} pawli_batch;

struct pawl_task {
    pawl_worker *worker;
    pawli_batch *batch;
    const pawl_message *message;
    pawli_handler *handler; /* NULL: there is none */
    pawl_held held;
    bool dead;          /* a dead letter's call */
    int64_t timeout_us; /* of the call: the message's, or the handler's; 0: none */
    bool doubt;         /* an answer may have arrived although it failed; the intake's */
    atomic_bool cancelled;
    int64_t took_us; /* the handler's call; 0: there was none. Set when it has finished */

    /* The handler's thread's, until it has finished: */
    pawl_verdict verdict;
    bool effect; /* pawl_task_begin() was called: it may have acknowledged itself */
    char *error;
    pawli_output output;
    int64_t delay_ms; /* or PAWL_DELAY_BY_POLICY */

    /* Guarded by the hand's lock: */
    pawli_phase phase;
    pawli_cause cause;
    int cancel_fd; /* an eventfd, for who asked for it; -1: none. Changed by the handler's thread */
    bool disowned; /* given back while its handler runs */
    bool twin;     /* an earlier claim of the same message was in hand when it came */
    int64_t lease_us;
    pawl_mono renew_at;
    pawl_mono deadline; /* by our own clock: lost if not renewed by then */
    int failures;       /* renewals that failed in a row */
    pawl_mono started;
    int pins;                   /* the keeper is busy with it */
    bool gone;                  /* settled meanwhile: freed by the keeper */
    pawl_task *previous, *next; /* all that are in hand */
    pawl_task *same_bucket;     /* of the index */
    pawl_task *line;            /* behind it in the queue, or among the finished */
};

static inline bool pawli_task_lost(const pawl_task *task)
{
    return task->cause == PAWLI_CAUSE_LOST;
}

/* Who opened a transaction and answers "done" has acknowledged the message himself. */
static inline bool pawli_task_acknowledged(const pawl_task *task)
{
    return task->effect && task->verdict == PAWL_DONE;
}

/* Call the handler. No lock is held. */
void pawli_task_run(pawl_task *task);
/* What its end means. With the hand's lock held, or when nobody else can see it. */
pawli_answer pawli_task_answer(const pawl_task *task);
/* "no handler", without calling anything. */
void pawli_task_refuse(pawl_task *task);

#endif
