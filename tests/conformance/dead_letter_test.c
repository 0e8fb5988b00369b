/* tests/conformance/dead_letter_test.c - dead letters are recorded for a handler until it succeeds.
 */
#include "queue_fixture.h"

static void want(fixture *f, const char *topic, bool wanted)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_topic_dead_letters(fixture_store(f), topic, wanted, &err), &err);
}

static pawl_messages *claim_dead(fixture *f, int limit)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    assert_ok(
        pawl_dead_claim(fixture_store(f), queue_owner(7), MINUTE_MS, limit, NULL, &list, &err),
        &err);
    return queue_keep(list);
}

static const char *dead(fixture *f)
{
    return queue_payloads(claim_dead(f, 100));
}

static size_t end_dead_letters(fixture *f, const pawl_messages *list)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_dead_done(fixture_store(f), queue_owner(7), queue_receipts(list),
                             pawl_messages_count(list), &changed, &err),
              &err);
    return changed;
}

static size_t retry(fixture *f, const pawl_messages *list, int64_t delay_ms)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;

    assert_ok(pawl_dead_abandon(fixture_store(f), queue_owner(7), queue_receipts(list),
                                pawl_messages_count(list), "no luck", delay_ms, &changed, &err),
              &err);
    return changed;
}

static int64_t records(fixture *f)
{
    return fixture_count(f, "SELECT count(*) FROM {dead}");
}

PAWL_TEST(dead_letters_are_recorded_only_if_enabled)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_FAILED);
    want(f, "u", true);
    queue_make(f, "t", "y", PAWL_STATE_FAILED);
    assert_string_equal("", dead(f));
    want(f, "t", true);
    queue_make(f, "t", "z", PAWL_STATE_FAILED);
    assert_string_equal("z", dead(f));
    want(f, "t", false);
    queue_make(f, "t", "w", PAWL_STATE_FAILED);
    assert_int_equal(1, records(f));
    queue_check(f);
}

PAWL_TEST(every_topic_at_once)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "before", PAWL_STATE_FAILED);
    want(f, NULL, true);
    queue_make(f, "t", "x", PAWL_STATE_FAILED);
    fixture_advance(f, SECOND_MS);
    queue_make(f, "new", "y", PAWL_STATE_FAILED);
    assert_string_equal("x y", dead(f));
    want(f, NULL, false);
    queue_make(f, "t", "after", PAWL_STATE_FAILED);
    queue_make(f, "newer", "after", PAWL_STATE_FAILED);
    assert_int_equal(2, records(f));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {topic}"));
}

PAWL_TEST(every_way_to_become_a_dead_letter_is_recorded_with_the_transition)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "abandoned");
    pawl_messages *list;

    want(f, "t", true);
    queue_make(f, "t", "failed", PAWL_STATE_FAILED);
    message.max_attempts = 1;
    queue_send(f, &message);
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    queue_abandon(f, queue_owner(1), list, "no", SECOND_MS);
    message.payload = "reaped";
    message.payload_size = 6;
    queue_send(f, &message);
    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    fixture_advance(f, 2 * MINUTE_MS);
    assert_int_equal(1, queue_reap(f));
    message.payload = "expired";
    message.payload_size = 7;
    message.expires_at = (pawl_wall){FIXTURE_START.us + HOUR_MS * 1000};
    queue_send(f, &message);
    fixture_advance(f, 2 * HOUR_MS);
    assert_int_equal(1, queue_expire(f));
    queue_make(f, "t", "done", PAWL_STATE_DONE);
    queue_make(f, "t", "cancelled", PAWL_STATE_CANCELLED);
    message = queue_message("t", "to be tried again");
    queue_send(f, &message);
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    queue_abandon(f, queue_owner(1), list, "no", SECOND_MS);
    assert_int_equal(4, records(f));
    assert_string_equal("failed abandoned reaped expired", dead(f));
    queue_check(f);
}

PAWL_TEST(a_handler_gets_the_message_as_it_ended)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id;
    pawl_messages *list;
    const pawl_message *message;

    want(f, "t", true);
    id = queue_make(f, "t", "x", PAWL_STATE_FAILED);
    list = claim_dead(f, 1);
    message = pawl_messages_at(list, 0);
    assert_int_equal(id.value, pawl_message_work_id(message).value);
    assert_int_equal(PAWL_STATE_FAILED, pawl_message_state(message));
    assert_string_equal("t", pawl_message_topic(message));
    assert_string_equal("x", queue_payload(message));
    assert_int_equal(1, pawl_message_dead_call(message));
    assert_int_equal(1, pawl_message_retries(message));
    assert_true(pawl_message_fence(message) > 0);
    assert_time(FIXTURE_START.us + MINUTE_MS * 1000, pawl_message_lease_until(message));
    assert_int_equal(0, pawl_message_dead_call(queue_get(f, id)));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, id));
}

PAWL_TEST(it_is_called_until_it_succeeds)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list;

    want(f, "t", true);
    queue_make(f, "t", "x", PAWL_STATE_FAILED);
    list = claim_dead(f, 10);
    assert_string_equal("", dead(f)); /* another worker has claimed it */
    assert_int_equal(1, retry(f, list, 5 * SECOND_MS));
    assert_int_equal(0, retry(f, list, 5 * SECOND_MS));
    fixture_advance(f, 4 * SECOND_MS);
    assert_string_equal("", dead(f));
    fixture_advance(f, SECOND_MS);
    list = claim_dead(f, 10);
    assert_int_equal(2, pawl_message_dead_call(pawl_messages_at(list, 0)));
    assert_int_equal(1, end_dead_letters(f, list));
    assert_int_equal(0, end_dead_letters(f, list));
    assert_int_equal(0, records(f));
    fixture_advance(f, DAY_MS);
    assert_string_equal("", dead(f));
}

