/* src/server/receiver.c - the receiver: creating, starting and stopping it. */
#include <stdlib.h>
#include <string.h>

#include <pawl/sys/transport.h>
#include <pawl_private/delivery_store.h>

#include "fail.h"
#include "options.h"
#include "platform.h"
#include "receiver_private.h"
#include "scope.h"

/* ---- creating, starting and stopping the receiver ---- */

#define DAY_MS INT64_C(86400000)
#define ANSWERS_LEAVE_US                                                                           \
    5000000 /* how long clients may take to read their responses during                            \
             * shutdown */
#define HOUR_US INT64_C(3600000000)

/* ---- creating ---- */

typedef struct range {
    const char *name;
    int64_t value;
    int64_t min;
    int64_t max;
} range;

static pawl_status receiver_check_options(const pawl_receiver_options *o, pawl_error *err)
{
    const range ranges[] = {
        {"threads", o->threads, 1, 64},
        {"handlers", o->handlers, 1, 1000},
        {"waiting", o->waiting, 0, 100000},
        {"connections", o->connections, 1, 100000},
        {"connections_per_ip", o->connections_per_ip, 1, 100000},
        {"max_body_bytes", (int64_t)o->max_body_bytes, 1024, INT64_C(64) * 1024 * 1024},
        {"max_header_bytes", (int64_t)o->max_header_bytes, 4096, INT64_C(1) << 20},
        {"max_buffered_bytes", (int64_t)o->max_buffered_bytes, INT64_C(1) << 20, INT64_C(1) << 40},
        {"request_ms", o->request_ms, 100, 3600000},
        {"grace_ms", o->grace_ms, 0, DAY_MS},
        {"replay_window_ms", o->replay_window_ms, 1000, DAY_MS},
        {"lease_ms", o->lease_ms, 1000, DAY_MS},
        {"max_attempts", o->max_attempts, 1, 1000},
        {"keep_ms", o->keep_ms, 0, 3650 * DAY_MS},
        {"max_response_bytes", (int64_t)o->max_response_bytes, 0, INT64_C(64) * 1024 * 1024},
    };

    for (size_t i = 0; i < PAWLI_COUNT(ranges); i++)
        if (ranges[i].value < ranges[i].min || ranges[i].value > ranges[i].max)
            return pawli_fail(err, PAWL_E_INVALID, "%s must be %lld to %lld", ranges[i].name,
                              (long long)ranges[i].min, (long long)ranges[i].max);
    return PAWL_OK;
}

/* A signature is valid from one window before its timestamp to one after it. */
static pawl_status check_keep(const pawl_store *store, const pawl_receiver_options *o,
                              pawl_error *err)
{
    int64_t keep_ms = o->keep_ms > 0 ? o->keep_ms : pawl_store_inbox_keep_ms(store);

    if (keep_ms < 2 * o->replay_window_ms)
        return pawli_fail(err, PAWL_E_INVALID,
                          "processed messages are remembered for %lld ms, but signatures are valid "
                          "for %lld ms before and after their timestamp: keep records for at least "
                          "twice replay_window_ms, or a replayed message is processed again",
                          (long long)keep_ms, (long long)o->replay_window_ms);
    return PAWL_OK;
}

pawl_status pawl_receiver_new(pawl_store *store, pawl_services *services,
                              const pawl_receiver_options *opts, pawl_receiver **ret_receiver,
                              pawl_error *err)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    pawl_receiver *receiver;
    pawli_networks trusted;
    pawl_status st;

    if (!store || !services || !ret_receiver)
        return pawli_fail(err, PAWL_E_INVALID, "store, services and ret_receiver must not be NULL");
    st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st == PAWL_OK)
        st = receiver_check_options(&options, err);
    if (st == PAWL_OK)
        st = check_keep(store, &options, err);
    if (st == PAWL_OK)
        st = pawli_networks_parse(options.trusted_proxies, &trusted, err);
    if (st != PAWL_OK)
        return st;
    options.trusted_proxies = NULL; /* it points to the caller's string */
    receiver = calloc(1, sizeof *receiver);
    if (!receiver)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the receiver");
    receiver->store = store;
    receiver->options = options;
    receiver->services = pawl_services_ref(services);
    pthread_mutex_init(&receiver->services_lock, NULL);
    pawli_receive_pool_init(&receiver->pool);
    pawli_receive_renewer_init(&receiver->renewer);
    pawli_rejections_init(&receiver->rejections);
    receiver->trusted = trusted;
    *ret_receiver = receiver;
    return PAWL_OK;
}

