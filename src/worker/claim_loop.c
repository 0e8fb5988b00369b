/* src/worker/claim_loop.c - the claim loop: the thread that claims messages and stores results. */
#include "claim_loop.h"

#include <stdlib.h>
#include <string.h>

#include <pawl/dead.h>

#include "auto_stop.h"
#include "fail.h"
#include "finish.h"
#include "store_private.h"
#include "worker_private.h"
#include "platform.h"

/* A claim whose connection was lost may still be committed by the server for this long. */
#define STILL_COMMITTING_US INT64_C(5000000)
#define ASK_AGAIN_US INT64_C(500000)
#define HOUR_US INT64_C(3600000000)

void pawli_claim_loop_done(pawli_claim_loop *claim_loop)
{
    pawli_result_batch_done(&claim_loop->results);
    pawli_claim_plan_done(&claim_loop->plan);
    free(claim_loop->armed_topics);
    *claim_loop = (pawli_claim_loop){0};
}

/* ---- adopting claimed messages ---- */

static void make_task(pawl_worker *worker, pawli_batch *batch, const pawl_message *message,
                      bool dead, pawl_task *task)
{
    const pawli_handlers *handlers = dead ? &worker->dead_handlers : &worker->handlers;

    *task = (pawl_task){
        .worker = worker,
        .batch = batch,
        .message = message,
        .handler = pawli_handlers_find(handlers, pawl_message_topic(message)),
        .receipt = {pawl_message_work_id(message), pawl_message_fence(message)},
        .dead = dead,
        .delay_ms = PAWL_DELAY_BY_POLICY,
        .cancel_fd = -1,
    };
    task->timeout_us = task->handler ? task->handler->timeout_us : 0;
    if (!dead && pawl_message_timeout_ms(message) > 0)
        task->timeout_us = pawl_message_timeout_ms(message) * 1000;
    if (!task->handler) {
        pawli_task_refuse(task);
        pawli_unhandled_topics_claimed(worker, pawl_message_topic(message));
    }
}

static void free_unused(pawli_batch *batch, pawl_messages *list)
{
    pawl_messages_free(list);
    if (batch)
        free(batch->tasks);
    free(batch);
}

/*
 * Memory ran out while adopting the messages. Leased messages can be read again later; dead
 * letters cannot, so they are released one by one, without allocating.
 */
static void claim_loop_decline(pawl_worker *worker, const pawl_messages *list, bool dead)
{
    pawl_status st = PAWL_OK;

    worker->claim_loop.in_doubt |= !dead;
    for (size_t i = 0; dead && st == PAWL_OK && i < pawl_messages_count(list); i++) {
        const pawl_message *message = pawl_messages_at(list, i);
        pawl_receipt receipt = {pawl_message_work_id(message), pawl_message_fence(message)};
        st = pawl_dead_abandon(worker->store, worker->owner, &receipt, 1, NULL, 1, NULL, NULL);
    }
}

pawl_status pawli_claim_loop_adopt(pawl_worker *worker, const pawli_claimed_list *claimed,
                                   size_t *ret_found, pawl_error *err)
{
    pawl_messages *list = claimed->take_list;
    size_t count = pawl_messages_count(list), fresh = 0;
    pawli_batch *batch = count > 0 ? calloc(1, sizeof *batch) : NULL;

    *ret_found = 0;
    if (batch)
        batch->tasks = calloc(count, sizeof *batch->tasks);
    if (!batch || !batch->tasks) {
        if (count > 0)
            claim_loop_decline(worker, list, claimed->dead);
        free_unused(batch, list);
        if (count == 0)
            return PAWL_OK;
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu messages", count);
    }
    for (size_t i = 0; i < count; i++) {
        const pawl_message *message = pawl_messages_at(list, i);
        pawl_receipt receipt = {pawl_message_work_id(message), pawl_message_fence(message)};
        if (!claimed->resumed || !pawli_inflight_contains(&worker->inflight, receipt))
            make_task(worker, batch, message, claimed->dead, &batch->tasks[fresh++]);
    }
    *ret_found = fresh;
    if (fresh == 0) {
        free_unused(batch, list);
        return PAWL_OK;
    }
    batch->list = list;
    batch->users = fresh;
    if (!claimed->dead) {
        pawli_worker_count(worker, &worker->stats.claimed, fresh);
        worker->claim_loop.taken += (int64_t)fresh;
    }
    pawli_lease_measure(worker, batch->tasks, fresh, claimed->asked_at);
    pawli_inflight_add(&worker->inflight, batch, fresh);
    return PAWL_OK;
}

