/* tests/conformance/enqueue_test.c - sending one message: what is stored, and when it is due. */
#include "queue_fixture.h"

#include <string.h>

PAWL_TEST(a_sent_message_is_stored_with_its_defaults)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "order.created", "hello");
    const pawl_message *m = queue_get(f, id);

    assert_int_equal(id.value, pawl_message_work_id(m).value);
    assert_false(pawl_uuid_is_zero(pawl_message_id(m)));
    assert_string_equal("order.created", pawl_message_topic(m));
    assert_string_equal("hello", queue_payload(m));
    assert_int_equal(PAWL_TYPE_SIGNAL, pawl_message_type(m));
    assert_null(pawl_message_destination(m));
    assert_null(pawl_message_headers(m));
    assert_null(pawl_message_correlation_id(m));
    assert_int_equal(0, pawl_message_priority(m));
    assert_time(FIXTURE_START.us, pawl_message_created_at(m));
    assert_time(FIXTURE_START.us, pawl_message_due_at(m));
    assert_time(0, pawl_message_expires_at(m));
    assert_int_equal(PAWL_MAX_ATTEMPTS_LOCAL, pawl_message_max_attempts(m));
    assert_int_equal(0, pawl_message_retries(m));
    assert_int_equal(1, pawl_message_attempt(m));
    queue_check(f);
}

PAWL_TEST(a_sent_message_is_ready_and_has_no_owner)
{
    fixture *f = fixture_open(NULL);
    const pawl_message *m = queue_get(f, fixture_send(f, "order.created", "hello"));

    assert_int_equal(PAWL_STATE_READY, pawl_message_state(m));
    assert_int_equal(0, pawl_message_fence(m));
    assert_true(pawl_owner_is_zero(pawl_message_owner(m)));
    assert_null(pawl_message_claimed_by(m));
    assert_time(0, pawl_message_lease_until(m));
    assert_time(FIXTURE_START.us, pawl_message_next_attempt_at(m));
    assert_time(0, pawl_message_finished_at(m));
    assert_null(pawl_message_processed_by(m));
    assert_null(pawl_message_last_error(m));
}

PAWL_TEST(a_sent_message_is_committed_and_outlives_the_store)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "kept");

    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {queue}"));
    fixture_reopen(f);
    assert_string_equal("kept", queue_payload(queue_get(f, id)));
}

PAWL_TEST(a_message_is_sent_in_one_line)
{
    fixture *f = fixture_open(NULL);
    static const char payload[] = "a\0b";
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    size_t size = 0;

    assert_int_equal(PAWL_OK,
                     pawl_send(fixture_store(f), "greeting", payload, sizeof payload, &err));
    assert_int_equal(PAWL_OK, pawl_send(fixture_store(f), "greeting", NULL, 0, NULL));
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    filter.topic = "greeting";
    filter.with_payload = true;
    assert_int_equal(PAWL_OK, pawl_outbox_list(fixture_store(f), &filter, &list, NULL, &err));
    assert_int_equal(2, pawl_messages_count(list)); /* newest first; two calls are two messages */
    pawl_message_payload(pawl_messages_at(list, 0), &size);
    assert_int_equal(0, size);
    const pawl_message *first = pawl_messages_at(list, 1);
    assert_memory_equal(payload, pawl_message_payload(first, &size), sizeof payload);
    assert_int_equal(sizeof payload, size);
    assert_int_equal(PAWL_STATE_READY, pawl_message_state(first));
    assert_int_equal(PAWL_MAX_ATTEMPTS_LOCAL, pawl_message_max_attempts(first));
    assert_null(pawl_message_destination(first));
    pawl_messages_free(list);
    queue_check(f);
}

PAWL_TEST(pawl_send_refuses_the_same_arguments_as_enqueue)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    assert_int_equal(PAWL_E_INVALID, pawl_send(NULL, "t", "x", 1, &err));
    assert_int_equal(PAWL_E_INVALID, pawl_send(fixture_store(f), NULL, "x", 1, &err));
    assert_int_equal(PAWL_E_INVALID, pawl_send(fixture_store(f), "", "x", 1, &err));
    assert_int_equal(PAWL_E_INVALID, pawl_send(fixture_store(f), "t", NULL, 1, &err));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}

