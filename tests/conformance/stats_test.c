/* tests/conformance/stats_test.c - how much waits and how much has ended. */
#include "queue_fixture.h"

#include <string.h>

static void free_stats(void *stats)
{
    pawl_outbox_stats_free(stats);
}

/* Freshly read: what other stores and the clock did meanwhile counts as well. */
static const pawl_topic_stats *topic_stats(fixture *f, const char *topic)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;

    fixture_reopen(f);
    assert_ok(pawl_outbox_get_stats(fixture_store(f), &stats, &err), &err);
    test_defer(free_stats, stats);
    for (size_t i = 0; i < pawl_outbox_stats_count(stats); i++) {
        const pawl_topic_stats *at = pawl_outbox_stats_at(stats, i);

        if (strcmp(at->topic, topic) == 0)
            return at;
    }
    return NULL;
}

PAWL_TEST(an_empty_store_has_no_topics)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;

    assert_ok(pawl_outbox_get_stats(fixture_store(f), &stats, &err), &err);
    assert_int_equal(0, pawl_outbox_stats_count(stats));
    assert_null(pawl_outbox_stats_at(stats, 0));
    pawl_outbox_stats_free(stats);
}

PAWL_TEST(stats_count_ready_and_running_messages)
{
    fixture *f = fixture_open(NULL);
    const pawl_topic_stats *s;

    queue_send_priority(f, "t", "1", 0);
    queue_send_priority(f, "t", "2", 9);
    fixture_advance(f, SECOND_MS);
    queue_send_after(f, "t", "3", HOUR_MS);
    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    s = topic_stats(f, "t");
    assert_int_equal(2, s->ready);
    assert_int_equal(1, s->running);
    assert_false(s->depth_is_at_least);
    assert_int_equal(3, s->depth_estimate);
    assert_time(FIXTURE_START.us, s->oldest_due_at);
}

PAWL_TEST(nothing_due_has_no_oldest_due_time)
{
    fixture *f = fixture_open(NULL);

    queue_send_after(f, "t", "x", HOUR_MS);
    assert_time(0, topic_stats(f, "t")->oldest_due_at);
    fixture_advance(f, 2 * HOUR_MS);
    assert_time(FIXTURE_START.us + HOUR_MS * 1000, topic_stats(f, "t")->oldest_due_at);
}

PAWL_TEST(totals_count_every_end)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    const pawl_topic_stats *s;

    for (int i = 0; i < 4; i++)
        queue_make(f, "t", "x", PAWL_STATE_DONE);
    for (int i = 0; i < 3; i++)
        queue_make(f, "t", "x", PAWL_STATE_FAILED);
    for (int i = 0; i < 2; i++)
        queue_make(f, "t", "x", PAWL_STATE_EXPIRED);
    queue_make(f, "t", "x", PAWL_STATE_CANCELLED);
    for (int folded = 0; folded < 2; folded++) {
        s = topic_stats(f, "t");
        assert_int_equal(4, s->total_done);
        assert_int_equal(3, s->total_failed);
        assert_int_equal(2, s->total_expired);
        assert_int_equal(1, s->total_cancelled);
        assert_int_equal(0, s->ready + s->running);
        assert_ok(pawl_queue_compact_stats(fixture_store(f), NULL, NULL, &err), &err);
    }
}

PAWL_TEST(totals_count_failures_by_abandon_and_by_reap)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");

    message.max_attempts = 1;
    queue_send(f, &message);
    queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), SECOND_MS, 1), NULL, 1);
    queue_send(f, &message);
    fixture_claim(f, queue_owner(1), SECOND_MS, 1);
    fixture_advance(f, 2 * SECOND_MS);
    queue_reap(f);
    assert_int_equal(2, topic_stats(f, "t")->total_failed);
}

PAWL_TEST(totals_outlive_retention_and_purge)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    queue_purge(f, queue_make(f, "t", "x", PAWL_STATE_FAILED));
    assert_int_equal(1, queue_prune(f, 0));
    assert_int_equal(1, topic_stats(f, "t")->total_done);
    assert_int_equal(1, topic_stats(f, "t")->total_failed);
}

PAWL_TEST(a_message_that_fails_twice_counts_twice)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = queue_make(f, "t", "x", PAWL_STATE_FAILED);

    queue_retry(f, id);
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), NULL);
    assert_int_equal(2, topic_stats(f, "t")->total_failed);
}

PAWL_TEST(a_failed_message_that_expires_counts_as_both)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");

    message.expires_at = (pawl_wall){FIXTURE_START.us + 1000000};
    queue_send(f, &message);
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), NULL);
    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(1, queue_expire(f));
    assert_int_equal(1, topic_stats(f, "t")->total_failed);
    assert_int_equal(1, topic_stats(f, "t")->total_expired);
}

PAWL_TEST(topics_are_sorted_and_counted_apart)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;
    static const char *const topics[] = {"beta", "alpha", "gamma", "Alpha"};
    static const char *const sorted[] = {"Alpha", "alpha", "beta", "gamma"};

    for (int i = 0; i < 4; i++)
        for (int n = 0; n <= i; n++)
            fixture_send(f, topics[i], "x");
    assert_ok(pawl_outbox_get_stats(fixture_store(f), &stats, &err), &err);
    test_defer(free_stats, stats);
    assert_int_equal(4, pawl_outbox_stats_count(stats));
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(sorted[i], pawl_outbox_stats_at(stats, i)->topic);
    assert_int_equal(4, pawl_outbox_stats_at(stats, 0)->ready);
    assert_int_equal(1, pawl_outbox_stats_at(stats, 2)->ready);
    assert_null(pawl_outbox_stats_at(stats, 4));
}

static void send_many(fixture *f, const char *topic, int count)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec *messages = test_malloc(sizeof *messages * PAWL_BATCH_MAX);

    for (int i = 0; i < count; i++)
        messages[i] = queue_message(topic, "x");
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, (size_t)count, NULL, &err),
              &err);
    test_free(messages);
}

PAWL_TEST(depth_is_exact_below_ten_thousand_and_a_lower_bound_from_there)
{
    fixture *f = fixture_open(NULL);
    const pawl_topic_stats *s;

    send_many(f, "t", 9999);
    s = topic_stats(f, "t");
    assert_int_equal(9999, s->ready);
    assert_false(s->depth_is_at_least);
    send_many(f, "t", 2001);
    send_many(f, "small", 5);
    s = topic_stats(f, "t");
    assert_true(s->depth_is_at_least);
    assert_true(s->ready + s->running >= 10000);
    assert_true(s->depth_estimate >= 10000);
    assert_int_equal(5, topic_stats(f, "small")->ready);
    assert_false(topic_stats(f, "small")->depth_is_at_least);
}

PAWL_TEST(a_change_through_the_store_shows_in_its_next_stats)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;

    fixture_send(f, "t", "x");
    for (int64_t expected = 1; expected < 4; expected++) {
        assert_ok(pawl_outbox_get_stats(fixture_store(f), &stats, &err), &err);
        assert_int_equal(expected, pawl_outbox_stats_at(stats, 0)->ready);
        pawl_outbox_stats_free(stats);
        fixture_send(f, "t", "x");
    }
}
