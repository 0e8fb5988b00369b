/* tests/delivery/delivery_fixture.c - a delivery on a fixture, with destinations of every kind. */
#include "delivery_fixture.h"
#include "ack.h"

#include <stdlib.h>
#include <string.h>

#include <pawl/sys/transport.h>

#define STEPS_MAX 2000

static void free_delivery(void *context)
{
    delivery_fixture *d = context;

    peer_release(d->peer);
    pawl_delivery_free(d->delivery);
    pawl_transports_free(d->transports);
    pawl_services_unref(d->services);
    log_capture_done(&d->log);
    free(d);
}

static void receive_moody(void *context, const pawl_envelope *envelope, pawl_reply *reply)
{
    delivery_fixture *d = context;
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;
    delivery_mood mood = atomic_load(&d->mood);

    static const delivery_mood alternating[] = {MOOD_GOOD, MOOD_BAD,  MOOD_BAD,
                                                MOOD_GOOD, MOOD_BUSY, MOOD_GOOD};

    (void)envelope;
    int call = atomic_fetch_add(&d->moody_calls, 1);
    if (mood == MOOD_FLAPPING)
        mood = alternating[call % (int)COUNT_OF(alternating)];
    if (mood == MOOD_STATUS) {
        char room[PAWL_SEND_ERROR_SIZE];
        pawli_ack *ack = NULL;

        pawl_send_report_of_http(atomic_load(&d->answer_status), atomic_load(&d->retry_after), NULL,
                                 0, room, &outcome, &ack);
        pawl_reply_send(reply, &outcome);
        return;
    }
    if (mood == MOOD_DOWN)
        return; /* no response */
    outcome.reached = true;
    if (mood == MOOD_GOOD) {
        outcome.sent = PAWL_SEND_ACKNOWLEDGED;
    } else {
        outcome.status = mood == MOOD_BAD ? 500 : 503;
        outcome.retry_after_ms = mood == MOOD_BAD ? -1 : 20;
        outcome.error = "in a bad mood";
    }
    pawl_reply_send(reply, &outcome);
}

void delivery_map(delivery_fixture *d, const pawl_service_options *like)
{
    static const char *const names[] = {"peer", "other", "narrow", "dead", "moody"};
    pawl_service_options all[COUNT_OF(names)];
    pawl_services_options opts = PAWL_SERVICES_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_services *old = d->services;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        pawl_service_options usual = PAWL_SERVICE_OPTIONS_INIT;

        all[i] = like ? *like : usual;
        all[i].name = names[i];
        all[i].url = i < 3 ? peer_url(d->peer) : i == 3 ? "http://127.0.0.1:1/" : "inproc://moody";
        all[i].allow_private = true;
        all[i].ca_file = peer_ca_file(d->peer);
        if (i == 2)
            all[i].concurrency = 2;
    }
    opts.map_name = "the test's own map";
    d->services = NULL;
    assert_ok(pawl_services_new(all, COUNT_OF(names), &opts, &d->services, &err), &err);
    if (d->delivery)
        pawl_delivery_set_services(d->delivery, d->services);
    pawl_services_unref(old);
}

delivery_fixture *delivery_open(const fixture_options *opts)
{
    pawl_delivery_options usual = PAWL_DELIVERY_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    delivery_fixture *d = calloc(1, sizeof *d);

    if (!d)
        abort();
    d->f = fixture_open(opts);
    d->peer = peer_start();
    log_capture_init(&d->log);
    test_defer(free_delivery, d);
    assert_ok(pawl_transports_new(NULL, &d->transports, &err), &err);
    peer_register(d->peer, d->transports);
    assert_ok(pawl_transports_add_inproc(d->transports, "moody", 1, receive_moody, d, &err), &err);
    delivery_map(d, NULL);
    d->options = usual;
    d->options.source = "sender";
    d->options.transports = d->transports;
    d->options.log = (pawl_log_sink){log_capture_write, &d->log, PAWL_LOG_DEBUG};
    return d;
}

