/* src/worker/wants.c - how many messages to claim now, and of which topics. */
#include "wants.h"

#include <stdlib.h>

#include "ending.h"
#include "fail.h"
#include "worker_private.h"
#include "world.h"

/* Handlers should have enough to do for this long, or for three claims if those take longer. */
#define AHEAD_US INT64_C(10000)

void pawli_wants_done(pawli_wants *wants)
{
    pawli_names_done(&wants->names);
    free(wants->items);
    free(wants->topics);
    *wants = (pawli_wants){0};
}

size_t pawli_wants_ahead(const pawl_worker *worker)
{
    int64_t handler_us = worker->hand.handler_us;
    int64_t ahead_us =
        worker->intake.call_us * 3 > AHEAD_US ? worker->intake.call_us * 3 : AHEAD_US;
    int64_t most = (int64_t)worker->options.batch * 2;

    if (handler_us < 0 || !worker->options.claim_ahead)
        return 0; /* none has returned yet: who knows how long they take */
    int64_t ahead = ahead_us * worker->options.concurrency / (handler_us + 1);
    return (size_t)(ahead < most ? ahead : most);
}

/* ---- lists ---- */

static pawl_status reserve(pawl_worker *worker, pawl_error *err)
{
    pawli_wants *wants = &worker->intake.wants;
    size_t capacity = worker->handlers.count + pawli_names_count(&wants->names) + 2;

    if (capacity <= wants->capacity)
        return PAWL_OK;
    pawli_want *items = realloc(wants->items, capacity * sizeof *items);
    if (items)
        wants->items = items;
    const char **topics = realloc(wants->topics, capacity * sizeof *topics);
    if (topics)
        wants->topics = topics;
    if (!items || !topics)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu topics", capacity);
    wants->capacity = capacity;
    return PAWL_OK;
}

/* The topics added since `first` are one claim. */
static void add_want(pawli_wants *wants, size_t first, size_t limit)
{
    size_t count = wants->topic_count - first;

    if (count == 0 || limit == 0)
        return;
    wants->items[wants->count++] =
        (pawli_want){wants->topics + first, count, (int)(limit < INT32_MAX ? limit : INT32_MAX)};
}

/* ---- room; with the hand's lock held ---- */

static size_t used(const pawl_worker *worker)
{
    return worker->hand.queue.count + worker->hand.running;
}

/* When half of what may wait in line is used up, or a thread is free, there is room. */
static size_t low_mark(const pawl_worker *worker)
{
    size_t threads = (size_t)worker->options.concurrency;
    size_t ahead = pawli_wants_ahead(worker);

    return ahead < 2 ? threads + ahead - 1 : threads + ahead / 2;
}

static size_t room_in_all(const pawl_worker *worker)
{
    if (used(worker) > low_mark(worker))
        return 0;
    return (size_t)worker->options.concurrency + pawli_wants_ahead(worker) - used(worker);
}

size_t pawli_wants_room(pawl_worker *worker)
{
    pthread_mutex_lock(&worker->hand.lock);
    size_t room = room_in_all(worker);
    pthread_mutex_unlock(&worker->hand.lock);
    return room;
}

/* Of one handler: its limit, and its share of what may wait in line. */
static size_t room_of(const pawl_worker *worker, const pawli_handler *handler)
{
    size_t share;

    if (!handler || handler->limit == 0 || handler->limit >= worker->options.concurrency)
        return SIZE_MAX;
    share =
        pawli_wants_ahead(worker) * (size_t)handler->limit / (size_t)worker->options.concurrency;
    size_t most = (size_t)handler->limit + share;
    return most > (size_t)handler->in_hand ? most - (size_t)handler->in_hand : 0;
}

static bool takes_all(const pawl_worker *worker)
{
    return worker->handlers.fallback || worker->options.all_topics;
}

/* Whether some topic needs a claim of its own, or none. */
static bool is_tight(const pawl_worker *worker, size_t room)
{
    for (size_t i = 0; i < worker->handlers.count; i++)
        if (room_of(worker, worker->handlers.items[i]) < room)
            return true;
    return room_of(worker, worker->handlers.fallback) < room;
}

/* ---- making them; with the hand's lock held ---- */

