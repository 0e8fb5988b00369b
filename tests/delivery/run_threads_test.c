/* tests/delivery/run_threads_test.c - a delivery that runs: woken, loaded, stopped. */
#include "delivery_fixture.h"

static const fixture_options real = {.real_clock = true};

static void stop_delivery(delivery_fixture *d)
{
    pawl_delivery_request_stop(d->delivery);
    assert_ok(delivery_join(d), &d->err);
    assert_int_equal(0, delivery_leased(d));
    queue_check(d->f);
}

PAWL_TEST(a_message_for_a_new_destination_wakes_it)
{
    delivery_fixture *d = delivery_open(&real);
    pawl_message_spec later = queue_message("ok", "later");

    delivery_start(d);
    delivery_run(d);
    delivery_send(d, "peer", "ok", "1");
    delivery_expect(d, 1, PAWL_STATE_DONE);
    for (int i = 0; i < 10; i++) {
        delivery_send(d, i % 2 ? "other" : "narrow", "ok", "2");
        delivery_expect(d, 2 + i, PAWL_STATE_DONE);
    }
    later.destination = "moody";
    later.delay_ms = 150;
    queue_send(d->f, &later);
    delivery_expect(d, 12, PAWL_STATE_DONE);
    stop_delivery(d);
}

PAWL_TEST(one_dead_and_one_slow_destination_delay_no_other)
{
    static const char *const names[] = {"peer", "other", "moody", "narrow", "dead"};
    delivery_fixture *d = delivery_open(&real);

    delivery_start(d);
    delivery_run(d);
    for (int i = 0; i < 200; i++) {
        const char *name = names[i % (int)COUNT_OF(names)];
        delivery_send(d, name, i % 5 == 3 ? "block" : "ok", "x");
    }
    delivery_expect(d, 120, PAWL_STATE_DONE);
    assert_int_equal(2, delivery_stats(d, "narrow").in_flight);
    peer_release(d->peer);
    delivery_expect(d, 160, PAWL_STATE_DONE);
    stop_delivery(d);
    assert_int_equal(40,
                     delivery_count(d, PAWL_STATE_READY) + delivery_count(d, PAWL_STATE_SCHEDULED));
}

PAWL_TEST(stopped_under_load_it_leaves_nothing_leased_and_counts_nothing)
{
    delivery_fixture *d = delivery_open(&real);

    d->options.grace_ms = 0;
    delivery_start(d);
    delivery_run(d);
    for (int i = 0; i < 60; i++)
        delivery_send(d, i % 2 ? "peer" : "narrow", i % 2 ? "ok" : "block", "x");
    until(peer_blocked(d->peer) >= 1);
    stop_delivery(d); /* with sends that would never end */
    assert_true(fixture_count(d->f, "SELECT count(*) FROM {message} WHERE state IN (0, 6)") >= 30);
    assert_int_equal(0, fixture_count(d->f, "SELECT count(*) FROM {message} WHERE retries <> 0"));
    /* and again, by the same */
    peer_release(d->peer);
    delivery_run(d);
    delivery_expect(d, 60, PAWL_STATE_DONE);
    stop_delivery(d);
}

PAWL_TEST(within_the_grace_sends_may_end)
{
    delivery_fixture *d = delivery_open(&real);

    delivery_start(d);
    delivery_run(d);
    delivery_send(d, "peer", "block", "x");
    until(peer_blocked(d->peer) >= 1);
    pawl_delivery_request_stop(d->delivery);
    peer_release(d->peer);
    assert_ok(delivery_join(d), &d->err);
    assert_int_equal(1, delivery_count(d, PAWL_STATE_DONE));
}

PAWL_TEST(it_runs_once_at_a_time)
{
    delivery_fixture *d = delivery_open(&real);
    pawl_error err = PAWL_ERROR_INIT;

    delivery_start(d);
    delivery_run(d);
    delivery_send(d, "peer", "ok", "x");
    delivery_expect(d, 1, PAWL_STATE_DONE);
    assert_int_equal(PAWL_E_MISUSE, pawl_delivery_run(d->delivery, &err));
    assert_int_equal(PAWL_E_MISUSE, pawl_delivery_step(d->delivery, 0, NULL, &err));
    stop_delivery(d);
}

/* With a send that gets no response while every write of the database waits for a lock. */
static void expect_behind_a_lock(int64_t timeout_ms, const char *text)
{
    delivery_fixture *d = delivery_open(&real);
    pawl_service_options like = PAWL_SERVICE_OPTIONS_INIT;

    like.timeout_ms = timeout_ms;
    delivery_map(d, &like);
    d->options.lease_ms = 3000; /* the renewal after a second meets the lock */
    delivery_start(d);
    delivery_run(d);
    delivery_send(d, "peer", "block", "x");
    until(peer_blocked(d->peer) >= 1);
    if (fixture_is_postgres(d->f)) {
        fixture_tx_exec(d->f, 0, "BEGIN");
        fixture_tx_exec(d->f, 0, "LOCK TABLE {queue} IN ACCESS EXCLUSIVE MODE");
    } else {
        fixture_tx_exec(d->f, 0, "BEGIN IMMEDIATE");
    }
    bool logged = log_capture_await(&d->log, PAWL_LOG_WARNING, text, 15);
    fixture_tx_exec(d->f, 0, "ROLLBACK");
    peer_release(d->peer);
    stop_delivery(d);
    if (!logged)
        test_fail("the send did not end while the database was slow");
}

PAWL_TEST(a_send_ends_at_its_timeout_though_a_call_of_the_database_is_slow)
{
    expect_behind_a_lock(2000, "not sent, deferred");
}

PAWL_TEST(a_send_ends_with_its_lease_though_a_call_of_the_database_is_slow)
{
    expect_behind_a_lock(60000, "its lease expired");
}