void delivery_start(delivery_fixture *d)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_delivery_new(fixture_store(d->f), d->services, &d->options, &d->delivery, &err),
              &err);
}

pawl_work_id delivery_send(delivery_fixture *d, const char *destination, const char *topic,
                           const char *payload)
{
    pawl_message_spec message = queue_message(topic, payload);

    message.destination = destination;
    return queue_send(d->f, &message).work_id;
}

int64_t delivery_count(delivery_fixture *d, pawl_state state)
{
    return fixture_count(d->f, "SELECT count(*) FROM {message} WHERE state = %d", (int)state);
}

int64_t delivery_leased(delivery_fixture *d)
{
    return fixture_count(d->f, "SELECT count(*) FROM {queue} WHERE fence <> 0");
}

static void step_delivery(delivery_fixture *d, int64_t wait_ms)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_delivery_step(d->delivery, wait_ms, NULL, &err), &err);
}

void delivery_until(delivery_fixture *d, int64_t count, pawl_state state)
{
    for (int i = 0; delivery_count(d, state) < count; i++) {
        if (i == STEPS_MAX)
            test_fail("only %lld messages are %s, not %lld", (long long)delivery_count(d, state),
                      pawl_state_name(state), (long long)count);
        step_delivery(d, 100);
    }
}

void delivery_run_until_idle(delivery_fixture *d)
{
    step_delivery(d, 0);
    for (int i = 0; delivery_leased(d) > 0; i++) {
        if (i == STEPS_MAX)
            test_fail("something is still in flight");
        step_delivery(d, 100);
    }
}

void delivery_until_blocked(delivery_fixture *d, int count)
{
    for (int i = 0; peer_blocked(d->peer) < count; i++) {
        if (i == STEPS_MAX)
            test_fail("the peer blocks %d, not %d", peer_blocked(d->peer), count);
        step_delivery(d, 10);
    }
}

void delivery_steps(delivery_fixture *d, int turns)
{
    while (turns-- > 0)
        step_delivery(d, 0);
}

pawl_destination_stats delivery_stats(delivery_fixture *d, const char *destination)
{
    pawl_destination_stats found = {.destination = NULL};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_delivery_stats *stats = NULL;

    assert_ok(pawl_delivery_get_stats(d->delivery, &stats, &err), &err);
    for (size_t i = 0; i < pawl_delivery_stats_count(stats); i++)
        if (strcmp(pawl_delivery_stats_at(stats, i)->destination, destination) == 0)
            found = *pawl_delivery_stats_at(stats, i);
    assert_null(pawl_delivery_stats_at(stats, pawl_delivery_stats_count(stats)));
    found.destination = NULL; /* gone with the stats */
    pawl_delivery_stats_free(stats);
    return found;
}

static void *run_delivery(void *context)
{
    delivery_fixture *d = context;

    d->status = pawl_delivery_run(d->delivery, &d->err);
    return NULL;
}

void delivery_run(delivery_fixture *d)
{
    assert_int_equal(0, pthread_create(&d->thread, NULL, run_delivery, d));
}

pawl_status delivery_join(delivery_fixture *d)
{
    assert_int_equal(0, pthread_join(d->thread, NULL));
    return d->status;
}

void delivery_expect(delivery_fixture *d, int64_t count, pawl_state state)
{
    int64_t end_ms = test_clock_ms() + ACTIVITY_PATIENCE_MS;
    uint64_t seen = activity_count();

    for (; delivery_count(d, state) < count; seen = activity_count()) {
        if (test_clock_ms() > end_ms) {
            pawl_delivery_request_stop(d->delivery);
            pawl_delivery_request_stop(d->delivery);
            delivery_join(d);
            test_fail("only %lld messages are %s, not %lld", (long long)delivery_count(d, state),
                      pawl_state_name(state), (long long)count);
        }
        activity_await(seen);
    }
}
