/* tests/conformance/defer_test.c - put off without being counted; a destination that is tried now.
 */
#include "queue_fixture.h"

#include <pawl_private/delivery_store.h>

#include <string.h>

static pawl_work_id send_to(fixture *f, const char *destination, int max_attempts)
{
    pawl_message_spec message = queue_message("t", "x");

    message.destination = destination;
    message.max_attempts = max_attempts;
    return queue_send(f, &message).work_id;
}

static pawl_receipt claim_one(fixture *f, const char *destination)
{
    pawl_messages *list = queue_claim_for(f, queue_owner(1), MINUTE_MS, 1, destination);

    assert_int_equal(1, pawl_messages_count(list));
    return fixture_receipt(list, 0);
}

static size_t defer(fixture *f, pawl_receipt item, const char *error, int64_t delay_ms)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_queue_defer(fixture_store(f), queue_owner(1), &item, 1, error, delay_ms, NULL,
                               &changed, &err),
              &err);
    return changed;
}

static int64_t wait_us(fixture *f, pawl_work_id id)
{
    return pawl_message_next_attempt_at(queue_get(f, id)).us - fixture_now(f).us;
}

PAWL_TEST(a_deferred_message_keeps_its_attempts_and_has_an_error_and_a_time)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = send_to(f, "a", 1); /* its only attempt */

    assert_int_equal(1, defer(f, claim_one(f, "a"), "no connection", 90000));
    const pawl_message *m = queue_get(f, id);
    assert_int_equal(PAWL_STATE_SCHEDULED, pawl_message_state(m));
    assert_int_equal(0, pawl_message_retries(m));
    assert_int_equal(1, pawl_message_deferrals(m));
    assert_string_equal("no connection", pawl_message_last_error(m));
    assert_int_equal(90000000, wait_us(f, id));
    assert_int_equal(0, pawl_messages_count(queue_claim_for(f, queue_owner(1), MINUTE_MS, 1, "a")));
    fixture_advance(f, 90000);
    pawl_messages *list = queue_claim_for(f, queue_owner(1), MINUTE_MS, 1, "a");
    assert_int_equal(1, pawl_message_deferrals(pawl_messages_at(list, 0)));
    assert_int_equal(1, defer(f, fixture_receipt(list, 0), NULL, 0));
    assert_string_equal("no connection", pawl_message_last_error(queue_get(f, id)));
    assert_int_equal(2, pawl_message_deferrals(queue_get(f, id)));
    assert_int_equal(1, pawl_messages_count(queue_claim_for(f, queue_owner(1), MINUTE_MS, 1, "a")));
    queue_check(f);
}

PAWL_TEST(deferrals_and_retries_double_the_delay_together)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");

    message.destination = "a";
    message.backoff = (pawl_backoff){1000, 60000, 0};
    pawl_work_id id = queue_send(f, &message).work_id;
    for (int i = 0; i < 5; i++) {
        pawl_receipt item = claim_one(f, "a");
        pawl_error err = PAWL_ERROR_INIT;

        if (i % 2)
            assert_ok(pawl_queue_abandon(fixture_store(f), queue_owner(1), &item, 1, NULL,
                                         PAWL_DELAY_BY_POLICY, NULL, &err),
                      &err);
        else
            defer(f, item, NULL, PAWL_DELAY_BY_POLICY);
        assert_int_equal(INT64_C(1000000) << i, wait_us(f, id));
        fixture_advance(f, INT64_C(1000) << i);
    }
    assert_int_equal(2, pawl_message_retries(queue_get(f, id)));
    assert_int_equal(3, pawl_message_deferrals(queue_get(f, id)));
    assert_int_equal(1000, pawl_message_backoff(queue_get(f, id)).base_ms);
}

