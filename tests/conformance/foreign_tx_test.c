/* tests/conformance/foreign_tx_test.c - sending inside the application's own transaction. */
#include "queue_fixture.h"

#if PAWL_TEST_POSTGRES
#include <libpq-fe.h>
#endif
#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif

static pawl_enqueued tx_send(pawl_tx *tx, const char *topic, const char *payload)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message(topic, payload);
    pawl_enqueued sent = {0};

    assert_ok(pawl_tx_enqueue(tx, &message, &sent, &err), &err);
    return sent;
}

static fixture *open_with_orders(void)
{
    fixture *f = fixture_open(NULL);

    fixture_exec(f, "CREATE TABLE {orders} (n integer)");
    return f;
}

PAWL_TEST(a_commit_brings_the_message_and_the_applications_rows)
{
    fixture *f = open_with_orders();
    pawl_tx *tx = fixture_tx_begin(f, 0);
    pawl_enqueued sent;

    fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
    sent = tx_send(tx, "t", "x");
    assert_false(sent.existed);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
    fixture_tx_commit(f, 0);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {orders}"));
    assert_string_equal("x", queue_payload(queue_get(f, sent.work_id)));
    assert_string_equal("x", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
    queue_check(f);
}

PAWL_TEST(a_rollback_leaves_nothing)
{
    fixture *f = open_with_orders();
    const char *before = queue_fingerprint(f);
    pawl_tx *tx = fixture_tx_begin(f, 0);

    fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
    tx_send(tx, "t", "x");
    tx_send(tx, "u", "y");
    fixture_tx_rollback(f, 0);
    assert_string_equal(before, queue_fingerprint(f));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(0, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
}

PAWL_TEST(pawl_neither_commits_nor_rolls_back)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    fixture_tx_exec(f, 0, fixture_is_postgres(f) ? "BEGIN" : "BEGIN IMMEDIATE");
    assert_ok(fixture_tx_foreign(f, 0, fixture_store(f), &tx, &err), &err);
    tx_send(tx, "t", "x");
    fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(1, fixture_tx_count(f, 0, "SELECT count(*) FROM {orders}"));
    assert_int_equal(1, fixture_tx_count(f, 0, "SELECT count(*) FROM {queue}"));
    fixture_tx_exec(f, 0, "ROLLBACK");
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}

PAWL_TEST(several_sends_and_a_batch_fit_in_one_transaction)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = fixture_tx_begin(f, 0);
    pawl_message_spec batch[3] = {queue_message("t", "c"), queue_message("u", "d"),
                                  queue_message("t", "e")};
    pawl_enqueued sent[3];

    tx_send(tx, "t", "a");
    tx_send(tx, "t", "b");
    assert_ok(pawl_tx_enqueue_batch(tx, batch, 3, sent, &err), &err);
    fixture_tx_commit(f, 0);
    assert_int_equal(5, fixture_count(f, "SELECT count(*) FROM {queue}"));
    assert_string_equal("e", queue_payload(queue_get(f, sent[2].work_id)));
    queue_check(f);
}

PAWL_TEST(a_duplicate_inside_the_same_transaction_is_known)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = fixture_tx_begin(f, 0);
    pawl_message_spec message = queue_message("t", "x");
    pawl_enqueued first, second;

    message.id = queue_id(1);
    assert_ok(pawl_tx_enqueue(tx, &message, &first, &err), &err);
    assert_ok(pawl_tx_enqueue(tx, &message, &second, &err), &err);
    assert_false(first.existed);
    assert_true(second.existed);
    assert_int_equal(first.work_id.value, second.work_id.value);
    fixture_tx_commit(f, 0);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {queue}"));
}

