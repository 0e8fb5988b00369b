/* src/server/keeper.c - what is done for messages while their handlers run: two threads. */
#include "keeper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fail.h"
#include "log.h"
#include "scope.h"
#include "thread.h"
#include "world.h"

#define PULSE_US 2000000
#define RETRY_US 1000000 /* after a renewal that failed */
#define FLUSH_US 2000000

static const pawl_mono never = {INT64_MAX};

static pawl_mono after_ms(int64_t ms)
{
    return pawli_mono_after(pawli_mono_now(), ms * 1000);
}

static pawl_mono earlier(pawl_mono a, pawl_mono b)
{
    return a.us < b.us ? a : b;
}

static void cancel(pawli_ward *ward)
{
    uint64_t one = 1;

    if (!atomic_exchange(&ward->cancelled, true))
        (void)!write(ward->cancel_fd, &one, sizeof one);
    ward->cancel_at = never;
    ward->lease_ends = never;
}

/* ---- the thread that asks the database; the lock is held, but not while it does ---- */

static void renew(pawli_server_keeper *keeper, pawli_ward *ward)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_mono began = pawli_mono_now();
    pawl_status st;

    ward->in_hand = true;
    pthread_mutex_unlock(&keeper->lock);
    st = pawl_arrival_renew(ward->arrival, ward->lease_ms, &err);
    if (st != PAWL_OK)
        pawli_log(keeper->log, PAWL_LOG_WARNING, "receiver", "a lease was not renewed: %s",
                  err.message);
    pthread_mutex_lock(&keeper->lock);
    ward->in_hand = false;
    ward->renew_at =
        st == PAWL_OK ? after_ms(ward->lease_ms / 3) : pawli_mono_after(pawli_mono_now(), RETRY_US);
    if (st == PAWL_OK && !atomic_load(&ward->cancelled))
        ward->lease_ends = pawli_mono_after(began, ward->lease_ms * 1000);
    if (st == PAWL_E_LOST) {
        ward->renew_at = never;
        cancel(ward);
    }
    pthread_cond_broadcast(&keeper->changed);
}

static void feel_pulse(pawli_server_keeper *keeper)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now;
    bool before = keeper->answers;
    bool answers;

    pthread_mutex_unlock(&keeper->lock);
    pawl_status st = pawl_store_now(keeper->store, &now, &err);
    /* An interruption is the application's own doing. */
    answers = st == PAWL_OK || (st == PAWL_E_INTERRUPTED && before);
    if (before != answers)
        pawli_log(keeper->log, before ? PAWL_LOG_ERROR : PAWL_LOG_INFO, "receiver", "%s%s",
                  before ? "the database does not answer: " : "the database answers again",
                  before ? err.message : "");
    pthread_mutex_lock(&keeper->lock);
    keeper->answers = answers;
    snprintf(keeper->trouble, sizeof keeper->trouble, "%s", answers ? "" : pawl_status_text(st));
    keeper->pulse_at = pawli_mono_after(pawli_mono_now(), PULSE_US);
}

/* Does what is due, and says when to come again. */
static pawl_mono ask(pawli_server_keeper *keeper)
{
    pawl_mono next = keeper->pulse_at;

    for (pawli_ward *ward = keeper->wards; ward; ward = ward->next) {
        if (ward->arrival && pawli_mono_passed(ward->renew_at)) {
            renew(keeper, ward);
            return pawli_mono_now(); /* the list may have changed meanwhile */
        }
        next = earlier(next, ward->renew_at);
    }
    if (pawli_mono_passed(keeper->pulse_at)) {
        feel_pulse(keeper);
        return pawli_mono_now();
    }
    return next;
}

