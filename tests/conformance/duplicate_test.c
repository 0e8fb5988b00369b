/* tests/conformance/duplicate_test.c - the same message id sent again. */
#include "queue_fixture.h"

#include <string.h>

static pawl_message_spec with_id(int number, const char *topic, const char *payload)
{
    pawl_message_spec message = queue_message(topic, payload);

    message.id = queue_id(number);
    return message;
}

static void check_same(fixture *f, const pawl_message_spec *message, pawl_work_id id)
{
    const char *before = queue_fingerprint(f);
    pawl_enqueued again = queue_send(f, message);

    assert_true(again.existed);
    assert_int_equal(id.value, again.work_id.value);
    assert_true(pawl_uuid_equal(message->id, again.message_id));
    assert_string_equal(before, queue_fingerprint(f));
}

PAWL_TEST(the_same_message_again_is_stored_once)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = with_id(1, "t", "x");
    pawl_enqueued first = queue_send(f, &message);

    assert_false(first.existed);
    check_same(f, &message, first.work_id);
    fixture_reopen(f);
    check_same(f, &message, first.work_id);
    assert_int_equal(1, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(the_same_message_is_known_in_every_state)
{
    static const pawl_state states[] = {PAWL_STATE_RUNNING, PAWL_STATE_DONE, PAWL_STATE_FAILED,
                                        PAWL_STATE_EXPIRED, PAWL_STATE_CANCELLED};
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(states); i++) {
        pawl_work_id id = queue_make(f, "t", "x", states[i]);
        pawl_message_spec message = queue_message("t", "x");

        message.id = pawl_message_id(queue_get(f, id));
        check_same(f, &message, id);
        assert_int_equal(states[i], fixture_state(f, id));
    }
}

PAWL_TEST(only_topic_and_payload_make_it_another_message)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = with_id(1, "t", "x");
    pawl_work_id id = queue_send(f, &message).work_id;

    message.correlation_id = "other";
    message.delay_ms = HOUR_MS;
    message.max_attempts = 3;
    message.type = PAWL_TYPE_COMMAND;
    message.headers = "{}";
    check_same(f, &message, id);
    assert_null(pawl_message_correlation_id(queue_get(f, id)));
}

PAWL_TEST(another_priority_is_still_the_same_message)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = with_id(1, "t", "x");
    pawl_work_id id = queue_send(f, &message).work_id;

    message.priority = 5;
    check_same(f, &message, id);
    assert_int_equal(0, pawl_message_priority(queue_get(f, id)));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {body}"));
}

static void check_conflict(fixture *f, const pawl_message_spec *message)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued untouched = {{-1}, {{9}}, false};
    const char *before = queue_fingerprint(f);

    assert_status(PAWL_E_CONFLICT, pawl_outbox_enqueue(fixture_store(f), message, &untouched, &err),
                  &err);
    assert_false(err.retryable);
    assert_int_equal(-1, untouched.work_id.value);
    assert_string_equal(before, queue_fingerprint(f));
    queue_check(f);
}

PAWL_TEST(other_content_under_the_same_id_is_a_conflict_and_changes_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = with_id(1, "t", "x");
    pawl_message_spec other_payload = with_id(1, "t", "y");
    pawl_message_spec longer_payload = with_id(1, "t", "xx");
    pawl_message_spec no_payload = with_id(1, "t", "");
    pawl_message_spec other_topic = with_id(1, "T", "x");
    pawl_work_id id;

    fixture_send(f, "T", "makes the other topic known");
    id = queue_send(f, &message).work_id;
    check_conflict(f, &other_payload);
    check_conflict(f, &longer_payload);
    check_conflict(f, &no_payload);
    check_conflict(f, &other_topic);
    assert_string_equal("x", queue_payload(queue_get(f, id)));
}

PAWL_TEST(other_content_is_a_conflict_after_the_end_too)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = queue_make(f, "t", "x", PAWL_STATE_DONE);
    pawl_message_spec message = queue_message("t", "y");

    message.id = pawl_message_id(queue_get(f, id));
    check_conflict(f, &message);
}

PAWL_TEST(a_conflict_names_the_message)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = with_id(1, "t", "x");
    pawl_error err = PAWL_ERROR_INIT;
    char id[PAWL_UUID_TEXT_SIZE];

    queue_send(f, &message);
    message.payload = "secret words";
    message.payload_size = 12;
    assert_status(PAWL_E_CONFLICT, pawl_outbox_enqueue(fixture_store(f), &message, NULL, &err),
                  &err);
    pawl_uuid_format(message.id, id);
    assert_says(&err, id);
    assert_null(strstr(err.message, "secret"));
}

PAWL_TEST(after_retention_the_id_is_new_again)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = queue_make(f, "t", "x", PAWL_STATE_DONE);
    pawl_message_spec message = queue_message("t", "other words");
    pawl_enqueued again;

    message.id = pawl_message_id(queue_get(f, id));
    fixture_advance(f, PAWL_RETENTION_MS + 1000);
    assert_int_equal(1, queue_prune(f, PAWL_RETENTION_MS));
    again = queue_send(f, &message);
    assert_false(again.existed);
    assert_true(again.work_id.value > id.value);
    assert_string_equal("other words", queue_payload(queue_get(f, again.work_id)));
}

PAWL_TEST(after_a_purge_the_id_is_new_again)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = queue_make(f, "t", "x", PAWL_STATE_FAILED);
    pawl_message_spec message = queue_message("t", "x");
    pawl_enqueued again;

    message.id = pawl_message_id(queue_get(f, id));
    assert_int_equal(1, queue_purge(f, id));
    again = queue_send(f, &message);
    assert_false(again.existed);
    assert_true(again.work_id.value > id.value);
}
