/* src/transport/delivery.c - the delivery loop: sends messages that have a destination. */
#include <pawl/delivery.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "delivery_private.h"
#include "envelope.h"
#include "fail.h"
#include "log.h"
#include "options.h"
#include "scope.h"
#include "platform.h"
#include "transport_client.h"

PAWLI_AUTO_DEFINE(pawl_delivery, pawl_delivery_free);

#define LEASE_MIN_MS 3000
#define LEASE_MAX_MS ((int64_t)7 * 24 * 3600 * 1000)
#define TIME_MAX_MS ((int64_t)365 * 24 * 3600 * 1000)
/* How long a delivery that is shutting down tries to reach the database. */
#define FAREWELL_US INT64_C(10000000)
#define LONGEST_WAIT_MS 30000
#define WAKE_POLL_US INT64_C(1000000)

/* ---- creating a delivery ---- */

static bool backoff_is_good(const pawl_backoff *policy)
{
    return policy->base_ms > 0 && policy->max_ms >= policy->base_ms &&
           policy->jitter_ms >= PAWL_JITTER_TENTH && policy->max_ms <= TIME_MAX_MS &&
           policy->jitter_ms <= TIME_MAX_MS;
}

static pawl_status delivery_check(const pawl_delivery_options *options, pawl_error *err)
{
    if (!options->source || !*options->source || strlen(options->source) > PAWL_SOURCE_MAX ||
        pawli_has_controls(options->source))
        return pawli_fail(
            err, PAWL_E_INVALID,
            "source, the name of this service, must have 1 to %d bytes and no control characters",
            PAWL_SOURCE_MAX);
    if (options->batch < 1 || options->batch > PAWL_BATCH_MAX || options->max_in_flight < 1 ||
        options->max_in_flight > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "batch and max_in_flight must be 1 to %d",
                          PAWL_BATCH_MAX);
    if (options->lease_ms < LEASE_MIN_MS || options->lease_ms > LEASE_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID, "lease_ms must be 3000 to 7 days");
    if (options->grace_ms < 0 || options->grace_ms > TIME_MAX_MS ||
        options->retry_after_max_ms < 1 || options->retry_after_max_ms > TIME_MAX_MS)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "grace_ms must not be negative, and retry_after_max_ms must be greater than 0");
    if (options->breaker_failures < 1 || options->breaker_failures > 1000 ||
        !backoff_is_good(&options->breaker_open))
        return pawli_fail(err, PAWL_E_INVALID,
                          "breaker_failures must be 1 to 1000, and breaker_open needs base_ms > 0, "
                          "max_ms >= base_ms, jitter_ms >= 0");
    return PAWL_OK;
}

static bool delivery_copy_text(const char **text)
{
    if (*text)
        *text = strdup(*text);
    return true;
}

/* Replaces the strings by copies that the delivery owns; NULL stays NULL. */
static bool delivery_copy_texts(pawl_delivery_options *options)
{
    bool had_owner = options->owner_name, had_topic = options->response_topic;

    delivery_copy_text(&options->source);
    delivery_copy_text(&options->owner_name);
    delivery_copy_text(&options->response_topic);
    return options->source && (!had_owner || options->owner_name) &&
           (!had_topic || options->response_topic);
}

static pawl_status delivery_watch(pawl_delivery *delivery, int fd, pawl_error *err)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (fd < 0 || delivery->events < 0 ||
        epoll_ctl(delivery->events, EPOLL_CTL_ADD, fd, &event) != 0)
        return pawli_fail_code(err, PAWL_E_IO, errno,
                               "no file descriptor is available for a delivery: raise the limit of "
                               "open files (ulimit -n)");
    return PAWL_OK;
}

