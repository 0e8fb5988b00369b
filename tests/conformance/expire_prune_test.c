/* tests/conformance/expire_prune_test.c - messages that outlive their use, and their traces. */
#include "queue_fixture.h"

static pawl_work_id send_expiring(fixture *f, const char *payload, int64_t in_ms)
{
    pawl_message_spec message = queue_message("t", payload);

    message.expires_at = (pawl_wall){fixture_now(f).us + in_ms * 1000};
    return queue_send(f, &message).work_id;
}

PAWL_TEST(messages_past_their_time_to_live_are_never_claimed)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = send_expiring(f, "stale", 10 * SECOND_MS);

    fixture_send(f, "t", "fresh");
    fixture_advance(f, 10 * SECOND_MS);
    assert_string_equal("fresh", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, id));
}

static size_t count_listed(fixture *f, unsigned states)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_messages *list = NULL;
    pawl_page next;
    size_t count;

    filter.states = states;
    assert_status(PAWL_OK, pawl_outbox_list(fixture_store(f), &filter, &list, &next, &err), &err);
    count = pawl_messages_count(list);
    pawl_messages_free(list);
    return count;
}

/* One waits, one has failed, one is in progress; all of them are past their time. */
PAWL_TEST(messages_past_their_time_to_live_read_as_expired_before_maintenance)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id leased = send_expiring(f, "held", 10 * SECOND_MS);
    pawl_outbox_stats *stats = NULL;

    fixture_claim(f, queue_owner(1), HOUR_MS, 1);
    pawl_work_id failed = send_expiring(f, "failed", 10 * SECOND_MS);
    assert_int_equal(
        1, queue_fail(f, queue_owner(2), fixture_claim(f, queue_owner(2), HOUR_MS, 1), "no"));
    pawl_work_id waiting = send_expiring(f, "waiting", 10 * SECOND_MS);
    fixture_send(f, "t", "endless");
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, waiting));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, failed));
    fixture_advance(f, 10 * SECOND_MS);
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, waiting));
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, failed));
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, leased));
    assert_int_equal(2, count_listed(f, 1U << PAWL_STATE_EXPIRED));
    assert_int_equal(1, count_listed(f, 1U << PAWL_STATE_READY));
    assert_int_equal(0, count_listed(f, 1U << PAWL_STATE_FAILED));
    assert_int_equal(2, count_listed(f, 1U << PAWL_STATE_READY | 1U << PAWL_STATE_RUNNING));
    assert_status(PAWL_OK, pawl_outbox_get_stats(fixture_store(f), &stats, &err), &err);
    assert_int_equal(1, pawl_outbox_stats_at(stats, 0)->ready);
    assert_int_equal(1, pawl_outbox_stats_at(stats, 0)->running);
    assert_int_equal(2, pawl_outbox_stats_at(stats, 0)->depth_estimate);
    assert_int_equal(2, pawl_outbox_stats_at(stats, 0)->total_expired);
    pawl_outbox_stats_free(stats);
    assert_int_equal(2, queue_expire(f));
    assert_int_equal(2, count_listed(f, 1U << PAWL_STATE_EXPIRED));
    assert_status(PAWL_OK, pawl_outbox_get_stats(fixture_store(f), &stats, &err), &err);
    assert_int_equal(2, pawl_outbox_stats_at(stats, 0)->total_expired);
    pawl_outbox_stats_free(stats);
    queue_check(f);
}

PAWL_TEST(messages_past_their_time_to_live_can_be_retried_and_purged_before_maintenance)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id ids[] = {send_expiring(f, "one", SECOND_MS), send_expiring(f, "two", SECOND_MS)};
    size_t changed = 0;

    fixture_advance(f, SECOND_MS);
    assert_ok(pawl_outbox_retry(fixture_store(f), &ids[0], 1, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, ids[0]));
    fixture_advance(f, SECOND_MS);
    assert_ok(pawl_outbox_purge(fixture_store(f), ids, 2, &changed, &err), &err);
    assert_int_equal(2, changed);
    queue_check(f);
}

/* One transaction for what was asked: maintenance of all others would be a second one. */
PAWL_TEST(retrying_messages_past_their_time_to_live_changes_no_others)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id ids[] = {send_expiring(f, "one", SECOND_MS), {0}};
    size_t changed = 0;

    ids[1] = ids[0]; /* named twice, so not all that were named can change */
    send_expiring(f, "two", SECOND_MS);
    send_expiring(f, "three", SECOND_MS);
    fixture_advance(f, SECOND_MS);
    assert_ok(pawl_outbox_retry(fixture_store(f), ids, 2, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_int_equal(2, queue_expire(f));
    queue_check(f);
}

PAWL_TEST(a_message_is_claimable_until_just_before_its_time)
{
    fixture *f = fixture_open(NULL);

    send_expiring(f, "x", 10 * SECOND_MS);
    fixture_advance(f, 10 * SECOND_MS - 1);
    assert_int_equal(0, queue_expire(f));
    assert_string_equal("x", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(expire_ends_messages_past_their_time_to_live)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id stale = send_expiring(f, "stale", 10 * SECOND_MS);
    pawl_work_id fresh = send_expiring(f, "fresh", 20 * SECOND_MS);
    pawl_work_id endless = fixture_send(f, "t", "endless");
    const pawl_message *m;

    fixture_advance(f, 10 * SECOND_MS);
    assert_int_equal(1, queue_expire(f));
    m = queue_get(f, stale);
    assert_int_equal(PAWL_STATE_EXPIRED, pawl_message_state(m));
    assert_time(fixture_now(f).us, pawl_message_finished_at(m));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, fresh));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, endless));
    assert_int_equal(0, queue_expire(f));
    queue_check(f);
}

