/* tests/conformance/message_tx_test.c - a message is done in the same commit as what it brought
 * about.
 */
#include "application_sql.h"
#include "queue_fixture.h"

static void free_tx(void *tx)
{
    pawl_tx_free(tx);
}

static fixture *open_with_orders(void)
{
    fixture *f = fixture_open(NULL);

    fixture_exec(f, "CREATE TABLE {orders} (n integer)");
    return f;
}

/* A message that owner 1 has claimed. */
static pawl_receipt claim_one(fixture *f)
{
    fixture_send(f, "t", "x");
    return fixture_receipt(fixture_claim(f, queue_owner(1), MINUTE_MS, 1), 0);
}

static pawl_tx *begin_effect(fixture *f, pawl_receipt item)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    assert_ok(pawl_tx_begin_for(fixture_store(f), queue_owner(1), item, &tx, &err), &err);
    test_defer(free_tx, tx);
    return tx;
}

/* A statement of the application in the transaction; whether the database took it. */
static bool write_row(fixture *f, pawl_tx *tx, const char *sql)
{
    return application_sql(tx, fixture_expand(f, sql));
}

static int64_t orders(fixture *f)
{
    return fixture_count(f, "SELECT count(*) FROM {orders}");
}

PAWL_TEST(a_commit_brings_rows_messages_and_the_acknowledgement)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f);
    pawl_message_spec next = queue_message("next", "y");
    pawl_enqueued sent = {0};
    pawl_tx *tx = begin_effect(f, item);

    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (1)"));
    assert_ok(pawl_tx_enqueue(tx, &next, &sent, &err), &err);
    assert_int_equal(0, orders(f));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
    assert_int_equal(1, orders(f));
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, item.id));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, sent.work_id));
    assert_string_equal("y", queue_payloads(fixture_claim(f, queue_owner(2), MINUTE_MS, 10)));
    queue_check(f);
}

PAWL_TEST(a_rollback_leaves_the_message_leased)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f);
    const char *before = queue_fingerprint(f);
    pawl_message_spec next = queue_message("next", "y");
    pawl_tx *tx = begin_effect(f, item);
    size_t changed = 0;

    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (1)"));
    assert_ok(pawl_tx_enqueue(tx, &next, NULL, &err), &err);
    pawl_tx_rollback(tx);
    assert_int_equal(0, orders(f));
    assert_string_equal(before, queue_fingerprint(f));
    pawl_tx_rollback(tx); /* nothing more happens */
    assert_null(pawl_tx_sqlite(tx));
    assert_null(pawl_tx_postgres(tx));
    assert_status(PAWL_E_MISUSE, pawl_tx_enqueue(tx, &next, NULL, &err), &err);
    assert_status(PAWL_E_MISUSE, pawl_tx_commit_with_ack(tx, &err), &err);
    assert_ok(pawl_queue_ack(fixture_store(f), queue_owner(1), &item, 1, &changed, &err), &err);
    assert_int_equal(1, changed);
}

PAWL_TEST(a_transaction_that_is_never_ended_is_rolled_back)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f);
    pawl_tx *tx = NULL;

    assert_ok(pawl_tx_begin_for(fixture_store(f), queue_owner(1), item, &tx, &err), &err);
    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (1)"));
    pawl_tx_free(tx);
    assert_int_equal(0, orders(f));
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, item.id));
    fixture_send(f, "t", "the next writer is not kept waiting");
}

PAWL_TEST(nothing_remains_when_the_lease_was_lost)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f);
    pawl_message_spec next = queue_message("next", "y");
    pawl_tx *tx;

    fixture_advance(f, 2 * MINUTE_MS);
    assert_int_equal(1, queue_reap(f));
    fixture_claim(f, queue_owner(1), MINUTE_MS, 1); /* even by the same owner */
    const char *before = queue_fingerprint(f);
    tx = begin_effect(f, item);
    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (1)"));
    assert_ok(pawl_tx_enqueue(tx, &next, NULL, &err), &err);
    assert_status(PAWL_E_LOST, pawl_tx_commit_with_ack(tx, &err), &err);
    assert_false(err.retryable);
    assert_says(&err, "fence");
    assert_int_equal(0, orders(f));
    assert_string_equal(before, queue_fingerprint(f));
}

PAWL_TEST(a_message_that_was_cancelled_meanwhile_has_no_effect)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f);
    pawl_tx *tx;

    queue_cancel(f, item.id);
    tx = begin_effect(f, item);
    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (1)"));
    assert_status(PAWL_E_LOST, pawl_tx_commit_with_ack(tx, &err), &err);
    assert_int_equal(0, orders(f));
    assert_int_equal(PAWL_STATE_CANCELLED, fixture_state(f, item.id));
}

PAWL_TEST(the_effect_is_there_once_however_often_it_is_attempted)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f);
    pawl_tx *tx = begin_effect(f, item);

    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (1)"));
    assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
    tx = begin_effect(f, item);
    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (1)"));
    assert_status(PAWL_E_LOST, pawl_tx_commit_with_ack(tx, &err), &err);
    assert_int_equal(1, orders(f));
}

PAWL_TEST(a_failed_statement_of_the_application_affects_no_other_caller)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f);
    pawl_tx *tx = begin_effect(f, item);
    pawl_status st;

    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (1)"));
    assert_false(write_row(f, tx, "INSERT INTO {nowhere} VALUES (1)"));
    st = pawl_tx_commit_with_ack(tx, &err);
    /* PostgreSQL gives up a transaction with a failed statement, SQLite does not. */
    if (fixture_is_postgres(f))
        assert_status(PAWL_E_TX_RESTART, st, &err);
    else
        assert_ok(st, &err);
    assert_int_equal(fixture_is_postgres(f) ? 0 : 1, orders(f));
    tx = begin_effect(f, claim_one(f));
    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (2)"));
    assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
    assert_int_equal(fixture_is_postgres(f) ? 1 : 2, orders(f));
}

