/* tests/conformance/lease_guard_test.c - rows written after the guard are the owner's. */
#include "lease_fixture.h"

static void free_tx(void *tx)
{
    pawl_tx_free(tx);
}

PAWL_TEST(the_guard_accepts_the_owner_only)
{
    fixture *f = fixture_open(NULL);
    int64_t fence = lease_take(f, "it", 1).fence;

    assert_int_equal(PAWL_OK, lease_guard(f, "it", fence));
    assert_int_equal(PAWL_E_LOST, lease_guard(f, "it", fence + 1));
    assert_int_equal(PAWL_E_LOST, lease_guard(f, "other", fence));
    assert_int_equal(PAWL_E_INVALID, lease_guard(f, "it", 0));
    assert_int_equal(PAWL_E_INVALID, lease_guard(f, "", fence));
    fixture_advance(f, TTL_MS - 1);
    assert_int_equal(PAWL_OK, lease_guard(f, "it", fence));
    fixture_advance(f, 1);
    assert_int_equal(PAWL_E_LOST,
                     lease_guard(f, "it", fence)); /* and no other owner has acquired it */
}

PAWL_TEST(a_stale_token_does_not_pass)
{
    fixture *f = fixture_open(NULL);
    int64_t first = lease_take(f, "it", 1).fence, second, third;

    assert_int_equal(PAWL_OK, lease_release(f, "it", 1, first));
    assert_int_equal(PAWL_E_LOST, lease_guard(f, "it", first));
    second = lease_take(f, "it", 2).fence;
    assert_int_equal(PAWL_E_LOST, lease_guard(f, "it", first));
    assert_int_equal(PAWL_OK, lease_guard(f, "it", second));
    assert_int_equal(PAWL_OK, lease_force(f, "it"));
    assert_int_equal(PAWL_E_LOST, lease_guard(f, "it", second));
    third = lease_take(f, "it", 2).fence;
    assert_int_equal(PAWL_E_LOST, lease_guard(f, "it", second));
    assert_int_equal(PAWL_OK, lease_guard(f, "it", third));
}

PAWL_TEST(a_refusal_leaves_a_wrapped_transaction_to_the_application)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t fence = lease_take(f, "it", 1).fence;
    pawl_tx *tx;

    fixture_exec(f, "CREATE TABLE {orders} (n integer)");
    tx = fixture_tx_begin(f, 0);
    fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
    assert_status(PAWL_E_LOST, pawl_lease_guard(tx, "it", fence + 1, &err), &err);
    assert_false(err.retryable);
    assert_int_equal(1, fixture_tx_count(f, 0, "SELECT count(*) FROM {orders}"));
    assert_ok(pawl_lease_guard(tx, "it", fence, &err), &err);
    fixture_tx_commit(f, 0);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {orders}"));
}

PAWL_TEST(a_refusal_rolls_back_a_transaction_of_pawls_own)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t fence = lease_take(f, "it", 1).fence;
    pawl_message_spec next = queue_message("next", "y");
    pawl_receipt item;
    pawl_tx *tx = NULL;

    for (int good = 0; good < 2; good++) {
        fixture_send(f, "t", "x");
        item = fixture_receipt(fixture_claim(f, queue_owner(1), MINUTE_MS, 1), 0);
        assert_ok(pawl_tx_begin_for(fixture_store(f), queue_owner(1), item, &tx, &err), &err);
        test_defer(free_tx, tx);
        assert_ok(pawl_tx_enqueue(tx, &next, NULL, &err), &err);
        if (good) {
            assert_ok(pawl_lease_guard(tx, "it", fence, &err), &err);
            assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
        } else {
            assert_status(PAWL_E_LOST, pawl_lease_guard(tx, "it", fence + 1, &err), &err);
            assert_status(PAWL_E_MISUSE, pawl_tx_commit_with_ack(tx, &err), &err);
        }
        assert_int_equal(good ? PAWL_STATE_DONE : PAWL_STATE_RUNNING, fixture_state(f, item.id));
        assert_int_equal(good, fixture_count(f, "SELECT count(*) FROM {queue} WHERE fence = 0"));
    }
}

PAWL_TEST(the_guard_needs_a_transaction_that_is_open)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t fence = lease_take(f, "it", 1).fence;
    pawl_tx *tx = NULL;

    fixture_tx_exec(f, 1, fixture_is_postgres(f) ? "BEGIN" : "BEGIN IMMEDIATE");
    assert_ok(fixture_tx_foreign(f, 1, fixture_store(f), &tx, &err), &err);
    fixture_tx_exec(f, 1, "COMMIT");
    assert_status(PAWL_E_MISUSE, pawl_lease_guard(tx, "it", fence, &err), &err);
}

PAWL_TEST(an_old_snapshot_does_not_pass)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t fence = lease_take(f, "it", 1).fence;
    pawl_tx *tx = NULL;

    /* The transaction sees the lease as it was before another owner acquired it. */
    fixture_tx_exec(
        f, 1, fixture_is_postgres(f) ? "BEGIN ISOLATION LEVEL REPEATABLE READ" : "BEGIN DEFERRED");
    assert_int_equal(1, fixture_tx_count(f, 1, "SELECT count(*) FROM {lease}"));
    assert_int_equal(PAWL_OK, lease_force(f, "it"));
    lease_take(f, "it", 2);
    assert_ok(fixture_tx_foreign(f, 1, fixture_store(f), &tx, &err), &err);
    assert_int_equal(fixture_is_postgres(f) ? PAWL_E_SERIALIZATION : PAWL_E_TX_RESTART,
                     pawl_lease_guard(tx, "it", fence, &err));
    fixture_tx_exec(f, 1, "ROLLBACK");
}
