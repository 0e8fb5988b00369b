/* tests/conformance/claim_test.c - taking messages: which, how many, for how long. */
#include "queue_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

PAWL_TEST(claiming_from_an_empty_queue_gives_an_empty_list)
{
    fixture *f = fixture_open(NULL);
    const char *before = queue_fingerprint(f);
    pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 10);

    assert_non_null(list);
    assert_int_equal(0, pawl_messages_count(list));
    assert_null(pawl_messages_at(list, 0));
    assert_string_equal(before, queue_fingerprint(f));
}

PAWL_TEST(a_claim_gives_the_whole_message_and_a_lease)
{
    fixture *f = fixture_open(NULL);
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    pawl_message_spec message = queue_message("t", "body");
    const pawl_message *m;
    pawl_enqueued sent;

    message.correlation_id = "c";
    message.headers = "{\"h\":1}";
    sent = queue_send(f, &message);
    opts.owner_name = "worker seven";
    fixture_advance(f, 250);
    m = pawl_messages_at(queue_claim(f, queue_owner(1), 1500, 1, &opts), 0);
    assert_non_null(m);
    assert_int_equal(sent.work_id.value, pawl_message_work_id(m).value);
    assert_true(pawl_uuid_equal(sent.message_id, pawl_message_id(m)));
    assert_string_equal("body", queue_payload(m));
    assert_string_equal("c", pawl_message_correlation_id(m));
    assert_string_equal("{\"h\":1}", pawl_message_headers(m));
    assert_int_equal(PAWL_STATE_RUNNING, pawl_message_state(m));
    assert_true(pawl_owner_equal(queue_owner(1), pawl_message_owner(m)));
    assert_string_equal("worker seven", pawl_message_claimed_by(m));
    assert_time(FIXTURE_START.us + 1750000, pawl_message_lease_until(m));
    assert_true(pawl_message_fence(m) > 0);
    assert_int_equal(1, pawl_message_attempt(m));
    queue_check(f);
}

PAWL_TEST(a_claim_is_committed_before_it_returns)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    const pawl_message *m;

    fixture_reopen(f);
    m = queue_get(f, id);
    assert_int_equal(PAWL_STATE_RUNNING, pawl_message_state(m));
    assert_int_equal(fixture_receipt(list, 0).fence, pawl_message_fence(m));
    assert_true(pawl_owner_equal(queue_owner(1), pawl_message_owner(m)));
}

PAWL_TEST(the_owner_name_is_host_and_process_unless_given)
{
    fixture *f = fixture_open(NULL);
    char expected[300] = "";
    const pawl_message *m;

    fixture_send(f, "t", "x");
    m = pawl_messages_at(fixture_claim(f, queue_owner(1), MINUTE_MS, 1), 0);
    gethostname(expected, 256);
    snprintf(expected + strlen(expected), 20, ":%d", (int)getpid());
    assert_string_equal(expected, pawl_message_claimed_by(m));
}

PAWL_TEST(a_claim_never_takes_more_than_its_limit)
{
    fixture *f = fixture_open(NULL);

    for (int i = 0; i < 7; i++)
        fixture_send(f, i % 2 ? "odd" : "even", "x");
    assert_int_equal(3, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 3)));
    assert_int_equal(3, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 3)));
    assert_int_equal(1, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 3)));
    assert_int_equal(0, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 3)));
    queue_check(f);
}

PAWL_TEST(a_message_leased_by_one_worker_is_not_claimed_by_another)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "1");
    fixture_send(f, "t", "2");
    assert_string_equal("1", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
    assert_string_equal("2", queue_payloads(fixture_claim(f, queue_owner(2), MINUTE_MS, 5)));
    assert_string_equal("", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 5)));
}

PAWL_TEST(only_messages_ready_and_due_are_claimed)
{
    static const pawl_state never[] = {PAWL_STATE_RUNNING, PAWL_STATE_DONE, PAWL_STATE_FAILED,
                                       PAWL_STATE_EXPIRED, PAWL_STATE_CANCELLED};
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(never); i++)
        queue_make(f, "t", "never", never[i]);
    queue_send_after(f, "t", "later", SECOND_MS);
    assert_string_equal("", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 100)));
    fixture_send(f, "t", "now");
    assert_string_equal("now", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 100)));
}

PAWL_TEST(an_abandoned_message_waits_for_its_next_attempt)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "x");
    queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), NULL, 5000);
    fixture_advance(f, 4999);
    assert_string_equal("", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
    fixture_advance(f, 1);
    assert_string_equal("x", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
}

PAWL_TEST(an_ended_lease_is_claimable_once_it_was_reaped)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");

    fixture_claim(f, queue_owner(1), SECOND_MS, 1);
    fixture_advance(f, SECOND_MS + 1);
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, id));
    assert_int_equal(1, queue_reap(f));
    assert_string_equal("x", queue_payloads(fixture_claim(f, queue_owner(2), SECOND_MS, 1)));
}

