/* tests/conformance/inbox_joined_test.c - the inbox in the application's own transaction. */
#include "inbox_fixture.h"

PAWL_TEST(rows_and_record_are_there_when_the_application_commits)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_task *arrival = inbox_join(f, "1", NULL);

    assert_answer(PAWL_INBOX_NEW, arrival);
    assert_null(pawl_inbox_task_tx(arrival)); /* it is the application's */
    fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
    inbox_done(arrival, "joined");
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {inbox_record}"));
    fixture_tx_commit(f, 0);
    assert_int_equal(1, inbox_orders(f));
    assert_string_equal("joined", inbox_response(inbox_begin(f, "1", NULL)));
    assert_string_equal("joined", inbox_response(inbox_join(f, "1", NULL)));
    fixture_tx_rollback(f, 0);
}

PAWL_TEST(a_rollback_takes_everything_and_failing_afterwards_counts_the_attempt)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 1; i <= 10; i++) {
        pawl_inbox_task *arrival = inbox_join(f, "1", NULL);
        assert_int_equal(i, pawl_inbox_task_attempt(arrival));
        fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
        fixture_tx_rollback(f, 0);
        assert_int_equal(i - 1, fixture_count(f, "SELECT coalesce(max(attempts), 0)"
                                                 " FROM {inbox_record}"));
        assert_ok(pawl_inbox_task_fail(arrival, "no", &err), &err);
        assert_int_equal(i, inbox_record(f, "1")->attempts);
    }
    assert_int_equal(0, inbox_orders(f));
    assert_int_equal(PAWL_INBOX_DEAD, inbox_record(f, "1")->state);
    assert_answer(PAWL_INBOX_REJECTED, inbox_join(f, "1", NULL));
    fixture_tx_rollback(f, 0);
}

PAWL_TEST(failing_it_before_the_rollback_is_misuse_in_sqlite)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = inbox_join(f, "1", NULL);
    pawl_status st = pawl_inbox_task_fail(arrival, "no", &err);

    /* In PostgreSQL the open transaction has locked the key. */
    assert_status(fixture_is_postgres(f) ? PAWL_E_LOST : PAWL_E_MISUSE, st, &err);
    fixture_tx_rollback(f, 0);
}

PAWL_TEST_ON(postgres, a_delivery_elsewhere_does_not_wait_for_the_transaction)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_task *arrival = NULL;

    arrival = inbox_join(f, "1", NULL);
    assert_answer(PAWL_INBOX_IN_PROGRESS, inbox_begin(f, "1", NULL));
    fixture_advance(f, HOUR_MS);
    assert_answer(PAWL_INBOX_IN_PROGRESS, inbox_call(f, "1", NULL));
    inbox_done(arrival, NULL);
    assert_answer(PAWL_INBOX_IN_PROGRESS, inbox_begin(f, "1", NULL));
    fixture_tx_commit(f, 0);
    assert_answer(PAWL_INBOX_DUPLICATE, inbox_begin(f, "1", NULL));
}

/* Its snapshot is older than a concurrent commit of another session. */
PAWL_TEST_ON(postgres, an_old_snapshot_never_processes_twice)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = NULL;
    pawl_tx *tx = NULL;
    pawl_status st;

    fixture_tx_exec(f, 0, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    fixture_tx_exec(f, 0, "SELECT count(*) FROM {inbox_record}");
    inbox_done(inbox_begin(f, "1", NULL), "r");
    assert_ok(fixture_tx_foreign(f, 0, fixture_store(f), &tx, &err), &err);
    st = pawl_tx_inbox_begin(tx, "shop", "1", NULL, NULL, &arrival, &err);
    assert_status(PAWL_E_SERIALIZATION, st, &err);
    assert_null(arrival);
    fixture_tx_exec(f, 0, "ROLLBACK");
}

PAWL_TEST(a_conflict_or_a_duplicate_leaves_the_transaction_usable)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    uint8_t one[PAWL_HASH_SIZE], two[PAWL_HASH_SIZE];
    pawl_inbox_task *arrival = NULL;

    assert_ok(pawl_inbox_hash("one", 3, one, &err), &err);
    assert_ok(pawl_inbox_hash("two", 3, two, &err), &err);
    assert_ok(pawl_inbox_call(fixture_store(f), "shop", "1", one, NULL, &arrival, &err), &err);
    inbox_done(arrival, "r");
    pawl_inbox_task_free(arrival);
    pawl_tx *tx = fixture_tx_begin(f, 0);
    assert_ok(pawl_tx_inbox_begin(tx, "shop", "1", two, NULL, &arrival, &err), &err);
    assert_answer(PAWL_INBOX_CONFLICT, arrival);
    pawl_inbox_task_free(arrival);
    assert_ok(pawl_tx_inbox_begin(tx, "shop", "1", one, NULL, &arrival, &err), &err);
    assert_answer(PAWL_INBOX_DUPLICATE, arrival);
    pawl_inbox_task_free(arrival);
    fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
    fixture_tx_commit(f, 0);
    assert_int_equal(1, inbox_orders(f));
}
