/* tests/delivery/retry_test.c - which sends count, what ends a message, and trying a destination
 * now.
 */
#include "delivery_fixture.h"

#include <string.h>

static delivery_fixture *patient(void)
{
    delivery_fixture *d = delivery_open(NULL);

    d->options.breaker_failures = 1000; /* it stays closed */
    delivery_start(d);
    return d;
}

static bool waits_for_retry(const pawl_message *m)
{
    return pawl_message_state(m) == PAWL_STATE_READY ||
           pawl_message_state(m) == PAWL_STATE_SCHEDULED;
}

/* Until the message's send has ended, one way or the other. */
static const pawl_message *until_ended(delivery_fixture *d, pawl_work_id id, int sends)
{
    for (;;) {
        const pawl_message *m = queue_get(d->f, id);

        if (waits_for_retry(m) ? pawl_message_retries(m) + pawl_message_deferrals(m) >= sends
                               : pawl_message_state(m) != PAWL_STATE_RUNNING)
            return m;
        delivery_steps(d, 1);
    }
}

PAWL_TEST(each_result_counts_defers_or_fails)
{
    static const struct {
        int status;
        const char *retry_after;
        int retries, deferrals;
        pawl_state state;
    } cases[] = {
        {408, NULL, 0, 1, PAWL_STATE_SCHEDULED}, {409, NULL, 0, 1, PAWL_STATE_SCHEDULED},
        {425, NULL, 0, 1, PAWL_STATE_SCHEDULED}, {429, NULL, 0, 1, PAWL_STATE_SCHEDULED},
        {502, NULL, 0, 1, PAWL_STATE_SCHEDULED}, {503, NULL, 0, 1, PAWL_STATE_SCHEDULED},
        {504, NULL, 0, 1, PAWL_STATE_SCHEDULED}, {500, NULL, 1, 0, PAWL_STATE_SCHEDULED},
        {501, NULL, 1, 0, PAWL_STATE_SCHEDULED}, {301, NULL, 1, 0, PAWL_STATE_SCHEDULED},
        {204, NULL, 1, 0, PAWL_STATE_SCHEDULED}, /* no acknowledgement in it */
        {500, "0", 0, 1, PAWL_STATE_SCHEDULED},  {400, NULL, 1, 0, PAWL_STATE_FAILED},
        {401, NULL, 1, 0, PAWL_STATE_FAILED},    {404, NULL, 1, 0, PAWL_STATE_FAILED},
        {422, NULL, 1, 0, PAWL_STATE_FAILED},
    };
    delivery_fixture *d = patient();

    atomic_store(&d->mood, MOOD_STATUS);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        atomic_store(&d->answer_status, cases[i].status);
        atomic_store(&d->retry_after, cases[i].retry_after);
        pawl_work_id id = delivery_send(d, "moody", "t", "1");
        const pawl_message *m = until_ended(d, id, 1);
        if (pawl_message_retries(m) != cases[i].retries ||
            pawl_message_deferrals(m) != cases[i].deferrals ||
            pawl_message_state(m) != cases[i].state)
            test_fail("%d: %d counted, %d deferred, %s", cases[i].status, pawl_message_retries(m),
                      pawl_message_deferrals(m), pawl_state_name(pawl_message_state(m)));
        assert_non_null(strstr(pawl_message_last_error(m), test_note("HTTP %d", cases[i].status)));
    }
}

PAWL_TEST(a_service_that_is_down_for_ten_minutes_gets_its_message)
{
    delivery_fixture *d = delivery_open(NULL);

    d->options.breaker_open = (pawl_backoff){1, 1, 0}; /* in real time */
    delivery_start(d);
    atomic_store(&d->mood, MOOD_DOWN);
    pawl_work_id id = delivery_send(d, "moody", "t", "1");
    while (fixture_now(d->f).us < FIXTURE_START.us + 600 * INT64_C(1000000)) {
        assert_true(waits_for_retry(until_ended(d, id, 1)));
        fixture_advance(d->f, 500);
        delivery_steps(d, 1);
    }
    assert_true(atomic_load(&d->moody_calls) > 6);
    atomic_store(&d->mood, MOOD_GOOD);
    while (fixture_state(d->f, id) != PAWL_STATE_DONE) {
        delivery_steps(d, 1);
        fixture_advance(d->f, 500);
    }
    assert_int_equal(0, pawl_message_retries(queue_get(d->f, id)));
    queue_check(d->f);
}