PAWL_TEST(a_message_brings_its_own_lease)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "own");
    pawl_messages *list;

    message.lease_ms = 2 * MINUTE_MS;
    queue_send(f, &message);
    fixture_send(f, "t", "plain");
    list = fixture_claim(f, queue_owner(1), 30 * SECOND_MS, 10);
    assert_string_equal("own plain", queue_payloads(list));
    assert_time(FIXTURE_START.us + 120 * 1000000,
                pawl_message_lease_until(pawl_messages_at(list, 0)));
    assert_time(FIXTURE_START.us + 30 * 1000000,
                pawl_message_lease_until(pawl_messages_at(list, 1)));
    fixture_advance(f, 31 * SECOND_MS);
    assert_int_equal(1, queue_reap(f));
    assert_string_equal("plain", queue_payloads(fixture_claim(f, queue_owner(2), SECOND_MS, 10)));
    fixture_advance(f, 90 * SECOND_MS);
    assert_int_equal(2, queue_reap(f));
}

PAWL_TEST(ten_thousand_messages_are_claimed_at_once)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec *messages = test_malloc(PAWL_BATCH_MAX * sizeof *messages);
    pawl_messages *list;

    for (int i = 0; i < PAWL_BATCH_MAX; i++)
        messages[i] = queue_message("t", "x");
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, PAWL_BATCH_MAX, NULL, &err),
              &err);
    test_free(messages);
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, PAWL_BATCH_MAX);
    assert_int_equal(PAWL_BATCH_MAX, pawl_messages_count(list));
    assert_int_equal(PAWL_BATCH_MAX, queue_renew(f, queue_owner(1), list, MINUTE_MS));
    assert_int_equal(PAWL_BATCH_MAX, queue_ack(f, queue_owner(1), list));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {queue}"));
    assert_int_equal(PAWL_BATCH_MAX, fixture_count(f, "SELECT count(*) FROM {outcome}"));
}

PAWL_TEST(an_owner_can_list_its_leased_messages)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *first, *owned = NULL;

    fixture_send(f, "t", "1");
    fixture_send(f, "t", "2");
    fixture_send(f, "t", "3");
    first = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    fixture_claim(f, queue_owner(2), MINUTE_MS, 1);
    fixture_reopen(f);
    assert_ok(pawl_queue_owned(fixture_store(f), queue_owner(1), &owned, &err), &err);
    queue_keep(owned);
    assert_string_equal("1 2", queue_payloads(owned));
    assert_int_equal(fixture_receipt(first, 0).fence, fixture_receipt(owned, 0).fence);
    assert_time(FIXTURE_START.us + 60 * 1000000,
                pawl_message_lease_until(pawl_messages_at(owned, 0)));
    assert_int_equal(2, queue_ack(f, queue_owner(1), owned));
}

PAWL_TEST(acknowledged_or_reaped_messages_are_no_longer_leased)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *owned = NULL;

    for (int i = 0; i < 4; i++)
        fixture_send(f, "t", "x");
    queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1));
    queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), NULL,
                  MINUTE_MS);
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), NULL);
    fixture_claim(f, queue_owner(1), SECOND_MS, 1);
    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(1, queue_reap(f));
    assert_ok(pawl_queue_owned(fixture_store(f), queue_owner(1), &owned, &err), &err);
    assert_int_equal(0, pawl_messages_count(queue_keep(owned)));
}

PAWL_TEST(a_topic_filter_takes_only_those_topics)
{
    fixture *f = fixture_open(NULL);
    static const char *const wanted[] = {"b", "none of this name", "c", "b"};
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    pawl_messages *list;

    fixture_send(f, "a", "a");
    fixture_send(f, "b", "b");
    fixture_send(f, "c", "c");
    opts.topics = wanted;
    opts.topic_count = COUNT_OF(wanted);
    list = queue_claim(f, queue_owner(1), MINUTE_MS, 10, &opts);
    assert_int_equal(2, pawl_messages_count(list));
    assert_string_equal("", queue_payloads(queue_claim(f, queue_owner(1), MINUTE_MS, 10, &opts)));
    assert_string_equal("a", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(a_filter_of_unknown_topics_takes_nothing)
{
    fixture *f = fixture_open(NULL);
    static const char *const wanted[] = {"an unused topic", "{\"a\",b\\}"};
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;

    fixture_send(f, "a", "a");
    opts.topics = wanted;
    opts.topic_count = COUNT_OF(wanted);
    assert_string_equal("", queue_payloads(queue_claim(f, queue_owner(1), MINUTE_MS, 10, &opts)));
}
