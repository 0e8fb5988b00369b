/* src/server/receive_renewer.c - renews leases and enforces timeouts while handlers run: two
 * threads. */
#include "receive_renewer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fail.h"
#include "log.h"
#include "scope.h"
#include "thread.h"
#include "platform.h"

#define PROBE_US 2000000
#define RETRY_US 1000000 /* the pause after a failed renewal */
#define FLUSH_US 2000000

static const pawl_mono never = {INT64_MAX};

static pawl_mono after_ms(int64_t ms)
{
    return pawli_mono_after(pawli_mono_now(), ms * 1000);
}

static pawl_mono renewer_earlier(pawl_mono a, pawl_mono b)
{
    return a.us < b.us ? a : b;
}

static void renewer_cancel(pawli_handler_call *call)
{
    uint64_t one = 1;

    if (!atomic_exchange(&call->cancelled, true))
        (void)!write(call->cancel_fd, &one, sizeof one);
    call->cancel_at = never;
    call->lease_ends = never;
}

/* ---- the database thread; with the lock held, except during database calls ---- */

static void renewer_renew(pawli_receive_renewer *renewer, pawli_handler_call *call)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_mono began = pawli_mono_now();
    pawl_status st;

    call->in_flight = true;
    pthread_mutex_unlock(&renewer->lock);
    st = pawl_inbox_task_renew(call->inbox_task, call->lease_ms, &err);
    if (st != PAWL_OK)
        pawli_log(renewer->log, PAWL_LOG_WARNING, "receiver",
                  "the lease of {message_id} from {source} cannot be renewed, retrying: {error}",
                  pawli_logged("message_id", call->message_id),
                  pawli_logged("source", call->source), pawli_logged("error", err.message));
    pthread_mutex_lock(&renewer->lock);
    call->in_flight = false;
    call->renew_at =
        st == PAWL_OK ? after_ms(call->lease_ms / 3) : pawli_mono_after(pawli_mono_now(), RETRY_US);
    if (st == PAWL_OK && !atomic_load(&call->cancelled))
        call->lease_ends = pawli_mono_after(began, call->lease_ms * 1000);
    if (st == PAWL_E_LOST) {
        call->renew_at = never;
        renewer_cancel(call);
    }
    pthread_cond_broadcast(&renewer->changed);
}

static void probe_database(pawli_receive_renewer *renewer)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now;
    bool before = renewer->database_responds;
    bool database_responds;

    pthread_mutex_unlock(&renewer->lock);
    pawl_status st = pawl_store_now(renewer->store, &now, &err);
    /* An interruption was requested by the application, so it is not a failure. */
    database_responds = st == PAWL_OK || (st == PAWL_E_INTERRUPTED && before);
    if (before != database_responds)
        pawli_log(renewer->log, before ? PAWL_LOG_ERROR : PAWL_LOG_INFO, "receiver",
                  before ? "the database does not respond: {error}" : "the database responds again",
                  pawli_logged("store", pawl_store_engine(renewer->store)),
                  pawli_logged("error", before ? err.message : NULL));
    pthread_mutex_lock(&renewer->lock);
    renewer->database_responds = database_responds;
    snprintf(renewer->problem, sizeof renewer->problem, "%s",
             database_responds ? "" : pawl_status_text(st));
    renewer->probe_at = pawli_mono_after(pawli_mono_now(), PROBE_US);
}

/* Does what is due, and returns when to run again. */
static pawl_mono renewer_ask(pawli_receive_renewer *renewer)
{
    pawl_mono next = renewer->probe_at;

    for (pawli_handler_call *call = renewer->calls; call; call = call->next) {
        if (call->inbox_task && pawli_mono_passed(call->renew_at)) {
            renewer_renew(renewer, call);
            return pawli_mono_now(); /* the list may have changed meanwhile */
        }
        next = renewer_earlier(next, call->renew_at);
    }
    if (pawli_mono_passed(renewer->probe_at)) {
        probe_database(renewer);
        return pawli_mono_now();
    }
    return next;
}

static void *ask_database(void *context)
{
    pawli_receive_renewer *renewer = context;

    pthread_mutex_lock(&renewer->lock);
    while (!renewer->ending) {
        pawl_mono next = renewer_ask(renewer);
        if (!renewer->ending && !pawli_mono_passed(next))
            pawli_wait_until(&renewer->changed, &renewer->lock, next);
    }
    pthread_mutex_unlock(&renewer->lock);
    return NULL;
}

/* ---- the deadline thread, which never waits for the database ---- */

/* Cancels what is due; returns when to run again, and how many leases have expired. With the
 * lock held. */
static pawl_mono cancel_due(pawli_receive_renewer *renewer, size_t *ret_ended)
{
    pawl_mono next = pawli_mono_after(pawli_mono_now(), FLUSH_US);

    *ret_ended = 0;
    for (pawli_handler_call *call = renewer->calls; call; call = call->next) {
        bool has_ended = pawli_mono_passed(call->lease_ends);

        *ret_ended += has_ended;
        if (has_ended || pawli_mono_passed(call->cancel_at))
            renewer_cancel(call);
        next = renewer_earlier(next, renewer_earlier(call->cancel_at, call->lease_ends));
    }
    return next;
}

