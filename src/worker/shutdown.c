/* src/worker/shutdown.c - from the moment that stopping began until nothing is held any more. */
#include <stdlib.h>

#include <pawl/dead.h>

#include "fail.h"
#include "thread_deadline.h"
#include "log.h"
#include "observer.h"
#include "worker_private.h"
#include "platform.h"

/* However late it is, the store gets this long for what there is to say; and never longer, so that
 * a second call to stop is heard. */
#define LAST_WORD_US INT64_C(5000000)
/* Between two questions whether a claim has come after all. */
#define ASK_AGAIN_US INT64_C(50000)

static bool shutdown_in_flight(pawl_worker *worker)
{
    pthread_mutex_lock(&worker->inflight.lock);
    bool any = worker->inflight.count > 0;
    pthread_mutex_unlock(&worker->inflight.lock);
    return any;
}

/* One try to tell what there is to be told. False: not before *ret_retry_at. */
static bool shutdown_tell(pawl_worker *worker, pawl_mono *ret_retry_at)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    pawli_result_batch_gather(worker);
    if (!pawli_store_health_allows(&worker->health, ret_retry_at)) {
        pawli_result_batch_postpone(worker);
        return false;
    }
    pawli_thread_deadline_begin(pawli_mono_after(pawli_mono_now(), LAST_WORD_US));
    st = pawli_result_batch_store(worker, &err);
    pawli_thread_deadline_end();
    pawli_result_batch_postpone(worker);
    (void)pawli_store_health_responded(worker, st, &err);
    *ret_retry_at = worker->health.breaker.retry_at;
    return st == PAWL_OK;
}

/* Until nothing is in hand, the time is up, or a second call to stop. */
static void finish_until(pawl_worker *worker, pawl_mono until)
{
    while (true) {
        pawl_mono retry_at;
        bool reported = shutdown_tell(worker, &retry_at);
        if (!shutdown_in_flight(worker) || pawli_mono_passed(until) ||
            pawli_stop_forced(&worker->stop))
            return;
        pawli_inflight_wait_finished(&worker->inflight,
                                     reported || retry_at.us > until.us ? until : retry_at);
    }
}

static pawl_status shutdown_release(pawl_worker *worker, bool dead, const pawl_receipt *items,
                                    size_t count, pawl_error *err)
{
    size_t released = 0;
    pawl_status st;

    if (dead)
        return pawl_dead_abandon(worker->store, worker->owner, items, count, NULL, 1, NULL, err);
    st = pawl_queue_release(worker->store, worker->owner, items, count, &released, err);
    pawli_worker_count(worker, &worker->stats.released, released);
    return st;
}

/* Their handlers did not end when they were told to: others may have the messages now. */
static pawl_status give_back_running(pawl_worker *worker, bool dead, pawl_error *err)
{
    size_t running = pawli_inflight_running(&worker->inflight);
    pawl_receipt *items = running > 0 ? malloc(running * sizeof *items) : NULL;
    pawl_status st = PAWL_OK;

    if (running == 0)
        return PAWL_OK;
    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for giving back %zu messages", running);
    size_t count = pawli_inflight_disown_running(&worker->inflight, dead, items, running);
    if (count > 0) {
        pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                  "%zu handlers did not end in time: their messages are given back", count);
        pawli_thread_deadline_begin(pawli_mono_after(pawli_mono_now(), LAST_WORD_US));
        st = shutdown_release(worker, dead, items, count, err);
        pawli_thread_deadline_end();
    }
    free(items);
    return st;
}

static pawl_status resume_and_release(pawl_worker *worker, pawl_mono until, size_t *ret_found,
                                      pawl_error *err)
{
    pawl_status st;

    pawli_thread_deadline_begin(until);
    st = pawli_claim_loop_resume(worker, ret_found, err);
    pawli_inflight_empty_queue(&worker->inflight);
    pawli_result_batch_gather(worker);
    if (st == PAWL_OK)
        st = pawli_result_batch_store(worker, err);
    pawli_thread_deadline_end();
    pawli_result_batch_postpone(worker);
    return st;
}

/*
 * A claim whose answer was lost may have brought something, or is being committed yet: the store is
 * asked until it has come, or cannot come any more.
 */
static pawl_status give_back_unknown(pawl_worker *worker, pawl_error *err)
{
    pawl_mono until = pawli_mono_after(pawli_mono_now(), LAST_WORD_US);
    bool came = false;

    while (true) {
        size_t found = 0;
        pawl_status st = resume_and_release(worker, until, &found, err);
        came |= found > 0;
        bool again =
            st == PAWL_OK ? !came && pawli_claim_loop_in_doubt(worker) : pawl_status_retryable(st);
        if (!again || pawli_mono_passed(until) || pawli_stop_forced(&worker->stop))
            return st;
        pawl_mono soon = pawli_mono_after(pawli_mono_now(), ASK_AGAIN_US);
        pawli_inflight_wait_finished(&worker->inflight, soon.us < until.us ? soon : until);
    }
}

/* What could not be told by now is forgotten: the leases end by themselves. */
static size_t forget_untold(pawl_worker *worker)
{
    pawl_task *list;
    size_t count = 0;

    pawli_result_batch_gather(worker);
    list = worker->claim_loop.results.list;
    worker->claim_loop.results.list = NULL;
    for (pawl_task *task = list; task; task = task->next_in_line) {
        pawli_observe_dropped(worker, task);
        count++;
    }
    pawli_worker_count(worker, &worker->stats.lost, count);
    pawli_inflight_remove_stored(&worker->inflight, list);
    return count;
}

pawl_status pawli_worker_shut_down(pawl_worker *worker, pawl_error *err)
{
    pawl_error why = PAWL_ERROR_INIT;
    pawl_mono now = pawli_mono_now();
    pawl_status st, dead, unknown;

    pawli_inflight_empty_queue(&worker->inflight);
    finish_until(worker, pawli_mono_after(now, worker->options.grace_ms * 1000));
    if (shutdown_in_flight(worker)) {
        pawli_inflight_cancel_running(&worker->inflight);
        now = pawli_mono_now();
        if (!pawli_stop_forced(&worker->stop))
            now = pawli_mono_after(now, worker->options.cancel_ms * 1000);
        finish_until(worker, now);
    }
    st = give_back_running(worker, false, &why);
    dead = give_back_running(worker, true, st == PAWL_OK ? &why : NULL);
    st = st != PAWL_OK ? st : dead;
    pawli_handler_pool_end(worker); /* waits for handlers that do not listen */
    unknown = give_back_unknown(worker, st == PAWL_OK ? &why : NULL);
    st = st != PAWL_OK ? st : unknown;
    size_t untold = forget_untold(worker);
    if (st == PAWL_OK && untold == 0)
        return PAWL_OK;
    if (st == PAWL_OK)
        st = PAWL_E_UNAVAILABLE;
    return pawli_fail(err, st,
                      "stopped, but %zu messages could not be answered and are ready again when "
                      "their leases end: %.300s",
                      untold, why.message);
}
