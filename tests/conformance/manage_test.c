/* tests/conformance/manage_test.c - cancel, redrive and purge, by id and by filter. */
#include "queue_fixture.h"

PAWL_TEST(cancel_ends_a_ready_message)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = queue_send_after(f, "t", "x", HOUR_MS);
    const pawl_message *m;

    fixture_advance(f, SECOND_MS);
    assert_int_equal(1, queue_cancel(f, id));
    m = queue_get(f, id);
    assert_int_equal(PAWL_STATE_CANCELLED, pawl_message_state(m));
    assert_time(FIXTURE_START.us + 1000000, pawl_message_finished_at(m));
    fixture_advance(f, 2 * HOUR_MS);
    assert_int_equal(0, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
    queue_check(f);
}

PAWL_TEST(cancel_ends_a_running_message_and_its_lease)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);

    assert_int_equal(1, queue_cancel(f, id));
    assert_int_equal(0, queue_renew(f, queue_owner(1), list, MINUTE_MS));
    assert_int_equal(0, queue_ack(f, queue_owner(1), list));
    assert_int_equal(0, queue_abandon(f, queue_owner(1), list, "x", 1));
    assert_int_equal(0, queue_fail(f, queue_owner(1), list, "x"));
    assert_int_equal(0, queue_release(f, queue_owner(1), list));
    assert_int_equal(PAWL_STATE_CANCELLED, fixture_state(f, id));
    queue_check(f);
}

PAWL_TEST(finished_or_unknown_timers_cannot_be_cancelled)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id ids[6] = {queue_make(f, "t", "x", PAWL_STATE_DONE),
                           queue_make(f, "t", "x", PAWL_STATE_FAILED),
                           queue_make(f, "t", "x", PAWL_STATE_CANCELLED),
                           {99999},
                           fixture_send(f, "t", "y"),
                           {0}};
    size_t changed = 0;

    ids[5] = ids[4];
    assert_ok(pawl_outbox_cancel(fixture_store(f), ids, 6, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, ids[0]));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, ids[1]));
    queue_check(f);
}

static void check_redriven(fixture *f, pawl_work_id id)
{
    const pawl_message *before = queue_get(f, id);
    pawl_messages *list;
    const pawl_message *m;

    fixture_advance(f, MINUTE_MS);
    assert_int_equal(1, queue_retry(f, id));
    m = queue_get(f, id);
    assert_int_equal(PAWL_STATE_READY, pawl_message_state(m));
    assert_int_equal(0, pawl_message_retries(m));
    assert_int_equal(1, pawl_message_attempt(m));
    assert_time(fixture_now(f).us, pawl_message_next_attempt_at(m));
    assert_time(0, pawl_message_finished_at(m));
    assert_true(pawl_uuid_equal(pawl_message_id(before), pawl_message_id(m)));
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    assert_int_equal(1, pawl_messages_count(list));
    assert_int_equal(id.value, fixture_receipt(list, 0).id.value);
    assert_int_equal(1, queue_ack(f, queue_owner(1), list));
    queue_check(f);
}

PAWL_TEST(retry_makes_failed_and_cancelled_messages_ready)
{
    fixture *f = fixture_open(NULL);

    check_redriven(f, queue_make(f, "t", "x", PAWL_STATE_FAILED));
    check_redriven(f, queue_make(f, "t", "x", PAWL_STATE_CANCELLED));
}

PAWL_TEST(retry_restarts_the_time_to_live_of_an_expired_message)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;

    message.expires_at = (pawl_wall){FIXTURE_START.us + 10 * 1000000};
    id = queue_send(f, &message).work_id;
    fixture_advance(f, HOUR_MS);
    assert_int_equal(1, queue_expire(f));
    assert_int_equal(1, queue_retry(f, id));
    assert_time(fixture_now(f).us + 10 * 1000000, pawl_message_expires_at(queue_get(f, id)));
    fixture_advance(f, 10 * SECOND_MS - 1);
    assert_int_equal(0, queue_expire(f));
    fixture_advance(f, 1);
    assert_int_equal(1, queue_expire(f));
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, id));
}

PAWL_TEST(the_time_to_live_of_a_delayed_message_counts_from_its_due_time)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;

    message.due_at = (pawl_wall){FIXTURE_START.us + HOUR_MS * 1000};
    message.expires_at = (pawl_wall){FIXTURE_START.us + (HOUR_MS + 5 * SECOND_MS) * 1000};
    id = queue_send(f, &message).work_id;
    assert_int_equal(1, queue_cancel(f, id));
    fixture_advance(f, DAY_MS);
    assert_int_equal(1, queue_retry(f, id));
    assert_time(fixture_now(f).us + 5 * 1000000, pawl_message_expires_at(queue_get(f, id)));
}

