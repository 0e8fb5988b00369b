/* src/worker/observer.c - telling the application's observer what becomes of messages. */
#include "observer.h"

#include <pawl/outbox.h>

#include "worker_private.h"

static void observer_say(pawl_worker *worker, const pawl_task *task, pawl_outcome outcome)
{
    const pawl_observer *observer = &worker->options.observer;
    pawl_message_result what = {
        .message = task->message,
        .outcome = outcome,
        .dead = task->dead,
        .attempt = pawl_task_attempt(task),
        .error = task->error,
        .took_us = task->took_us,
    };

    observer->settled(observer->context, &what);
}

static pawl_outcome observer_answered(const pawl_task *task)
{
    switch (pawli_task_answer(task)) {
    case PAWLI_ANSWER_ACK:
        return PAWL_OUTCOME_DONE;
    case PAWLI_ANSWER_ABANDON:
        return PAWL_OUTCOME_RETRIED;
    case PAWLI_ANSWER_FAIL: /* a dead letter is called for until it is done */
        return task->dead ? PAWL_OUTCOME_RETRIED : PAWL_OUTCOME_FAILED;
    case PAWLI_ANSWER_RELEASE:
        return PAWL_OUTCOME_RELEASED;
    default:
        return PAWL_OUTCOME_LOST;
    }
}

static bool observer_fits(pawl_outcome outcome, pawl_state state)
{
    switch (outcome) {
    case PAWL_OUTCOME_DONE:
        return state == PAWL_STATE_DONE;
    case PAWL_OUTCOME_FAILED:
        return state == PAWL_STATE_FAILED;
    case PAWL_OUTCOME_RETRIED:
        return state == PAWL_STATE_READY || state == PAWL_STATE_FAILED;
    default:
        return state == PAWL_STATE_READY;
    }
}

/* The store said how many answers came too late, not which: look. */
static pawl_outcome find_out(pawl_worker *worker, const pawl_task *task)
{
    pawl_outcome outcome = observer_answered(task);
    pawl_messages *one = NULL;

    if (task->dead || pawl_outbox_get(worker->store, task->receipt.id, &one, NULL) != PAWL_OK)
        return outcome;
    if (!observer_fits(outcome, pawl_message_state(pawl_messages_at(one, 0))))
        outcome = PAWL_OUTCOME_LOST;
    pawl_messages_free(one);
    return outcome;
}

void pawli_observe_stored(pawl_worker *worker, const pawl_task *list, size_t count, size_t lost)
{
    if (!worker->options.observer.settled)
        return;
    for (const pawl_task *task = list; task; task = task->next_in_line) {
        if (lost == 0)
            observer_say(worker, task, observer_answered(task));
        else if (lost >= count)
            observer_say(worker, task, PAWL_OUTCOME_LOST);
        else
            observer_say(worker, task, find_out(worker, task));
    }
}

void pawli_observe_dropped(pawl_worker *worker, const pawl_task *task)
{
    if (!worker->options.observer.settled)
        return;
    if (pawli_task_acknowledged(task))
        observer_say(worker, task, PAWL_OUTCOME_DONE);
    else
        observer_say(worker, task, task->disowned ? PAWL_OUTCOME_RELEASED : PAWL_OUTCOME_LOST);
}

void pawli_observe_store(pawl_worker *worker, const pawl_error *err)
{
    const pawl_observer *observer = &worker->options.observer;

    if (observer->store)
        observer->store(observer->context, err);
}
