/* tests/delivery/delivery_test.c - the results of messages that are sent. */
#include "delivery_fixture.h"

#include <string.h>

#include "op_counter.h"

static delivery_fixture *open_usual(void)
{
    delivery_fixture *d = delivery_open(NULL);

    delivery_start(d);
    return d;
}

static int64_t wait_us(delivery_fixture *d, pawl_work_id id)
{
    return pawl_message_next_attempt_at(queue_get(d->f, id)).us - fixture_now(d->f).us;
}

PAWL_TEST(a_message_with_a_destination_is_sent_and_done)
{
    delivery_fixture *d = open_usual();
    pawl_work_id id = delivery_send(d, "peer", "ok", "\"hello\"");

    delivery_send(d, "other", "ok", "plain bytes");
    delivery_send(d, "peer", "duplicate", "1");
    fixture_send(d->f, "ok", "local");
    delivery_until(d, 3, PAWL_STATE_DONE);
    assert_int_equal(1, delivery_count(d, PAWL_STATE_READY)); /* the local one */
    assert_int_equal(0, delivery_leased(d));
    assert_int_equal(2, delivery_stats(d, "peer").sent);
    assert_int_equal(1, delivery_stats(d, "peer").duplicate);
    assert_int_equal(1, delivery_stats(d, "other").sent);
    assert_int_equal(0, delivery_stats(d, "other").in_flight);
    assert_non_null(pawl_message_processed_by(queue_get(d->f, id)));
    /* The peer answers with what it got, and that is kept. */
    size_t size = 0;
    assert_string_equal("\"hello\"", pawl_message_output(queue_get(d->f, id), &size));
    assert_int_equal(7, size);
    assert_true(log_capture_has(&d->log, PAWL_LOG_INFO, "to peer sent in"));
    queue_check(d->f);
}

PAWL_TEST(no_payload_is_ever_logged)
{
    delivery_fixture *d = open_usual();
    static const char *const topics[] = {"ok", "error", "refuse", "busy", "duplicate"};

    for (size_t i = 0; i < COUNT_OF(topics); i++)
        delivery_send(d, "peer", topics[i], "\"x-marks-the-spot\"");
    delivery_send(d, "nowhere", "ok", "\"x-marks-the-spot\"");
    delivery_run_until_idle(d);
    delivery_steps(d, 3);
    for (size_t i = 0; i < log_capture_count(&d->log); i++)
        assert_null(strstr(log_capture_at(&d->log, i), "x-marks"));
    assert_true(log_capture_count(&d->log) > 5);
}

PAWL_TEST(a_refused_message_fails_at_once)
{
    delivery_fixture *d = open_usual();
    pawl_work_id id = delivery_send(d, "peer", "refuse", "1");

    delivery_until(d, 1, PAWL_STATE_FAILED);
    assert_non_null(strstr(pawl_message_last_error(queue_get(d->f, id)), "never"));
    assert_int_equal(1, delivery_stats(d, "peer").failed);
    assert_true(log_capture_has(&d->log, PAWL_LOG_ERROR, "failed permanently at attempt 1"));
}

PAWL_TEST(with_count_every_send_it_is_sent_six_times_with_growing_pauses)
{
    static const int64_t seconds[] = {2, 4, 8, 16, 32};
    pawl_service_options all = PAWL_SERVICE_OPTIONS_INIT;
    delivery_fixture *d = delivery_open(NULL);

    d->options.breaker_failures = 100;
    all.count = PAWL_COUNT_ALL; /* the one setting */
    delivery_map(d, &all);
    delivery_start(d);
    pawl_work_id id = delivery_send(d, "peer", "error", "1");
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        delivery_run_until_idle(d);
        assert_int_equal(i + 1, pawl_message_retries(queue_get(d->f, id)));
        assert_in_range(wait_us(d, id), seconds[i] * 1000000, seconds[i] * 1000000 + 500000);
        fixture_advance(d->f, seconds[i] * 1000 + 501);
        /* Moving the virtual clock wakes no worker. */
        while (pawl_message_retries(queue_get(d->f, id)) == (int)i + 1 &&
               pawl_message_state(queue_get(d->f, id)) != PAWL_STATE_FAILED)
            delivery_steps(d, 1);
    }
    delivery_until(d, 1, PAWL_STATE_FAILED);
    assert_int_equal(6, peer_requests(d->peer));
    assert_non_null(strstr(pawl_message_last_error(queue_get(d->f, id)), "later"));
    assert_true(log_capture_has(&d->log, PAWL_LOG_WARNING,
                                "not sent, attempt 1 of 6, retrying in about 2s: "));
    assert_true(log_capture_has(&d->log, PAWL_LOG_ERROR, "failed permanently at attempt 6"));
}

