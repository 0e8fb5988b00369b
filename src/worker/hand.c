/* src/worker/hand.c - everything the worker has claimed and not answered yet. */
#include "hand.h"

#include <stdlib.h>
#include <sys/eventfd.h>

#include "cond.h"
#include "world.h"

/* How long an answer waits for others while there is enough to do. */
#define GATHER_US INT64_C(5000)

void pawli_hand_init(pawli_hand *hand)
{
    *hand = (pawli_hand){.handler_us = -1, .keeper_fd = -1, .keeper_at = {INT64_MAX}};
    pthread_mutex_init(&hand->lock, NULL);
    pawli_cond_init(&hand->work);
    pawli_cond_init(&hand->news);
}

static void free_batch(pawli_batch *batch)
{
    if (!batch)
        return;
    pawl_messages_free(batch->list);
    free(batch->tasks);
    free(batch);
}

/* Called with the lock held; what it answers is freed without it. NULL: somebody needs it yet. */
static pawli_batch *forget(pawli_hand *hand, pawl_task *task)
{
    if (task->previous)
        task->previous->next = task->next;
    else
        hand->all = task->next;
    if (task->next)
        task->next->previous = task->previous;
    pawli_index_remove(&hand->index, task);
    hand->count--;
    free(task->error);
    task->error = NULL;
    pawli_output_done(&task->output);
    task->gone = true;
    return task->pins == 0 && --task->batch->users == 0 ? task->batch : NULL;
}

static size_t clear(pawli_hand *hand)
{
    size_t count = hand->count;

    for (pawl_task *task = hand->all; task; task = task->next)
        if (task->handler)
            task->handler->in_hand = task->handler->running = 0;
    while (hand->all)
        free_batch(forget(hand, hand->all));
    hand->queue = hand->finished = (pawli_line){0};
    hand->running = 0;
    return count;
}

size_t pawli_hand_open(pawli_hand *hand, pawli_waiter *waiter)
{
    pthread_mutex_lock(&hand->lock);
    size_t count = clear(hand);
    hand->waiter = waiter;
    hand->closed = hand->poked = false;
    pthread_mutex_unlock(&hand->lock);
    return count;
}

void pawli_hand_done(pawli_hand *hand)
{
    (void)clear(hand);
    pthread_cond_destroy(&hand->work);
    pthread_cond_destroy(&hand->news);
    pthread_mutex_destroy(&hand->lock);
}

/* ---- lines ---- */

static void append(pawli_line *line, pawl_task *task)
{
    task->line = NULL;
    if (line->last)
        line->last->line = task;
    else
        line->first = task;
    line->last = task;
    line->count++;
}

static void take_out(pawli_line *line, pawl_task *before, pawl_task *task)
{
    if (before)
        before->line = task->line;
    else
        line->first = task->line;
    if (line->last == task)
        line->last = before;
    line->count--;
}

/* ---- telling the intake; with the lock held ---- */

static size_t unfinished(const pawli_hand *hand)
{
    return hand->queue.count + hand->running;
}

static void tell_intake(pawli_hand *hand)
{
    if (hand->watch == PAWLI_WATCH_WAITER) {
        hand->watch = PAWLI_WATCH_NONE;
        pawli_waiter_nudge(hand->waiter);
    } else if (hand->watch == PAWLI_WATCH_NEWS &&
               (hand->poked || unfinished(hand) <= hand->low || hand->finished.count == 1)) {
        pthread_cond_signal(&hand->news);
    }
}

static void finish(pawli_hand *hand, pawl_task *task)
{
    task->phase = PAWLI_PHASE_FINISHED;
    append(&hand->finished, task);
    tell_intake(hand);
}

/* ---- the intake ---- */

bool pawli_hand_knows(pawli_hand *hand, pawl_held held)
{
    pawl_task *task = NULL;

    pthread_mutex_lock(&hand->lock);
    do {
        task = pawli_index_next(&hand->index, held.id, task);
    } while (task && task->held.fence != held.fence);
    pthread_mutex_unlock(&hand->lock);
    return task != NULL;
}

static void add_one(pawli_hand *hand, pawl_task *task)
{
    task->twin = pawli_index_next(&hand->index, task->held.id, NULL) != NULL;
    pawli_index_add(&hand->index, task);
    task->previous = NULL;
    task->next = hand->all;
    if (hand->all)
        hand->all->previous = task;
    hand->all = task;
    hand->count++;
    if (!task->handler) {
        finish(hand, task);
        return;
    }
    task->phase = PAWLI_PHASE_QUEUED;
    task->handler->in_hand++;
    append(&hand->queue, task);
}

/*
 * One thread at a time is on its way; it wakes the next if there is more. Called with the lock
 * held, which it gives back first: who wakes up needs it at once.
 */
static void unlock_and_wake_crew(pawli_hand *hand)
{
    bool wake = hand->queue.count > 0 && hand->idle > 0 && !hand->waking;

    hand->waking |= wake;
    pthread_mutex_unlock(&hand->lock);
    if (wake)
        pthread_cond_signal(&hand->work);
}