static void add_others(pawl_worker *worker)
{
    pawli_wants *wants = &worker->intake.wants;
    size_t count = pawli_names_count(&wants->names);

    for (size_t i = 0; i < count; i++) {
        const char *name = pawli_names_at(&wants->names, (i + wants->turn) % count);
        if (!pawli_handlers_own(&worker->handlers, name))
            wants->topics[wants->topic_count++] = name;
    }
}

/* First those that have room enough, together; then each of the others by itself. */
static void divide(pawl_worker *worker)
{
    pawli_wants *wants = &worker->intake.wants;
    const pawli_handlers *handlers = &worker->handlers;
    size_t others = takes_all(worker) ? room_of(worker, handlers->fallback) : 0;
    size_t first;

    if (others >= wants->room)
        add_others(worker);
    for (size_t i = 0; i < handlers->count; i++)
        if (room_of(worker, handlers->items[i]) >= wants->room)
            wants->topics[wants->topic_count++] = handlers->items[i]->topic;
    if (wants->topic_count > PAWLI_HANDLERS_MAX)
        wants->topic_count = PAWLI_HANDLERS_MAX; /* a claim names no more; the others' turn comes */
    add_want(wants, 0, wants->room);
    for (size_t i = 0; i < handlers->count; i++) {
        size_t room = room_of(worker, handlers->items[i]);
        if (room >= wants->room || room == 0)
            continue;
        first = wants->topic_count;
        wants->topics[wants->topic_count++] = handlers->items[i]->topic;
        add_want(wants, first, room);
    }
    if (others < wants->room && others > 0) {
        first = wants->topic_count;
        add_others(worker);
        if (wants->topic_count - first > PAWLI_HANDLERS_MAX)
            wants->topic_count = first + PAWLI_HANDLERS_MAX;
        add_want(wants, first, others);
    }
}

/* Where it is the topics' limits that leave no room, whatever ends may make some. */
static size_t next_look(const pawl_worker *worker)
{
    size_t low = low_mark(worker);

    return used(worker) > 0 && used(worker) <= low ? used(worker) - 1 : low;
}

pawl_status pawli_wants_make(pawl_worker *worker, bool *ret_names_changed, pawl_error *err)
{
    pawli_wants *wants = &worker->intake.wants;
    pawli_hand *hand = &worker->hand;
    pawl_status st = PAWL_OK;

    *ret_names_changed = false;
    pthread_mutex_lock(&hand->lock);
    wants->room = room_in_all(worker);
    if (wants->room > pawli_ending_left(worker))
        wants->room = pawli_ending_left(worker);
    bool tight = is_tight(worker, wants->room);
    pthread_mutex_unlock(&hand->lock);
    wants->by_name = takes_all(worker) && tight && wants->room > 0;
    if (wants->by_name)
        st = pawli_names_refresh(worker, ret_names_changed, err);
    if (st == PAWL_OK)
        st = reserve(worker, err);
    if (st != PAWL_OK)
        return st;
    wants->count = wants->topic_count = 0;
    wants->turn++;
    /* Handlers may have ended meanwhile: then there is more room than was seen, never less. */
    pthread_mutex_lock(&hand->lock);
    wants->low = next_look(worker);
    if (wants->room > 0 && takes_all(worker) && !tight)
        wants->items[wants->count++] =
            (pawli_want){NULL, 0, (int)(wants->room < INT32_MAX ? wants->room : INT32_MAX)};
    else if (wants->room > 0)
        divide(worker);
    pthread_mutex_unlock(&hand->lock);
    return PAWL_OK;
}

pawl_status pawli_wants_everything(pawl_worker *worker, pawl_error *err)
{
    pawli_wants *wants = &worker->intake.wants;
    pawl_status st = reserve(worker, err);

    if (st != PAWL_OK)
        return st;
    wants->room = (size_t)worker->options.batch;
    wants->count = wants->topic_count = 0;
    if (!takes_all(worker))
        for (size_t i = 0; i < worker->handlers.count; i++)
            wants->topics[wants->topic_count++] = worker->handlers.items[i]->topic;
    if (takes_all(worker))
        wants->items[wants->count++] = (pawli_want){NULL, 0, worker->options.batch};
    else
        add_want(wants, 0, wants->room);
    return PAWL_OK;
}
