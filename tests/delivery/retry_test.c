/* tests/delivery/retry_test.c - which sends count, what ends a message, and trying a destination
 * now.
 */
#include "depot.h"

#include <string.h>

static depot *patient(void)
{
    depot *d = depot_open(NULL);

    d->options.breaker_failures = 1000; /* it stays closed */
    depot_start(d);
    return d;
}

/* Until the message's send has ended, one way or the other. */
static const pawl_message *until_ended(depot *d, pawl_work_id id, int sends)
{
    for (;;) {
        const pawl_message *m = kit_get(d->f, id);

        if (pawl_message_state(m) > PAWL_STATE_IN_PROGRESS ||
            (pawl_message_state(m) == PAWL_STATE_READY &&
             pawl_message_retries(m) + pawl_message_deferrals(m) >= sends))
            return m;
        depot_turns(d, 1);
    }
}

PAWL_TEST(each_answer_counts_defers_or_fails)
{
    static const struct {
        int status;
        const char *retry_after;
        int retries, deferrals;
        pawl_state state;
    } cases[] = {
        {408, NULL, 0, 1, PAWL_STATE_READY},  {409, NULL, 0, 1, PAWL_STATE_READY},
        {425, NULL, 0, 1, PAWL_STATE_READY},  {429, NULL, 0, 1, PAWL_STATE_READY},
        {502, NULL, 0, 1, PAWL_STATE_READY},  {503, NULL, 0, 1, PAWL_STATE_READY},
        {504, NULL, 0, 1, PAWL_STATE_READY},  {500, NULL, 1, 0, PAWL_STATE_READY},
        {501, NULL, 1, 0, PAWL_STATE_READY},  {301, NULL, 1, 0, PAWL_STATE_READY},
        {204, NULL, 1, 0, PAWL_STATE_READY}, /* no acknowledgement in it */
        {500, "0", 0, 1, PAWL_STATE_READY},   {400, NULL, 1, 0, PAWL_STATE_FAILED},
        {401, NULL, 1, 0, PAWL_STATE_FAILED}, {404, NULL, 1, 0, PAWL_STATE_FAILED},
        {422, NULL, 1, 0, PAWL_STATE_FAILED},
    };
    depot *d = patient();

    atomic_store(&d->mood, MOOD_STATUS);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        atomic_store(&d->answer_status, cases[i].status);
        atomic_store(&d->retry_after, cases[i].retry_after);
        pawl_work_id id = depot_send(d, "moody", "t", "1");
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
    depot *d = depot_open(NULL);

    d->options.breaker_open = (pawl_backoff){1, 1, 0}; /* in real time */
    depot_start(d);
    atomic_store(&d->mood, MOOD_DOWN);
    pawl_work_id id = depot_send(d, "moody", "t", "1");
    while (fixture_now(d->f).us < FIXTURE_START.us + 600 * INT64_C(1000000)) {
        assert_int_equal(PAWL_STATE_READY, pawl_message_state(until_ended(d, id, 1)));
        fixture_advance(d->f, 500);
        depot_turns(d, 1);
    }
    assert_true(atomic_load(&d->moody_calls) > 6);
    atomic_store(&d->mood, MOOD_GOOD);
    while (fixture_state(d->f, id) != PAWL_STATE_DONE) {
        depot_turns(d, 1);
        fixture_advance(d->f, 500);
    }
    assert_int_equal(0, pawl_message_retries(kit_get(d->f, id)));
    kit_check(d->f);
}

PAWL_TEST(what_is_never_delivered_expires_and_its_last_error_stays)
{
    depot *d = depot_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    size_t expired = 0;

    d->options.breaker_open = (pawl_backoff){1, 1, 0};
    depot_start(d);
    atomic_store(&d->mood, MOOD_DOWN);
    pawl_work_id id = depot_send(d, "moody", "t", "1");
    for (int hour = 0; hour < 24; hour++) {
        assert_ok(pawl_queue_expire(fixture_store(d->f), &expired, NULL, &err), &err);
        assert_int_equal(0, expired);
        (void)until_ended(d, id, hour + 1);
        fixture_advance(d->f, HOUR_MS);
    }
    assert_ok(pawl_queue_expire(fixture_store(d->f), &expired, NULL, &err), &err);
    assert_int_equal(1, expired);
    const pawl_message *m = kit_get(d->f, id);
    assert_int_equal(PAWL_STATE_EXPIRED, pawl_message_state(m));
    assert_int_equal(0, pawl_message_retries(m));
    assert_string_equal("the receiver gave no answer", pawl_message_last_error(m));
}