static pawl_status open_all(pawl_delivery *delivery, pawl_error *err)
{
    pawl_transports *transports = delivery->options.transports;
    pawl_status st = PAWL_OK;

    if (!transports) {
        st = pawl_transports_new(NULL, &delivery->own_transports, err);
        transports = delivery->own_transports;
    }
    if (st == PAWL_OK)
        st = pawli_transport_client_open(transports, &delivery->client, err);
    if (st == PAWL_OK)
        st = pawl_waiter_new(delivery->store, &delivery->waiter, err);
    if (st != PAWL_OK)
        return st;
    delivery->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    delivery->events = epoll_create1(EPOLL_CLOEXEC);
    st = delivery_watch(delivery, delivery->stop_fd, err);
    if (st == PAWL_OK)
        st = delivery_watch(delivery, pawli_transport_client_fd(delivery->client), err);
    if (st == PAWL_OK)
        st = delivery_watch(delivery, delivery->pump.completed_fd, err);
    return st;
}

pawl_status pawl_delivery_new(pawl_store *store, pawl_services *services,
                              const pawl_delivery_options *opts, pawl_delivery **ret_delivery,
                              pawl_error *err)
{
    PAWLI_AUTO(pawl_delivery) delivery = NULL;
    pawl_delivery_options options = PAWL_DELIVERY_OPTIONS_INIT;
    pawl_status st;

    if (!store || !services || !ret_delivery)
        return pawli_fail(err, PAWL_E_INVALID, "store, services and ret_delivery must not be NULL");
    st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st == PAWL_OK)
        st = delivery_check(&options, err);
    if (st != PAWL_OK)
        return st;
    delivery = calloc(1, sizeof *delivery);
    if (!delivery)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a delivery");
    pthread_mutex_init(&delivery->lock, NULL);
    delivery->stop_fd = delivery->events = -1;
    delivery->pump.wake_fd = delivery->pump.completed_fd = -1;
    st = pawli_send_pump_init(&delivery->pump, err);
    delivery->store = store;
    delivery->services = pawl_services_ref(services);
    delivery->owner = pawl_owner_new();
    delivery->options = options;
    delivery->policy = (pawli_breaker_policy){options.breaker_failures, {0}, options.breaker_open};
    delivery->clock_at.us = delivery->destinations_at.us = delivery->armed_at.us = INT64_MIN / 2;
    delivery->ask_until.us = INT64_MIN;
    pawli_breaker_init(&delivery->health, &pawli_breaker_usual);
    if (!delivery_copy_texts(&delivery->options))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a delivery");
    if (st == PAWL_OK)
        st = open_all(delivery, err);
    if (st == PAWL_OK)
        *ret_delivery = pawl_delivery_take(&delivery);
    return st;
}

static void free_send_ops(pawli_send_ops *ops)
{
    while (ops->first) {
        pawli_send_op *op = ops->first;
        pawli_send_ops_remove(ops, op);
        pawli_send_op_free(op);
    }
}

void pawl_delivery_free(pawl_delivery *delivery)
{
    if (!delivery)
        return;
    pawli_send_pump_done(&delivery->pump);
    pawli_transport_client_close(delivery->client); /* completes the sends in flight */
    free_send_ops(&delivery->in_flight);
    free_send_ops(&delivery->completed);
    pawl_transports_free(delivery->own_transports);
    pawl_waiter_free(delivery->waiter);
    pawl_services_unref(delivery->services);
    pawli_destinations_done(&delivery->destinations);
    if (delivery->stop_fd >= 0)
        close(delivery->stop_fd);
    if (delivery->events >= 0)
        close(delivery->events);
    free(delivery->left_out);
    free((char *)(uintptr_t)delivery->options.source);
    free((char *)(uintptr_t)delivery->options.owner_name);
    free((char *)(uintptr_t)delivery->options.response_topic);
    pthread_mutex_destroy(&delivery->lock);
    free(delivery);
}

pawl_owner pawl_delivery_owner(const pawl_delivery *delivery)
{
    return delivery->owner;
}

/* ---- access for other files ---- */

pawl_services *pawli_delivery_services(pawl_delivery *delivery)
{
    pthread_mutex_lock(&delivery->lock);
    pawl_services *services = pawl_services_ref(delivery->services);
    pthread_mutex_unlock(&delivery->lock);
    return services;
}