PAWL_TEST(an_undelivered_message_expires_and_keeps_its_last_error)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    size_t expired = 0;

    d->options.breaker_open = (pawl_backoff){1, 1, 0};
    delivery_start(d);
    atomic_store(&d->mood, MOOD_DOWN);
    pawl_work_id id = delivery_send(d, "moody", "t", "1");
    for (int hour = 0; hour < 24; hour++) {
        assert_ok(pawl_queue_expire(fixture_store(d->f), &expired, NULL, &err), &err);
        assert_int_equal(0, expired);
        (void)until_ended(d, id, hour + 1);
        fixture_advance(d->f, HOUR_MS);
    }
    assert_ok(pawl_queue_expire(fixture_store(d->f), &expired, NULL, &err), &err);
    assert_int_equal(1, expired);
    const pawl_message *m = queue_get(d->f, id);
    assert_int_equal(PAWL_STATE_EXPIRED, pawl_message_state(m));
    assert_int_equal(0, pawl_message_retries(m));
    assert_string_equal("the receiver returned no reply", pawl_message_last_error(m));
}

static delivery_fixture *with_timeout(int64_t timeout_ms)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_service_options like = PAWL_SERVICE_OPTIONS_INIT;

    like.timeout_ms = timeout_ms;
    d->options.breaker_failures = 1000;
    delivery_map(d, &like);
    delivery_start(d);
    return d;
}

PAWL_TEST(a_timeout_does_not_count_while_the_destination_responds_to_no_message)
{
    delivery_fixture *d = with_timeout(100);
    pawl_work_id id = delivery_send(d, "peer", "block", "1");
    const pawl_message *m = until_ended(d, id, 1);

    assert_int_equal(0, pawl_message_retries(m));
    assert_int_equal(1, pawl_message_deferrals(m));
}

PAWL_TEST(a_timeout_counts_if_the_destination_responded_to_another_message)
{
    delivery_fixture *d = with_timeout(1500);
    pawl_work_id id = delivery_send(d, "peer", "block", "1");

    delivery_until_blocked(d, 1);
    delivery_send(d, "peer", "ok", "2");
    delivery_until(d, 1, PAWL_STATE_DONE);
    const pawl_message *m = until_ended(d, id, 1);
    assert_int_equal(1, pawl_message_retries(m));
    assert_int_equal(0, pawl_message_deferrals(m));
}

PAWL_TEST(no_connection_does_not_count_unless_all_sends_do)
{
    delivery_fixture *d = patient();
    pawl_message_spec every = queue_message("t", "1");

    every.destination = "dead";
    every.count = PAWL_COUNT_ALL;
    pawl_work_id id = delivery_send(d, "dead", "t", "1"),
                 counted = queue_send(d->f, &every).work_id;
    assert_int_equal(0, pawl_message_retries(until_ended(d, id, 1)));
    assert_int_equal(1, pawl_message_retries(until_ended(d, counted, 1)));
    for (int i = 2; i < 6; i++) {
        fixture_advance(d->f, 5 * MINUTE_MS + 500);
        assert_int_equal(i, pawl_message_retries(until_ended(d, counted, i)));
    }
    fixture_advance(d->f, 5 * MINUTE_MS + 500);
    assert_int_equal(PAWL_STATE_FAILED, pawl_message_state(until_ended(d, counted, 7)));
    assert_int_equal(6, pawl_message_retries(queue_get(d->f, counted)));
    assert_int_equal(0, pawl_message_retries(queue_get(d->f, id)));
}

PAWL_TEST(a_messages_retry_policy_replaces_the_services)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_service_options all = PAWL_SERVICE_OPTIONS_INIT;
    pawl_message_spec own = queue_message("t", "1");

    all.count = PAWL_COUNT_ALL;
    d->options.breaker_failures = 1000;
    delivery_map(d, &all);
    delivery_start(d);
    own.destination = "dead";
    own.count = PAWL_COUNT_ANSWERED;
    pawl_work_id id = delivery_send(d, "dead", "t", "1"), answered = queue_send(d->f, &own).work_id;
    assert_int_equal(1, pawl_message_retries(until_ended(d, id, 1)));
    const pawl_message *m = until_ended(d, answered, 1);
    assert_int_equal(0, pawl_message_retries(m));
    assert_int_equal(1, pawl_message_deferrals(m));
}

