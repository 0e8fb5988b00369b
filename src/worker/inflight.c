/* src/worker/inflight.c - tasks in flight: claimed messages whose result is not stored yet. */
#include "inflight.h"

#include <stdlib.h>
#include <sys/eventfd.h>

#include "cond.h"
#include "platform.h"

/* How long a result waits for others while handlers are busy. */
#define GATHER_US INT64_C(5000)

void pawli_inflight_init(pawli_inflight *inflight)
{
    *inflight = (pawli_inflight){.handler_us = -1, .renewer_fd = -1, .renewer_at = {INT64_MAX}};
    pthread_mutex_init(&inflight->lock, NULL);
    pawli_cond_init(&inflight->work);
    pawli_cond_init(&inflight->finished_signal);
}

static void free_batch(pawli_batch *batch)
{
    if (!batch)
        return;
    pawl_messages_free(batch->list);
    free(batch->tasks);
    free(batch);
}

/* Call it with the lock held; the caller frees the returned batch without the lock. NULL: the
 * batch is still in use. */
static pawli_batch *inflight_forget(pawli_inflight *inflight, pawl_task *task)
{
    if (task->previous)
        task->previous->next = task->next;
    else
        inflight->all = task->next;
    if (task->next)
        task->next->previous = task->previous;
    pawli_task_index_remove(&inflight->index, task);
    inflight->count--;
    free(task->error);
    task->error = NULL;
    pawli_output_done(&task->output);
    task->gone = true;
    return task->pins == 0 && --task->batch->users == 0 ? task->batch : NULL;
}

static size_t inflight_clear(pawli_inflight *inflight)
{
    size_t count = inflight->count;

    for (pawl_task *task = inflight->all; task; task = task->next)
        if (task->handler)
            task->handler->in_flight = task->handler->running = 0;
    while (inflight->all)
        free_batch(inflight_forget(inflight, inflight->all));
    inflight->queue = inflight->finished = (pawli_task_queue){0};
    inflight->running = 0;
    return count;
}

size_t pawli_inflight_open(pawli_inflight *inflight, pawli_waiter *waiter)
{
    pthread_mutex_lock(&inflight->lock);
    size_t count = inflight_clear(inflight);
    inflight->waiter = waiter;
    inflight->closed = inflight->woken = false;
    pthread_mutex_unlock(&inflight->lock);
    return count;
}

void pawli_inflight_done(pawli_inflight *inflight)
{
    (void)inflight_clear(inflight);
    pthread_cond_destroy(&inflight->work);
    pthread_cond_destroy(&inflight->finished_signal);
    pthread_mutex_destroy(&inflight->lock);
}

/* ---- queues ---- */

static void inflight_append(pawli_task_queue *next_in_line, pawl_task *task)
{
    task->next_in_line = NULL;
    if (next_in_line->last)
        next_in_line->last->next_in_line = task;
    else
        next_in_line->first = task;
    next_in_line->last = task;
    next_in_line->count++;
}

static void inflight_take_out(pawli_task_queue *next_in_line, pawl_task *before, pawl_task *task)
{
    if (before)
        before->next_in_line = task->next_in_line;
    else
        next_in_line->first = task->next_in_line;
    if (next_in_line->last == task)
        next_in_line->last = before;
    next_in_line->count--;
}

/* ---- waking the claim loop; with the lock held ---- */

static size_t inflight_unfinished(const pawli_inflight *inflight)
{
    return inflight->queue.count + inflight->running;
}

static void wake_claim_loop(pawli_inflight *inflight)
{
    if (inflight->watch == PAWLI_WAIT_WAITER) {
        inflight->watch = PAWLI_WAIT_NONE;
        pawli_waiter_wake(inflight->waiter);
    } else if (inflight->watch == PAWLI_WAIT_FINISHED &&
               (inflight->woken || inflight_unfinished(inflight) <= inflight->low ||
                inflight->finished.count == 1)) {
        pthread_cond_signal(&inflight->finished_signal);
    }
}

static void inflight_finish(pawli_inflight *inflight, pawl_task *task)
{
    task->phase = PAWLI_PHASE_FINISHED;
    inflight_append(&inflight->finished, task);
    wake_claim_loop(inflight);
}