static bool is_in_map(const pawl_services *services, const char *destination)
{
    const pawl_service *service = NULL;
    const char *url = NULL;

    return pawl_services_find(services, destination, &service, &url, NULL) == PAWL_OK;
}

void pawl_delivery_set_services(pawl_delivery *delivery, pawl_services *services)
{
    if (!delivery || !services)
        return;
    pthread_mutex_lock(&delivery->lock);
    pawl_services *old = delivery->services;
    delivery->services = pawl_services_ref(services);
    delivery->map_changed = true;
    /* Messages may have been deferred by a process that ran earlier. */
    for (size_t i = 0; i < delivery->destinations.count; i++)
        delivery->destinations.items[i]->unsendable |=
            !is_in_map(old, delivery->destinations.items[i]->name);
    pthread_mutex_unlock(&delivery->lock);
    pawl_services_unref(old);
    pawl_waiter_wake(delivery->waiter);
}

pawli_destination *pawli_delivery_recipient(pawl_delivery *delivery, const char *name)
{
    pthread_mutex_lock(&delivery->lock);
    pawli_destination *destination =
        pawli_destinations_get(&delivery->destinations, name, &delivery->policy);
    pthread_mutex_unlock(&delivery->lock);
    return destination;
}

/* ---- one iteration ---- */

/* PAWL_OK: continue, after a pause if the circuit breaker is open. */
static pawl_status delivery_note_status(pawl_delivery *delivery, pawl_status st,
                                        const pawl_error *why)
{
    if (st == PAWL_OK) {
        delivery->worked = true;
        if (pawli_breaker_succeeded(&delivery->health))
            pawli_log(&delivery->options.log, PAWL_LOG_INFO, "store",
                      "circuit breaker closed, the database responds again",
                      pawli_logged("store", pawl_store_engine(delivery->store)));
        return PAWL_OK;
    }
    delivery->armed = delivery->drained = false;
    if (pawli_store_error_is_final(st, delivery->worked))
        return st;
    if (pawli_breaker_failed(&delivery->health, pawli_mono_now(), pawli_random_u64())) {
        pawli_log_fields fields = {0};
        pawli_log_text(&fields, "store", pawl_store_engine(delivery->store));
        pawli_log_text(&fields, "error", why->message);
        pawli_log_record(
            &delivery->options.log, PAWL_LOG_WARNING, "store", &fields,
            "circuit breaker opened, retrying: the database cannot be reached: {error}");
    }
    return PAWL_OK;
}

static pawl_status delivery_exchange(pawl_delivery *delivery, bool claims, bool may_arm,
                                     pawl_error *err)
{
    pawl_status st = pawli_delivery_renew(delivery, err);

    if (st == PAWL_OK)
        st = pawli_delivery_store_others(delivery, err);
    if (st == PAWL_OK)
        st = pawli_delivery_resume(delivery, err);
    if (st == PAWL_OK && claims)
        st = pawli_delivery_wake_unsendable(delivery, err);
    if (st == PAWL_OK)
        st = claims ? pawli_delivery_claim(delivery, may_arm, err)
                    : pawli_delivery_store_done(delivery, err);
    return st;
}

static pawl_status delivery_iterate(pawl_delivery *delivery, bool claims, bool may_arm,
                                    pawl_error *err)
{
    pawl_error why = PAWL_ERROR_INIT;

    delivery->moved = 0;
    pawli_send_pump_pause(delivery);
    pawli_send_pump_drop_late(delivery);
    if (pawli_transport_client_process(delivery->client, &why) != PAWL_OK)
        pawli_log(&delivery->options.log, PAWL_LOG_WARNING, "outbox",
                  "sends are delayed, retrying: {error}", pawli_logged("error", why.message));
    if (!pawli_breaker_allows(&delivery->health, pawli_mono_now()))
        return PAWL_OK;
    pawl_status st = delivery_exchange(delivery, claims, may_arm, &why);
    st = delivery_note_status(delivery, st, &why);
    if (st != PAWL_OK && err)
        *err = why;
    return st;
}