PAWL_TEST(the_end_of_the_transaction_is_left_to_pawl)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f);
    pawl_tx *tx = begin_effect(f, item);

    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (1)"));
    assert_int_equal(fixture_is_postgres(f), write_row(f, tx, "COMMIT"));
    if (!fixture_is_postgres(f)) {
        /* Without a transaction each statement would be one, and would stay. */
        assert_false(write_row(f, tx, "INSERT INTO {orders} VALUES (2)"));
        assert_int_equal(0, orders(f));
    }
    assert_status(PAWL_E_TX_RESTART, pawl_tx_commit_with_ack(tx, &err), &err);
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, item.id));
    fixture_send(f, "t", "others can write");
}

PAWL_TEST(a_plain_write_of_the_same_thread_is_misuse_in_sqlite)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f);
    pawl_message_spec other = queue_message("u", "y");
    pawl_tx *second = NULL;
    pawl_tx *tx = begin_effect(f, item);
    pawl_status st = pawl_outbox_enqueue(fixture_store(f), &other, NULL, &err);

    if (fixture_is_postgres(f)) {
        assert_ok(st, &err);
    } else {
        assert_status(PAWL_E_MISUSE, st, &err);
        assert_status(PAWL_E_MISUSE,
                      pawl_outbox_enqueue(fixture_another_store(f), &other, NULL, &err), &err);
        assert_status(PAWL_E_MISUSE,
                      pawl_tx_begin_for(fixture_store(f), queue_owner(1), item, &second, &err),
                      &err);
    }
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, item.id)); /* reading is fine */
    assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
    assert_ok(pawl_outbox_enqueue(fixture_store(f), &other, NULL, &err), &err);
}

PAWL_TEST(bad_arguments_are_refused)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f), none = {0};
    pawl_owner no_owner = {0};
    pawl_tx *tx = NULL;

    assert_status(PAWL_E_INVALID, pawl_tx_begin_for(NULL, queue_owner(1), item, &tx, &err), &err);
    assert_status(PAWL_E_INVALID,
                  pawl_tx_begin_for(fixture_store(f), queue_owner(1), item, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_tx_begin_for(fixture_store(f), no_owner, item, &tx, &err),
                  &err);
    assert_status(PAWL_E_INVALID,
                  pawl_tx_begin_for(fixture_store(f), queue_owner(1), none, &tx, &err), &err);
    assert_null(tx);
    assert_status(PAWL_E_INVALID, pawl_tx_commit_with_ack(NULL, &err), &err);
    pawl_tx_rollback(NULL);
    assert_null(pawl_tx_sqlite(NULL));
    assert_null(pawl_tx_postgres(NULL));
}

PAWL_TEST(a_wrapped_transaction_is_not_pawls_to_commit)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = fixture_tx_begin(f, 0);

    assert_status(PAWL_E_MISUSE, pawl_tx_commit_with_ack(tx, &err), &err);
    pawl_tx_rollback(tx);
    assert_true(fixture_is_postgres(f) ? pawl_tx_postgres(tx) == fixture_postgres(f, 0)
                                       : pawl_tx_sqlite(tx) == fixture_sqlite(f, 0));
    fixture_tx_commit(f, 0);
}

PAWL_TEST(further_messages_wake_waiting_workers)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec next = queue_message("next", "y");
    pawl_tx *tx = begin_effect(f, claim_one(f));

    assert_ok(pawl_tx_enqueue(tx, &next, NULL, &err), &err);
    assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
    assert_ok(pawl_queue_wait(fixture_store(f), HOUR_MS, &err), &err);
}

PAWL_TEST(an_interrupt_ends_the_transaction)
{
    fixture *f = open_with_orders();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt item = claim_one(f);
    pawl_tx *tx = begin_effect(f, item);

    assert_true(write_row(f, tx, "INSERT INTO {orders} VALUES (1)"));
    pawl_store_interrupt(fixture_store(f));
    assert_status(PAWL_E_INTERRUPTED, pawl_tx_commit_with_ack(tx, &err), &err);
    assert_int_equal(0, orders(f));
    tx = begin_effect(f, item);
    assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
}

#if PAWL_TEST_SQLITE
PAWL_TEST(a_store_in_memory_has_them_too)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_store *store = NULL;
    pawl_messages *list = NULL;
    pawl_message_spec message = queue_message("t", "x");
    pawl_tx *tx = NULL;
    pawl_wall now;

    options.deploy_schema = true;
    assert_ok(pawl_store_open("sqlite::memory:", &options, &store, &err), &err);
    assert_ok(pawl_outbox_enqueue(store, &message, NULL, &err), &err);
    assert_ok(pawl_queue_claim(store, queue_owner(1), MINUTE_MS, 1, NULL, &list, &err), &err);
    queue_keep(list);
    pawl_status st = pawl_tx_begin_for(store, queue_owner(1), fixture_receipt(list, 0), &tx, &err);
    assert_ok(st, &err);
    assert_ok(pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    assert_status(PAWL_E_MISUSE, pawl_outbox_enqueue(store, &message, NULL, &err), &err);
    assert_status(PAWL_E_MISUSE, pawl_store_now(store, &now, &err), &err);
    assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
    assert_ok(pawl_store_now(store, &now, &err), &err);
    pawl_tx_free(tx);
    pawl_store_close(store);
}
#endif