static void *ask_database(void *context)
{
    pawli_server_keeper *keeper = context;

    pthread_mutex_lock(&keeper->lock);
    while (!keeper->ending) {
        pawl_mono next = ask(keeper);
        if (!keeper->ending && !pawli_mono_passed(next))
            pawli_wait_until(&keeper->changed, &keeper->lock, next);
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

/* ---- the thread that keeps deadlines, and never waits for anything else ---- */

/* Cancels what is due; says when to come again, and how many leases have ended. The lock is held.
 */
static pawl_mono cancel_due(pawli_server_keeper *keeper, size_t *ret_ended)
{
    pawl_mono next = pawli_mono_after(pawli_mono_now(), FLUSH_US);

    *ret_ended = 0;
    for (pawli_ward *ward = keeper->wards; ward; ward = ward->next) {
        bool has_ended = pawli_mono_passed(ward->lease_ends);

        *ret_ended += has_ended;
        if (has_ended || pawli_mono_passed(ward->cancel_at))
            cancel(ward);
        next = earlier(next, earlier(ward->cancel_at, ward->lease_ends));
    }
    return next;
}

static void *keep_deadlines(void *context)
{
    pawli_server_keeper *keeper = context;
    size_t ended;

    pthread_mutex_lock(&keeper->lock);
    while (!keeper->ending) {
        pawl_mono next = cancel_due(keeper, &ended);
        pthread_mutex_unlock(&keeper->lock);
        if (ended > 0)
            pawli_log(keeper->log, PAWL_LOG_WARNING, "receiver",
                      "%zu calls were cancelled: their leases ended before they could be renewed",
                      ended);
        keeper->flush(keeper->flush_context);
        pthread_mutex_lock(&keeper->lock);
        /* A call that was added meanwhile may have the first deadline. */
        if (!keeper->ending && !keeper->added && !pawli_mono_passed(next))
            pawli_wait_until(&keeper->changed, &keeper->lock, next);
        keeper->added = false;
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

/* ---- from outside ---- */

void pawli_server_keeper_init(pawli_server_keeper *keeper)
{
    pthread_mutex_init(&keeper->lock, NULL);
    pawli_wait_init(&keeper->changed);
}

void pawli_server_keeper_destroy(pawli_server_keeper *keeper)
{
    pthread_cond_destroy(&keeper->changed);
    pthread_mutex_destroy(&keeper->lock);
}

pawl_status pawli_server_keeper_start(pawli_server_keeper *keeper, pawl_store *store,
                                      const pawl_log_sink *log, void (*flush)(void *context),
                                      void *flush_context, pawl_error *err)
{
    keeper->store = store;
    keeper->flush = flush;
    keeper->flush_context = flush_context;
    keeper->log = log;
    keeper->answers = true; /* a store that is open has just answered */
    keeper->pulse_at = pawli_mono_after(pawli_mono_now(), PULSE_US);
    keeper->has_threads[0] = pawli_thread_begin(&keeper->threads[0], ask_database, keeper);
    keeper->has_threads[1] = pawli_thread_begin(&keeper->threads[1], keep_deadlines, keeper);
    if (!keeper->has_threads[0] || !keeper->has_threads[1])
        return pawli_fail(err, PAWL_E_NOMEM, "the receiver could not start a thread");
    return PAWL_OK;
}

void pawli_server_keeper_done(pawli_server_keeper *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->ending = true;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
    for (size_t i = 0; i < PAWLI_COUNT(keeper->threads); i++) {
        if (keeper->has_threads[i])
            pthread_join(keeper->threads[i], NULL);
        keeper->has_threads[i] = false;
    }
}

pawl_status pawli_server_keeper_add(pawli_server_keeper *keeper, pawli_ward *ward,
                                    pawl_arrival *arrival, const pawli_ward_times *times,
                                    pawl_error *err)
{
    ward->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ward->cancel_fd < 0)
        return pawli_fail_code(err, PAWL_E_NOMEM, errno, "no descriptor is left: %s",
                               strerror(errno));
    ward->arrival = arrival;
    ward->lease_ms = times->lease_ms;
    ward->renew_at = arrival ? after_ms(times->lease_ms / 3) : never;
    ward->lease_ends = arrival ? pawli_mono_after(times->began, times->lease_ms * 1000) : never;
    ward->cancel_at = times->timeout_ms > 0 ? after_ms(times->timeout_ms) : never;
    pthread_mutex_lock(&keeper->lock);
    keeper->added = true;
    ward->next = keeper->wards;
    if (keeper->wards)
        keeper->wards->previous = ward;
    keeper->wards = ward;
    if (keeper->cancelling)
        cancel(ward);
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
    return PAWL_OK;
}

void pawli_server_keeper_remove(pawli_server_keeper *keeper, pawli_ward *ward)
{
    pthread_mutex_lock(&keeper->lock);
    while (ward->in_hand)
        pthread_cond_wait(&keeper->changed, &keeper->lock);
    if (ward->previous)
        ward->previous->next = ward->next;
    else
        keeper->wards = ward->next;
    if (ward->next)
        ward->next->previous = ward->previous;
    pthread_mutex_unlock(&keeper->lock);
    close(ward->cancel_fd);
}

void pawli_server_keeper_cancel_all(pawli_server_keeper *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->cancelling = true;
    for (pawli_ward *ward = keeper->wards; ward; ward = ward->next)
        cancel(ward);
    pthread_mutex_unlock(&keeper->lock);
}

bool pawli_server_keeper_healthy(pawli_server_keeper *keeper, char *ret_trouble, size_t room)
{
    bool answers;

    pthread_mutex_lock(&keeper->lock);
    answers = keeper->answers;
    snprintf(ret_trouble, room, "%s", keeper->trouble);
    pthread_mutex_unlock(&keeper->lock);
    return answers;
}