/* ---- waiting ---- */

static void delivery_keep_earlier(pawl_mono *at, pawl_mono other)
{
    if (other.us < at->us)
        *at = other;
}

/* When the next iteration is due if nothing happens. Times that have passed were handled
 * already. */
static int64_t wait_ms(pawl_delivery *delivery, int64_t max_poll_ms)
{
    pawl_mono now = pawli_mono_now(), at = pawli_mono_after(now, max_poll_ms * 1000);
    int64_t client_ms = pawli_transport_client_timeout_ms(delivery->client);

    if (client_ms >= 0)
        delivery_keep_earlier(&at, pawli_mono_after(now, client_ms * 1000));
    delivery_keep_earlier(&at, pawli_delivery_renew_at(delivery));
    if (delivery->health.failures > 0)
        delivery_keep_earlier(&at, delivery->health.retry_at);
    if (pawli_delivery_in_doubt(delivery))
        delivery_keep_earlier(&at, pawli_mono_after(now, 500000));
    if (!delivery->armed && delivery->health.failures == 0)
        delivery_keep_earlier(&at, pawli_mono_after(now, 50000));
    for (size_t i = 0; i < delivery->destinations.count; i++) {
        pawl_mono ready = pawli_destination_ready_at(delivery->destinations.items[i]);
        if (ready.us <= now.us)
            continue;
        /* an excluded destination's `pawl wake` is only noticed by polling */
        delivery_keep_earlier(&at, pawli_mono_after(now, WAKE_POLL_US));
        delivery_keep_earlier(&at, ready);
    }
    return at.us > now.us ? (at.us - now.us + 999) / 1000 : 0;
}

static pawl_status delivery_wait(pawl_delivery *delivery, int64_t ms, pawl_error *err)
{
    struct pollfd events = {.fd = delivery->events, .events = POLLIN};
    pawl_error why = PAWL_ERROR_INIT;
    pawl_status st;

    if (!delivery->armed) {
        (void)poll(&events, 1, ms < LONGEST_WAIT_MS ? (int)ms : LONGEST_WAIT_MS);
        return PAWL_OK;
    }
    pawli_send_pump_lend(delivery); /* this may also call the database */
    st = pawl_waiter_wait(delivery->waiter, ms, delivery->events, &why);
    pawli_send_pump_reclaim(delivery);
    delivery->armed = delivery->drained = false;
    /* The wait may have ended because of a message for a new destination. */
    delivery->destinations_at.us = INT64_MIN / 2;
    if (st != PAWL_OK)
        st = delivery_note_status(delivery, st, &why);
    if (st != PAWL_OK && err)
        *err = why;
    return st;
}

/* ---- running ---- */

/* Async-signal-safe: sets an atomic and calls write(); preserves errno. */
void pawl_delivery_request_stop(pawl_delivery *delivery)
{
    int kept = errno;
    uint64_t one = 1;

    if (!delivery)
        return;
    atomic_fetch_add(&delivery->stops, 1);
    ssize_t written = write(delivery->stop_fd, &one, sizeof one); /* fails only if it is readable
                                                                   * already */
    (void)written;
    errno = kept;
}

static void clear_stop_event(pawl_delivery *delivery)
{
    uint64_t calls;
    ssize_t got = read(delivery->stop_fd, &calls, sizeof calls);

    (void)got;
}

static void cancel_all(pawl_delivery *delivery)
{
    for (pawli_send_op *at = delivery->in_flight.first; at; at = at->next)
        if (at->send)
            pawli_transport_client_cancel(delivery->client, at->send);
}

static bool delivery_owns_nothing(const pawl_delivery *delivery)
{
    return delivery->in_flight.count == 0 && delivery->completed.count == 0 &&
           !pawli_delivery_in_doubt(delivery);
}

