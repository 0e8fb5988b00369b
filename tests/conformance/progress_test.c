/* tests/conformance/progress_test.c - the progress that a handler reports. */
#include <string.h>

#include "queue_fixture.h"

static pawl_status say(fixture *f, pawl_receipt item, const char *text, pawl_error *err)
{
    return pawl_queue_progress(fixture_store(f), queue_owner(1), item, text, err);
}

static const char *progress_of(fixture *f, pawl_work_id id)
{
    return pawl_message_progress(queue_get(f, id));
}

PAWL_TEST(progress_is_kept_until_it_is_replaced)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    pawl_receipt item = fixture_receipt(list, 0);

    assert_null(pawl_message_progress(pawl_messages_at(list, 0)));
    assert_ok(say(f, item, "half of it", &err), &err);
    assert_string_equal("half of it", progress_of(f, id));
    assert_ok(say(f, item, "nearly all", &err), &err);
    assert_string_equal("nearly all", progress_of(f, id));
    assert_int_equal(1, queue_abandon(f, queue_owner(1), list, NULL, SECOND_MS));
    fixture_advance(f, MINUTE_MS);
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    assert_string_equal("nearly all", pawl_message_progress(pawl_messages_at(list, 0)));
    assert_ok(say(f, fixture_receipt(list, 0), "", &err), &err);
    assert_null(progress_of(f, id));
    queue_check(f);
}

PAWL_TEST(it_stays_with_the_message_however_that_ends)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id ids[5];
    pawl_messages *list;

    for (int i = 0; i < 5; i++) {
        pawl_message_spec message = queue_message("t", "x");
        message.max_attempts = 1;
        if (i == 4)
            message.expires_at = (pawl_wall){FIXTURE_START.us + HOUR_MS * 1000};
        ids[i] = queue_send(f, &message).work_id;
    }
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 5);
    for (size_t i = 0; i < 5; i++)
        assert_ok(say(f, fixture_receipt(list, i), test_note("said %zu", i), &err), &err);
    pawl_receipt done = fixture_receipt(list, 0), failed = fixture_receipt(list, 1);
    pawl_receipt abandoned = fixture_receipt(list, 2), released = fixture_receipt(list, 4);
    assert_ok(pawl_queue_ack(fixture_store(f), queue_owner(1), &done, 1, NULL, &err), &err);
    assert_ok(pawl_queue_fail(fixture_store(f), queue_owner(1), &failed, 1, "no", NULL, &err),
              &err);
    assert_ok(pawl_queue_abandon(fixture_store(f), queue_owner(1), &abandoned, 1, NULL, SECOND_MS,
                                 NULL, &err),
              &err);
    queue_cancel(f, ids[3]);
    assert_ok(pawl_queue_release(fixture_store(f), queue_owner(1), &released, 1, NULL, &err), &err);
    fixture_advance(f, 2 * HOUR_MS);
    assert_int_equal(1, queue_expire(f));
    for (int i = 0; i < 5; i++)
        assert_string_equal(test_note("said %d", i), progress_of(f, ids[i]));
    queue_retry(f, ids[1]);
    assert_null(progress_of(f, ids[1]));
    queue_check(f);
}

PAWL_TEST(a_lease_that_ran_out_at_the_last_attempt_keeps_it)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_enqueued sent;

    message.max_attempts = 1;
    sent = queue_send(f, &message);
    assert_ok(
        say(f, fixture_receipt(fixture_claim(f, queue_owner(1), MINUTE_MS, 1), 0), "far", &err),
        &err);
    fixture_advance(f, HOUR_MS);
    assert_int_equal(1, queue_reap(f));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, sent.work_id));
    assert_string_equal("far", progress_of(f, sent.work_id));
}

PAWL_TEST(only_the_owner_reports_progress)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_receipt item = fixture_receipt(fixture_claim(f, queue_owner(1), MINUTE_MS, 1), 0);
    pawl_receipt other = {item.id, item.fence + 1};
    pawl_owner no_owner = {0};

    assert_status(PAWL_E_LOST, say(f, other, "no", &err), &err);
    assert_status(PAWL_E_LOST,
                  pawl_queue_progress(fixture_store(f), queue_owner(2), item, "no", &err), &err);
    fixture_advance(f, HOUR_MS);
    queue_reap(f);
    assert_status(PAWL_E_LOST, say(f, item, "no", &err), &err);
    assert_null(progress_of(f, id));
    assert_status(PAWL_E_INVALID, pawl_queue_progress(fixture_store(f), no_owner, item, "no", &err),
                  &err);
    assert_status(PAWL_E_INVALID, pawl_queue_progress(NULL, queue_owner(1), item, "no", &err),
                  &err);
}

PAWL_TEST(long_and_broken_texts_are_made_to_fit)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_receipt item = fixture_receipt(fixture_claim(f, queue_owner(1), MINUTE_MS, 1), 0);
    static char text[10000];

    memset(text, 'x', sizeof text - 1);
    assert_ok(say(f, item, text, &err), &err);
    assert_int_equal(4095, strlen(progress_of(f, id)));
    assert_ok(say(f, item,
                  "a\xff"
                  "b",
                  &err),
              &err);
    assert_non_null(progress_of(f, id));
}
