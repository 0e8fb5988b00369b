/* tests/conformance/fence_test.c - the number that rejects a stale owner. */
#include "queue_fixture.h"

static int64_t claim_fence(fixture *f, pawl_owner owner)
{
    pawl_messages *list = fixture_claim(f, owner, MINUTE_MS, 1);

    assert_int_equal(1, pawl_messages_count(list));
    return fixture_receipt(list, 0).fence;
}

PAWL_TEST(one_claim_has_one_fence_and_the_next_a_greater_one)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *first, *second;

    for (int i = 0; i < 4; i++)
        fixture_send(f, i % 2 ? "a" : "b", "x");
    first = fixture_claim(f, queue_owner(1), MINUTE_MS, 2);
    second = fixture_claim(f, queue_owner(2), MINUTE_MS, 2);
    assert_true(fixture_receipt(first, 0).fence > 0);
    assert_int_equal(fixture_receipt(first, 0).fence, fixture_receipt(first, 1).fence);
    assert_int_equal(fixture_receipt(second, 0).fence, fixture_receipt(second, 1).fence);
    assert_true(fixture_receipt(second, 0).fence > fixture_receipt(first, 0).fence);
}

PAWL_TEST(a_fence_never_goes_back_whatever_is_deleted)
{
    fixture *f = fixture_open(NULL);
    int64_t last = 0;

    for (int round = 0; round < 4; round++) {
        pawl_work_id id = fixture_send(f, "t", "x");
        pawl_messages *list = fixture_claim(f, queue_owner(1), SECOND_MS, 1);

        assert_true(fixture_receipt(list, 0).fence > last);
        last = fixture_receipt(list, 0).fence;
        assert_int_equal(1, queue_ack(f, queue_owner(1), list));
        fixture_advance(f, 10 * SECOND_MS);
        queue_reap(f); /* removes the claim row */
        if (round % 2)
            assert_int_equal(1, queue_purge(f, id));
        else
            assert_int_equal(1, queue_prune(f, 0));
        assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {claim}"));
        assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
        fixture_reopen(f);
    }
}

PAWL_TEST(a_late_handler_of_the_same_worker_cannot_acknowledge_a_later_claim)
{
    fixture *f = fixture_open(NULL);
    pawl_owner worker = queue_owner(1);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_messages *early = fixture_claim(f, worker, SECOND_MS, 1);
    pawl_messages *late;

    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(1, queue_reap(f));
    late = fixture_claim(f, worker, MINUTE_MS, 1);
    assert_int_equal(1, pawl_messages_count(late));
    assert_int_equal(2, pawl_message_attempt(pawl_messages_at(late, 0)));
    assert_int_equal(0, queue_ack(f, worker, early));
    assert_int_equal(0, queue_abandon(f, worker, early, "late", PAWL_DELAY_BY_POLICY));
    assert_int_equal(0, queue_fail(f, worker, early, "late"));
    assert_int_equal(0, queue_renew(f, worker, early, HOUR_MS));
    assert_int_equal(0, queue_release(f, worker, early));
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, id));
    assert_int_equal(1, queue_ack(f, worker, late));
    queue_check(f);
}

PAWL_TEST(a_reaped_message_cannot_be_acknowledged_before_it_is_claimed_again)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_messages *early = fixture_claim(f, queue_owner(1), SECOND_MS, 1);

    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(1, queue_reap(f));
    assert_int_equal(0, queue_ack(f, queue_owner(1), early));
    assert_int_equal(0, queue_renew(f, queue_owner(1), early, MINUTE_MS));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
}

PAWL_TEST(a_result_after_the_lease_ended_counts_until_the_message_is_reaped)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_messages *list = fixture_claim(f, queue_owner(1), SECOND_MS, 1);

    fixture_advance(f, MINUTE_MS);
    assert_int_equal(1, queue_ack(f, queue_owner(1), list));
    assert_int_equal(0, queue_reap(f));
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
}

PAWL_TEST(fences_zero_negative_and_of_another_item_match_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id ready = fixture_send(f, "t", "x");
    int64_t fence = claim_fence(f, queue_owner(1));
    pawl_work_id other = fixture_send(f, "t", "y");
    pawl_receipt items[4] = {{ready, 0}, {ready, -fence}, {ready, fence + 1}, {other, fence}};
    size_t changed = 9;

    assert_ok(pawl_queue_ack(fixture_store(f), queue_owner(1), items, 4, &changed, &err), &err);
    assert_int_equal(0, changed);
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, ready));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, other));
}

PAWL_TEST(a_ready_message_cannot_be_acknowledged_with_a_zero_owner_and_fence)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = {fixture_send(f, "t", "x"), 0};
    pawl_owner no_owner = {{0}};
    size_t changed = 9;

    assert_status(PAWL_E_INVALID,
                  pawl_queue_ack(fixture_store(f), no_owner, &item, 1, &changed, &err), &err);
    assert_int_equal(9, changed);
    assert_ok(pawl_queue_ack(fixture_store(f), queue_owner(1), &item, 1, &changed, &err), &err);
    assert_int_equal(0, changed);
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, item.id));
}