PAWL_TEST(a_service_has_a_policy_and_a_message_may_have_its_own)
{
    pawl_service_options like = PAWL_SERVICE_OPTIONS_INIT;
    pawl_message_spec own = queue_message("error", "2");
    delivery_fixture *d = open_usual();

    like.backoff = (pawl_backoff){700, 700, 0};
    like.max_attempts = 2;
    delivery_map(d, &like);
    own.destination = "peer";
    own.backoff = (pawl_backoff){90, 90, 0};
    pawl_work_id mine = queue_send(d->f, &own).work_id, id = delivery_send(d, "peer", "error", "1");
    delivery_run_until_idle(d);
    while (pawl_message_retries(queue_get(d->f, id)) == 0 ||
           pawl_message_retries(queue_get(d->f, mine)) == 0)
        delivery_steps(d, 1);
    assert_int_equal(700000, wait_us(d, id));
    assert_int_equal(90000, wait_us(d, mine));
    fixture_advance(d->f, 1000);
    delivery_until(d, 2, PAWL_STATE_FAILED); /* the service's two attempts */
}

PAWL_TEST(retry_after_of_a_busy_destination_is_respected)
{
    delivery_fixture *d = open_usual();
    pawl_work_id id = delivery_send(d, "peer", "busy", "1");

    delivery_run_until_idle(d);
    while (pawl_message_deferrals(queue_get(d->f, id)) == 0)
        delivery_steps(d, 1);
    assert_int_equal(0, pawl_message_retries(queue_get(d->f, id)));
    assert_in_range(wait_us(d, id), 7000000, 7500000);
    delivery_send(d, "peer", "ok", "2");
    delivery_send(d, "other", "ok", "3");
    delivery_until(d, 1, PAWL_STATE_DONE); /* the other's */
    delivery_steps(d, 5);
    assert_int_equal(0, delivery_stats(d, "peer").sent);
    assert_int_equal(1, delivery_stats(d, "other").sent);
    assert_int_equal(PAWL_BREAKER_CLOSED, delivery_stats(d, "peer").breaker);
}

PAWL_TEST(a_send_prevented_by_our_configuration_is_deferred_and_names_the_key)
{
    pawl_service_options like = PAWL_SERVICE_OPTIONS_INIT;
    pawl_services *few = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    delivery_fixture *d = open_usual();

    pawl_service_options bad[3] = {like, like, like};
    bad[0].name = "loopback";
    bad[0].url = "http://127.0.0.1:1/";
    bad[1].name = "inside";
    bad[1].url = "inproc://nowhere";
    bad[2].name = "mute"; /* it only sends */
    assert_ok(pawl_services_new(bad, 3, NULL, &few, &err), &err);
    pawl_delivery_set_services(d->delivery, few);
    pawl_services_unref(few);
    static const struct {
        const char *destination, *key;
    } cases[] = {{"loopback", "allow_private = on in [service loopback]"},
                 {"http://127.0.0.1:1/", "allow_private = on in [service *]"},
                 {"unix:///nowhere.sock", "allow_private = on in [service *]"},
                 {"inside", "url = inproc://nowhere in [service inside]"},
                 {"mute", "no url"},
                 {"missing", "the service map"}};
    pawl_work_id ids[COUNT_OF(cases)];
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ids[i] = delivery_send(d, cases[i].destination, "ok", "1");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        while (pawl_message_deferrals(queue_get(d->f, ids[i])) == 0) {
            assert_int_equal(0, delivery_count(d, PAWL_STATE_FAILED));
            delivery_steps(d, 1);
        }
        const pawl_message *m = queue_get(d->f, ids[i]);
        if (!strstr(pawl_message_last_error(m), cases[i].key))
            test_fail("%s: %s", cases[i].destination, pawl_message_last_error(m));
        assert_int_equal(0, pawl_message_retries(m));
        assert_int_equal(PAWL_BREAKER_CLOSED, delivery_stats(d, cases[i].destination).breaker);
    }
    pawl_delivery_set_services(d->delivery, d->services); /* put right; and tried now */
    assert_int_equal(0, peer_requests(d->peer));
}

PAWL_TEST(a_message_with_an_invalid_url_fails_at_once)
{
    delivery_fixture *d = open_usual();
    pawl_work_id odd = delivery_send(d, "gopher://hole/", "ok", "1");

    delivery_until(d, 1, PAWL_STATE_FAILED);
    assert_non_null(strstr(pawl_message_last_error(queue_get(d->f, odd)), "gopher"));
}

