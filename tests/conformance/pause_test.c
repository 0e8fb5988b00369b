/* tests/conformance/pause_test.c - pausing and resuming topics. */
#include <string.h>

#include "queue_fixture.h"

static bool pause_topic(fixture *f, const char *topic)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool changed = false;

    assert_ok(pawl_topic_pause(fixture_store(f), topic, &changed, &err), &err);
    return changed;
}

static bool resume_topic(fixture *f, const char *topic)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool changed = false;

    assert_ok(pawl_topic_resume(fixture_store(f), topic, &changed, &err), &err);
    return changed;
}

static const char *claim_all(fixture *f)
{
    return queue_payloads(fixture_claim(f, queue_owner(1), HOUR_MS, 100));
}

static void free_topics(void *topics)
{
    pawl_topics_free(topics);
}

static pawl_topics *list_topics(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_topics *topics = NULL;

    assert_ok(pawl_topic_list(fixture_store(f), &topics, &err), &err);
    test_defer(free_topics, topics);
    return topics;
}

PAWL_TEST(a_paused_topic_is_not_claimed_and_others_are)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "a", "a1");
    fixture_send(f, "b", "b1");
    assert_true(pause_topic(f, "a"));
    assert_string_equal("b1", claim_all(f));
    fixture_send(f, "a", "a2");
    fixture_advance(f, SECOND_MS);
    assert_string_equal("", claim_all(f));
    assert_true(resume_topic(f, "a"));
    assert_string_equal("a1 a2", claim_all(f));
    queue_check(f);
}

PAWL_TEST(pausing_twice_changes_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    assert_false(resume_topic(f, "a"));
    assert_true(pause_topic(f, "a"));
    fixture_advance(f, MINUTE_MS);
    assert_false(pause_topic(f, "a"));
    assert_time(FIXTURE_START.us, pawl_topics_at(list_topics(f), 0)->paused_at);
    assert_true(resume_topic(f, "a"));
    assert_false(resume_topic(f, "a"));
    assert_ok(pawl_topic_pause(fixture_store(f), "a", NULL, &err), &err);
    assert_ok(pawl_topic_resume(fixture_store(f), "a", NULL, &err), &err);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {topic}"));
}

PAWL_TEST(a_topic_can_be_paused_before_its_first_message_and_with_all_priorities)
{
    fixture *f = fixture_open(NULL);

    pause_topic(f, "a");
    fixture_send(f, "a", "first");
    queue_send_priority(f, "a", "urgent", 9);
    assert_string_equal("", claim_all(f));
    resume_topic(f, "a");
    assert_string_equal("urgent first", claim_all(f));
    pause_topic(f, "a");
    queue_send_priority(f, "a", "new lane", 5);
    assert_string_equal("", claim_all(f));
    resume_topic(f, "a");
    assert_string_equal("new lane", claim_all(f));
}

PAWL_TEST(a_claim_by_topic_skips_paused_topics_too)
{
    fixture *f = fixture_open(NULL);
    const char *const topics[] = {"a", "b"};
    pawl_claim_options only = PAWL_CLAIM_OPTIONS_INIT;

    only.topics = topics;
    only.topic_count = 2;
    fixture_send(f, "a", "a1");
    fixture_send(f, "b", "b1");
    fixture_send(f, "c", "c1");
    pause_topic(f, "a");
    assert_string_equal("b1", queue_payloads(queue_claim(f, queue_owner(1), HOUR_MS, 10, &only)));
    resume_topic(f, "a");
    assert_string_equal("a1", queue_payloads(queue_claim(f, queue_owner(1), HOUR_MS, 10, &only)));
}

PAWL_TEST(deliveries_in_progress_continue)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list, *next = NULL;
    size_t acked = 0;

    for (int i = 0; i < 3; i++)
        fixture_send(f, "a", test_note("a%d", i));
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 2);
    pause_topic(f, "a");
    assert_int_equal(2, queue_renew(f, queue_owner(1), list, HOUR_MS));
    assert_ok(pawl_queue_ack_and_claim(fixture_store(f), queue_owner(1), queue_receipts(list), 1,
                                       HOUR_MS, 10, NULL, &acked, &next, &err),
              &err);
    queue_keep(next);
    assert_int_equal(1, acked);
    assert_int_equal(0, pawl_messages_count(next));
    assert_int_equal(1, queue_release(f, queue_owner(1), list));
    assert_string_equal("", claim_all(f));
    resume_topic(f, "a");
    assert_int_equal(2, pawl_messages_count(fixture_claim(f, queue_owner(1), HOUR_MS, 10)));
    queue_check(f);
}