static void wake_keeper(pawli_hand *hand, pawl_mono by)
{
    if (by.us >= hand->keeper_at.us || hand->keeper_fd < 0)
        return;
    hand->keeper_at = by;
    (void)eventfd_write(hand->keeper_fd, 1);
}

void pawli_hand_add(pawli_hand *hand, pawli_batch *batch, size_t count)
{
    pthread_mutex_lock(&hand->lock);
    for (size_t i = 0; i < count; i++) {
        add_one(hand, &batch->tasks[i]);
        wake_keeper(hand, batch->tasks[i].renew_at);
    }
    unlock_and_wake_crew(hand);
}

pawl_task *pawli_hand_collect(pawli_hand *hand)
{
    pthread_mutex_lock(&hand->lock);
    pawl_task *list = hand->finished.first;
    hand->finished = (pawli_line){0};
    for (pawl_task *task = list; task; task = task->line)
        task->phase = PAWLI_PHASE_TELLING;
    pthread_mutex_unlock(&hand->lock);
    return list;
}

static void set_phase(pawli_hand *hand, pawl_task *list, pawli_phase phase)
{
    pthread_mutex_lock(&hand->lock);
    for (pawl_task *task = list; task; task = task->line) {
        task->phase = phase;
        if (phase == PAWLI_PHASE_FINISHED)
            wake_keeper(hand, task->renew_at);
    }
    pthread_mutex_unlock(&hand->lock);
}

void pawli_hand_retain(pawli_hand *hand, pawl_task *list)
{
    set_phase(hand, list, PAWLI_PHASE_FINISHED);
}

void pawli_hand_retell(pawli_hand *hand, pawl_task *list)
{
    set_phase(hand, list, PAWLI_PHASE_TELLING);
}

void pawli_hand_settle(pawli_hand *hand, pawl_task *list)
{
    pawli_batch *unused = NULL;

    pthread_mutex_lock(&hand->lock);
    for (pawl_task *next; list; list = next) {
        next = list->line;
        pawli_batch *batch = forget(hand, list);
        if (batch) {
            batch->next = unused;
            unused = batch;
        }
    }
    pthread_mutex_unlock(&hand->lock);
    for (pawli_batch *next; unused; unused = next) {
        next = unused->next;
        free_batch(unused);
    }
}

void pawli_hand_wait(pawli_hand *hand, size_t low, pawl_mono deadline)
{
    bool gathering = false;

    pthread_mutex_lock(&hand->lock);
    hand->low = low;
    hand->watch = PAWLI_WATCH_NEWS;
    while (!hand->poked && unfinished(hand) > low && !pawli_mono_passed(deadline)) {
        if (hand->finished.count > 0 && !gathering) {
            pawl_mono soon = pawli_mono_after(pawli_mono_now(), GATHER_US);
            deadline = soon.us < deadline.us ? soon : deadline;
            gathering = true;
        }
        pawli_cond_wait_until(&hand->news, &hand->lock, deadline);
    }
    hand->watch = PAWLI_WATCH_NONE;
    hand->poked = false;
    pthread_mutex_unlock(&hand->lock);
}

void pawli_hand_rest(pawli_hand *hand, pawl_mono deadline)
{
    pthread_mutex_lock(&hand->lock);
    hand->watch = PAWLI_WATCH_NEWS;
    while (!hand->poked && hand->finished.count == 0 && !pawli_mono_passed(deadline))
        pawli_cond_wait_until(&hand->news, &hand->lock, deadline);
    hand->watch = PAWLI_WATCH_NONE;
    hand->poked = false;
    pthread_mutex_unlock(&hand->lock);
}

bool pawli_hand_doze(pawli_hand *hand)
{
    pthread_mutex_lock(&hand->lock);
    bool quiet = !hand->poked && hand->finished.count == 0;
    if (quiet)
        hand->watch = PAWLI_WATCH_WAITER;
    hand->poked = false;
    pthread_mutex_unlock(&hand->lock);
    return quiet;
}

void pawli_hand_rouse(pawli_hand *hand)
{
    pthread_mutex_lock(&hand->lock);
    hand->watch = PAWLI_WATCH_NONE;
    pthread_mutex_unlock(&hand->lock);
}

void pawli_hand_poke(pawli_hand *hand)
{
    pthread_mutex_lock(&hand->lock);
    hand->poked = true;
    tell_intake(hand);
    pthread_mutex_unlock(&hand->lock);
}

/* ---- stopping ---- */

/* A higher cause is never replaced by a lower one. With the lock held. */
static void cancel(pawl_task *task, pawli_cause cause)
{
    if (task->cause < cause)
        task->cause = cause;
    atomic_store(&task->cancelled, true);
    if (task->cancel_fd >= 0)
        (void)eventfd_write(task->cancel_fd, 1);
}

void pawli_hand_empty_queue(pawli_hand *hand)
{
    pthread_mutex_lock(&hand->lock);
    while (hand->queue.first) {
        pawl_task *task = hand->queue.first;
        take_out(&hand->queue, NULL, task);
        task->handler->in_hand--;
        task->verdict = PAWL_RETRY;
        cancel(task, PAWLI_CAUSE_STOP);
        finish(hand, task);
    }
    pthread_mutex_unlock(&hand->lock);
}