PAWL_TEST(a_slow_destination_has_its_own_limit_and_delays_no_other)
{
    delivery_fixture *d = open_usual();

    for (int i = 0; i < 5; i++)
        delivery_send(d, "narrow", "block", "1");
    for (int i = 0; i < 5; i++)
        delivery_send(d, "peer", "ok", "2");
    delivery_until(d, 5, PAWL_STATE_DONE);
    delivery_until_blocked(d, 2);
    assert_int_equal(2, delivery_stats(d, "narrow").in_flight);
    assert_int_equal(2, delivery_leased(d)); /* the other three are not even claimed */
    peer_release(d->peer);
    delivery_until(d, 10, PAWL_STATE_DONE);
    assert_int_equal(5, delivery_stats(d, "narrow").sent);
}

PAWL_TEST(the_delivery_as_a_whole_has_a_limit_too)
{
    delivery_fixture *d = delivery_open(NULL);

    d->options.max_in_flight = 3;
    d->options.batch = 2;
    delivery_start(d);
    for (int i = 0; i < 4; i++) {
        delivery_send(d, "peer", "block", "1");
        delivery_send(d, "other", "block", "1");
    }
    delivery_steps(d, 6);
    assert_int_equal(3, delivery_leased(d));
    peer_release(d->peer);
    delivery_until(d, 8, PAWL_STATE_DONE);
}

PAWL_TEST(leases_are_renewed_while_a_send_lasts)
{
    delivery_fixture *d = delivery_open(NULL);

    d->options.lease_ms = 3000;
    delivery_start(d);
    pawl_work_id id = delivery_send(d, "peer", "block", "1");
    delivery_until_blocked(d, 1);
    int64_t until = pawl_message_lease_until(queue_get(d->f, id)).us;
    fixture_advance(d->f, 2000);
    while (pawl_message_lease_until(queue_get(d->f, id)).us == until) {
        pawl_error err = PAWL_ERROR_INIT;
        assert_ok(pawl_delivery_step(d->delivery, 100, NULL, &err), &err);
    }
    assert_int_equal(until + 2000000, pawl_message_lease_until(queue_get(d->f, id)).us);
    peer_release(d->peer);
    delivery_until(d, 1, PAWL_STATE_DONE);
}

PAWL_TEST(a_message_that_is_cancelled_meanwhile_stays_so)
{
    delivery_fixture *d = delivery_open(NULL);

    d->options.lease_ms = 3000;
    delivery_start(d);
    pawl_work_id id = delivery_send(d, "peer", "block", "1");
    delivery_until_blocked(d, 1);
    assert_int_equal(1, queue_cancel(d->f, id));
    while (delivery_stats(d, "peer").in_flight > 0) { /* until the next renewal */
        pawl_error err = PAWL_ERROR_INIT;
        assert_ok(pawl_delivery_step(d->delivery, 100, NULL, &err), &err);
    }
    assert_int_equal(PAWL_STATE_CANCELLED, fixture_state(d->f, id));
    assert_true(log_capture_has(&d->log, PAWL_LOG_WARNING, "its lease is lost"));
    queue_check(d->f);
}

PAWL_TEST(one_renewal_says_which_of_several_leases_are_lost)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_work_id ids[3];

    d->options.lease_ms = 3000;
    delivery_start(d);
    for (int i = 0; i < 3; i++)
        ids[i] = delivery_send(d, "peer", "block", "1");
    delivery_until_blocked(d, 3);
    assert_int_equal(1, queue_cancel(d->f, ids[1]));
    op_counter_start(fixture_store(d->f));
    while (delivery_stats(d, "peer").in_flight > 2) {
        pawl_error err = PAWL_ERROR_INIT;
        assert_ok(pawl_delivery_step(d->delivery, 100, NULL, &err), &err);
    }
    assert_int_equal(1, op_counter_of(PAWLI_SQL_RENEW));
    assert_int_equal(0, op_counter_of(PAWLI_SQL_OWNED));
    peer_release(d->peer);
    delivery_until(d, 2, PAWL_STATE_DONE);
    assert_int_equal(PAWL_STATE_CANCELLED, fixture_state(d->f, ids[1]));
}