/* ---- the claim loop ---- */

bool pawli_inflight_contains(pawli_inflight *inflight, pawl_receipt receipt)
{
    pawl_task *task = NULL;

    pthread_mutex_lock(&inflight->lock);
    do {
        task = pawli_task_index_next(&inflight->index, receipt.id, task);
    } while (task && task->receipt.fence != receipt.fence);
    pthread_mutex_unlock(&inflight->lock);
    return task != NULL;
}

static void add_one(pawli_inflight *inflight, pawl_task *task)
{
    task->twin = pawli_task_index_next(&inflight->index, task->receipt.id, NULL) != NULL;
    pawli_task_index_add(&inflight->index, task);
    task->previous = NULL;
    task->next = inflight->all;
    if (inflight->all)
        inflight->all->previous = task;
    inflight->all = task;
    inflight->count++;
    if (!task->handler) {
        inflight_finish(inflight, task);
        return;
    }
    task->phase = PAWLI_PHASE_QUEUED;
    task->handler->in_flight++;
    inflight_append(&inflight->queue, task);
}

/*
 * Wakes one handler thread, which wakes the next if there is more work. Call it with the lock
 * held; it unlocks first, because the woken thread needs the lock at once.
 */
static void unlock_and_wake_handler(pawli_inflight *inflight)
{
    bool wake = inflight->queue.count > 0 && inflight->idle > 0 && !inflight->waking;

    inflight->waking |= wake;
    pthread_mutex_unlock(&inflight->lock);
    if (wake)
        pthread_cond_signal(&inflight->work);
}

static void wake_renewer(pawli_inflight *inflight, pawl_mono by)
{
    if (by.us >= inflight->renewer_at.us || inflight->renewer_fd < 0)
        return;
    inflight->renewer_at = by;
    (void)eventfd_write(inflight->renewer_fd, 1);
}

void pawli_inflight_add(pawli_inflight *inflight, pawli_batch *batch, size_t count)
{
    pthread_mutex_lock(&inflight->lock);
    for (size_t i = 0; i < count; i++) {
        add_one(inflight, &batch->tasks[i]);
        wake_renewer(inflight, batch->tasks[i].renew_at);
    }
    unlock_and_wake_handler(inflight);
}

pawl_task *pawli_inflight_collect(pawli_inflight *inflight)
{
    pthread_mutex_lock(&inflight->lock);
    pawl_task *list = inflight->finished.first;
    inflight->finished = (pawli_task_queue){0};
    for (pawl_task *task = list; task; task = task->next_in_line)
        task->phase = PAWLI_PHASE_STORING;
    pthread_mutex_unlock(&inflight->lock);
    return list;
}

static void set_phase(pawli_inflight *inflight, pawl_task *list, pawli_phase phase)
{
    pthread_mutex_lock(&inflight->lock);
    for (pawl_task *task = list; task; task = task->next_in_line) {
        task->phase = phase;
        if (phase == PAWLI_PHASE_FINISHED)
            wake_renewer(inflight, task->renew_at);
    }
    pthread_mutex_unlock(&inflight->lock);
}

void pawli_inflight_keep_results(pawli_inflight *inflight, pawl_task *list)
{
    set_phase(inflight, list, PAWLI_PHASE_FINISHED);
}

void pawli_inflight_store_again(pawli_inflight *inflight, pawl_task *list)
{
    set_phase(inflight, list, PAWLI_PHASE_STORING);
}

void pawli_inflight_remove_stored(pawli_inflight *inflight, pawl_task *list)
{
    pawli_batch *unused = NULL;

    pthread_mutex_lock(&inflight->lock);
    for (pawl_task *next; list; list = next) {
        next = list->next_in_line;
        pawli_batch *batch = inflight_forget(inflight, list);
        if (batch) {
            batch->next = unused;
            unused = batch;
        }
    }
    pthread_mutex_unlock(&inflight->lock);
    for (pawli_batch *next; unused; unused = next) {
        next = unused->next;
        free_batch(unused);
    }
}

