/* tests/conformance/ack_and_claim_test.c - the end of one batch and the beginning of the next in
 * one. */
#include "queue_fixture.h"

static size_t ack_and_claim(fixture *f, pawl_owner owner, const pawl_receipt *items, size_t count,
                            int limit, pawl_messages **ret_list)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t acked = 99;

    assert_ok(pawl_queue_ack_and_claim(fixture_store(f), owner, items, count, MINUTE_MS, limit,
                                       NULL, &acked, ret_list, &err),
              &err);
    queue_keep(*ret_list);
    queue_check(f);
    return acked;
}

static void send_numbers(fixture *f, int count)
{
    for (int i = 0; i < count; i++) {
        fixture_send(f, "t", test_note("%d", i));
        fixture_advance(f, 1);
    }
}

PAWL_TEST(a_batch_is_acknowledged_and_the_next_one_claimed)
{
    fixture *f = fixture_open(NULL);
    pawl_owner worker = queue_owner(1);
    pawl_messages *first, *next;

    send_numbers(f, 5);
    first = fixture_claim(f, worker, MINUTE_MS, 3);
    assert_int_equal(3, ack_and_claim(f, worker, queue_receipts(first), 3, 3, &next));
    assert_string_equal("3 4", queue_payloads(next));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(PAWL_STATE_DONE,
                         pawl_message_state(queue_get(f, fixture_receipt(first, i).id)));
    assert_true(fixture_receipt(next, 0).fence > fixture_receipt(first, 0).fence);
    assert_int_equal(2, queue_ack(f, worker, next));
}

PAWL_TEST(with_nothing_to_acknowledge_it_is_a_claim)
{
    fixture *f = fixture_open(NULL);
    pawl_receipt none[1];
    pawl_messages *list;

    send_numbers(f, 2);
    assert_int_equal(0, ack_and_claim(f, queue_owner(1), none, 0, 10, &list));
    assert_string_equal("0 1", queue_payloads(list));
}

PAWL_TEST(with_nothing_to_claim_it_is_an_ack)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *first, *next;

    send_numbers(f, 2);
    first = fixture_claim(f, queue_owner(1), MINUTE_MS, 2);
    assert_int_equal(2, ack_and_claim(f, queue_owner(1), queue_receipts(first), 2, 10, &next));
    assert_int_equal(0, pawl_messages_count(next));
    assert_int_equal(PAWL_STATE_DONE,
                     pawl_message_state(queue_get(f, fixture_receipt(first, 1).id)));
}

PAWL_TEST(stale_foreign_unknown_and_repeated_items_are_skipped)
{
    fixture *f = fixture_open(NULL);
    pawl_owner worker = queue_owner(1);
    pawl_messages *stale, *mine, *others, *next;

    send_numbers(f, 3);
    stale = fixture_claim(f, worker, SECOND_MS, 1);
    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(1, queue_reap(f));
    others = fixture_claim(f, queue_owner(2), MINUTE_MS, 1);
    mine = fixture_claim(f, worker, MINUTE_MS, 1);
    pawl_receipt items[] = {fixture_receipt(mine, 0),
                            fixture_receipt(stale, 0),
                            fixture_receipt(others, 0),
                            {{1000000}, 1},
                            fixture_receipt(mine, 0)};

    assert_int_equal(1, ack_and_claim(f, worker, items, COUNT_OF(items), 10, &next));
    assert_int_equal(PAWL_STATE_DONE, pawl_message_state(queue_get(f, items[0].id)));
    assert_int_equal(PAWL_STATE_RUNNING, pawl_message_state(queue_get(f, items[2].id)));
    assert_int_equal(1, pawl_messages_count(next));
    assert_int_equal(1, queue_ack(f, queue_owner(2), others));
}

/* A message just acknowledged is never claimed, not even if it is sent again. */
PAWL_TEST(an_acknowledged_message_is_not_claimed)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list = NULL;

    send_numbers(f, 20);
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 4);
    for (int batch = 1; batch < 5; batch++) {
        pawl_messages *next;

        assert_int_equal(4, ack_and_claim(f, queue_owner(1), queue_receipts(list), 4, 4, &next));
        assert_int_equal(4, pawl_messages_count(next));
        assert_string_equal(test_note("%d", batch * 4), queue_payload(pawl_messages_at(next, 0)));
        list = next;
    }
    assert_int_equal(16, fixture_count(f, "SELECT count(*) FROM {outcome}"));
}

PAWL_TEST(a_refused_call_acknowledges_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_owner worker = queue_owner(1), no_owner = {{0}};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list, *next = NULL;
    const pawl_receipt *items;
    const char *before;

    send_numbers(f, 2);
    list = fixture_claim(f, worker, MINUTE_MS, 1);
    items = queue_receipts(list);
    before = queue_fingerprint(f);
    assert_int_equal(PAWL_E_INVALID,
                     pawl_queue_ack_and_claim(fixture_store(f), no_owner, items, 1, MINUTE_MS, 1,
                                              NULL, NULL, &next, &err));
    assert_int_equal(PAWL_E_INVALID, pawl_queue_ack_and_claim(fixture_store(f), worker, items, 1, 0,
                                                              1, NULL, NULL, &next, &err));
    assert_int_equal(PAWL_E_INVALID,
                     pawl_queue_ack_and_claim(fixture_store(f), worker, items, 1, MINUTE_MS, 0,
                                              NULL, NULL, &next, &err));
    assert_int_equal(PAWL_E_INVALID,
                     pawl_queue_ack_and_claim(fixture_store(f), worker, NULL, 1, MINUTE_MS, 1, NULL,
                                              NULL, &next, &err));
    assert_int_equal(PAWL_E_INVALID,
                     pawl_queue_ack_and_claim(fixture_store(f), worker, items, PAWL_BATCH_MAX + 1,
                                              MINUTE_MS, 1, NULL, NULL, &next, &err));
    assert_int_equal(PAWL_E_INVALID,
                     pawl_queue_ack_and_claim(fixture_store(f), worker, items, 1, MINUTE_MS, 1,
                                              NULL, NULL, NULL, &err));
    assert_null(next);
    assert_string_equal(before, queue_fingerprint(f));
}