void pawl_receiver_free(pawl_receiver *receiver)
{
    pawli_listener *listener;

    if (!receiver)
        return;
    pawl_receiver_stop(receiver);
    while ((listener = receiver->listeners)) {
        receiver->listeners = listener->next;
        pawli_listener_free(listener);
    }
    pawli_routes_done(&receiver->routes);
    pawl_services_unref(receiver->services);
    pawli_receive_renewer_destroy(&receiver->renewer);
    pawli_rejections_destroy(&receiver->rejections);
    pawli_receive_pool_destroy(&receiver->pool);
    pthread_mutex_destroy(&receiver->services_lock);
    free(receiver);
}

pawl_status pawl_receiver_handle(pawl_receiver *receiver, const char *topic, pawl_receive_mode mode,
                                 pawl_receive_handler handler, void *context,
                                 const pawl_receive_options *opts, pawl_error *err)
{
    pawl_receive_options options = PAWL_RECEIVE_OPTIONS_INIT;
    pawl_status st;

    if (!receiver || !handler)
        return pawli_fail(err, PAWL_E_INVALID, "receiver and handler must not be NULL");
    if (mode != PAWL_RECEIVE_ATOMIC && mode != PAWL_RECEIVE_CALL_OUT)
        return pawli_fail(err, PAWL_E_INVALID, "unknown mode");
    if (atomic_load(&receiver->state) != PAWLI_RECEIVER_NEW)
        return pawli_fail(err, PAWL_E_MISUSE, "register handlers before pawl_receiver_start()");
    st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st != PAWL_OK)
        return st;
    return pawli_routes_add(&receiver->routes, topic, mode, handler, context, &options, err);
}

pawl_status pawl_receiver_set_health_sources(pawl_receiver *receiver, pawl_worker *worker,
                                             pawl_delivery *delivery, pawl_error *err)
{
    if (!receiver)
        return pawli_fail(err, PAWL_E_INVALID, "receiver must not be NULL");
    if (atomic_load(&receiver->state) != PAWLI_RECEIVER_NEW)
        return pawli_fail(err, PAWL_E_MISUSE, "call this before pawl_receiver_start()");
    receiver->worker = worker;
    receiver->delivery = delivery;
    return PAWL_OK;
}

void pawl_receiver_set_services(pawl_receiver *receiver, pawl_services *services)
{
    pawl_services *before;

    pawl_services_ref(services);
    pthread_mutex_lock(&receiver->services_lock);
    before = receiver->services;
    receiver->services = services;
    pthread_mutex_unlock(&receiver->services_lock);
    pawl_services_unref(before);
}

/* ---- starting ---- */

static void log_refusals(void *context)
{
    pawl_receiver *receiver = context;

    pawli_rejections_log(&receiver->rejections, &receiver->options.log, pawli_mono_now());
}

static pawl_status start_all(pawl_receiver *receiver, pawl_error *err)
{
    const pawli_receive_pool_work work = {pawli_process_read, pawli_process, pawli_process_reject,
                                          receiver};
    pawl_status st = pawli_receive_renewer_start(
        &receiver->renewer, receiver->store, &receiver->options.log, log_refusals, receiver, err);

    if (st == PAWL_OK)
        st = pawli_receive_pool_start(&receiver->pool, &work, (size_t)receiver->options.handlers,
                                      (size_t)receiver->options.waiting, err);
    for (pawli_listener *listener = receiver->listeners; listener && st == PAWL_OK;
         listener = listener->next)
        st = pawli_http_start(listener, err);
    return st;
}

pawl_status pawl_receiver_start(pawl_receiver *receiver, pawl_error *err)
{
    pawli_receiver_state expected = PAWLI_RECEIVER_NEW;
    pawl_status st;

    if (!receiver)
        return pawli_fail(err, PAWL_E_INVALID, "receiver must not be NULL");
    if (!atomic_compare_exchange_strong(&receiver->state, &expected, PAWLI_RECEIVER_RUNS))
        return pawli_fail(err, PAWL_E_MISUSE, "a receiver can be started only once");
    st = start_all(receiver, err);
    if (st != PAWL_OK)
        pawl_receiver_stop(receiver);
    return st;
}

/* ---- stopping ---- */

static pawl_mono after_us(int64_t us)
{
    return pawli_mono_after(pawli_mono_now(), us);
}

