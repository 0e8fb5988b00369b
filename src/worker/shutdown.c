/* src/worker/shutdown.c - shutting down a worker: stop requests, grace period, releasing leases. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <pawl/dead.h>

#include "auto_stop.h"
#include "fail.h"
#include "log.h"
#include "observer.h"
#include "platform.h"
#include "stop_request.h"
#include "thread_deadline.h"
#include "worker_private.h"

/* ---- from the start of the shutdown until no lease is owned any more ---- */

/* However late it is, storing the last results may take this long, and never longer, so that a
 * second stop request takes effect. */
#define LAST_WORD_US INT64_C(5000000)
/* The interval between checks whether a claim in doubt was committed. */
#define ASK_AGAIN_US INT64_C(50000)

static bool shutdown_in_flight(pawl_worker *worker)
{
    pthread_mutex_lock(&worker->inflight.lock);
    bool any = worker->inflight.count > 0;
    pthread_mutex_unlock(&worker->inflight.lock);
    return any;
}

/* One attempt to store all results. False: not before *ret_retry_at. */
static bool shutdown_store_results(pawl_worker *worker, pawl_mono *ret_retry_at)
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

/* Runs until nothing is in flight, the time is up, or a second stop request arrives. */
static void finish_until(pawl_worker *worker, pawl_mono until)
{
    while (true) {
        pawl_mono retry_at;
        bool reported = shutdown_store_results(worker, &retry_at);
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

/* These handlers ignored their cancellation: release their messages to other workers. */
static pawl_status release_running(pawl_worker *worker, bool dead, pawl_error *err)
{
    size_t running = pawli_inflight_running(&worker->inflight);
    pawl_receipt *items = running > 0 ? malloc(running * sizeof *items) : NULL;
    pawl_status st = PAWL_OK;

    if (running == 0)
        return PAWL_OK;
    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for releasing %zu messages", running);
    size_t count = pawli_inflight_disown_running(&worker->inflight, dead, items, running);
    if (count > 0) {
        pawli_log(
            &worker->log, PAWL_LOG_WARNING, "worker",
            "{count} handlers did not return within the grace period: their messages are released",
            pawli_logged_number("count", (int64_t)count));
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
 * A claim in doubt may have leased messages, or may still be committing: asks the store until
 * they have arrived or can no longer arrive.
 */
static pawl_status release_in_doubt(pawl_worker *worker, pawl_error *err)
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

/* Discards results that could not be stored by now: their leases expire by themselves. */
static size_t forget_unstored(pawl_worker *worker)
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
    st = release_running(worker, false, &why);
    dead = release_running(worker, true, st == PAWL_OK ? &why : NULL);
    st = st != PAWL_OK ? st : dead;
    pawli_handler_pool_end(worker); /* waits for handlers that ignore their cancellation */
    unknown = release_in_doubt(worker, st == PAWL_OK ? &why : NULL);
    st = st != PAWL_OK ? st : unknown;
    size_t untold = forget_unstored(worker);
    if (st == PAWL_OK && untold == 0)
        return PAWL_OK;
    if (st == PAWL_OK)
        st = PAWL_E_UNAVAILABLE;
    return pawli_fail(err, st,
                      "stopped, but the results of %zu messages could not be stored; they become "
                      "ready again when their leases expire: %.300s",
                      untold, why.message);
}

/* ---- stop requests, from any thread and from signal handlers ---- */

pawl_status pawli_stop_init(pawli_stop *stop, pawl_error *err)
{
    atomic_init(&stop->calls, 0);
    atomic_init(&stop->leave, false);
    stop->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop->fd < 0)
        return pawli_fail_code(err, PAWL_E_NOMEM, errno,
                               "no file descriptor is available for the worker: %s",
                               strerror(errno));
    return PAWL_OK;
}

void pawli_stop_done(pawli_stop *stop)
{
    if (stop->fd >= 0)
        close(stop->fd);
    stop->fd = -1;
}

/* Async-signal-safe: sets an atomic and calls write(); preserves errno. */
void pawl_worker_request_stop(pawl_worker *worker)
{
    int kept = errno;
    uint64_t one = 1;

    if (!worker)
        return;
    atomic_fetch_add(&worker->stop.calls, 1);
    /* Fails only if it is readable already. */
    ssize_t written = write(worker->stop.fd, &one, sizeof one);
    (void)written;
    errno = kept;
}

bool pawli_stop_asked(const pawli_stop *stop)
{
    return atomic_load(&stop->calls) > 0;
}

bool pawli_stop_forced(const pawli_stop *stop)
{
    return atomic_load(&stop->calls) > 1;
}

/* Thread: its own. */
static void *forward_stop_requests(void *context)
{
    pawl_worker *worker = context;
    struct pollfd fd = {.fd = worker->stop.fd, .events = POLLIN};
    eventfd_t count;

    while (!atomic_load(&worker->stop.leave)) {
        (void)poll(&fd, 1, -1);
        (void)eventfd_read(worker->stop.fd, &count);
        pawli_inflight_wake(&worker->inflight);
    }
    return NULL;
}

pawl_status pawli_stop_start(pawl_worker *worker, pawl_error *err)
{
    atomic_store(&worker->stop.leave, false);
    return pawli_thread_start(&worker->stop.thread, forward_stop_requests, worker, err);
}

void pawli_stop_end(pawl_worker *worker)
{
    atomic_store(&worker->stop.leave, true);
    (void)eventfd_write(worker->stop.fd, 1);
    pthread_join(worker->stop.thread, NULL);
    atomic_store(&worker->stop.calls, 0);
}

/* ---- automatic stop: a limit in the options is reached ---- */

size_t pawli_auto_stop_left(const pawl_worker *worker)
{
    int64_t most = worker->options.max_messages;

    if (most == 0)
        return SIZE_MAX;
    return worker->claim_loop.taken < most ? (size_t)(most - worker->claim_loop.taken) : 0;
}

/* Only the claim loop removes tasks, so if nothing is in flight now, nothing was when the claim
 * was made. */
static bool auto_stop_owns_nothing(pawl_worker *worker)
{
    pthread_mutex_lock(&worker->inflight.lock);
    bool nothing = worker->inflight.count == 0;
    pthread_mutex_unlock(&worker->inflight.lock);
    return nothing;
}

/* Where topics are claimed by name, the names must have been read since. */
static bool saw_all_topics(pawl_worker *worker)
{
    const pawli_claim_plan *plan = &worker->claim_loop.plan;
    pawl_mono now = pawli_mono_now();

    if (!plan->by_name)
        return true;
    if (worker->claim_loop.empty_at.us > now.us)
        worker->claim_loop.empty_at = now;
    return plan->topic_cache.read_at.us > worker->claim_loop.empty_at.us;
}

/* Whether the last claim covered all topics and found nothing. */
static bool saw_everything(pawl_worker *worker)
{
    const pawli_claim_loop *claim_loop = &worker->claim_loop;

    if (pawli_handlers_empty(&worker->handlers))
        return true; /* this worker only handles dead letters */
    return claim_loop->plan.count > 0 && claim_loop->drained && saw_all_topics(worker);
}

/* Processes what is due but not visible to a claim: expired leases and dead letters. Returns
 * true if there was any. */
static bool auto_stop_sweep(pawl_worker *worker)
{
    size_t reaped = 0, dead = 0;
    pawli_maintenance_result result = {0};

    if (worker->options.maintenance_interval_ms[PAWL_MAINTENANCE_REAP] > 0)
        do {
            (void)pawli_maintenance_run(worker, PAWL_MAINTENANCE_REAP, &result, NULL);
            reaped += result.changed;
        } while (result.scan.more && !pawli_stop_asked(&worker->stop));
    pawli_dead_letters_claim_soon(&worker->dead);
    (void)pawli_dead_letters_claim(worker, &dead, NULL);
    return reaped + dead > 0;
}

/*
 * The claim that finds nothing must follow the sweep, whatever that found: our own maintenance
 * may have swept between the previous claim and now.
 */
static bool auto_stop_is_empty(pawl_worker *worker)
{
    pawli_claim_loop *claim_loop = &worker->claim_loop;

    if (!saw_everything(worker))
        return false;
    if (claim_loop->swept)
        return true;
    bool more = auto_stop_sweep(worker);
    if (pawli_handlers_empty(&worker->handlers))
        return !more;
    claim_loop->swept = true;
    claim_loop->drained = false; /* claim again instead of going idle */
    return false;
}

bool pawli_auto_stop_reached(pawl_worker *worker, size_t found)
{
    pawli_claim_loop *claim_loop = &worker->claim_loop;

    if (!worker->options.until_empty && worker->options.max_messages == 0)
        return false;
    if (found > 0 || !auto_stop_owns_nothing(worker)) {
        claim_loop->empty_at = (pawl_mono){INT64_MAX};
        claim_loop->swept = false;
        return false;
    }
    if (pawli_auto_stop_left(worker) == 0)
        return true;
    return worker->options.until_empty && !pawli_claim_loop_in_doubt(worker) &&
           auto_stop_is_empty(worker);
}
