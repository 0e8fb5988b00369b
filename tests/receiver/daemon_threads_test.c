/* tests/receiver/daemon_threads_test.c - interfaces for a daemon: health of all its
 * parts, and an end that can be hurried. */
#include <pthread.h>
#include <string.h>

#include "inbox_fixture.h"
#include "receiver_fixture.h"

#define ID "0190c5f0-0000-7000-8000-000000000001"

static void *stop_it(void *context)
{
    pawl_receiver_stop(context);
    return NULL;
}

/* The grace would be an hour: only being hurried ends it. */
PAWL_TEST(a_shutdown_that_waits_can_be_ended_at_once)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pthread_t stopper;
    controlled_handler p;
    int fd;

    options.grace_ms = 3600000;
    receiver_fixture *s = receiver_open(&options);
    controlled_handler_init(&p, s);
    p.waits = true;
    p.result = PAWL_RETRY;
    assert_ok(pawl_receiver_handle(s->receiver, NULL, PAWL_RECEIVE_CALL_OUT, controlled_handle, &p,
                                   NULL, &err),
              &err);
    receiver_start(s);
    fd = client_connect(s);
    post_begin(fd, sample_text(s, &(sample){.id = ID}));
    controlled_await(&p.there);
    assert_int_equal(0, pthread_create(&stopper, NULL, stop_it, s->receiver));
    pawl_receiver_cancel_handlers(s->receiver); /* before or while it stops: both are fine */
    pthread_join(stopper, NULL);
    assert_int_equal(1, p.cancelled);
    assert_int_equal(500, client_read(fd)->status);
    assert_int_equal(PAWL_INBOX_SEEN, inbox_record(s->f, ID)->state);
}

typedef struct parts {
    pawl_worker *worker;
    pawl_delivery *delivery;
    receiver_fixture *s;
} parts;

/* The receiver reports on the others, so it is freed first. */
static void free_parts(void *context)
{
    parts *p = context;

    pawl_receiver_free(p->s->receiver);
    p->s->receiver = NULL;
    pawl_delivery_free(p->delivery);
    pawl_worker_free(p->worker);
}

PAWL_TEST(health_reports_delivery_and_worker)
{
    static parts p;
    pawl_worker_options worker = PAWL_WORKER_OPTIONS_INIT;
    pawl_delivery_options delivery = PAWL_DELIVERY_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    receiver_fixture *s = receiver_open(NULL);
    reply *r;

    p = (parts){.s = s};
    test_defer(free_parts, &p);
    worker.maintenance_only = true;
    delivery.source = "shop";
    assert_ok(pawl_worker_new(fixture_store(s->f), &worker, &p.worker, &err), &err);
    assert_ok(pawl_delivery_new(fixture_store(s->f), s->services, &delivery, &p.delivery, &err),
              &err);
    assert_ok(pawl_receiver_set_health_sources(s->receiver, p.worker, p.delivery, &err), &err);
    receiver_start(s);
    r = get(s, "/health");
    assert_int_equal(200, r->status);
    assert_string_equal(
        "{\"status\":\"ok\",\"ready\":true,\"database\":\"ok\",\"running\":0,"
        "\"waiting\":0,\"refused\":{\"connections\":0,\"connections_per_ip\":0,"
        "\"buffered_bytes\":0,\"headers\":0,\"body\":0,\"waiting\":0,\"timeout\":0},"
        "\"delivery\":{\"status\":\"ok\",\"destinations\":{}},"
        "\"worker\":{\"status\":\"ok\",\"breaker\":\"closed\",\"failing\":[]}}",
        r->body);
    assert_int_equal(PAWL_E_MISUSE,
                     pawl_receiver_set_health_sources(s->receiver, NULL, NULL, &err));
}