PAWL_TEST(a_failing_send_leaves_the_transaction_usable)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "old");
    pawl_message_spec batch[2];
    pawl_tx *tx;

    message.id = queue_id(1);
    queue_send(f, &message);
    tx = fixture_tx_begin(f, 0);
    fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
    tx_send(tx, "t", "before");
    message.payload = "new";
    assert_status(PAWL_E_CONFLICT, pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    batch[0] = queue_message("t", "in the batch");
    batch[1] = message;
    assert_status(PAWL_E_CONFLICT, pawl_tx_enqueue_batch(tx, batch, 2, NULL, &err), &err);
    message.topic = "";
    assert_status(PAWL_E_INVALID, pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    tx_send(tx, "t", "after");
    fixture_tx_commit(f, 0);
    assert_string_equal("old before after",
                        queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {orders}"));
    queue_check(f);
}

PAWL_TEST(the_applications_savepoints_work_as_before)
{
    fixture *f = fixture_open(NULL);
    pawl_tx *tx = fixture_tx_begin(f, 0);

    tx_send(tx, "t", "kept");
    fixture_tx_exec(f, 0, "SAVEPOINT mine");
    tx_send(tx, "t", "dropped");
    fixture_tx_exec(f, 0, "ROLLBACK TO SAVEPOINT mine");
    tx_send(tx, "t", "also kept");
    fixture_tx_commit(f, 0);
    assert_string_equal("kept also kept",
                        queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
    queue_check(f);
}

PAWL_TEST(a_handle_without_a_transaction_is_not_wrapped)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    fixture_tx_exec(f, 0, "SELECT 1");
    assert_status(PAWL_E_MISUSE, fixture_tx_foreign(f, 0, fixture_store(f), &tx, &err), &err);
    assert_null(tx);
    assert_says(&err, "transaction");
}

PAWL_TEST(a_transaction_that_ended_cannot_be_used)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_tx *tx = NULL;

    fixture_tx_exec(f, 0, fixture_is_postgres(f) ? "BEGIN" : "BEGIN IMMEDIATE");
    assert_ok(fixture_tx_foreign(f, 0, fixture_store(f), &tx, &err), &err);
    fixture_tx_exec(f, 0, "COMMIT");
    assert_status(PAWL_E_MISUSE, pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}

PAWL_TEST(a_handle_of_another_engine_is_refused)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;
    char other; /* never read */

    if (fixture_is_postgres(f))
        assert_status(PAWL_E_UNSUPPORTED,
                      pawl_tx_foreign_sqlite(fixture_store(f), (void *)&other, &tx, &err), &err);
    else
        assert_status(PAWL_E_UNSUPPORTED,
                      pawl_tx_foreign_postgres(fixture_store(f), (void *)&other, &tx, &err), &err);
    assert_null(tx);
}

#if PAWL_TEST_SQLITE
/* PostgreSQL has no files to mix up. */
PAWL_TEST_ON(sqlite, a_handle_of_another_sqlite_file_is_refused)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;
    sqlite3 *other = NULL;
    pawl_status st;

    assert_int_equal(SQLITE_OK, sqlite3_open(test_note("%s/other.db", test_directory()), &other));
    assert_int_equal(SQLITE_OK, sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    st = pawl_tx_foreign_sqlite(fixture_store(f), other, &tx, &err);
    sqlite3_close(other);
    assert_status(PAWL_E_MISUSE, st, &err);
    assert_null(tx);
}
#endif

PAWL_TEST_ON(sqlite, a_transaction_that_read_an_old_state_must_start_again)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_tx *tx = NULL;

    fixture_tx_exec(f, 0, "BEGIN DEFERRED");
    fixture_tx_count(f, 0, "SELECT count(*) FROM {body}");
    fixture_send(f, "t", "meanwhile");
    assert_ok(fixture_tx_foreign(f, 0, fixture_store(f), &tx, &err), &err);
    assert_status(PAWL_E_TX_RESTART, pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    assert_true(err.retryable);
    assert_says(&err, "BEGIN IMMEDIATE");
    fixture_tx_exec(f, 0, "ROLLBACK");
    tx = fixture_tx_begin(f, 0);
    tx_send(tx, "t", "x");
    fixture_tx_commit(f, 0);
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {queue}"));
}

PAWL_TEST_ON(sqlite, a_plain_write_under_ones_own_sqlite_transaction_is_misuse_at_once)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_messages *list = NULL;
    pawl_tx *tx;

    tx = fixture_tx_begin(f, 0);
    tx_send(tx, "t", "inside");
    assert_status(PAWL_E_MISUSE, pawl_outbox_enqueue(fixture_store(f), &message, NULL, &err), &err);
    assert_says(&err, "transaction");
    assert_status(
        PAWL_E_MISUSE,
        pawl_queue_claim(fixture_store(f), queue_owner(1), MINUTE_MS, 1, NULL, &list, &err), &err);
    assert_status(PAWL_E_MISUSE, pawl_queue_reap(fixture_store(f), NULL, NULL, &err), &err);
    assert_status(PAWL_E_MISUSE,
                  pawl_outbox_enqueue(fixture_another_store(f), &message, NULL, &err), &err);
    fixture_tx_commit(f, 0);
    queue_send(f, &message);
    assert_string_equal("inside x",
                        queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

/* SQLite has one writer. */
PAWL_TEST_ON(postgres, a_plain_call_beside_ones_own_postgres_transaction_works)
{
    fixture *f = fixture_open(NULL);
    pawl_tx *tx;

    tx = fixture_tx_begin(f, 0);
    tx_send(tx, "t", "inside");
    fixture_send(f, "t", "outside");
    assert_string_equal("outside", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
    fixture_tx_commit(f, 0);
    assert_string_equal("inside", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

/* SQLite commits in the order of its writes. */
PAWL_TEST_ON(postgres, a_message_committed_late_is_not_skipped)
{
    fixture *f = fixture_open(NULL);
    pawl_tx *tx;

    tx = fixture_tx_begin(f, 0);
    tx_send(tx, "t", "early");
    for (int i = 0; i < 5; i++) {
        fixture_advance(f, 10 * SECOND_MS);
        fixture_send(f, "t", "late");
        assert_string_equal("late", queue_payloads(fixture_claim(f, queue_owner(1), HOUR_MS, 10)));
    }
    fixture_tx_commit(f, 0);
    assert_string_equal("early", queue_payloads(fixture_claim(f, queue_owner(1), HOUR_MS, 10)));
}

#if PAWL_TEST_POSTGRES
/* SQLite has no failed transactions. */
PAWL_TEST_ON(postgres, a_failed_postgres_transaction_takes_no_messages)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_tx *tx;

    tx = fixture_tx_begin(f, 0);
    PQclear(PQexec(fixture_postgres(f, 0), "SELECT 1 / 0"));
    assert_true(pawl_tx_enqueue(tx, &message, NULL, &err) != PAWL_OK);
    assert_true(err.message[0] != '\0');
    fixture_tx_rollback(f, 0);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}
#endif

PAWL_TEST(the_end_of_the_transaction_wakes_waiting_workers)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx;

    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    tx = fixture_tx_begin(f, 0);
    tx_send(tx, "t", "x");
    fixture_tx_commit(f, 0);
    /* Far longer than the test may take: it answers because it was woken. */
    assert_ok(pawl_queue_wait(fixture_store(f), HOUR_MS, &err), &err);
}

PAWL_TEST(a_wrapped_transaction_needs_all_its_arguments)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_tx *tx = NULL;

    assert_status(PAWL_E_INVALID, pawl_tx_foreign_sqlite(NULL, NULL, &tx, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_tx_foreign_sqlite(fixture_store(f), NULL, &tx, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_tx_foreign_postgres(fixture_store(f), NULL, &tx, &err),
                  &err);
    assert_status(PAWL_E_INVALID, pawl_tx_enqueue(NULL, &message, NULL, &err), &err);
    pawl_tx_free(NULL);
    pawl_tx_committed(NULL);
}
