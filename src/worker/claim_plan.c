/* src/worker/claim_plan.c - the claim plan: how many messages to claim of which topics; topics
 * without a handler. */
#include "claim_plan.h"

#include <stdlib.h>
#include <string.h>

#include "auto_stop.h"
#include "fail.h"
#include "log.h"
#include "platform.h"
#include "topic_cache.h"
#include "topic_private.h"
#include "unhandled_topics.h"
#include "worker_private.h"

/* ---- the claim plan ---- */

/* Claim enough work to keep handlers busy for this long, or for three claims if those take
 * longer. */
#define AHEAD_US INT64_C(10000)

void pawli_claim_plan_done(pawli_claim_plan *plan)
{
    pawli_topic_cache_done(&plan->topic_cache);
    free(plan->items);
    free(plan->topics);
    *plan = (pawli_claim_plan){0};
}

size_t pawli_claim_plan_ahead(const pawl_worker *worker)
{
    int64_t handler_us = worker->inflight.handler_us;
    int64_t ahead_us =
        worker->claim_loop.call_us * 3 > AHEAD_US ? worker->claim_loop.call_us * 3 : AHEAD_US;
    int64_t most = (int64_t)worker->options.batch * 2;

    if (handler_us < 0 || !worker->options.claim_ahead)
        return 0; /* no handler has returned yet: their duration is unknown */
    int64_t ahead = ahead_us * worker->options.concurrency / (handler_us + 1);
    return (size_t)(ahead < most ? ahead : most);
}

/* ---- the planned claims ---- */

static pawl_status claim_plan_reserve(pawl_worker *worker, pawl_error *err)
{
    pawli_claim_plan *plan = &worker->claim_loop.plan;
    size_t capacity = worker->handlers.count + pawli_topic_cache_count(&plan->topic_cache) + 2;

    if (capacity <= plan->capacity)
        return PAWL_OK;
    pawli_planned_claim *items = realloc(plan->items, capacity * sizeof *items);
    if (items)
        plan->items = items;
    const char **topics = realloc(plan->topics, capacity * sizeof *topics);
    if (topics)
        plan->topics = topics;
    if (!items || !topics)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu topics", capacity);
    plan->capacity = capacity;
    return PAWL_OK;
}

/* The topics added since `first` form one claim. */
static void claim_plan_add_want(pawli_claim_plan *plan, size_t first, size_t limit)
{
    size_t count = plan->topic_count - first;

    if (count == 0 || limit == 0)
        return;
    plan->items[plan->count++] = (pawli_planned_claim){
        plan->topics + first, count, (int)(limit < INT32_MAX ? limit : INT32_MAX)};
}

/* ---- room; with the lock of pawli_inflight held ---- */

static size_t claim_plan_used(const pawl_worker *worker)
{
    return worker->inflight.queue.count + worker->inflight.running;
}

/* There is room when half of the allowed queue is used up, or a thread is idle. */
static size_t low_mark(const pawl_worker *worker)
{
    size_t threads = (size_t)worker->options.concurrency;
    size_t ahead = pawli_claim_plan_ahead(worker);

    return ahead < 2 ? threads + ahead - 1 : threads + ahead / 2;
}

static size_t room_in_all(const pawl_worker *worker)
{
    if (claim_plan_used(worker) > low_mark(worker))
        return 0;
    return (size_t)worker->options.concurrency + pawli_claim_plan_ahead(worker) -
           claim_plan_used(worker);
}

size_t pawli_claim_plan_room(pawl_worker *worker)
{
    pthread_mutex_lock(&worker->inflight.lock);
    size_t room = room_in_all(worker);
    pthread_mutex_unlock(&worker->inflight.lock);
    return room;
}

