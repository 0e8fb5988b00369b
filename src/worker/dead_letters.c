/* src/worker/dead_letters.c - dead letters: calls handlers for messages that failed or expired. */
#include "dead_letters.h"

#include <stdlib.h>

#include <pawl/dead.h>
#include <pawl/topic.h>

#include "fail.h"
#include "finish.h"
#include "thread_deadline.h"
#include "worker_private.h"
#include "platform.h"

void pawli_dead_letters_done(pawli_dead_letters *dead)
{
    free(dead->topics);
    *dead = (pawli_dead_letters){0};
}

void pawli_dead_letters_reset(pawli_dead_letters *dead)
{
    atomic_store(&dead->announced, false);
    dead->due = (pawl_mono){INT64_MIN};
}

void pawli_dead_letters_claim_soon(pawli_dead_letters *dead)
{
    dead->due = (pawl_mono){INT64_MIN};
}

static bool dead_letters_is_wanted(const pawl_worker *worker)
{
    return !pawli_handlers_empty(&worker->dead_handlers) &&
           worker->options.maintenance_interval_ms[PAWL_MAINTENANCE_DEAD] > 0;
}

pawl_mono pawli_dead_letters_due(const pawl_worker *worker)
{
    return dead_letters_is_wanted(worker) ? worker->dead.due : (pawl_mono){INT64_MAX};
}

static pawl_status name_topics(pawl_worker *worker, pawl_error *err)
{
    const pawli_handlers *handlers = &worker->dead_handlers;
    pawli_dead_letters *dead = &worker->dead;

    if (handlers->fallback || dead->topics)
        return PAWL_OK;
    dead->topics = calloc(handlers->count + 1, sizeof *dead->topics);
    if (!dead->topics)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu topics", handlers->count);
    for (size_t i = 0; i < handlers->count; i++)
        dead->topics[i] = handlers->items[i]->topic;
    dead->topic_count = handlers->count;
    return PAWL_OK;
}

static pawl_status dead_letters_announce(pawl_worker *worker, pawl_error *err)
{
    const pawli_handlers *handlers = &worker->dead_handlers;
    pawl_status st = name_topics(worker, err);

    if (st == PAWL_OK && handlers->fallback)
        st = pawl_topic_dead_letters(worker->store, NULL, true, err);
    for (size_t i = 0; st == PAWL_OK && i < handlers->count; i++)
        st = pawl_topic_dead_letters(worker->store, handlers->items[i]->topic, true, err);
    atomic_store(&worker->dead.announced, st == PAWL_OK);
    return st;
}

bool pawli_dead_letters_is_announced(const pawl_worker *worker)
{
    return !dead_letters_is_wanted(worker) || atomic_load(&worker->dead.announced);
}

pawl_status pawli_dead_letters_announce(pawl_worker *worker, pawl_error *err)
{
    return pawli_dead_letters_is_announced(worker) ? PAWL_OK : dead_letters_announce(worker, err);
}

static pawl_status dead_letters_claim(pawl_worker *worker, int limit, size_t *ret_found,
                                      pawl_error *err)
{
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_mono asked_at = pawli_worker_now(worker);
    pawl_messages *list = NULL;
    pawl_status st;

    options.topics = worker->dead.topics;
    options.topic_count = worker->dead.topic_count;
    st = pawl_dead_claim(worker->store, worker->owner, worker->options.lease_ms, limit, &options,
                         &list, err);
    if (st != PAWL_OK)
        return st;
    return pawli_claim_loop_adopt(worker, &(pawli_claimed_list){list, asked_at, true, false},
                                  ret_found, err);
}

pawl_status pawli_dead_letters_claim(pawl_worker *worker, size_t *ret_found, pawl_error *err)
{
    pawl_mono now = pawli_worker_now(worker);
    size_t room;
    pawl_error why = PAWL_ERROR_INIT;
    pawl_status st;

    *ret_found = 0;
    if (!dead_letters_is_wanted(worker) || now.us < worker->dead.due.us)
        return PAWL_OK;
    room = pawli_claim_plan_room(worker);
    room = room < (size_t)worker->options.batch ? room : (size_t)worker->options.batch;
    if (room == 0)
        return PAWL_OK;
    pawli_thread_deadline_begin(pawli_mono_after(
        pawli_mono_now(), worker->options.maintenance_timeout_ms[PAWL_MAINTENANCE_DEAD] * 1000));
    st = dead_letters_claim(worker, (int)room, ret_found, &why);
    pawli_thread_deadline_end();
    pawli_maintenance_result result = {*ret_found, {*ret_found, *ret_found == room}};
    pawli_maintenance_ended(worker, PAWL_MAINTENANCE_DEAD, st, &result, &why);
    if (st != PAWL_OK || *ret_found < room)
        worker->dead.due = pawli_mono_after(
            now, worker->options.maintenance_interval_ms[PAWL_MAINTENANCE_DEAD] * 1000);
    if (st != PAWL_OK && err)
        *err = why;
    return st;
}

pawl_status pawli_dead_letters_store(pawl_worker *worker, const pawl_task *sample,
                                     const pawl_receipt *items, size_t count, pawli_changed ret,
                                     pawl_error *err)
{
    switch (pawli_task_result(sample)) {
    case PAWL_DONE:
        return pawli_dead_done(worker->store, worker->owner, items, count, ret, err);
    case PAWL_RELEASE: /* the shortest delay allowed */
        return pawli_dead_abandon(worker->store, worker->owner, items, count, NULL, 1, ret, err);
    default:
        return pawli_dead_abandon(worker->store, worker->owner, items, count, sample->error,
                                  sample->delay_ms, ret, err);
    }
}
