/* tests/conformance/inbox_call_test.c - the inbox around a call: lease, fence, take-over. */
#include "inbox_fixture.h"

PAWL_TEST(a_call_is_in_progress_until_done_and_then_the_record_has_the_response)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_options options = PAWL_INBOX_OPTIONS_INIT;
    pawl_inbox_task *arrival;

    options.endpoint = "/orders";
    arrival = inbox_call(f, "1", &options);
    assert_answer(PAWL_INBOX_NEW, arrival);
    assert_null(pawl_inbox_task_tx(arrival));
    assert_string_equal("shop:1", pawl_inbox_task_key(arrival));
    const pawl_inbox_record *record = inbox_record(f, "1");
    assert_int_equal(PAWL_INBOX_PROCESSING, record->state);
    assert_string_equal("/orders", record->endpoint);
    assert_time(FIXTURE_START.us + 30 * 1000000, record->lease_until);
    assert_int_equal(pawl_inbox_task_fence(arrival), record->fence);
    /* Other writers are not kept waiting. */
    fixture_send(f, "t", "x");
    fixture_advance(f, 10 * SECOND_MS);
    pawl_inbox_task *second = inbox_call(f, "1", NULL);
    assert_answer(PAWL_INBOX_IN_PROGRESS, second);
    /* Soon: the rest of the lease says nothing about when it will be done. */
    assert_in_range(pawl_inbox_task_retry_after_ms(second), 1000, 2000);
    assert_false(pawl_inbox_task_suspect(second));
    assert_answer(PAWL_INBOX_IN_PROGRESS, inbox_begin(f, "1", NULL));
    assert_int_equal(1, inbox_record(f, "1")->attempts);
    inbox_done(arrival, "ok");
    assert_string_equal("ok", inbox_response(inbox_call(f, "1", NULL)));
    assert_string_equal("ok", inbox_response(inbox_begin(f, "1", NULL)));
}

PAWL_TEST(a_delivery_stuck_past_its_lease_is_processed_again_with_the_same_key)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *dead = inbox_call(f, "1", NULL);

    fixture_advance(f, 30 * SECOND_MS);
    pawl_inbox_task *next = inbox_call(f, "1", NULL);
    assert_answer(PAWL_INBOX_NEW, next);
    assert_int_equal(2, pawl_inbox_task_attempt(next));
    assert_true(pawl_inbox_task_fence(next) > pawl_inbox_task_fence(dead));
    assert_string_equal(pawl_inbox_task_key(dead), pawl_inbox_task_key(next));
    /* The first one wakes up: whatever it wants to say comes too late. */
    assert_status(PAWL_E_LOST, pawl_inbox_task_renew(dead, MINUTE_MS, &err), &err);
    assert_status(PAWL_E_LOST, pawl_inbox_task_done(dead, "old", 3, &err), &err);
    inbox_done(next, "new");
    assert_string_equal("new", inbox_response(inbox_call(f, "1", NULL)));
    assert_status(PAWL_E_MISUSE, pawl_inbox_task_fail(dead, "late", &err), &err);
}

PAWL_TEST(a_late_failure_does_not_end_the_attempt_of_another)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *dead = inbox_call(f, "1", NULL);

    fixture_advance(f, 30 * SECOND_MS);
    pawl_inbox_task *next = inbox_call(f, "1", NULL);
    assert_status(PAWL_E_LOST, pawl_inbox_task_fail(dead, "late", &err), &err);
    assert_int_equal(PAWL_INBOX_PROCESSING, inbox_record(f, "1")->state);
    assert_null(inbox_record(f, "1")->error);
    inbox_done(next, NULL);
}