void pawli_hand_cancel_running(pawli_hand *hand)
{
    pthread_mutex_lock(&hand->lock);
    for (pawl_task *task = hand->all; task; task = task->next)
        if (task->phase == PAWLI_PHASE_RUNNING)
            cancel(task, PAWLI_CAUSE_STOP);
    pthread_mutex_unlock(&hand->lock);
}

size_t pawli_hand_disown_running(pawli_hand *hand, bool dead, pawl_held *ret_items, size_t room)
{
    size_t count = 0;

    pthread_mutex_lock(&hand->lock);
    for (pawl_task *task = hand->all; task && count < room; task = task->next) {
        if (task->phase != PAWLI_PHASE_RUNNING || pawli_task_lost(task) || task->dead != dead)
            continue;
        cancel(task, PAWLI_CAUSE_LOST);
        task->disowned = true;
        ret_items[count++] = task->held;
    }
    pthread_mutex_unlock(&hand->lock);
    return count;
}

size_t pawli_hand_running(pawli_hand *hand)
{
    pthread_mutex_lock(&hand->lock);
    size_t running = hand->running;
    pthread_mutex_unlock(&hand->lock);
    return running;
}

void pawli_hand_close(pawli_hand *hand)
{
    pthread_mutex_lock(&hand->lock);
    hand->closed = true;
    pthread_cond_broadcast(&hand->work);
    pthread_mutex_unlock(&hand->lock);
}

/* ---- the crew; with the lock held ---- */

static bool twin_runs(const pawli_hand *hand, const pawl_task *task)
{
    const pawl_task *other = NULL;

    do {
        other = pawli_index_next(&hand->index, task->held.id, other);
    } while (other && other->phase != PAWLI_PHASE_RUNNING);
    return other != NULL;
}

static bool may_run(const pawli_hand *hand, const pawl_task *task)
{
    const pawli_handler *handler = task->handler;

    if (handler->limit > 0 && handler->running >= handler->limit)
        return false;
    return !task->twin || !twin_runs(hand, task);
}

static pawl_task *start_next(pawli_hand *hand, pawl_mono now)
{
    pawl_task *before = NULL;

    for (pawl_task *task = hand->queue.first; task; before = task, task = task->line) {
        if (!may_run(hand, task))
            continue;
        take_out(&hand->queue, before, task);
        task->phase = PAWLI_PHASE_RUNNING;
        task->started = now;
        task->handler->running++;
        hand->running++;
        if (task->timeout_us > 0)
            wake_keeper(hand, pawli_mono_after(now, task->timeout_us));
        return task;
    }
    return NULL;
}

static void hand_in(pawli_hand *hand, pawl_task *task, pawl_mono now)
{
    int64_t took_us = now.us - task->started.us;

    task->took_us = took_us;
    hand->handler_us =
        hand->handler_us < 0 ? took_us : hand->handler_us + (took_us - hand->handler_us) / 8;
    task->handler->running--;
    task->handler->in_hand--;
    hand->running--;
    finish(hand, task);
}

pawl_task *pawli_hand_next(pawli_hand *hand, pawl_task *finished)
{
    pawl_mono now = pawli_mono_now();
    pawl_task *task = NULL;

    pthread_mutex_lock(&hand->lock);
    if (finished)
        hand_in(hand, finished, now);
    while (!hand->closed) {
        task = start_next(hand, now);
        if (task)
            break;
        hand->idle++;
        pthread_cond_wait(&hand->work, &hand->lock);
        hand->idle--;
        hand->waking = false;
        now = pawli_mono_now();
    }
    unlock_and_wake_crew(hand);
    return task;
}

pawl_task *pawli_hand_try_next(pawli_hand *hand, pawl_mono now)
{
    pthread_mutex_lock(&hand->lock);
    pawl_task *task = start_next(hand, now);
    pthread_mutex_unlock(&hand->lock);
    return task;
}

void pawli_hand_in(pawli_hand *hand, pawl_task *finished, pawl_mono now)
{
    pthread_mutex_lock(&hand->lock);
    hand_in(hand, finished, now);
    pthread_mutex_unlock(&hand->lock);
}

/* ---- the keeper; with the lock held ---- */

void pawli_hand_lose(pawli_hand *hand, pawl_task *task)
{
    pawl_task *before = NULL;

    cancel(task, PAWLI_CAUSE_LOST);
    if (task->phase != PAWLI_PHASE_QUEUED)
        return;
    for (pawl_task *at = hand->queue.first; at && at != task; at = at->line)
        before = at;
    take_out(&hand->queue, before, task);
    task->handler->in_hand--;
    finish(hand, task);
}

void pawli_hand_time_out(pawl_task *task)
{
    cancel(task, PAWLI_CAUSE_TIMEOUT);
}

void pawli_hand_unpin(pawl_task *task)
{
    if (--task->pins == 0 && task->gone && --task->batch->users == 0)
        free_batch(task->batch);
}