/* Messages of a claim in doubt are also sent if they arrive within the grace period. */
static pawl_status wind_down(pawl_delivery *delivery, pawl_error *err)
{
    pawl_mono grace = pawli_mono_after(pawli_mono_now(), delivery->options.grace_ms * 1000);
    pawl_mono end = pawli_mono_after(grace, FAREWELL_US);
    pawl_error why = PAWL_ERROR_INIT;
    bool cancelled = false;

    delivery->armed = false;
    pawl_waiter_disarm(delivery->waiter);
    while (!delivery_owns_nothing(delivery)) {
        clear_stop_event(delivery);
        if (cancelled || atomic_load(&delivery->stops) > 1 || pawli_mono_passed(grace)) {
            cancel_all(delivery);
            cancelled = true;
        }
        pawl_status st = delivery_iterate(delivery, false, false, &why);
        if (st != PAWL_OK || pawli_mono_passed(end)) {
            if (st == PAWL_OK)
                st = pawli_fail(&why, PAWL_E_TIMEOUT,
                                "the results of %zu messages could not be stored: they become "
                                "ready again when their leases expire",
                                delivery->in_flight.count + delivery->completed.count);
            if (err)
                *err = why;
            return st;
        }
        if (delivery->moved > 0 || delivery_owns_nothing(delivery))
            continue;
        int64_t left_ms = cancelled ? 50 : pawli_mono_left(grace) / 1000 + 1;
        (void)delivery_wait(delivery, wait_ms(delivery, left_ms), NULL);
    }
    return PAWL_OK;
}

static pawl_status delivery_goes_on(pawl_delivery *delivery, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    while (st == PAWL_OK && atomic_load(&delivery->stops) == 0) {
        st = delivery_iterate(delivery, true, true, err);
        if (st == PAWL_OK && delivery->moved == 0 &&
            (delivery->armed || !delivery->drained || delivery->in_flight.count > 0))
            st = delivery_wait(delivery, wait_ms(delivery, LONGEST_WAIT_MS), err);
    }
    return st;
}

pawl_status pawl_delivery_run(pawl_delivery *delivery, pawl_error *err)
{
    pawl_status st, end;

    if (!delivery)
        return pawli_fail(err, PAWL_E_INVALID, "the delivery must not be NULL");
    if (atomic_exchange(&delivery->running, true))
        return pawli_fail(err, PAWL_E_MISUSE, "this delivery is already running");
    pawli_send_pump_enter(delivery);
    st = delivery_goes_on(delivery, err);
    if (st != PAWL_OK) /* permanent error: release what can be released */
        atomic_fetch_add(&delivery->stops, 2);
    end = wind_down(delivery, st == PAWL_OK ? err : NULL);
    atomic_store(&delivery->stops, 0);
    clear_stop_event(delivery);
    pawli_send_pump_leave(delivery);
    atomic_store(&delivery->running, false);
    return st == PAWL_OK ? end : st;
}

pawl_status pawl_delivery_step(pawl_delivery *delivery, int64_t timeout_ms, size_t *ret_moved,
                               pawl_error *err)
{
    pawl_status st;

    if (!delivery || timeout_ms < 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "delivery must not be NULL, and wait_ms must not be negative");
    if (atomic_exchange(&delivery->running, true))
        return pawli_fail(err, PAWL_E_MISUSE, "this delivery is already running");
    pawli_send_pump_enter(delivery);
    st = delivery_iterate(delivery, true, timeout_ms > 0, err);
    if (st == PAWL_OK && delivery->moved == 0 && timeout_ms > 0) {
        st = delivery_wait(delivery, wait_ms(delivery, timeout_ms), err);
        if (st == PAWL_OK)
            st = delivery_iterate(delivery, true, false, err);
    }
    if (st == PAWL_OK && ret_moved)
        *ret_moved = delivery->moved;
    pawli_send_pump_leave(delivery);
    atomic_store(&delivery->running, false);
    return st;
}
