/* src/server/keeper.c - the thread that looks after messages while their handlers run. */
#include "keeper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fail.h"
#include "log.h"
#include "thread.h"
#include "world.h"

#define PULSE_US 2000000
#define RETRY_US 1000000 /* after a renewal that failed */

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
}

/* ---- the turns of its thread; the lock is held, but not while the database is asked ---- */

static void renew(pawli_server_keeper *keeper, pawli_ward *ward)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    ward->in_hand = true;
    pthread_mutex_unlock(&keeper->lock);
    st = pawl_arrival_renew(ward->arrival, ward->lease_ms, &err);
    if (st != PAWL_OK)
        pawli_log(keeper->log, PAWL_LOG_WARNING, "receiver", "a lease was not prolonged: %s",
                  err.message);
    pthread_mutex_lock(&keeper->lock);
    ward->in_hand = false;
    ward->renew_at =
        st == PAWL_OK ? after_ms(ward->lease_ms / 3) : pawli_mono_after(pawli_mono_now(), RETRY_US);
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
static pawl_mono look_after(pawli_server_keeper *keeper)
{
    pawl_mono next = keeper->pulse_at;

    for (pawli_ward *ward = keeper->wards; ward; ward = ward->next) {
        if (pawli_mono_passed(ward->cancel_at))
            cancel(ward);
        if (ward->arrival && pawli_mono_passed(ward->renew_at)) {
            renew(keeper, ward);
            return pawli_mono_now(); /* the list may have changed meanwhile */
        }
        next = earlier(next, earlier(ward->cancel_at, ward->renew_at));
    }
    if (pawli_mono_passed(keeper->pulse_at)) {
        feel_pulse(keeper);
        return pawli_mono_now();
    }
    return next;
}

static void *watch(void *context)
{
    pawli_server_keeper *keeper = context;

    pthread_mutex_lock(&keeper->lock);
    while (!keeper->ending) {
        pawl_mono next = look_after(keeper);
        if (!keeper->ending && !pawli_mono_passed(next))
            pawli_wait_until(&keeper->changed, &keeper->lock, next);
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
                                      const pawl_log_sink *log, pawl_error *err)
{
    keeper->store = store;
    keeper->log = log;
    keeper->answers = true; /* a store that is open has just answered */
    keeper->pulse_at = pawli_mono_after(pawli_mono_now(), PULSE_US);
    keeper->has_thread = pawli_thread_begin(&keeper->thread, watch, keeper);
    if (!keeper->has_thread)
        return pawli_fail(err, PAWL_E_NOMEM, "the receiver could not start a thread");
    return PAWL_OK;
}

void pawli_server_keeper_done(pawli_server_keeper *keeper)
{
    if (!keeper->has_thread)
        return;
    pthread_mutex_lock(&keeper->lock);
    keeper->ending = true;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
    pthread_join(keeper->thread, NULL);
    keeper->has_thread = false;
}

pawl_status pawli_server_keeper_add(pawli_server_keeper *keeper, pawli_ward *ward,
                                    pawl_arrival *arrival, int64_t lease_ms, int64_t timeout_ms,
                                    pawl_error *err)
{
    ward->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ward->cancel_fd < 0)
        return pawli_fail_code(err, PAWL_E_NOMEM, errno, "no descriptor is left: %s",
                               strerror(errno));
    ward->arrival = arrival;
    ward->lease_ms = lease_ms;
    ward->renew_at = arrival ? after_ms(lease_ms / 3) : never;
    ward->cancel_at = timeout_ms > 0 ? after_ms(timeout_ms) : never;
    pthread_mutex_lock(&keeper->lock);
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