void pawli_inflight_wait(pawli_inflight *inflight, size_t low, pawl_mono deadline)
{
    bool gathering = false;

    pthread_mutex_lock(&inflight->lock);
    inflight->low = low;
    inflight->watch = PAWLI_WAIT_FINISHED;
    while (!inflight->woken && inflight_unfinished(inflight) > low &&
           !pawli_mono_passed(deadline)) {
        if (inflight->finished.count > 0 && !gathering) {
            pawl_mono soon = pawli_mono_after(pawli_mono_now(), GATHER_US);
            deadline = soon.us < deadline.us ? soon : deadline;
            gathering = true;
        }
        pawli_cond_wait_until(&inflight->finished_signal, &inflight->lock, deadline);
    }
    inflight->watch = PAWLI_WAIT_NONE;
    inflight->woken = false;
    pthread_mutex_unlock(&inflight->lock);
}

void pawli_inflight_wait_finished(pawli_inflight *inflight, pawl_mono deadline)
{
    pthread_mutex_lock(&inflight->lock);
    inflight->watch = PAWLI_WAIT_FINISHED;
    while (!inflight->woken && inflight->finished.count == 0 && !pawli_mono_passed(deadline))
        pawli_cond_wait_until(&inflight->finished_signal, &inflight->lock, deadline);
    inflight->watch = PAWLI_WAIT_NONE;
    inflight->woken = false;
    pthread_mutex_unlock(&inflight->lock);
}

bool pawli_inflight_announce_wait(pawli_inflight *inflight)
{
    pthread_mutex_lock(&inflight->lock);
    bool quiet = !inflight->woken && inflight->finished.count == 0;
    if (quiet)
        inflight->watch = PAWLI_WAIT_WAITER;
    inflight->woken = false;
    pthread_mutex_unlock(&inflight->lock);
    return quiet;
}

void pawli_inflight_end_wait(pawli_inflight *inflight)
{
    pthread_mutex_lock(&inflight->lock);
    inflight->watch = PAWLI_WAIT_NONE;
    pthread_mutex_unlock(&inflight->lock);
}

void pawli_inflight_wake(pawli_inflight *inflight)
{
    pthread_mutex_lock(&inflight->lock);
    inflight->woken = true;
    wake_claim_loop(inflight);
    pthread_mutex_unlock(&inflight->lock);
}

/* ---- stopping ---- */

/* A stronger cause is never replaced by a weaker one. With the lock held. */
static void inflight_cancel(pawl_task *task, pawli_cause cause)
{
    if (task->cause < cause)
        task->cause = cause;
    atomic_store(&task->cancelled, true);
    if (task->cancel_fd >= 0)
        (void)eventfd_write(task->cancel_fd, 1);
}

void pawli_inflight_empty_queue(pawli_inflight *inflight)
{
    pthread_mutex_lock(&inflight->lock);
    while (inflight->queue.first) {
        pawl_task *task = inflight->queue.first;
        inflight_take_out(&inflight->queue, NULL, task);
        task->handler->in_flight--;
        task->result = PAWL_RETRY;
        inflight_cancel(task, PAWLI_CAUSE_STOP);
        inflight_finish(inflight, task);
    }
    pthread_mutex_unlock(&inflight->lock);
}

void pawli_inflight_cancel_running(pawli_inflight *inflight)
{
    pthread_mutex_lock(&inflight->lock);
    for (pawl_task *task = inflight->all; task; task = task->next)
        if (task->phase == PAWLI_PHASE_RUNNING)
            inflight_cancel(task, PAWLI_CAUSE_STOP);
    pthread_mutex_unlock(&inflight->lock);
}

size_t pawli_inflight_disown_running(pawli_inflight *inflight, bool dead, pawl_receipt *ret_items,
                                     size_t room)
{
    size_t count = 0;

    pthread_mutex_lock(&inflight->lock);
    for (pawl_task *task = inflight->all; task && count < room; task = task->next) {
        if (task->phase != PAWLI_PHASE_RUNNING || pawli_task_lost(task) || task->dead != dead)
            continue;
        inflight_cancel(task, PAWLI_CAUSE_LOST);
        task->disowned = true;
        ret_items[count++] = task->receipt;
    }
    pthread_mutex_unlock(&inflight->lock);
    return count;
}