PAWL_TEST(every_field_comes_back_as_given)
{
    fixture *f = fixture_open(NULL);
    static const char payload[] = "\x00\xff\xfe{not json\n\x00";
    pawl_message_spec message = queue_message("Ünïcode 'quoted' \"topic\" \\ ; -- %s", NULL);
    const pawl_message *m;
    pawl_enqueued sent;
    size_t size = 0;

    message.payload = payload;
    message.payload_size = sizeof payload;
    message.id = queue_id(7);
    message.type = PAWL_TYPE_PUSH_CALL;
    message.destination = "https://example.org/in?a=1&b='2'";
    message.headers = "{\"traceparent\": \"00-ab-cd-01\", \"n\": [1, 2.5, null]}";
    message.correlation_id = "order-4711 ☃";
    message.priority = 9;
    message.due_at = (pawl_wall){FIXTURE_START.us + 1234567};
    message.expires_at = (pawl_wall){FIXTURE_START.us + 7654321};
    message.max_attempts = 3;
    sent = queue_send(f, &message);
    assert_false(sent.existed);
    assert_true(pawl_uuid_equal(queue_id(7), sent.message_id));
    m = queue_get(f, sent.work_id);
    assert_true(pawl_uuid_equal(queue_id(7), pawl_message_id(m)));
    assert_string_equal(message.topic, pawl_message_topic(m));
    assert_memory_equal(payload, pawl_message_payload(m, &size), sizeof payload);
    assert_int_equal(sizeof payload, size);
    assert_int_equal(PAWL_TYPE_PUSH_CALL, pawl_message_type(m));
    assert_string_equal(message.destination, pawl_message_destination(m));
    assert_string_equal(message.headers, pawl_message_headers(m));
    assert_string_equal(message.correlation_id, pawl_message_correlation_id(m));
    assert_int_equal(9, pawl_message_priority(m));
    assert_time(message.due_at.us, pawl_message_due_at(m));
    assert_time(message.expires_at.us, pawl_message_expires_at(m));
    assert_int_equal(3, pawl_message_max_attempts(m));
}

PAWL_TEST(an_empty_payload_is_a_payload)
{
    fixture *f = fixture_open(NULL);
    size_t size = 1;
    const pawl_message *m = queue_get(f, fixture_send(f, "t", ""));
    pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);

    assert_non_null(pawl_message_payload(m, &size));
    assert_int_equal(0, size);
    assert_int_equal(1, pawl_messages_count(list));
    assert_non_null(pawl_message_payload(pawl_messages_at(list, 0), &size));
    assert_int_equal(0, size);
}

PAWL_TEST(a_large_payload_comes_back_whole)
{
    fixture *f = fixture_open(NULL);
    const size_t size = 5 * 1024 * 1024 + 3;
    char *payload = test_malloc(size);
    pawl_message_spec message = queue_message("t", NULL);
    const pawl_message *m;
    size_t got = 0;

    for (size_t i = 0; i < size; i++)
        payload[i] = (char)(i * 7 + i / 1000);
    message.payload = payload;
    message.payload_size = size;
    m = queue_get(f, queue_send(f, &message).work_id);
    assert_memory_equal(payload, pawl_message_payload(m, &got), size);
    assert_int_equal(size, got);
    test_free(payload);
}

PAWL_TEST(an_empty_correlation_id_is_stored_as_none)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");

    message.correlation_id = "";
    assert_null(pawl_message_correlation_id(queue_get(f, queue_send(f, &message).work_id)));
    assert_int_equal(1,
                     fixture_count(f, "SELECT count(*) FROM {body} WHERE correlation_id IS NULL"));
}

PAWL_TEST(topics_differ_by_case)
{
    fixture *f = fixture_open(NULL);
    static const char *const wanted[] = {"order.created"};
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;

    fixture_send(f, "Order.Created", "upper");
    fixture_send(f, "order.created", "lower");
    opts.topics = wanted;
    opts.topic_count = 1;
    assert_string_equal("lower",
                        queue_payloads(queue_claim(f, queue_owner(1), MINUTE_MS, 10, &opts)));
}