bool pawli_claim_loop_in_doubt(const pawl_worker *worker)
{
    return worker->claim_loop.in_doubt ||
           pawli_worker_now(worker).us < worker->claim_loop.ask_until.us;
}

pawl_status pawli_claim_loop_resume(pawl_worker *worker, size_t *ret_found, pawl_error *err)
{
    pawli_claim_loop *claim_loop = &worker->claim_loop;
    pawl_mono asked_at = pawli_worker_now(worker);
    pawl_messages *list = NULL;
    pawl_status st;

    *ret_found = 0;
    if (!pawli_claim_loop_in_doubt(worker))
        return PAWL_OK;
    st = pawl_queue_owned(worker->store, worker->owner, &list, err);
    if (st != PAWL_OK)
        return st;
    /* A server may still commit the claim, so an empty list is not trusted at once. */
    if (claim_loop->in_doubt && !pawli_db_driver(worker->store->db)->single_writer)
        claim_loop->ask_until = pawli_mono_after(asked_at, STILL_COMMITTING_US);
    claim_loop->in_doubt = false;
    return pawli_claim_loop_adopt(worker, &(pawli_claimed_list){list, asked_at, false, true},
                                  ret_found, err);
}

/* ---- claiming ---- */

static void note_duration(pawli_claim_loop *claim_loop, pawl_mono began)
{
    int64_t took_us = pawli_mono_now().us - began.us;

    claim_loop->call_us = claim_loop->call_us == 0
                              ? took_us
                              : claim_loop->call_us + (took_us - claim_loop->call_us) / 8;
}

/* Acknowledges the finished messages and claims, in one call. *ret_acks: how many
 * acknowledgements it carried. */
static pawl_status ack_and_claim(pawl_worker *worker, const pawl_claim_options *options, int limit,
                                 size_t *ret_acks, pawl_messages **ret_list, pawl_error *err)
{
    const pawl_receipt *acks;
    bool *acked;
    pawl_status st = pawli_result_batch_acks(worker, &acks, &acked, ret_acks, err);

    if (st != PAWL_OK)
        return st;
    st = pawli_queue_ack_and_claim(worker->store, worker->owner, acks, *ret_acks,
                                   worker->options.lease_ms, limit, options,
                                   (pawli_changed){.each = acked}, ret_list, err);
    pawli_result_batch_acked(worker, st, *ret_acks);
    worker->claim_loop.in_doubt |= st == PAWL_E_IN_DOUBT;
    return st;
}

static pawl_status claim_one(pawl_worker *worker, const pawli_planned_claim *planned, int limit,
                             size_t *ret_found, pawl_error *err)
{
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_mono asked_at = pawli_worker_now(worker), began = pawli_mono_now();
    pawl_messages *list = NULL;
    size_t acks = 0;

    options.topics = planned->topics;
    options.topic_count = planned->topic_count;
    options.owner_name = worker->options.owner_name;
    pawl_status st = ack_and_claim(worker, &options, limit, &acks, &list, err);
    if (pawli_store_error_is_refusal(st) && acks > 0) {
        /* Stored without a claim, the batch is split until the rejected one is found. */
        st = pawli_result_batch_store_acks(worker, err);
        if (st == PAWL_OK)
            st = ack_and_claim(worker, &options, limit, &acks, &list, err);
    }
    if (st != PAWL_OK)
        return st;
    note_duration(&worker->claim_loop, began);
    return pawli_claim_loop_adopt(worker, &(pawli_claimed_list){list, asked_at, false, false},
                                  ret_found, err);
}