PAWL_TEST(each_probe_is_another_message_and_none_counts)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_work_id ids[4];
    pawl_service_options one = PAWL_SERVICE_OPTIONS_INIT;

    one.concurrency = 1;
    d->options.breaker_failures = 1;
    d->options.breaker_open = (pawl_backoff){5, 5, 0};
    delivery_map(d, &one);
    delivery_start(d);
    atomic_store(&d->mood, MOOD_STATUS);
    atomic_store(&d->answer_status, 500);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        ids[i] = delivery_send(d, "moody", "t", "1");
    for (size_t i = 0; i < COUNT_OF(ids); i++) { /* the store's clock stands: none comes twice */
        const pawl_message *m = until_ended(d, ids[i], 1);
        assert_int_equal(i == 0, pawl_message_retries(m)); /* the first one opened it */
        assert_int_equal(i != 0, pawl_message_deferrals(m));
    }
    assert_int_equal(4, atomic_load(&d->moody_calls));
}

/* A map of one service. */
static void use_map(delivery_fixture *d, const char *name, const char *url)
{
    pawl_service_options one = PAWL_SERVICE_OPTIONS_INIT;
    pawl_services *services = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    one.name = name;
    one.url = url;
    assert_ok(pawl_services_new(&one, 1, NULL, &services, &err), &err);
    pawl_delivery_set_services(d->delivery, services);
    pawl_services_unref(services);
}

/* The store's clock does not advance, so no deferred message becomes due. */
PAWL_TEST(messages_deferred_by_the_map_are_retried_when_it_changes)
{
    delivery_fixture *d = delivery_open(NULL);

    delivery_start(d);
    pawl_work_id id = delivery_send(d, "till", "t", "1");
    assert_non_null(strstr(pawl_message_last_error(until_ended(d, id, 1)), "nor a service"));
    use_map(d, "till", "http://127.0.0.1:1/"); /* and without allow_private */
    assert_non_null(strstr(pawl_message_last_error(until_ended(d, id, 2)), "allow_private"));
    use_map(d, "till", "inproc://moody");
    delivery_until(d, 1, PAWL_STATE_DONE);
    assert_int_equal(0, pawl_message_retries(queue_get(d->f, id)));
    assert_true(log_capture_has(&d->log, PAWL_LOG_INFO, "till: the services were reloaded"));
    assert_false(log_capture_has(&d->log, PAWL_LOG_INFO, "till: woken by an operator"));
}

PAWL_TEST(messages_of_an_earlier_delivery_are_retried_when_the_map_changes)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_work_id id = delivery_send(d, "till", "t", "1");

    queue_claim_for(d->f, queue_owner(1), MINUTE_MS, 1, "till");
    const pawl_message *m = queue_get(d->f, id);
    pawl_receipt receipt = {id, pawl_message_fence(m)};
    pawl_error err = PAWL_ERROR_INIT;
    assert_ok(pawl_queue_defer(fixture_store(d->f), queue_owner(1), &receipt, 1, "x", HOUR_MS, NULL,
                               NULL, &err),
              &err);
    delivery_start(d);
    delivery_steps(d, 3);
    assert_int_equal(1, pawl_message_deferrals(queue_get(d->f, id)));
    use_map(d, "till", "inproc://moody");
    delivery_until(d, 1, PAWL_STATE_DONE);
}

PAWL_TEST(what_the_configuration_prevented_is_sent_at_the_next_start)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_service_options one = PAWL_SERVICE_OPTIONS_INIT;
    pawl_services *corrected = NULL, *old = d->services;
    pawl_error err = PAWL_ERROR_INIT;

    delivery_start(d);
    pawl_work_id id = delivery_send(d, "till", "t", "1");
    pawl_work_id later = delivery_send(d, "till", "t", "2");
    (void)until_ended(d, later, 1);
    assert_non_null(strstr(pawl_message_last_error(until_ended(d, id, 1)), "configuration: "));
    pawl_work_id down = delivery_send(d, "dead", "t", "3");
    (void)until_ended(d, down, 1);
    pawl_delivery_free(d->delivery);
    one.name = "till";
    one.url = "inproc://moody";
    assert_ok(pawl_services_new(&one, 1, NULL, &corrected, &err), &err);
    d->services = corrected;
    pawl_services_unref(old);
    delivery_start(d);
    delivery_until(d, 2, PAWL_STATE_DONE);
    assert_true(log_capture_has(&d->log, PAWL_LOG_INFO, "till: an earlier configuration"));
    /* What waits for another reason keeps its time. */
    assert_int_equal(1, pawl_message_deferrals(queue_get(d->f, down)));
    assert_int_equal(PAWL_STATE_SCHEDULED, fixture_state(d->f, down));
}