static depot *with_timeout(int64_t timeout_ms)
{
    depot *d = depot_open(NULL);
    pawl_service_options like = PAWL_SERVICE_OPTIONS_INIT;

    like.timeout_ms = timeout_ms;
    d->options.breaker_failures = 1000;
    depot_map(d, &like);
    depot_start(d);
    return d;
}

PAWL_TEST(a_timeout_does_not_count_while_the_destination_answers_nobody)
{
    depot *d = with_timeout(100);
    pawl_work_id id = depot_send(d, "peer", "hold", "1");
    const pawl_message *m = until_ended(d, id, 1);

    assert_int_equal(0, pawl_message_retries(m));
    assert_int_equal(1, pawl_message_deferrals(m));
}

PAWL_TEST(a_timeout_counts_if_the_destination_answered_another_meanwhile)
{
    depot *d = with_timeout(1500);
    pawl_work_id id = depot_send(d, "peer", "hold", "1");

    depot_until_held(d, 1);
    depot_send(d, "peer", "ok", "2");
    depot_until(d, 1, PAWL_STATE_DONE);
    const pawl_message *m = until_ended(d, id, 1);
    assert_int_equal(1, pawl_message_retries(m));
    assert_int_equal(0, pawl_message_deferrals(m));
}

PAWL_TEST(no_connection_does_not_count_unless_all_sends_do)
{
    depot *d = patient();
    pawl_outgoing every = kit_message("t", "1");

    every.destination = "dead";
    every.count = PAWL_COUNT_ALL;
    pawl_work_id id = depot_send(d, "dead", "t", "1"), counted = kit_send(d->f, &every).work_id;
    assert_int_equal(0, pawl_message_retries(until_ended(d, id, 1)));
    assert_int_equal(1, pawl_message_retries(until_ended(d, counted, 1)));
    for (int i = 2; i < 6; i++) {
        fixture_advance(d->f, 5 * MINUTE_MS + 500);
        assert_int_equal(i, pawl_message_retries(until_ended(d, counted, i)));
    }
    fixture_advance(d->f, 5 * MINUTE_MS + 500);
    assert_int_equal(PAWL_STATE_FAILED, pawl_message_state(until_ended(d, counted, 7)));
    assert_int_equal(6, pawl_message_retries(kit_get(d->f, counted)));
    assert_int_equal(0, pawl_message_retries(kit_get(d->f, id)));
}

PAWL_TEST(what_a_message_asks_for_replaces_what_the_service_counts)
{
    depot *d = depot_open(NULL);
    pawl_service_options all = PAWL_SERVICE_OPTIONS_INIT;
    pawl_outgoing own = kit_message("t", "1");

    all.count = PAWL_COUNT_ALL;
    d->options.breaker_failures = 1000;
    depot_map(d, &all);
    depot_start(d);
    own.destination = "dead";
    own.count = PAWL_COUNT_ANSWERED;
    pawl_work_id id = depot_send(d, "dead", "t", "1"), answered = kit_send(d->f, &own).work_id;
    assert_int_equal(1, pawl_message_retries(until_ended(d, id, 1)));
    const pawl_message *m = until_ended(d, answered, 1);
    assert_int_equal(0, pawl_message_retries(m));
    assert_int_equal(1, pawl_message_deferrals(m));
}

PAWL_TEST(each_probe_is_another_message_and_none_counts)
{
    depot *d = depot_open(NULL);
    pawl_work_id ids[4];
    pawl_service_options one = PAWL_SERVICE_OPTIONS_INIT;

    one.concurrency = 1;
    d->options.breaker_failures = 1;
    d->options.breaker_open = (pawl_backoff){5, 5, 0};
    depot_map(d, &one);
    depot_start(d);
    atomic_store(&d->mood, MOOD_STATUS);
    atomic_store(&d->answer_status, 500);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        ids[i] = depot_send(d, "moody", "t", "1");
    for (size_t i = 0; i < COUNT_OF(ids); i++) { /* the store's clock stands: none comes twice */
        const pawl_message *m = until_ended(d, ids[i], 1);
        assert_int_equal(i == 0, pawl_message_retries(m)); /* the first one opened it */
        assert_int_equal(i != 0, pawl_message_deferrals(m));
    }
    assert_int_equal(4, atomic_load(&d->moody_calls));
}

