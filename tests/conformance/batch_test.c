/* tests/conformance/batch_test.c - many messages in one call: all or none. */
#include "queue_fixture.h"

#include <stdio.h>
#include <string.h>

static const pawl_enqueued untouched = {{-1}, {{9}}, true};

PAWL_TEST(a_batch_is_stored_whole_and_its_results_are_in_its_order)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[5];
    pawl_enqueued sent[5];
    static const char *const payloads[] = {"e", "b", "d", "a", "c"};

    for (int i = 0; i < 5; i++) {
        messages[i] = queue_message(i % 2 ? "odd" : "even", payloads[i]);
        messages[i].id = queue_id(payloads[i][0]);
    }
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, 5, sent, &err), &err);
    for (int i = 0; i < 5; i++) {
        const pawl_message *m = queue_get(f, sent[i].work_id);

        assert_false(sent[i].existed);
        assert_true(pawl_uuid_equal(messages[i].id, sent[i].message_id));
        assert_string_equal(payloads[i], queue_payload(m));
        assert_string_equal(messages[i].topic, pawl_message_topic(m));
    }
    assert_int_equal(5, fixture_count(f, "SELECT count(*) FROM {queue}"));
    queue_check(f);
}

PAWL_TEST(messages_of_a_batch_without_ids_are_claimed_in_its_order)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[4];
    static const char *const payloads[] = {"d", "b", "a", "c"};

    for (int i = 0; i < 4; i++)
        messages[i] = queue_message("t", payloads[i]);
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, 4, NULL, &err), &err);
    assert_string_equal("d b a c", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(a_batch_says_which_of_its_messages_existed)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[3];
    pawl_enqueued old, sent[3];

    for (int i = 0; i < 3; i++) {
        messages[i] = queue_message("t", "x");
        messages[i].id = queue_id(10 - i);
    }
    old = queue_send(f, &messages[1]);
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, 3, sent, &err), &err);
    assert_false(sent[0].existed);
    assert_true(sent[1].existed);
    assert_false(sent[2].existed);
    assert_int_equal(old.work_id.value, sent[1].work_id.value);
    assert_int_equal(3, fixture_count(f, "SELECT count(*) FROM {queue}"));
    queue_check(f);
}

PAWL_TEST(a_conflict_anywhere_in_a_batch_stores_nothing_of_it)
{
    for (int at = 0; at < 3; at++) {
        fixture *f = fixture_open(NULL);
        pawl_error err = PAWL_ERROR_INIT;
        pawl_message_spec messages[3], other = queue_message("t", "old");
        pawl_enqueued sent[3] = {untouched, untouched, untouched};
        const char *before;

        other.id = queue_id(at);
        queue_send(f, &other);
        for (int i = 0; i < 3; i++) {
            messages[i] = queue_message("new topic", "new");
            messages[i].id = queue_id(i);
        }
        before = fixture_text(f, "SELECT count(*) || '' FROM {body}");
        assert_status(PAWL_E_CONFLICT,
                      pawl_outbox_enqueue_batch(fixture_store(f), messages, 3, sent, &err), &err);
        assert_string_equal(before, fixture_text(f, "SELECT count(*) || '' FROM {body}"));
        assert_int_equal(-1, sent[at].work_id.value);
        assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {queue}"));
        queue_check(f);
        fixture_close(f);
    }
}

PAWL_TEST(the_same_id_twice_in_a_batch_is_stored_once)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[3] = {queue_message("t", "x"), queue_message("t", "y"),
                                     queue_message("t", "x")};
    pawl_enqueued sent[3];

    messages[0].id = messages[2].id = queue_id(1);
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, 3, sent, &err), &err);
    assert_int_equal(sent[0].work_id.value, sent[2].work_id.value);
    assert_true(sent[0].existed != sent[2].existed);
    assert_false(sent[1].existed);
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {queue}"));
    queue_check(f);
}

PAWL_TEST(the_same_id_twice_with_other_content_is_a_conflict)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[3] = {queue_message("t", "x"), queue_message("t", "y"),
                                     queue_message("t", "z")};

    messages[0].id = messages[2].id = queue_id(1);
    assert_status(PAWL_E_CONFLICT,
                  pawl_outbox_enqueue_batch(fixture_store(f), messages, 3, NULL, &err), &err);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
    messages[2] = messages[0];
    messages[2].topic = "T";
    assert_status(PAWL_E_CONFLICT,
                  pawl_outbox_enqueue_batch(fixture_store(f), messages, 3, NULL, &err), &err);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}

PAWL_TEST(one_invalid_message_refuses_the_batch_and_is_named)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[3] = {queue_message("t", "x"), queue_message("t", "y"),
                                     queue_message("t", "z")};

    messages[1].priority = 10;
    assert_status(PAWL_E_INVALID,
                  pawl_outbox_enqueue_batch(fixture_store(f), messages, 3, NULL, &err), &err);
    assert_says(&err, "priority");
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}

static pawl_message_spec *many(size_t count)
{
    pawl_message_spec *messages = test_malloc(count * sizeof *messages);

    for (size_t i = 0; i < count; i++)
        messages[i] = queue_message("t", "x");
    return messages;
}

PAWL_TEST(ten_thousand_messages_are_a_batch_and_one_more_is_not)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec *messages = many(PAWL_BATCH_MAX + 1);
    pawl_enqueued *sent = test_malloc(PAWL_BATCH_MAX * sizeof *sent);

    assert_status(
        PAWL_E_INVALID,
        pawl_outbox_enqueue_batch(fixture_store(f), messages, PAWL_BATCH_MAX + 1, NULL, &err),
        &err);
    assert_says(&err, "10000");
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, PAWL_BATCH_MAX, sent, &err),
              &err);
    assert_int_equal(PAWL_BATCH_MAX, fixture_count(f, "SELECT count(*) FROM {queue}"));
    for (size_t i = 1; i < PAWL_BATCH_MAX; i++)
        assert_true(sent[i].work_id.value > sent[i - 1].work_id.value);
    test_free(messages);
    test_free(sent);
}

PAWL_TEST(a_batch_is_limited_to_64_mebibytes)
{
    pawl_store_options patient = PAWL_STORE_OPTIONS_INIT;
    patient.timeout_ms = 2 * MINUTE_MS; /* a sanitizer on a busy machine */
    fixture *f = fixture_open(&(fixture_options){.store = &patient});
    pawl_error err = PAWL_ERROR_INIT;
    const size_t size = PAWL_BATCH_MAX_BYTES / 8;
    char *payload = test_calloc(size, 1);
    pawl_message_spec *messages = many(9);

    for (size_t i = 0; i < 8; i++) {
        messages[i].payload = payload;
        messages[i].payload_size = size;
    }
    assert_status(PAWL_E_TOO_LARGE,
                  pawl_outbox_enqueue_batch(fixture_store(f), messages, 9, NULL, &err), &err);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, 8, NULL, &err), &err);
    assert_int_equal(8, fixture_count(f, "SELECT count(*) FROM {queue}"));
    test_free(messages);
    test_free(payload);
}