void pawl_receiver_cancel_handlers(pawl_receiver *receiver)
{
    if (receiver)
        pawli_receive_renewer_cancel_all(&receiver->renewer);
}

/* Responds to all requests that have arrived: waits for those being processed, and rejects the
 * others. */
static void finish_work(pawl_receiver *receiver)
{
    pawli_receive_pool_close(&receiver->pool, &receiver->routes);
    if (pawli_receive_pool_wait(&receiver->pool, after_us(receiver->options.grace_ms * 1000)))
        return;
    do
        pawli_receive_renewer_cancel_all(&receiver->renewer);
    while (!pawli_receive_pool_wait(&receiver->pool, after_us(HOUR_US)));
}

void pawl_receiver_stop(pawl_receiver *receiver)
{
    pawli_receiver_state expected = PAWLI_RECEIVER_RUNS;

    if (!receiver ||
        !atomic_compare_exchange_strong(&receiver->state, &expected, PAWLI_RECEIVER_STOPS))
        return;
    for (pawli_listener *listener = receiver->listeners; listener; listener = listener->next)
        pawli_http_quiesce(listener);
    finish_work(receiver);
    pawl_mono deadline = after_us(ANSWERS_LEAVE_US);
    for (pawli_listener *listener = receiver->listeners; listener; listener = listener->next)
        if (listener->daemon)
            pawli_connections_drain(&listener->connections, deadline);
    for (pawli_listener *listener = receiver->listeners; listener; listener = listener->next)
        pawli_http_stop(listener);
    pawli_receive_pool_done(&receiver->pool);
    pawli_receive_renewer_done(&receiver->renewer);
    atomic_store(&receiver->state, PAWLI_RECEIVER_STOPPED);
}

/* ---- statistics ---- */

void pawl_receiver_get_stats(pawl_receiver *receiver, pawl_receiver_stats *ret_stats)
{
    const pawli_receiver_counts *counts = &receiver->counts;
    pawl_receiver_stats stats = PAWL_RECEIVER_STATS_INIT;

    stats.received = atomic_load(&counts->received);
    stats.processed = atomic_load(&counts->processed);
    stats.duplicates = atomic_load(&counts->duplicates);
    stats.unsigned_ = atomic_load(&counts->unsigned_);
    stats.refused = atomic_load(&counts->refused);
    stats.failed = atomic_load(&counts->failed);
    pawli_receive_pool_count(&receiver->pool, &stats.running, &stats.waiting);
    for (pawli_listener *listener = receiver->listeners; listener; listener = listener->next) {
        int64_t open;
        int64_t cut;
        pawli_connections_count(&listener->connections, &open, &cut);
        stats.connections += open;
        stats.cut += cut;
    }
    pawli_returned_copy(ret_stats, &stats, sizeof stats);
}

/* ---- messages from a sender in the same process ---- */

static void process_inproc(pawl_receiver *receiver, const pawl_envelope *envelope,
                           pawli_response *response)
{
    pawli_request job = {0};

    if (atomic_load(&receiver->state) != PAWLI_RECEIVER_RUNS) {
        pawli_response_reject(response, 503, "this receiver is not running");
        return;
    }
    job.route = pawli_routes_find(&receiver->routes, pawl_envelope_endpoint(envelope));
    if (!job.route) {
        pawli_response_reject(response, 404, "no handler is registered for this endpoint");
        return;
    }
    if (!pawli_receive_pool_enter(&receiver->pool, job.route)) {
        pawli_response_reject(response, 429, "too many messages are queued");
        return;
    }
    job.is_next = true; /* a suspect waits here, on the sender's thread */
    /* The job borrows the envelope. */
    job.envelope = (pawl_envelope *)(uintptr_t)envelope;
    pawli_process(receiver, &job);
    pawli_receive_pool_leave(&receiver->pool, job.route);
    *response = job.response;
}

void pawl_receiver_inproc(void *context, const pawl_envelope *envelope, pawl_reply *reply)
{
    pawl_receiver *receiver = context;
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;
    pawl_send_body *body = NULL;
    char error[PAWL_SEND_ERROR_SIZE];
    pawli_response response = {0};

    process_inproc(receiver, envelope, &response);
    pawli_process_count(receiver, &response);
    pawl_send_report_of_http(response.status, NULL, response.body, response.body_size, error,
                             &outcome, &body);
    if (response.retry_after > 0)
        outcome.retry_after_ms = response.retry_after * 1000;
    pawl_reply_send(reply, &outcome);
    pawl_send_body_free(body);
    pawli_response_done(&response);
}