PAWL_TEST(a_response_is_enqueued_in_the_commit_that_ends_the_request)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_message_spec request = queue_message("ok", "{\"question\":1}");

    d->options.responses = true;
    d->options.response_topic = "answers";
    delivery_start(d);
    request.destination = "peer";
    request.type = PAWL_TYPE_PUSH_CALL;
    request.correlation_id = "c-1";
    queue_send(d->f, &request);
    request.correlation_id = NULL;
    pawl_enqueued other = queue_send(d->f, &request);
    delivery_until(d, 2, PAWL_STATE_DONE);
    pawl_messages *list = fixture_claim(d->f, queue_owner(1), MINUTE_MS, 10);
    assert_int_equal(2, pawl_messages_count(list));
    for (size_t i = 0; i < 2; i++) {
        const pawl_message *response = pawl_messages_at(list, i);
        char id[PAWL_UUID_TEXT_SIZE];

        pawl_uuid_format(other.message_id, id);
        assert_int_equal(PAWL_TYPE_RESPONSE, pawl_message_type(response));
        assert_string_equal("answers", pawl_message_topic(response));
        assert_string_equal("{\"question\":1}", queue_payload(response));
        assert_true(strcmp("c-1", pawl_message_correlation_id(response)) == 0 ||
                    strcmp(id, pawl_message_correlation_id(response)) == 0);
    }
    assert_string_equal("{\"question\":1}",
                        pawl_message_output(queue_get(d->f, other.work_id), NULL));
}

PAWL_TEST(a_new_service_map_applies_from_the_next_message)
{
    pawl_service_options like = PAWL_SERVICE_OPTIONS_INIT;
    delivery_fixture *d = open_usual();
    pawl_services *few = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    delivery_send(d, "peer", "ok", "1");
    delivery_until(d, 1, PAWL_STATE_DONE);
    like.name = "another";
    assert_ok(pawl_services_new(&like, 1, NULL, &few, &err), &err);
    pawl_delivery_set_services(d->delivery, few);
    pawl_services_unref(few);
    pawl_work_id id = delivery_send(d, "peer", "ok", "2");
    while (pawl_message_deferrals(queue_get(d->f, id)) == 0)
        delivery_steps(d, 1);
    pawl_delivery_set_services(d->delivery, d->services);
    fixture_advance(d->f, 3000);
    delivery_until(d, 2, PAWL_STATE_DONE);
}

/* Claims are refused as by a standby; on SQLite by a trigger, an error that no retry helps either.
 */
static void refuse_claims(delivery_fixture *d)
{
    if (!fixture_is_postgres(d->f)) {
        fixture_exec(d->f, "CREATE TRIGGER standby BEFORE INSERT ON {claim} "
                           "BEGIN SELECT RAISE(FAIL, 'the server is a standby'); END");
        return;
    }
    fixture_exec(d->f, "CREATE FUNCTION {standby}() RETURNS trigger LANGUAGE plpgsql AS "
                       "$$BEGIN RAISE EXCEPTION USING ERRCODE = '25006', "
                       "MESSAGE = 'the server is a standby'; END$$");
    fixture_exec(d->f, "CREATE TRIGGER standby BEFORE INSERT ON {claim} "
                       "FOR EACH ROW EXECUTE FUNCTION {standby}()");
}

PAWL_TEST(a_server_that_becomes_read_only_is_waited_for)
{
    delivery_fixture *d = open_usual();

    delivery_send(d, "peer", "ok", "1");
    delivery_until(d, 1, PAWL_STATE_DONE);
    refuse_claims(d);
    delivery_send(d, "peer", "ok", "2");
    while (!log_capture_has(&d->log, PAWL_LOG_WARNING, "the server is a standby"))
        delivery_steps(d, 1);
    fixture_exec(d->f, fixture_is_postgres(d->f) ? "DROP TRIGGER standby ON {claim}"
                                                 : "DROP TRIGGER standby");
    delivery_until(d, 2, PAWL_STATE_DONE); /* the failover is over */
    assert_true(log_capture_has(&d->log, PAWL_LOG_INFO, "responds again"));
}

PAWL_TEST(bad_options_are_refused)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_delivery_options bad[9];
    pawl_error err = PAWL_ERROR_INIT;
    pawl_delivery *none = NULL;

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        bad[i] = d->options;
    bad[0].source = NULL;
    bad[1].source = "a\nb";
    bad[2].batch = 0;
    bad[3].max_in_flight = 10001;
    bad[4].lease_ms = 2999;
    bad[5].grace_ms = -1;
    bad[6].breaker_failures = 0;
    bad[7].breaker_open.base_ms = 0;
    bad[8].retry_after_max_ms = 0;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(PAWL_E_INVALID,
                         pawl_delivery_new(fixture_store(d->f), d->services, &bad[i], &none, &err));
    assert_int_equal(PAWL_E_INVALID,
                     pawl_delivery_new(fixture_store(d->f), NULL, &d->options, &none, &err));
    assert_null(none);
}