/* A map of one service. */
static void use_map(depot *d, const char *name, const char *url)
{
    pawl_service_options one = PAWL_SERVICE_OPTIONS_INIT;
    pawl_services *services = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    one.name = name;
    one.url = url;
    assert_ok(pawl_services_new(&one, 1, NULL, &services, &err), &err);
    pawl_delivery_use(d->delivery, services);
    pawl_services_unref(services);
}

/* The store's clock stands, so that no deferred message becomes due by itself. */
PAWL_TEST(what_the_map_prevented_is_tried_when_the_map_changes)
{
    depot *d = depot_open(NULL);

    depot_start(d);
    pawl_work_id id = depot_send(d, "till", "t", "1");
    assert_non_null(strstr(pawl_message_last_error(until_ended(d, id, 1)), "nor a service"));
    use_map(d, "till", "http://127.0.0.1:1/"); /* and without allow_private */
    assert_non_null(strstr(pawl_message_last_error(until_ended(d, id, 2)), "allow_private"));
    use_map(d, "till", "inproc://moody");
    depot_until(d, 1, PAWL_STATE_DONE);
    assert_int_equal(0, pawl_message_retries(kit_get(d->f, id)));
    assert_true(log_capture_has(&d->log, PAWL_LOG_INFO, "till: the services were reloaded"));
    assert_false(log_capture_has(&d->log, PAWL_LOG_INFO, "till: woken by an operator"));
}

PAWL_TEST(what_an_earlier_delivery_could_not_send_is_tried_when_the_map_changes)
{
    depot *d = depot_open(NULL);
    pawl_work_id id = depot_send(d, "till", "t", "1");

    kit_claim_for(d->f, kit_owner(1), MINUTE_MS, 1, "till");
    const pawl_message *m = kit_get(d->f, id);
    pawl_held held = {id, pawl_message_fence(m)};
    pawl_error err = PAWL_ERROR_INIT;
    assert_ok(pawl_queue_defer(fixture_store(d->f), kit_owner(1), &held, 1, "x", HOUR_MS, NULL,
                               NULL, &err),
              &err);
    depot_start(d);
    depot_turns(d, 3);
    assert_int_equal(1, pawl_message_deferrals(kit_get(d->f, id)));
    use_map(d, "till", "inproc://moody");
    depot_until(d, 1, PAWL_STATE_DONE);
}

PAWL_TEST(a_destination_that_is_down_is_not_tried_because_the_map_changes)
{
    depot *d = patient();
    pawl_work_id id = depot_send(d, "dead", "t", "1");

    (void)until_ended(d, id, 1);
    depot_map(d, NULL);
    depot_turns(d, 5);
    assert_int_equal(1, pawl_message_deferrals(kit_get(d->f, id)));
    assert_int_equal(PAWL_STATE_READY, fixture_state(d->f, id));
}

PAWL_TEST(an_operator_can_have_a_destination_tried_now)
{
    depot *d = depot_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    d->options.breaker_failures = 1;
    d->options.breaker_open = (pawl_backoff){HOUR_MS, HOUR_MS, 0};
    depot_start(d);
    atomic_store(&d->mood, MOOD_DOWN);
    pawl_work_id id = depot_send(d, "moody", "t", "1");
    (void)until_ended(d, id, 1);
    depot_send(d, "moody", "t", "2");
    assert_int_equal(PAWL_BREAKER_OPEN, depot_stats(d, "moody").breaker);
    atomic_store(&d->mood, MOOD_GOOD);
    assert_ok(pawl_queue_wake(fixture_store(d->f), "moody", &changed, &err), &err);
    assert_int_equal(1, changed);
    depot_until(d, 2, PAWL_STATE_DONE);
    assert_int_equal(PAWL_BREAKER_CLOSED, depot_stats(d, "moody").breaker);
    assert_true(log_capture_has(&d->log, PAWL_LOG_INFO, "moody: woken by an operator"));
}