PAWL_TEST(the_delays_grow_by_the_stores_policy)
{
    fixture *f = fixture_open(NULL);
    int64_t expected_ms[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};

    want(f, "t", true);
    queue_make(f, "t", "x", PAWL_STATE_FAILED);
    for (size_t i = 0; i < COUNT_OF(expected_ms); i++) {
        pawl_messages *list = claim_dead(f, 1);
        assert_int_equal(1, pawl_messages_count(list));
        assert_int_equal(1, retry(f, list, PAWL_DELAY_BY_POLICY));
        fixture_advance(f, expected_ms[i] - 1);
        assert_string_equal("", dead(f));
        fixture_advance(f, 1);
    }
}

PAWL_TEST(a_dead_owner_is_replaced_and_fenced)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *first, *second;

    want(f, "t", true);
    queue_make(f, "t", "x", PAWL_STATE_FAILED);
    first = claim_dead(f, 1);
    fixture_advance(f, 2 * MINUTE_MS);
    second = claim_dead(f, 1);
    assert_int_equal(1, pawl_messages_count(second));
    assert_true(pawl_message_fence(pawl_messages_at(second, 0)) >
                pawl_message_fence(pawl_messages_at(first, 0)));
    assert_int_equal(0, end_dead_letters(f, first));
    assert_int_equal(1, end_dead_letters(f, second));
}

PAWL_TEST(a_renewed_call_is_not_cancelled)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list;
    size_t changed = 0;

    want(f, "t", true);
    queue_make(f, "t", "x", PAWL_STATE_FAILED);
    list = claim_dead(f, 1);
    assert_ok(pawl_dead_renew(fixture_store(f), queue_owner(7), queue_receipts(list), 1, HOUR_MS,
                              &changed, &err),
              &err);
    assert_int_equal(1, changed);
    fixture_advance(f, 30 * MINUTE_MS);
    assert_string_equal("", dead(f));
    assert_int_equal(1, end_dead_letters(f, list));
}

PAWL_TEST(retry_and_purge_end_the_record)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id retried_by_user, purged;
    pawl_messages *list;

    want(f, "t", true);
    retried_by_user = queue_make(f, "t", "x", PAWL_STATE_FAILED);
    purged = queue_make(f, "t", "y", PAWL_STATE_FAILED);
    list = claim_dead(f, 10);
    assert_int_equal(1, queue_retry(f, retried_by_user));
    assert_int_equal(1, queue_purge(f, purged));
    assert_int_equal(0, records(f));
    assert_int_equal(0, end_dead_letters(f, list));
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), "again");
    assert_string_equal("x", dead(f));
    queue_check(f);
}

PAWL_TEST(a_failed_message_that_expires_later_is_not_recorded_twice)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_enqueued sent;

    want(f, "t", true);
    message.expires_at = (pawl_wall){FIXTURE_START.us + HOUR_MS * 1000};
    sent = queue_send(f, &message);
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), "no");
    assert_int_equal(1, end_dead_letters(f, claim_dead(f, 1)));
    fixture_advance(f, 2 * HOUR_MS);
    assert_int_equal(1, queue_expire(f));
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, sent.work_id));
    assert_int_equal(0, records(f));
}

PAWL_TEST(they_can_be_claimed_by_topic_and_in_parts)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    const char *const topics[] = {"b"};
    pawl_claim_options only = PAWL_CLAIM_OPTIONS_INIT;
    pawl_messages *list = NULL;

    want(f, NULL, true);
    for (int i = 0; i < 3; i++)
        queue_make(f, i == 1 ? "b" : "a", test_note("%d", i), PAWL_STATE_FAILED);
    only.topics = topics;
    only.topic_count = 1;
    assert_ok(pawl_dead_claim(fixture_store(f), queue_owner(7), MINUTE_MS, 10, &only, &list, &err),
              &err);
    assert_string_equal("1", queue_payloads(queue_keep(list)));
    assert_int_equal(1, pawl_messages_count(claim_dead(f, 1)));
    assert_int_equal(1, pawl_messages_count(claim_dead(f, 1)));
    assert_int_equal(0, pawl_messages_count(claim_dead(f, 1)));
}

PAWL_TEST(bad_arguments_are_refused)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_owner no_owner = {0};
    pawl_receipt item = {{1}, 1};
    pawl_messages *list = NULL;

    assert_status(PAWL_E_INVALID, pawl_dead_claim(NULL, queue_owner(7), 1, 1, NULL, &list, &err),
                  &err);
    assert_status(PAWL_E_INVALID,
                  pawl_dead_claim(fixture_store(f), no_owner, 1, 1, NULL, &list, &err), &err);
    assert_status(PAWL_E_INVALID,
                  pawl_dead_claim(fixture_store(f), queue_owner(7), 0, 1, NULL, &list, &err), &err);
    assert_status(PAWL_E_INVALID,
                  pawl_dead_claim(fixture_store(f), queue_owner(7), 1, 0, NULL, &list, &err), &err);
    assert_status(PAWL_E_INVALID,
                  pawl_dead_claim(fixture_store(f), queue_owner(7), 1, 1, NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID,
                  pawl_dead_done(fixture_store(f), queue_owner(7), NULL, 1, NULL, &err), &err);
    assert_status(
        PAWL_E_INVALID,
        pawl_dead_abandon(fixture_store(f), queue_owner(7), &item, 1, NULL, 0, NULL, &err), &err);
    assert_status(PAWL_E_INVALID,
                  pawl_dead_renew(fixture_store(f), queue_owner(7), &item, 1, 0, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_topic_dead_letters(fixture_store(f), "", true, &err), &err);
    assert_null(list);
}