PAWL_TEST(a_leased_message_does_not_expire)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = send_expiring(f, "x", SECOND_MS);
    pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);

    fixture_advance(f, 10 * SECOND_MS);
    assert_int_equal(0, queue_expire(f));
    assert_int_equal(1, queue_ack(f, queue_owner(1), list));
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
}

PAWL_TEST(a_message_released_past_its_time_to_live_expires)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = send_expiring(f, "x", SECOND_MS);
    pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);

    assert_int_equal(1, queue_abandon(f, queue_owner(1), list, "why", 500));
    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(0, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
    assert_int_equal(1, queue_expire(f));
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, id));
    assert_int_equal(1, pawl_message_retries(queue_get(f, id)));
    assert_string_equal("why", pawl_message_last_error(queue_get(f, id)));
}

PAWL_TEST(a_failed_message_past_its_time_becomes_expired)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = send_expiring(f, "x", 10 * SECOND_MS);
    pawl_work_id endless = queue_make(f, "other", "y", PAWL_STATE_FAILED);
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;

    queue_fail(f, queue_owner(1), queue_claim(f, queue_owner(1), MINUTE_MS, 1, &opts), "broken");
    fixture_advance(f, 9 * SECOND_MS);
    assert_int_equal(0, queue_expire(f));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, id));
    fixture_advance(f, SECOND_MS);
    assert_int_equal(1, queue_expire(f));
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, id));
    assert_string_equal("broken", pawl_message_last_error(queue_get(f, id)));
    fixture_advance(f, 1000 * DAY_MS);
    assert_int_equal(0, queue_expire(f));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, endless));
    queue_check(f);
}

PAWL_TEST(everything_expires_in_bounded_calls)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[2500];
    size_t total = 0, changed;
    int calls = 0;

    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        messages[i] = queue_message("t", "x");
        messages[i].expires_at = (pawl_wall){FIXTURE_START.us + (int64_t)(i + 1)};
    }
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, COUNT_OF(messages), NULL, &err),
              &err);
    fixture_advance(f, SECOND_MS);
    while ((changed = queue_expire(f)) > 0) {
        total += changed;
        calls++;
    }
    assert_int_equal(COUNT_OF(messages), total);
    assert_true(calls > 1);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {queue}"));
    queue_check(f);
}

PAWL_TEST(retention_prunes_done_and_cancelled_and_keeps_dead_letters)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id failed = queue_make(f, "t", "x", PAWL_STATE_FAILED);
    pawl_work_id expired = queue_make(f, "t", "x", PAWL_STATE_EXPIRED);
    pawl_work_id leased = queue_make(f, "t", "x", PAWL_STATE_RUNNING);
    pawl_work_id ready = queue_send_after(f, "t", "x", 30 * DAY_MS);

    queue_make(f, "other", "x", PAWL_STATE_DONE);
    queue_make(f, "other", "x", PAWL_STATE_CANCELLED);
    fixture_advance(f, 8 * DAY_MS);
    assert_int_equal(2, queue_prune(f, PAWL_RETENTION_MS));
    assert_int_equal(4, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, failed));
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, expired));
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, leased));
    assert_int_equal(PAWL_STATE_SCHEDULED, fixture_state(f, ready));
    assert_int_equal(0, queue_prune(f, PAWL_RETENTION_MS));
    queue_check(f);
}

PAWL_TEST(retention_counts_from_the_finish)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list;

    fixture_send(f, "t", "x");
    list = fixture_claim(f, queue_owner(1), DAY_MS, 1);
    fixture_advance(f, HOUR_MS);
    queue_ack(f, queue_owner(1), list);
    fixture_advance(f, HOUR_MS - 1);
    assert_int_equal(0, queue_prune(f, HOUR_MS));
    fixture_advance(f, 1);
    assert_int_equal(1, queue_prune(f, HOUR_MS));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {outcome}"));
}

PAWL_TEST(a_retention_of_zero_prunes_at_once)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = queue_make(f, "t", "x", PAWL_STATE_DONE);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;

    assert_int_equal(1, queue_prune(f, 0));
    assert_status(PAWL_E_NOT_FOUND, pawl_outbox_get(fixture_store(f), id, &one, &err), &err);
    assert_null(one);
}

PAWL_TEST(retention_works_in_bounded_calls)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[2500];
    size_t total = 0, changed;
    int calls = 0;

    for (size_t i = 0; i < COUNT_OF(messages); i++)
        messages[i] = queue_message("t", "x");
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, COUNT_OF(messages), NULL, &err),
              &err);
    assert_int_equal(
        COUNT_OF(messages),
        queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 10000)));
    queue_make(f, "t", "dead", PAWL_STATE_FAILED);
    while ((changed = queue_prune(f, 0)) > 0) {
        total += changed;
        calls++;
    }
    assert_int_equal(COUNT_OF(messages), total);
    assert_true(calls > 1);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {body}"));
    queue_check(f);
}