PAWL_TEST(a_long_call_renews_its_lease)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = inbox_call(f, "1", NULL);

    for (int i = 0; i < 5; i++) {
        fixture_advance(f, 20 * SECOND_MS);
        assert_ok(pawl_inbox_task_renew(arrival, 30 * SECOND_MS, &err), &err);
        assert_answer(PAWL_INBOX_IN_PROGRESS, inbox_call(f, "1", NULL));
    }
    assert_status(PAWL_E_INVALID, pawl_inbox_task_renew(arrival, 0, &err), &err);
    inbox_done(arrival, NULL);
    assert_status(PAWL_E_MISUSE, pawl_inbox_task_renew(arrival, 1, &err), &err);
}

PAWL_TEST(an_expired_lease_stays_valid_until_another_owner_takes_it)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_task *arrival = inbox_call(f, "1", NULL);

    fixture_advance(f, HOUR_MS);
    inbox_done(arrival, "late, but first");
    assert_string_equal("late, but first", inbox_response(inbox_call(f, "1", NULL)));
}

PAWL_TEST(a_failed_call_may_be_retried_at_once_until_it_is_dead)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_options two = PAWL_INBOX_OPTIONS_INIT;

    two.max_attempts = 2;
    inbox_fail(inbox_call(f, "1", &two), "502");
    assert_int_equal(PAWL_INBOX_SEEN, inbox_record(f, "1")->state);
    inbox_fail(inbox_call(f, "1", &two), NULL);
    assert_int_equal(PAWL_INBOX_DEAD, inbox_record(f, "1")->state);
    assert_string_equal("502", inbox_record(f, "1")->error);
    assert_answer(PAWL_INBOX_REJECTED, inbox_call(f, "1", &two));
}

PAWL_TEST(a_running_call_is_not_pruned)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_options brief = PAWL_INBOX_OPTIONS_INIT;
    pawl_inbox_task *arrival;

    brief.keep_ms = 1000;
    brief.lease_ms = HOUR_MS;
    arrival = inbox_call(f, "1", &brief);
    fixture_advance(f, MINUTE_MS);
    assert_int_equal(0, inbox_clean(f));
    inbox_done(arrival, NULL);
    fixture_advance(f, 1000);
    assert_int_equal(1, inbox_clean(f));
}

/* The application that was called writes its rows and ends the call in one commit. */
PAWL_TEST(the_called_application_can_finish_it_in_its_own_transaction)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = inbox_call(f, "1", NULL);
    int64_t fence = pawl_inbox_task_fence(arrival);

    for (int tries = 0; tries < 3; tries++) { /* rolled back; committed; and too often */
        pawl_tx *tx = fixture_tx_begin(f, 0);
        fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
        assert_status(tries == 2 ? PAWL_E_LOST : PAWL_OK,
                      pawl_tx_inbox_done(tx, "shop", "1", fence, "mine", 4, &err),
                      tries == 2 ? &err : NULL);
        if (tries == 1)
            fixture_tx_commit(f, 0);
        else
            fixture_tx_rollback(f, 0);
        assert_int_equal(tries == 0 ? 0 : 1, inbox_orders(f));
    }
    assert_status(PAWL_E_LOST, pawl_inbox_task_done(arrival, "other", 5, &err), &err);
    assert_string_equal("mine", inbox_response(inbox_call(f, "1", NULL)));
}

PAWL_TEST(the_called_application_of_a_call_that_was_taken_over_changes_nothing)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t fence = pawl_inbox_task_fence(inbox_call(f, "1", NULL));

    fixture_advance(f, 30 * SECOND_MS);
    pawl_inbox_task *next = inbox_call(f, "1", NULL);
    pawl_tx *tx = fixture_tx_begin(f, 0);
    assert_status(PAWL_E_LOST, pawl_tx_inbox_done(tx, "shop", "1", fence, NULL, 0, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_tx_inbox_done(tx, "shop", "1", 0, NULL, 0, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_tx_inbox_done(NULL, "shop", "1", 1, NULL, 0, &err), &err);
    fixture_tx_rollback(f, 0);
    inbox_done(next, NULL);
}