/* Messages that become ready, are sent for the past, or are committed late between claims. */
PAWL_TEST(no_message_is_skipped_when_a_topic_is_resumed)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *receipt;
    pawl_tx *tx;

    fixture_send(f, "other", "o");
    fixture_send(f, "a", "old");
    fixture_send(f, "a", "held");
    claim_all(f);
    receipt = fixture_claim(f, queue_owner(1), HOUR_MS, 1);
    fixture_send(f, "a", "waits");
    tx = fixture_is_postgres(f) ? fixture_tx_begin(f, 0) : NULL;
    if (tx) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_message_spec message = queue_message("a", "late");
        assert_ok(pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    }
    pause_topic(f, "a");
    for (int i = 0; i < 20; i++) { /* positions of all other lanes move on */
        fixture_advance(f, 10 * SECOND_MS);
        fixture_send(f, "other", "o");
        assert_string_equal("o", claim_all(f));
    }
    (void)receipt;
    if (tx)
        fixture_tx_commit(f, 0);
    assert_string_equal("", claim_all(f));
    resume_topic(f, "a");
    assert_string_equal(tx ? "waits late" : "waits", claim_all(f));
}

/* Neither of the two transactions sees the other. SQLite has one writer. */
PAWL_TEST_ON(postgres, a_topic_that_is_paused_while_its_first_message_is_being_sent)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("a", "first");

    for (int folds = 0; folds < 2; folds++) {
        message.priority = folds;
        assert_ok(pawl_tx_enqueue(fixture_tx_begin(f, 0), &message, NULL, &err), &err);
        assert_true(pause_topic(f, "a"));
        fixture_tx_commit(f, 0);
        if (folds)
            assert_ok(pawl_queue_compact_stats(fixture_store(f), NULL, NULL, &err), &err);
        assert_string_equal("", claim_all(f));
        resume_topic(f, "a");
        assert_string_equal("first", claim_all(f));
    }
}

/* SQLite has one writer. */
PAWL_TEST_ON(postgres, maintenance_stores_the_start_position_of_new_lanes)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    fixture_send(f, "a", "a1");
    pause_topic(f, "b");
    fixture_send(f, "b", "b1");
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {lane} WHERE paused IS NULL"));
    assert_ok(pawl_queue_compact_stats(fixture_store(f), NULL, NULL, &err), &err);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {lane} WHERE paused IS NULL"));
    assert_string_equal("a1", claim_all(f));
    resume_topic(f, "b");
    assert_string_equal("b1", claim_all(f));
}

PAWL_TEST(another_store_applies_the_pause_at_its_next_claim)
{
    fixture *f = fixture_open(NULL);
    pawl_store *other = fixture_another_store(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    fixture_send(f, "a", "a1");
    pause_topic(f, "a");
    assert_ok(pawl_queue_claim(other, queue_owner(2), HOUR_MS, 10, NULL, &list, &err), &err);
    assert_int_equal(0, pawl_messages_count(queue_keep(list)));
    assert_ok(pawl_topic_resume(other, "a", NULL, &err), &err);
    assert_string_equal("a1", claim_all(f));
}

PAWL_TEST(messages_of_a_paused_topic_still_expire)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("a", "x");
    pawl_enqueued sent;

    message.expires_at = (pawl_wall){FIXTURE_START.us + MINUTE_MS * 1000};
    sent = queue_send(f, &message);
    pause_topic(f, "a");
    fixture_advance(f, HOUR_MS);
    assert_int_equal(1, queue_expire(f));
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, sent.work_id));
}

PAWL_TEST(resuming_wakes)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    fixture_send(f, "a", "x");
    pause_topic(f, "a");
    assert_string_equal("", claim_all(f));
    resume_topic(f, "a");
    assert_ok(pawl_queue_wait(fixture_store(f), HOUR_MS, &err), &err);
}

PAWL_TEST(the_list_has_every_topic_by_name)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_topics *topics;

    fixture_send(f, "b", "x");
    queue_send_priority(f, "b", "y", 3);
    pause_topic(f, "a");
    assert_ok(pawl_topic_dead_letters(fixture_store(f), "B", true, &err), &err);
    topics = list_topics(f);
    assert_int_equal(3, pawl_topics_count(topics));
    assert_string_equal("B", pawl_topics_at(topics, 0)->name);
    assert_true(pawl_topics_at(topics, 0)->dead_letters);
    assert_string_equal("a", pawl_topics_at(topics, 1)->name);
    assert_time(FIXTURE_START.us, pawl_topics_at(topics, 1)->paused_at);
    assert_string_equal("b", pawl_topics_at(topics, 2)->name);
    assert_time(PAWL_TIME_UNSET.us, pawl_topics_at(topics, 2)->paused_at);
    assert_false(pawl_topics_at(topics, 2)->dead_letters);
    assert_null(pawl_topics_at(topics, 3));
    pawl_topics_free(NULL);
}

PAWL_TEST(a_bad_topic_is_refused)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    char long_name[PAWL_TOPIC_MAX + 2];

    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    assert_status(PAWL_E_INVALID, pawl_topic_pause(NULL, "a", NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_topic_pause(fixture_store(f), NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_topic_pause(fixture_store(f), "", NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_topic_resume(fixture_store(f), long_name, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_topic_pause(fixture_store(f), "\xff", NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_topic_list(fixture_store(f), NULL, &err), &err);
}