PAWL_TEST(the_longest_topic_and_correlation_id_are_counted_in_characters)
{
    fixture *f = fixture_open(NULL);
    char text[255 * 4 + 1];
    pawl_message_spec message = queue_message(text, "x");
    const pawl_message *m;

    for (size_t i = 0; i < 255; i++)
        memcpy(text + i * 4, "\xF0\x9F\x90\xA2", 4);
    text[sizeof text - 1] = '\0';
    message.correlation_id = text;
    m = queue_get(f, queue_send(f, &message).work_id);
    assert_string_equal(text, pawl_message_topic(m));
    assert_string_equal(text, pawl_message_correlation_id(m));
}

PAWL_TEST(a_future_due_time_keeps_the_message_back_until_then)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "later");
    pawl_work_id id;

    message.due_at = (pawl_wall){FIXTURE_START.us + 10 * 1000000};
    id = queue_send(f, &message).work_id;
    assert_time(message.due_at.us, pawl_message_due_at(queue_get(f, id)));
    assert_time(message.due_at.us, pawl_message_next_attempt_at(queue_get(f, id)));
    fixture_set(f, (pawl_wall){message.due_at.us - 1000});
    assert_int_equal(0, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
    fixture_set(f, message.due_at);
    assert_string_equal("later", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(a_past_due_time_means_now_and_is_kept_for_display)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "late");
    const pawl_message *m;

    message.due_at = (pawl_wall){FIXTURE_START.us - 3600 * INT64_C(1000000)};
    m = queue_get(f, queue_send(f, &message).work_id);
    assert_time(message.due_at.us, pawl_message_due_at(m));
    assert_time(FIXTURE_START.us, pawl_message_next_attempt_at(m));
    assert_string_equal("late", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
}

PAWL_TEST(a_delay_counts_from_the_clock_of_the_database)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id;

    fixture_set(f, (pawl_wall){FIXTURE_START.us + 5 * 1000000});
    id = queue_send_after(f, "t", "delayed", 1500);
    assert_time(FIXTURE_START.us + 6500000, pawl_message_due_at(queue_get(f, id)));
    fixture_advance(f, 1499);
    assert_int_equal(0, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
    fixture_advance(f, 1);
    assert_int_equal(1, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
}

PAWL_TEST(a_message_with_a_destination_expires_after_a_day_and_has_six_attempts)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    const pawl_message *m;

    message.destination = "http://localhost/";
    m = queue_get(f, queue_send(f, &message).work_id);
    assert_time(FIXTURE_START.us + DAY_MS * 1000, pawl_message_expires_at(m));
    assert_int_equal(PAWL_MAX_ATTEMPTS_REMOTE, pawl_message_max_attempts(m));
    message.delay_ms = HOUR_MS;
    m = queue_get(f, queue_send(f, &message).work_id);
    assert_time(FIXTURE_START.us + (DAY_MS + HOUR_MS) * 1000, pawl_message_expires_at(m));
    message.delay_ms = 0;
    message.expires_at = (pawl_wall){FIXTURE_START.us + 1000000};
    m = queue_get(f, queue_send(f, &message).work_id);
    assert_time(FIXTURE_START.us + 1000000, pawl_message_expires_at(m));
}

PAWL_TEST(an_id_is_generated_when_none_is_given)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_enqueued first = queue_send(f, &message);
    pawl_enqueued second = queue_send(f, &message);

    assert_int_equal(7, first.message_id.bytes[6] >> 4);
    assert_true(memcmp(first.message_id.bytes, second.message_id.bytes, 16) < 0);
    assert_false(first.existed);
    assert_false(second.existed);
}

PAWL_TEST(work_ids_grow_and_are_never_used_again)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id first = queue_make(f, "t", "1", PAWL_STATE_DONE);
    pawl_work_id second = queue_make(f, "t", "2", PAWL_STATE_DONE);
    pawl_work_id third;

    assert_true(second.value > first.value);
    assert_int_equal(1, queue_purge(f, second));
    assert_int_equal(1, queue_purge(f, first));
    fixture_reopen(f);
    third = fixture_send(f, "t", "3");
    assert_true(third.value > second.value);
}

PAWL_TEST(the_result_may_be_omitted)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");

    assert_ok(pawl_outbox_enqueue(fixture_store(f), &message, NULL, NULL), NULL);
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), &message, 1, NULL, NULL), NULL);
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {queue}"));
}
