/* src/worker/stopping.c - from the moment that stopping began until nothing is held any more. */
#include <stdlib.h>

#include <pawl/dead.h>

#include "fail.h"
#include "limit.h"
#include "log.h"
#include "observe.h"
#include "worker_private.h"
#include "world.h"

/* However late it is, the store gets this long for what there is to say; and never longer, so that
 * a second call to stop is heard. */
#define LAST_WORD_US INT64_C(5000000)
/* Between two questions whether a claim has come after all. */
#define ASK_AGAIN_US INT64_C(50000)

static bool in_hand(pawl_worker *worker)
{
    pthread_mutex_lock(&worker->hand.lock);
    bool any = worker->hand.count > 0;
    pthread_mutex_unlock(&worker->hand.lock);
    return any;
}

/* One try to tell what there is to be told. False: not before *ret_retry_at. */
static bool tell(pawl_worker *worker, pawl_mono *ret_retry_at)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    pawli_answers_gather(worker);
    if (!pawli_health_allows(&worker->health, ret_retry_at)) {
        pawli_answers_put_off(worker);
        return false;
    }
    pawli_limit_begin(pawli_mono_after(pawli_mono_now(), LAST_WORD_US));
    st = pawli_answers_tell(worker, &err);
    pawli_limit_end();
    pawli_answers_put_off(worker);
    (void)pawli_health_heard(worker, st, &err);
    *ret_retry_at = worker->health.breaker.retry_at;
    return st == PAWL_OK;
}

/* Until nothing is in hand, the time is up, or a second call to stop. */
static void finish_until(pawl_worker *worker, pawl_mono until)
{
    while (true) {
        pawl_mono retry_at;
        bool told = tell(worker, &retry_at);
        if (!in_hand(worker) || pawli_mono_passed(until) || pawli_stop_forced(&worker->stop))
            return;
        pawli_hand_rest(&worker->hand, told || retry_at.us > until.us ? until : retry_at);
    }
}

static pawl_status release(pawl_worker *worker, bool dead, const pawl_held *items, size_t count,
                           pawl_error *err)
{
    size_t released = 0;
    pawl_status st;

    if (dead)
        return pawl_dead_retry(worker->store, worker->owner, items, count, NULL, 1, NULL, err);
    st = pawl_queue_release(worker->store, worker->owner, items, count, &released, err);
    pawli_worker_count(worker, &worker->stats.released, released);
    return st;
}

/* Their handlers did not end when they were told to: others may have the messages now. */
static pawl_status give_back_running(pawl_worker *worker, bool dead, pawl_error *err)
{
    size_t running = pawli_hand_running(&worker->hand);
    pawl_held *items = running > 0 ? malloc(running * sizeof *items) : NULL;
    pawl_status st = PAWL_OK;

    if (running == 0)
        return PAWL_OK;
    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for giving back %zu messages", running);
    size_t count = pawli_hand_disown_running(&worker->hand, dead, items, running);
    if (count > 0) {
        pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                  "%zu handlers did not end in time: their messages are given back", count);
        pawli_limit_begin(pawli_mono_after(pawli_mono_now(), LAST_WORD_US));
        st = release(worker, dead, items, count, err);
        pawli_limit_end();
    }
    free(items);
    return st;
}

static pawl_status resume_and_release(pawl_worker *worker, pawl_mono until, size_t *ret_found,
                                      pawl_error *err)
{
    pawl_status st;

    pawli_limit_begin(until);
    st = pawli_intake_resume(worker, ret_found, err);
    pawli_hand_empty_queue(&worker->hand);
    pawli_answers_gather(worker);
    if (st == PAWL_OK)
        st = pawli_answers_tell(worker, err);
    pawli_limit_end();
    pawli_answers_put_off(worker);
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
            st == PAWL_OK ? !came && pawli_intake_is_asking(worker) : pawl_status_retryable(st);
        if (!again || pawli_mono_passed(until) || pawli_stop_forced(&worker->stop))
            return st;
        pawl_mono soon = pawli_mono_after(pawli_mono_now(), ASK_AGAIN_US);
        pawli_hand_rest(&worker->hand, soon.us < until.us ? soon : until);
    }
}

/* What could not be told by now is forgotten: the leases end by themselves. */
static size_t forget_untold(pawl_worker *worker)
{
    pawl_task *list;
    size_t count = 0;

    pawli_answers_gather(worker);
    list = worker->intake.answers.list;
    worker->intake.answers.list = NULL;
    for (pawl_task *task = list; task; task = task->line) {
        pawli_observe_dropped(worker, task);
        count++;
    }
    pawli_worker_count(worker, &worker->stats.lost, count);
    pawli_hand_settle(&worker->hand, list);
    return count;
}

pawl_status pawli_worker_wind_up(pawl_worker *worker, pawl_error *err)
{
    pawl_error why = PAWL_ERROR_INIT;
    pawl_mono now = pawli_mono_now();
    pawl_status st, dead, unknown;

    pawli_hand_empty_queue(&worker->hand);
    finish_until(worker, pawli_mono_after(now, worker->options.grace_ms * 1000));
    if (in_hand(worker)) {
        pawli_hand_cancel_running(&worker->hand);
        now = pawli_mono_now();
        if (!pawli_stop_forced(&worker->stop))
            now = pawli_mono_after(now, worker->options.cancel_ms * 1000);
        finish_until(worker, now);
    }
    st = give_back_running(worker, false, &why);
    dead = give_back_running(worker, true, st == PAWL_OK ? &why : NULL);
    st = st != PAWL_OK ? st : dead;
    pawli_crew_end(worker); /* waits for handlers that do not listen */
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