size_t pawli_inflight_running(pawli_inflight *inflight)
{
    pthread_mutex_lock(&inflight->lock);
    size_t running = inflight->running;
    pthread_mutex_unlock(&inflight->lock);
    return running;
}

void pawli_inflight_close(pawli_inflight *inflight)
{
    pthread_mutex_lock(&inflight->lock);
    inflight->closed = true;
    pthread_cond_broadcast(&inflight->work);
    pthread_mutex_unlock(&inflight->lock);
}

/* ---- handler threads; with the lock held ---- */

static bool twin_runs(const pawli_inflight *inflight, const pawl_task *task)
{
    const pawl_task *other = NULL;

    do {
        other = pawli_task_index_next(&inflight->index, task->receipt.id, other);
    } while (other && other->phase != PAWLI_PHASE_RUNNING);
    return other != NULL;
}

static bool may_run(const pawli_inflight *inflight, const pawl_task *task)
{
    const pawli_handler *handler = task->handler;

    if (handler->limit > 0 && handler->running >= handler->limit)
        return false;
    return !task->twin || !twin_runs(inflight, task);
}

static pawl_task *start_next(pawli_inflight *inflight, pawl_mono now)
{
    pawl_task *before = NULL;

    for (pawl_task *task = inflight->queue.first; task; before = task, task = task->next_in_line) {
        if (!may_run(inflight, task))
            continue;
        inflight_take_out(&inflight->queue, before, task);
        task->phase = PAWLI_PHASE_RUNNING;
        task->started = now;
        task->handler->running++;
        inflight->running++;
        if (task->timeout_us > 0)
            wake_renewer(inflight, pawli_mono_after(now, task->timeout_us));
        return task;
    }
    return NULL;
}

static void return_finished(pawli_inflight *inflight, pawl_task *task, pawl_mono now)
{
    int64_t took_us = now.us - task->started.us;

    task->took_us = took_us;
    inflight->handler_us = inflight->handler_us < 0
                               ? took_us
                               : inflight->handler_us + (took_us - inflight->handler_us) / 8;
    task->handler->running--;
    task->handler->in_flight--;
    inflight->running--;
    inflight_finish(inflight, task);
}

pawl_task *pawli_inflight_next(pawli_inflight *inflight, pawl_task *finished)
{
    pawl_mono now = pawli_mono_now();
    pawl_task *task = NULL;

    pthread_mutex_lock(&inflight->lock);
    if (finished)
        return_finished(inflight, finished, now);
    while (!inflight->closed) {
        task = start_next(inflight, now);
        if (task)
            break;
        inflight->idle++;
        pthread_cond_wait(&inflight->work, &inflight->lock);
        inflight->idle--;
        inflight->waking = false;
        now = pawli_mono_now();
    }
    unlock_and_wake_handler(inflight);
    return task;
}

pawl_task *pawli_inflight_try_next(pawli_inflight *inflight, pawl_mono now)
{
    pthread_mutex_lock(&inflight->lock);
    pawl_task *task = start_next(inflight, now);
    pthread_mutex_unlock(&inflight->lock);
    return task;
}

void pawli_inflight_finish(pawli_inflight *inflight, pawl_task *finished, pawl_mono now)
{
    pthread_mutex_lock(&inflight->lock);
    return_finished(inflight, finished, now);
    pthread_mutex_unlock(&inflight->lock);
}

/* ---- the lease renewer; with the lock held ---- */

void pawli_inflight_lose(pawli_inflight *inflight, pawl_task *task)
{
    pawl_task *before = NULL;

    inflight_cancel(task, PAWLI_CAUSE_LOST);
    if (task->phase != PAWLI_PHASE_QUEUED)
        return;
    for (pawl_task *at = inflight->queue.first; at && at != task; at = at->next_in_line)
        before = at;
    inflight_take_out(&inflight->queue, before, task);
    task->handler->in_flight--;
    inflight_finish(inflight, task);
}

void pawli_inflight_time_out(pawl_task *task)
{
    inflight_cancel(task, PAWLI_CAUSE_TIMEOUT);
}

void pawli_inflight_unpin(pawl_task *task)
{
    if (--task->pins == 0 && task->gone && --task->batch->users == 0)
        free_batch(task->batch);
}
