/* tests/delivery/breaker_test.c - destinations that are down, and come back. */
#include "delivery_fixture.h"

static delivery_fixture *careful(int failures)
{
    delivery_fixture *d = delivery_open(NULL);

    d->options.breaker_failures = failures;
    d->options.breaker_open = (pawl_backoff){30, 30, 0};
    delivery_start(d);
    return d;
}

/* Sends that ended without success, counted or not. */
static int64_t sends(delivery_fixture *d)
{
    return fixture_count(d->f, "SELECT cast(sum(retries + deferrals) AS bigint) FROM {message}");
}

static int64_t attempts(delivery_fixture *d)
{
    return fixture_count(d->f, "SELECT cast(sum(retries) AS bigint) FROM {message}");
}

PAWL_TEST(the_breaker_of_a_dead_destination_opens_and_no_attempt_is_counted)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_service_options like = PAWL_SERVICE_OPTIONS_INIT;

    d->options.breaker_failures = 3;
    d->options.breaker_open = (pawl_backoff){HOUR_MS, HOUR_MS, 0};
    like.concurrency = 1;
    delivery_map(d, &like);
    delivery_start(d);
    for (int i = 0; i < 20; i++) {
        delivery_send(d, "dead", "ok", "1");
        delivery_send(d, "peer", "ok", "2");
    }
    delivery_until(d, 20, PAWL_STATE_DONE); /* the peer's */
    while (delivery_stats(d, "dead").breaker != PAWL_BREAKER_OPEN)
        delivery_steps(d, 1);
    delivery_steps(d, 10);
    assert_int_equal(3, sends(d));
    assert_int_equal(0, attempts(d));
    assert_int_equal(0, delivery_leased(d));
    assert_int_equal(3, delivery_stats(d, "dead").retried);
    assert_int_equal(3, delivery_stats(d, "dead").deferred);
    assert_true(log_capture_has(&d->log, PAWL_LOG_WARNING,
                                "dead: circuit breaker opened after 3 consecutive failures, next "
                                "probe in 1h"));
    assert_true(
        log_capture_has(&d->log, PAWL_LOG_WARNING,
                        "to dead not sent, deferred, not counted as an attempt, retrying in"));
    assert_int_equal(PAWL_BREAKER_CLOSED, delivery_stats(d, "peer").breaker);
    queue_check(d->f);
}

PAWL_TEST(sends_in_flight_when_it_opened_do_not_extend_the_pause)
{
    delivery_fixture *d = careful(2);

    atomic_store(&d->mood, MOOD_BAD);
    for (int i = 0; i < 16; i++)
        delivery_send(d, "moody", "t", "1");
    delivery_run_until_idle(d);
    while (sends(d) < 16)
        delivery_steps(d, 1);
    assert_true(delivery_stats(d, "moody").retried >= 16);
    atomic_store(&d->mood, MOOD_GOOD);
    delivery_send(d, "moody", "t", "2"); /* the pause is the first, 30 ms, not the fourteenth */
    delivery_until(d, 1, PAWL_STATE_DONE);
    assert_int_equal(PAWL_BREAKER_CLOSED, delivery_stats(d, "moody").breaker);
}

PAWL_TEST(one_message_probes_an_open_breaker)
{
    delivery_fixture *d = careful(1);

    atomic_store(&d->mood, MOOD_BAD);
    delivery_send(d, "moody", "t", "1");
    delivery_run_until_idle(d);
    while (delivery_stats(d, "moody").retried < 1)
        delivery_steps(d, 1);
    /* Open; or on a slow machine the pause is over already, and half open. */
    assert_int_not_equal(PAWL_BREAKER_CLOSED, delivery_stats(d, "moody").breaker);
    for (int i = 0; i < 10; i++)
        delivery_send(d, "moody", "t", "2");
    while (atomic_load(&d->moody_calls) < 3) { /* two more tries, one message each */
        pawl_error err = PAWL_ERROR_INIT;
        assert_true(delivery_leased(d) <= 1);
        assert_ok(pawl_delivery_step(d->delivery, 20, NULL, &err), &err);
    }
    atomic_store(&d->mood, MOOD_GOOD);
    delivery_run_until_idle(d);
    fixture_advance(d->f, MINUTE_MS); /* deferred messages */
    delivery_until(d, 11, PAWL_STATE_DONE);
    assert_int_equal(PAWL_BREAKER_CLOSED, delivery_stats(d, "moody").breaker);
    assert_true(log_capture_has(&d->log, PAWL_LOG_INFO, "moody: circuit breaker closed"));
}

PAWL_TEST(a_flapping_destination_gets_everything_in_the_end)
{
    delivery_fixture *d = careful(2);
    pawl_service_options like = PAWL_SERVICE_OPTIONS_INIT;

    like.concurrency = 4;
    like.backoff = (pawl_backoff){1, 1, 0};
    delivery_map(d, &like);
    for (int i = 0; i < 30; i++) {
        pawl_message_spec message = queue_message("t", "1");
        message.destination = "moody";
        message.max_attempts = 1000;
        queue_send(d->f, &message);
    }
    atomic_store(&d->mood, MOOD_FLAPPING);
    while (delivery_count(d, PAWL_STATE_DONE) < 30) {
        pawl_error err = PAWL_ERROR_INIT;

        assert_ok(pawl_delivery_step(d->delivery, 20, NULL, &err), &err);
        fixture_advance(d->f, 30);
    }
    assert_int_equal(30, delivery_stats(d, "moody").sent);
    queue_check(d->f);
}