PAWL_TEST(a_retried_dead_letter_has_all_its_attempts_again)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;

    message.max_attempts = 2;
    id = queue_send(f, &message).work_id;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 1), "e",
                          1);
            fixture_advance(f, 1);
        }
        assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, id));
        assert_int_equal(2, pawl_message_retries(queue_get(f, id)));
        assert_int_equal(1, queue_retry(f, id));
    }
}

PAWL_TEST(only_dead_letters_are_retried)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id ids[5] = {queue_make(f, "a", "x", PAWL_STATE_DONE),
                           queue_make(f, "b", "x", PAWL_STATE_RUNNING),
                           queue_make(f, "c", "x", PAWL_STATE_READY),
                           {99999},
                           queue_make(f, "d", "x", PAWL_STATE_FAILED)};
    size_t changed = 0;

    assert_ok(pawl_outbox_retry(fixture_store(f), ids, 5, &changed, &err), &err);
    assert_int_equal(1, changed);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, ids[0]));
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, ids[1]));
    queue_check(f);
}

PAWL_TEST(purge_removes_finished_messages_permanently)
{
    static const pawl_state ends[] = {PAWL_STATE_DONE, PAWL_STATE_FAILED, PAWL_STATE_EXPIRED,
                                      PAWL_STATE_CANCELLED};
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        pawl_work_id id = queue_make(f, "t", "x", ends[i]);

        assert_int_equal(1, queue_purge(f, id));
        assert_int_equal(0, queue_purge(f, id));
        assert_status(PAWL_E_NOT_FOUND, pawl_outbox_get(fixture_store(f), id, &one, &err), &err);
    }
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
    queue_check(f);
}

PAWL_TEST(purge_skips_unfinished_messages)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id running = queue_make(f, "t", "x", PAWL_STATE_RUNNING);
    pawl_work_id ready = queue_make(f, "t", "x", PAWL_STATE_READY);

    assert_int_equal(0, queue_purge(f, running));
    assert_int_equal(0, queue_purge(f, ready));
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {body}"));
    queue_check(f);
}

typedef pawl_status (*matching_fn)(pawl_store *store, const pawl_outbox_filter *filter,
                                   size_t *ret_changed, pawl_error *err);

static size_t matching(fixture *f, matching_fn fn, const pawl_outbox_filter *filter)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 99;

    assert_ok(fn(fixture_store(f), filter, &changed, &err), &err);
    return changed;
}

PAWL_TEST(cancel_retry_and_purge_work_by_filter)
{
    fixture *f = fixture_open(NULL);
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;

    for (int i = 0; i < 12; i++)
        fixture_send(f, i % 3 ? "a" : "b", "x");
    filter.topic = "a";
    assert_int_equal(8, matching(f, pawl_outbox_cancel_matching, &filter));
    assert_int_equal(0, matching(f, pawl_outbox_cancel_matching, &filter));
    assert_int_equal(4, fixture_count(f, "SELECT count(*) FROM {queue}"));
    assert_int_equal(8, matching(f, pawl_outbox_retry_matching, &filter));
    assert_int_equal(12, fixture_count(f, "SELECT count(*) FROM {queue}"));
    assert_int_equal(0, matching(f, pawl_outbox_purge_matching, &filter));
    queue_fail(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 100), NULL);
    filter.topic = NULL;
    filter.states = 1u << PAWL_STATE_EXPIRED;
    assert_int_equal(0, matching(f, pawl_outbox_purge_matching, &filter));
    filter.states = 1u << PAWL_STATE_FAILED;
    assert_int_equal(12, matching(f, pawl_outbox_purge_matching, &filter));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
    queue_check(f);
}

PAWL_TEST(a_filtered_change_reaches_more_than_one_page)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[2300];
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;

    for (size_t i = 0; i < COUNT_OF(messages); i++)
        messages[i] = queue_message(i % 2 ? "odd" : "even", "x");
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, COUNT_OF(messages), NULL, &err),
              &err);
    filter.topic = "odd";
    assert_int_equal(1150, matching(f, pawl_outbox_cancel_matching, &filter));
    assert_int_equal(1150, matching(f, pawl_outbox_retry_matching, &filter));
    assert_int_equal(1150, matching(f, pawl_outbox_cancel_matching, &filter));
    assert_int_equal(1150, matching(f, pawl_outbox_purge_matching, &filter));
    assert_int_equal(1150, fixture_count(f, "SELECT count(*) FROM {body}"));
    queue_check(f);
}