pawl_status pawli_claim_loop_claim(pawl_worker *worker, size_t *ret_found, pawl_error *err)
{
    pawli_claim_loop *claim_loop = &worker->claim_loop;
    pawli_claim_plan *plan = &claim_loop->plan;
    size_t room = plan->room;
    pawl_status st = PAWL_OK;

    *ret_found = 0;
    claim_loop->drained = true;
    for (size_t i = 0; i < plan->count && room > 0 && st == PAWL_OK; i++) {
        const pawli_planned_claim *planned = &plan->items[(i + plan->rotation) % plan->count];
        int limit = planned->limit < worker->options.batch ? planned->limit : worker->options.batch;
        size_t found = 0;
        if ((size_t)limit > room)
            limit = (int)room;
        st = claim_one(worker, planned, limit, &found, err);
        *ret_found += found;
        room -= found < room ? found : room;
        if (st != PAWL_OK || found == (size_t)limit)
            claim_loop->drained = false;
    }
    return st;
}

/* ---- going idle ---- */

static bool armed_for(const pawli_claim_loop *claim_loop)
{
    const pawli_claim_plan *plan = &claim_loop->plan;

    return claim_loop->armed && claim_loop->armed_count == plan->topic_count &&
           (plan->topic_count == 0 || memcmp(claim_loop->armed_topics, plan->topics,
                                             plan->topic_count * sizeof(char *)) == 0);
}

/* The waiter borrows the topics for longer than they remain in the plan. */
static pawl_status claim_loop_arm(pawli_claim_loop *claim_loop, pawl_error *err)
{
    const pawli_claim_plan *plan = &claim_loop->plan;
    size_t count = plan->topic_count;

    claim_loop->armed = false;
    if (count > claim_loop->armed_capacity) {
        const char **topics = realloc(claim_loop->armed_topics, count * sizeof *topics);
        if (!topics)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu topics", count);
        claim_loop->armed_topics = topics;
        claim_loop->armed_capacity = count;
    }
    if (count > 0)
        memcpy(claim_loop->armed_topics, plan->topics, count * sizeof(char *));
    claim_loop->armed_count = count;
    pawl_status st = pawli_waiter_arm(claim_loop->waiter,
                                      count > 0 ? claim_loop->armed_topics : NULL, count, err);
    claim_loop->armed = st == PAWL_OK;
    return st;
}

/* Short handlers may finish while the waiter is being armed: their results still go with the
 * next claim. */
static pawl_status arm_and_gather(pawl_worker *worker, pawl_error *err)
{
    pawl_status st = claim_loop_arm(&worker->claim_loop, err);

    if (st != PAWL_OK)
        return st;
    pawli_result_batch_gather(worker);
    return pawli_result_batch_store_others(worker, err); /* no other call would store them while
                                                          * the loop is idle */
}

/* The time until which no timed work is due. */
static pawl_mono next_timed_work(const pawl_worker *worker)
{
    bool by_name = worker->claim_loop.plan.by_name;
    int64_t wait_us = by_name ? PAWLI_NAMES_AGE_US : HOUR_US;
    pawl_mono dead = pawli_dead_letters_due(worker);

    if (pawli_claim_loop_in_doubt(worker) && wait_us > ASK_AGAIN_US)
        wait_us = ASK_AGAIN_US;
    pawl_mono latest = pawli_mono_after(pawli_mono_now(), wait_us);

    return dead.us < latest.us ? dead : latest;
}

/* If nothing is in flight, claiming has stopped for a reason other than lack of room. */
static void wait_for_room(pawl_worker *worker)
{
    pthread_mutex_lock(&worker->inflight.lock);
    bool busy = worker->inflight.queue.count + worker->inflight.running > 0;
    pthread_mutex_unlock(&worker->inflight.lock);
    if (busy)
        pawli_inflight_wait(&worker->inflight, worker->claim_loop.plan.low,
                            next_timed_work(worker));
    else
        pawli_inflight_wait_finished(&worker->inflight, next_timed_work(worker));
}