/* Of one handler: what its limit allows, plus its share of the queue. */
static size_t room_of(const pawl_worker *worker, const pawli_handler *handler)
{
    size_t share;

    if (!handler || handler->limit == 0 || handler->limit >= worker->options.concurrency)
        return SIZE_MAX;
    share = pawli_claim_plan_ahead(worker) * (size_t)handler->limit /
            (size_t)worker->options.concurrency;
    size_t most = (size_t)handler->limit + share;
    return most > (size_t)handler->in_flight ? most - (size_t)handler->in_flight : 0;
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

/* ---- making the plan; with the lock of pawli_inflight held ---- */

static void add_others(pawl_worker *worker)
{
    pawli_claim_plan *plan = &worker->claim_loop.plan;
    size_t count = pawli_topic_cache_count(&plan->topic_cache);

    for (size_t i = 0; i < count; i++) {
        const char *name = pawli_topic_cache_at(&plan->topic_cache, (i + plan->rotation) % count);
        if (!pawli_handlers_own(&worker->handlers, name))
            plan->topics[plan->topic_count++] = name;
    }
}

/* First the topics with enough room, together; then each of the others separately. */
static void claim_plan_divide(pawl_worker *worker)
{
    pawli_claim_plan *plan = &worker->claim_loop.plan;
    const pawli_handlers *handlers = &worker->handlers;
    size_t others = takes_all(worker) ? room_of(worker, handlers->fallback) : 0;
    size_t first;

    if (others >= plan->room)
        add_others(worker);
    for (size_t i = 0; i < handlers->count; i++)
        if (room_of(worker, handlers->items[i]) >= plan->room)
            plan->topics[plan->topic_count++] = handlers->items[i]->topic;
    if (plan->topic_count > PAWLI_HANDLERS_MAX)
        plan->topic_count = PAWLI_HANDLERS_MAX; /* the maximum for one claim; other topics are
                                                 * claimed in later rotations */
    claim_plan_add_want(plan, 0, plan->room);
    for (size_t i = 0; i < handlers->count; i++) {
        size_t room = room_of(worker, handlers->items[i]);
        if (room >= plan->room || room == 0)
            continue;
        first = plan->topic_count;
        plan->topics[plan->topic_count++] = handlers->items[i]->topic;
        claim_plan_add_want(plan, first, room);
    }
    if (others < plan->room && others > 0) {
        first = plan->topic_count;
        add_others(worker);
        if (plan->topic_count - first > PAWLI_HANDLERS_MAX)
            plan->topic_count = first + PAWLI_HANDLERS_MAX;
        claim_plan_add_want(plan, first, others);
    }
}

/* If topic limits leave no room, any finished message may create some. */
static size_t claim_plan_next_check(const pawl_worker *worker)
{
    size_t low = low_mark(worker);

    return claim_plan_used(worker) > 0 && claim_plan_used(worker) <= low
               ? claim_plan_used(worker) - 1
               : low;
}

pawl_status pawli_claim_plan_make(pawl_worker *worker, bool *ret_names_changed, pawl_error *err)
{
    pawli_claim_plan *plan = &worker->claim_loop.plan;
    pawli_inflight *inflight = &worker->inflight;
    pawl_status st = PAWL_OK;

    *ret_names_changed = false;
    pthread_mutex_lock(&inflight->lock);
    plan->room = room_in_all(worker);
    if (plan->room > pawli_auto_stop_left(worker))
        plan->room = pawli_auto_stop_left(worker);
    bool tight = is_tight(worker, plan->room);
    pthread_mutex_unlock(&inflight->lock);
    plan->by_name = takes_all(worker) && tight && plan->room > 0;
    if (plan->by_name)
        st = pawli_topic_cache_refresh(worker, ret_names_changed, err);
    if (st == PAWL_OK)
        st = claim_plan_reserve(worker, err);
    if (st != PAWL_OK)
        return st;
    plan->count = plan->topic_count = 0;
    plan->rotation++;
    /* Handlers may have finished meanwhile: then there is more room than computed, never less. */
    pthread_mutex_lock(&inflight->lock);
    plan->low = claim_plan_next_check(worker);
    if (plan->room > 0 && takes_all(worker) && !tight)
        plan->items[plan->count++] =
            (pawli_planned_claim){NULL, 0, (int)(plan->room < INT32_MAX ? plan->room : INT32_MAX)};
    else if (plan->room > 0)
        claim_plan_divide(worker);
    pthread_mutex_unlock(&inflight->lock);
    return PAWL_OK;
}

pawl_status pawli_claim_plan_one_batch(pawl_worker *worker, pawl_error *err)
{
    pawli_claim_plan *plan = &worker->claim_loop.plan;
    pawl_status st = claim_plan_reserve(worker, err);

    if (st != PAWL_OK)
        return st;
    plan->room = (size_t)worker->options.batch;
    plan->count = plan->topic_count = 0;
    if (!takes_all(worker))
        for (size_t i = 0; i < worker->handlers.count; i++)
            plan->topics[plan->topic_count++] = worker->handlers.items[i]->topic;
    if (takes_all(worker))
        plan->items[plan->count++] = (pawli_planned_claim){NULL, 0, worker->options.batch};
    else
        claim_plan_add_want(plan, 0, plan->room);
    return PAWL_OK;
}

/* ---- the topics in the store, for claiming all except some ---- */

void pawli_topic_cache_done(pawli_topic_cache *topic_cache)
{
    pawl_topics_free(topic_cache->topics);
    *topic_cache = (pawli_topic_cache){0};
}

pawl_status pawli_topic_cache_refresh(pawl_worker *worker, bool *ret_changed, pawl_error *err)
{
    pawli_topic_cache *topic_cache = &worker->claim_loop.plan.topic_cache;
    pawl_mono now = pawli_mono_now();
    pawl_topics *topics = NULL;
    pawl_status st;

    *ret_changed = false;
    if (topic_cache->topics && now.us < topic_cache->read_at.us + PAWLI_NAMES_AGE_US)
        return PAWL_OK;
    st = pawl_topic_list(worker->store, &topics, err);
    if (st != PAWL_OK)
        return st;
    pawl_topics_free(topic_cache->topics);
    topic_cache->topics = topics;
    topic_cache->read_at = now;
    *ret_changed = true;
    return PAWL_OK;
}

size_t pawli_topic_cache_count(const pawli_topic_cache *topic_cache)
{
    return pawl_topics_count(topic_cache->topics);
}

const char *pawli_topic_cache_at(const pawli_topic_cache *topic_cache, size_t index)
{
    return pawl_topics_at(topic_cache->topics, index)->name;
}

/* ---- rate-limited warnings about topics without a handler ---- */

void pawli_unhandled_topics_done(pawli_unhandled_topics *unhandled)
{
    for (size_t i = 0; i < unhandled->count; i++)
        free(unhandled->entries[i].topic);
    *unhandled = (pawli_unhandled_topics){0};
}

/* The topic's entry; if there is none, the least recently used entry is reassigned to it. */
static size_t entry_of(pawli_unhandled_topics *unhandled, const char *topic)
{
    size_t oldest = 0;

    for (size_t i = 0; i < unhandled->count; i++) {
        if (strcmp(unhandled->entries[i].topic, topic) == 0)
            return i;
        if (unhandled->entries[i].warned.us < unhandled->entries[oldest].warned.us)
            oldest = i;
    }
    char *copy = strdup(topic);
    if (!copy)
        return SIZE_MAX;
    if (unhandled->count < PAWLI_UNHANDLED_TOPICS_ROOM)
        oldest = unhandled->count++;
    else
        free(unhandled->entries[oldest].topic);
    unhandled->entries[oldest].topic = copy;
    unhandled->entries[oldest].warned = (pawl_mono){INT64_MIN};
    return oldest;
}

/* Returns true, and records the time, if a warning about the topic is due again. */
static bool topics_is_due(pawl_worker *worker, const char *topic)
{
    pawli_unhandled_topics *unhandled = &worker->unhandled;
    pawl_mono now = pawli_worker_now(worker);
    size_t entry = entry_of(unhandled, topic);

    if (entry < unhandled->count) {
        pawl_mono warned = unhandled->entries[entry].warned;
        if (warned.us != INT64_MIN &&
            now.us < warned.us + worker->options.no_handler_warn_ms * 1000)
            return false;
        unhandled->entries[entry].warned = now;
    }
    return true;
}

static void log_topic(const pawl_worker *worker, const char *topic, const char *pattern)
{
    pawli_log_fields fields = {0};

    pawli_log_text(&fields, "topic", topic);
    pawli_log_record(&worker->log, PAWL_LOG_WARNING, "worker", &fields, pattern);
}

void pawli_unhandled_topics_claimed(pawl_worker *worker, const char *topic)
{
    pawli_worker_count(worker, &worker->stats.unhandled, 1);
    if (topics_is_due(worker, topic))
        log_topic(worker, topic,
                  "topic '{topic}': no handler is registered, its messages are deferred");
}

static bool claims_all(const pawl_worker *worker)
{
    return worker->handlers.fallback || worker->options.all_topics ||
           worker->options.maintenance_only;
}

void pawli_unhandled_topics_check(pawl_worker *worker)
{
    pawli_unhandled_topics *unhandled = &worker->unhandled;
    pawl_mono now = pawli_worker_now(worker);
    pawl_topics *topics = NULL;

    if (claims_all(worker) || worker->options.no_handler_warn_ms == 0 ||
        now.us < unhandled->next_check.us)
        return;
    unhandled->next_check = (pawl_mono){now.us + worker->options.no_handler_warn_ms * 1000};
    if (pawli_topics_due(worker->store, (int)worker->handlers.count + PAWLI_UNHANDLED_TOPICS_ROOM,
                         &topics, NULL) != PAWL_OK)
        return;
    for (size_t i = 0; i < pawl_topics_count(topics); i++) {
        const char *topic = pawl_topics_at(topics, i)->name;
        if (!pawli_handlers_own(&worker->handlers, topic) && topics_is_due(worker, topic))
            log_topic(worker, topic,
                      "topic '{topic}': no handler is registered, its due messages are left to "
                      "other workers");
    }
    pawl_topics_free(topics);
}