PAWL_TEST(only_messages_still_leased_are_deferred)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_backoff bad = {0, 0, 0};

    send_to(f, "a", 0);
    pawl_receipt item = claim_one(f, "a"), stale = {item.id, item.fence - 1};
    assert_int_equal(0, defer(f, stale, "x", 0));
    assert_status(
        PAWL_E_INVALID,
        pawl_queue_defer(fixture_store(f), queue_owner(1), &item, 1, "x", -1, NULL, NULL, &err),
        &err);
    assert_status(
        PAWL_E_INVALID,
        pawl_queue_defer(fixture_store(f), queue_owner(1), &item, 1, "x", 0, &bad, NULL, &err),
        &err);
    assert_int_equal(1, defer(f, item, "x", 0));
    assert_int_equal(0, defer(f, item, "x", 0));
    queue_check(f);
}

PAWL_TEST(a_delivery_that_was_killed_is_not_the_destinations_refusal)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec every = queue_message("t", "x");
    pawl_error err = PAWL_ERROR_INIT;
    size_t reaped = 0;

    every.destination = "a";
    every.count = PAWL_COUNT_ALL;
    every.max_attempts = 1;
    pawl_work_id counted = queue_send(f, &every).work_id, local = fixture_send(f, "t", "x");
    pawl_work_id id = send_to(f, "a", 1);
    queue_claim_for(f, queue_owner(1), MINUTE_MS, 2, "a");
    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    fixture_advance(f, MINUTE_MS);
    assert_ok(pawl_queue_reap(fixture_store(f), &reaped, NULL, &err), &err);
    assert_int_equal(3, reaped);
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
    assert_int_equal(0, pawl_message_retries(queue_get(f, id)));
    assert_int_equal(1, pawl_message_deferrals(queue_get(f, id)));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, counted));
    assert_int_equal(1, pawl_message_retries(queue_get(f, local)));
    queue_check(f);
}

static int64_t woken(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_destinations *list = NULL;

    assert_ok(pawl_queue_destinations(fixture_store(f), NULL, 10, &list, &err), &err);
    int64_t token = pawl_destinations_woken(list, 0);
    assert_string_equal("a", pawl_destinations_at(list, 0));
    assert_int_equal(0, pawl_destinations_woken(list, 1));
    pawl_destinations_free(list);
    return token;
}

PAWL_TEST(wake_makes_the_waiting_messages_of_a_destination_due_and_counts_them)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec later = queue_message("t", "x");
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    later.destination = "a";
    later.delay_ms = HOUR_MS;
    pawl_work_id id = send_to(f, "a", 0), timer, other;
    defer(f, claim_one(f, "a"), "down", HOUR_MS);
    timer = queue_send(f, &later).work_id;
    other = send_to(f, "b", 0);
    defer(f, claim_one(f, "b"), "down", HOUR_MS);
    assert_int_equal(0, woken(f));
    assert_ok(pawl_queue_wake(fixture_store(f), "a", &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_int_equal(0, wait_us(f, id));
    assert_int_equal(HOUR_MS * 1000, wait_us(f, timer)); /* sent for later: not a retry */
    assert_int_equal(HOUR_MS * 1000, wait_us(f, other));
    int64_t token = woken(f);
    assert_true(token > 0);
    assert_ok(pawl_queue_wake(fixture_store(f), "a", &changed, &err), &err);
    assert_int_equal(0, changed);
    assert_true(woken(f) > token);
    assert_int_equal(id.value, claim_one(f, "a").id.value);
    assert_ok(pawl_queue_wake(fixture_store(f), "nowhere", &changed, &err), &err);
    assert_int_equal(0, changed);
    assert_status(PAWL_E_INVALID, pawl_queue_wake(fixture_store(f), "", NULL, &err), &err);
    queue_check(f);
}

PAWL_TEST(a_local_message_has_a_limit)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "x");
    assert_true(fixture_refuses(f, "UPDATE {body} SET max_attempts = 0"));
    assert_true(fixture_refuses(f, "UPDATE {body} SET max_attempts = -6"));
    assert_true(fixture_refuses(f, "UPDATE {body} SET max_attempts = -1, destination = 'a'"));
    assert_false(fixture_refuses(f, "UPDATE {body} SET max_attempts = 0, destination = 'a'"));
}