PAWL_TEST(what_the_configuration_still_prevents_is_attempted_once_at_a_start)
{
    delivery_fixture *d = delivery_open(NULL);

    delivery_start(d);
    pawl_work_id id = delivery_send(d, "till", "t", "1");
    (void)until_ended(d, id, 1);
    pawl_delivery_free(d->delivery);
    delivery_start(d);
    (void)until_ended(d, id, 2);
    delivery_steps(d, 20);
    assert_int_equal(2, pawl_message_deferrals(queue_get(d->f, id)));
    assert_int_equal(0, pawl_message_retries(queue_get(d->f, id)));
}

/* A wake is an operator's: the delivery goes on without it, at the start and when the map changes.
 */
PAWL_TEST_ON(postgres, a_delivery_without_the_right_to_wake_continues)
{
    delivery_fixture *d = delivery_open(NULL);
    const char *guest = test_note("pawl_test_sender_%s", fixture_store_options(d->f)->schema);
    pawl_store *store = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    fixture_exec(d->f, "CREATE ROLE %s LOGIN", guest);
    fixture_exec(d->f, "GRANT pawl_work TO %s", guest);
    assert_ok(pawl_store_open(test_note("%s user=%s", fixture_url(d->f), guest),
                              fixture_store_options(d->f), &store, &err),
              &err);
    pawl_work_id id = delivery_send(d, "till", "t", "1");
    assert_ok(pawl_delivery_new(store, d->services, &d->options, &d->delivery, &err), &err);
    (void)until_ended(d, id, 1);
    pawl_delivery_free(d->delivery);
    d->delivery = NULL;
    assert_ok(pawl_delivery_new(store, d->services, &d->options, &d->delivery, &err), &err);
    delivery_steps(d, 5);
    assert_true(
        log_capture_has(&d->log, PAWL_LOG_INFO, "till: this database user may not wake it"));
    delivery_map(d, NULL);
    delivery_send(d, "moody", "t", "2");
    delivery_until(d, 1, PAWL_STATE_DONE);
    pawl_delivery_free(d->delivery);
    d->delivery = NULL;
    pawl_store_close(store);
    fixture_exec(d->f, "DROP ROLE %s", guest);
}

PAWL_TEST(a_destination_that_is_down_is_not_retried_because_the_map_changes)
{
    delivery_fixture *d = patient();
    pawl_work_id id = delivery_send(d, "dead", "t", "1");

    (void)until_ended(d, id, 1);
    delivery_map(d, NULL);
    delivery_steps(d, 5);
    assert_int_equal(1, pawl_message_deferrals(queue_get(d->f, id)));
    assert_int_equal(PAWL_STATE_SCHEDULED, fixture_state(d->f, id));
}

PAWL_TEST(an_operator_can_retry_a_destination_now)
{
    delivery_fixture *d = delivery_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    d->options.breaker_failures = 1;
    d->options.breaker_open = (pawl_backoff){HOUR_MS, HOUR_MS, 0};
    delivery_start(d);
    atomic_store(&d->mood, MOOD_DOWN);
    pawl_work_id id = delivery_send(d, "moody", "t", "1");
    (void)until_ended(d, id, 1);
    delivery_send(d, "moody", "t", "2");
    assert_int_equal(PAWL_BREAKER_OPEN, delivery_stats(d, "moody").breaker);
    atomic_store(&d->mood, MOOD_GOOD);
    assert_ok(pawl_queue_wake(fixture_store(d->f), "moody", &changed, &err), &err);
    assert_int_equal(1, changed);
    delivery_until(d, 2, PAWL_STATE_DONE);
    assert_int_equal(PAWL_BREAKER_CLOSED, delivery_stats(d, "moody").breaker);
    assert_true(log_capture_has(&d->log, PAWL_LOG_INFO, "moody: woken by an operator"));
}