static pawl_status wait_until_called(pawl_worker *worker, pawl_error *err)
{
    pawli_claim_loop *claim_loop = &worker->claim_loop;
    pawli_woken why = PAWLI_WOKEN_CALLED;

    if (!pawli_inflight_announce_wait(&worker->inflight))
        return PAWL_OK;
    pawl_status st = pawli_waiter_wait(claim_loop->waiter, next_timed_work(worker), &why, err);
    pawli_inflight_end_wait(&worker->inflight);
    claim_loop->armed = false;
    claim_loop->drained = why == PAWLI_WOKEN_CALLED; /* woken by a finished task: no message was
                                                      * enqueued */
    return st;
}

/* ---- one iteration ---- */

static pawl_status claim_loop_exchange(pawl_worker *worker, size_t *ret_found, pawl_error *err)
{
    pawli_claim_loop *claim_loop = &worker->claim_loop;
    bool names_changed;
    size_t resumed, dead;
    pawl_status st = pawli_result_batch_store_others(worker, err);

    *ret_found = 0;
    if (st == PAWL_OK)
        st = pawli_claim_loop_resume(worker, &resumed, err);
    if (st == PAWL_OK)
        st = pawli_dead_letters_announce(worker, err);
    if (st != PAWL_OK)
        return st;
    if (pawli_auto_stop_left(worker) > 0)
        (void)pawli_dead_letters_claim(worker, &dead, NULL); /* a failing maintenance task must
                                                              * not stop the loop */
    pawli_unhandled_topics_check(worker);
    st = pawli_claim_plan_make(worker, &names_changed, err);
    if (st != PAWL_OK)
        return st;
    claim_loop->armed &= !names_changed;
    if (claim_loop->plan.count == 0)
        return pawli_result_batch_store(worker, err);
    if (claim_loop->drained && !armed_for(claim_loop))
        st = arm_and_gather(worker, err);
    if (st == PAWL_OK)
        st = pawli_claim_loop_claim(worker, ret_found, err);
    return st;
}

/* Returns false on a permanent error, with the reason in *err. */
static bool claim_loop_iterate(pawl_worker *worker, pawl_error *err)
{
    pawli_claim_loop *claim_loop = &worker->claim_loop;
    pawl_mono retry_at;
    size_t found = 0;

    pawli_result_batch_gather(worker);
    if (!pawli_store_health_allows(&worker->health, &retry_at)) {
        pawli_result_batch_postpone(worker);
        pawli_inflight_wait_finished(&worker->inflight, retry_at);
        return true;
    }
    pawl_status st = claim_loop_exchange(worker, &found, err);
    pawli_result_batch_postpone(worker);
    if (st == PAWL_OK && pawli_auto_stop_reached(worker, found)) {
        claim_loop->over = true;
    } else if (st == PAWL_OK && found > 0) {
        pawli_waiter_disarm(claim_loop->waiter);
        claim_loop->armed = false;
    } else if (st == PAWL_OK && claim_loop->plan.count == 0) {
        wait_for_room(worker);
    } else if (st == PAWL_OK && claim_loop->drained && claim_loop->armed) {
        st = wait_until_called(worker, err);
    }
    if (st != PAWL_OK)
        claim_loop->armed = claim_loop->drained = false;
    return pawli_store_health_responded(worker, st, err);
}

pawl_status pawli_claim_loop_run(pawl_worker *worker, pawl_error *err)
{
    pawl_error why = PAWL_ERROR_INIT;

    while (!pawli_stop_asked(&worker->stop) && !worker->claim_loop.over) {
        if (claim_loop_iterate(worker, &why))
            continue;
        if (err)
            *err = why;
        return why.status;
    }
    return PAWL_OK;
}