static void *keep_deadlines(void *context)
{
    pawli_receive_renewer *renewer = context;
    size_t ended;

    pthread_mutex_lock(&renewer->lock);
    while (!renewer->ending) {
        pawl_mono next = cancel_due(renewer, &ended);
        pthread_mutex_unlock(&renewer->lock);
        if (ended > 0)
            pawli_log(renewer->log, PAWL_LOG_WARNING, "receiver",
                      "cancelled {count} handler calls: their leases expired before they could be "
                      "renewed",
                      pawli_logged_number("count", (int64_t)ended));
        renewer->flush(renewer->flush_context);
        pthread_mutex_lock(&renewer->lock);
        /* A call that was added meanwhile may have an earlier deadline. */
        if (!renewer->ending && !renewer->added && !pawli_mono_passed(next))
            pawli_wait_until(&renewer->changed, &renewer->lock, next);
        renewer->added = false;
    }
    pthread_mutex_unlock(&renewer->lock);
    return NULL;
}

/* ---- other threads ---- */

void pawli_receive_renewer_init(pawli_receive_renewer *renewer)
{
    pthread_mutex_init(&renewer->lock, NULL);
    pawli_wait_init(&renewer->changed);
}

void pawli_receive_renewer_destroy(pawli_receive_renewer *renewer)
{
    pthread_cond_destroy(&renewer->changed);
    pthread_mutex_destroy(&renewer->lock);
}

pawl_status pawli_receive_renewer_start(pawli_receive_renewer *renewer, pawl_store *store,
                                        const pawl_log_sink *log, void (*flush)(void *context),
                                        void *flush_context, pawl_error *err)
{
    renewer->store = store;
    renewer->flush = flush;
    renewer->flush_context = flush_context;
    renewer->log = log;
    renewer->database_responds = true; /* an open store has just responded */
    renewer->probe_at = pawli_mono_after(pawli_mono_now(), PROBE_US);
    renewer->has_threads[0] = pawli_thread_begin(&renewer->threads[0], ask_database, renewer);
    renewer->has_threads[1] = pawli_thread_begin(&renewer->threads[1], keep_deadlines, renewer);
    if (!renewer->has_threads[0] || !renewer->has_threads[1])
        return pawli_fail(err, PAWL_E_NOMEM, "the receiver cannot start a thread");
    return PAWL_OK;
}

void pawli_receive_renewer_done(pawli_receive_renewer *renewer)
{
    pthread_mutex_lock(&renewer->lock);
    renewer->ending = true;
    pthread_cond_broadcast(&renewer->changed);
    pthread_mutex_unlock(&renewer->lock);
    for (size_t i = 0; i < PAWLI_COUNT(renewer->threads); i++) {
        if (renewer->has_threads[i])
            pthread_join(renewer->threads[i], NULL);
        renewer->has_threads[i] = false;
    }
}

pawl_status pawli_receive_renewer_add(pawli_receive_renewer *renewer, pawli_handler_call *call,
                                      pawl_inbox_task *inbox_task,
                                      const pawli_handler_call_times *times, pawl_error *err)
{
    call->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (call->cancel_fd < 0)
        return pawli_fail_code(err, PAWL_E_NOMEM, errno, "no file descriptor is available: %s",
                               strerror(errno));
    call->inbox_task = inbox_task;
    call->lease_ms = times->lease_ms;
    call->renew_at = inbox_task ? after_ms(times->lease_ms / 3) : never;
    call->lease_ends = inbox_task ? pawli_mono_after(times->began, times->lease_ms * 1000) : never;
    call->cancel_at = times->timeout_ms > 0 ? after_ms(times->timeout_ms) : never;
    pthread_mutex_lock(&renewer->lock);
    renewer->added = true;
    call->next = renewer->calls;
    if (renewer->calls)
        renewer->calls->previous = call;
    renewer->calls = call;
    if (renewer->cancelling)
        renewer_cancel(call);
    pthread_cond_broadcast(&renewer->changed);
    pthread_mutex_unlock(&renewer->lock);
    return PAWL_OK;
}

void pawli_receive_renewer_remove(pawli_receive_renewer *renewer, pawli_handler_call *call)
{
    pthread_mutex_lock(&renewer->lock);
    while (call->in_flight)
        pthread_cond_wait(&renewer->changed, &renewer->lock);
    if (call->previous)
        call->previous->next = call->next;
    else
        renewer->calls = call->next;
    if (call->next)
        call->next->previous = call->previous;
    pthread_mutex_unlock(&renewer->lock);
    close(call->cancel_fd);
}

void pawli_receive_renewer_cancel_all(pawli_receive_renewer *renewer)
{
    pthread_mutex_lock(&renewer->lock);
    renewer->cancelling = true;
    for (pawli_handler_call *call = renewer->calls; call; call = call->next)
        renewer_cancel(call);
    pthread_mutex_unlock(&renewer->lock);
}

bool pawli_receive_renewer_healthy(pawli_receive_renewer *renewer, char *ret_trouble, size_t room)
{
    bool database_responds;

    pthread_mutex_lock(&renewer->lock);
    database_responds = renewer->database_responds;
    snprintf(ret_trouble, room, "%s", renewer->problem);
    pthread_mutex_unlock(&renewer->lock);
    return database_responds;
}
