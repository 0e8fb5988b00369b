/* tests/conformance/claim_rows_test.c - a claim's row goes with the last message that it took. */
#include "queue_fixture.h"

#define LEASE_MS (10 * SECOND_MS)

static int64_t claim_rows(fixture *f)
{
    return fixture_count(f, "SELECT count(*) FROM {claim}");
}

/* `count` messages in the hands of owner 1, under one fence. */
static pawl_messages *take_messages(fixture *f, int count)
{
    pawl_messages *list;

    for (int i = 0; i < count; i++)
        fixture_send(f, "t", "x");
    list = fixture_claim(f, queue_owner(1), LEASE_MS, count);
    assert_int_equal(count, pawl_messages_count(list));
    assert_int_equal(1, claim_rows(f));
    return list;
}

PAWL_TEST(acknowledging_all_removes_the_claim)
{
    fixture *f = fixture_open(NULL);

    assert_int_equal(3, queue_ack(f, queue_owner(1), take_messages(f, 3)));
    assert_int_equal(0, claim_rows(f));
    queue_check(f);
}

/* In the order of the claim, backwards, and from the middle: it goes with the last, and not before.
 */
PAWL_TEST(the_last_acknowledgement_removes_the_claim)
{
    static const size_t orders[][5] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 4, 0, 3, 1}};
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        const pawl_receipt *receipt = queue_receipts(take_messages(f, 5));
        for (size_t j = 0; j < 5; j++) {
            assert_int_equal(1, claim_rows(f));
            assert_ok(pawl_queue_ack(fixture_store(f), queue_owner(1), &receipt[orders[i][j]], 1,
                                     NULL, &err),
                      &err);
            queue_check(f);
        }
        assert_int_equal(0, claim_rows(f));
    }
}

PAWL_TEST(an_acknowledgement_with_output_removes_the_claim)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    const pawl_receipt *receipt = queue_receipts(take_messages(f, 2));
    const pawl_message *m;

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(1, claim_rows(f));
        assert_ok(
            pawl_queue_ack_output(fixture_store(f), queue_owner(1), receipt[i], "left", 4, &err),
            &err);
    }
    assert_int_equal(0, claim_rows(f));
    m = queue_get(f, receipt[1].id);
    assert_non_null(pawl_message_processed_by(m)); /* read from the claim before it went */
    queue_check(f);
}

PAWL_TEST(acknowledging_with_the_next_claim_leaves_only_the_new_claim)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    const pawl_receipt *receipt = queue_receipts(take_messages(f, 2));
    pawl_messages *next = NULL;
    size_t acked = 0;

    fixture_send(f, "t", "next");
    assert_ok(pawl_queue_ack_and_claim(fixture_store(f), queue_owner(1), receipt, 2, LEASE_MS, 10,
                                       NULL, &acked, &next, &err),
              &err);
    queue_keep(next);
    assert_int_equal(2, acked);
    assert_int_equal(1, pawl_messages_count(next));
    assert_int_equal(1, claim_rows(f));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {claim} WHERE fence = %lld",
                                      (long long)fixture_receipt(next, 0).fence));
    queue_check(f);
}

PAWL_TEST(failing_abandoning_and_releasing_remove_the_claim)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list;

    list = take_messages(f, 2);
    assert_int_equal(2, queue_fail(f, queue_owner(1), list, "no"));
    assert_int_equal(0, claim_rows(f));
    assert_non_null(
        pawl_message_processed_by(queue_get(f, pawl_message_work_id(pawl_messages_at(list, 1)))));

    assert_int_equal(2, queue_abandon(f, queue_owner(1), take_messages(f, 2), "later", DAY_MS));
    assert_int_equal(0, claim_rows(f));

    assert_int_equal(2, queue_release(f, queue_owner(1), take_messages(f, 2)));
    assert_int_equal(0, claim_rows(f));
    queue_check(f);
}

PAWL_TEST(the_last_attempt_removes_the_claim)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;

    message.max_attempts = 1;
    id = queue_send(f, &message).work_id;
    assert_int_equal(1,
                     queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), LEASE_MS, 1),
                                   "no", SECOND_MS));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, id));
    assert_non_null(pawl_message_processed_by(queue_get(f, id)));
    assert_int_equal(0, claim_rows(f));
}

PAWL_TEST(cancelling_removes_the_claim)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list = take_messages(f, 2);

    assert_int_equal(1, queue_cancel(f, pawl_message_work_id(pawl_messages_at(list, 1))));
    assert_int_equal(1, claim_rows(f));
    queue_check(f);
    assert_int_equal(1, queue_cancel(f, pawl_message_work_id(pawl_messages_at(list, 0))));
    assert_int_equal(0, claim_rows(f));
    queue_check(f);
}

/* Each of a claim's messages ends in another way, the last by its lease. */
PAWL_TEST(every_end_of_the_last_message_removes_the_claim)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = fixture_store(f);
    const pawl_receipt *receipt = queue_receipts(take_messages(f, 6));
    pawl_owner owner = queue_owner(1);

    assert_ok(pawl_queue_ack(store, owner, &receipt[0], 1, NULL, &err), &err);
    assert_ok(pawl_queue_fail(store, owner, &receipt[1], 1, "no", NULL, &err), &err);
    assert_ok(pawl_queue_abandon(store, owner, &receipt[2], 1, "later", DAY_MS, NULL, &err), &err);
    assert_ok(pawl_queue_release(store, owner, &receipt[3], 1, NULL, &err), &err);
    assert_int_equal(1, queue_cancel(f, receipt[4].id));
    assert_int_equal(1, claim_rows(f));
    queue_check(f);
    fixture_advance(f, LEASE_MS);
    assert_int_equal(1, queue_reap(f));
    assert_int_equal(0, claim_rows(f));
    queue_check(f);
}

/* Rejected calls remove nothing. */
PAWL_TEST(another_owners_result_leaves_the_claim)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list = take_messages(f, 2);

    assert_int_equal(0, queue_ack(f, queue_owner(2), list));
    assert_int_equal(0, queue_fail(f, queue_owner(2), list, "no"));
    assert_int_equal(0, queue_release(f, queue_owner(2), list));
    assert_int_equal(1, claim_rows(f));
    queue_check(f);
}

/* The check of a claim that is renewed and then finished comes up for nothing: no row is there. */
PAWL_TEST(a_renewed_claim_goes_with_its_last_message)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list = take_messages(f, 2);

    fixture_advance(f, LEASE_MS / 2);
    assert_int_equal(2, queue_renew(f, queue_owner(1), list, LEASE_MS));
    fixture_advance(f, LEASE_MS / 2);
    assert_int_equal(0, queue_reap(f));
    assert_int_equal(1, claim_rows(f));
    assert_int_equal(2, queue_ack(f, queue_owner(1), list));
    assert_int_equal(0, claim_rows(f));
}

/* Finished claims in front of it do not keep a dead worker's message waiting. */
PAWL_TEST(a_dead_workers_message_does_not_wait_behind_finished_claims)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id lost;

    for (int i = 0; i < 1000; i++) {
        fixture_send(f, "t", "x");
        queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), LEASE_MS, 1));
    }
    lost = fixture_send(f, "t", "lost");
    fixture_claim(f, queue_owner(2), LEASE_MS, 1);
    fixture_advance(f, LEASE_MS);
    assert_int_equal(1, queue_reap(f));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, lost));
}
