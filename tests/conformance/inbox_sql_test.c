/* tests/conformance/inbox_sql_test.c - the inbox from psql and any language: pawl.inbox_... */
#include <string.h>

#include "inbox_fixture.h"

PAWL_TEST_ON(postgres, rows_and_record_in_one_transaction_of_psql)
{
    fixture *f = inbox_fixture(NULL);

    fixture_tx_exec(f, 0, "BEGIN");
    assert_int_equal(1, fixture_tx_count(f, 0,
                                         "SELECT count(*) FROM {inbox_begin}('shop', '1',"
                                         " hash => sha256('x')) WHERE answer = 'new'"
                                         " AND attempt = 1 AND idempotency_key = 'shop:1'"));
    fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
    fixture_tx_exec(f, 0, "SELECT {inbox_done}('shop', '1', response => 'yes')");
    assert_answer(PAWL_INBOX_IN_PROGRESS, inbox_begin(f, "1", NULL));
    fixture_tx_exec(f, 0, "COMMIT");
    assert_string_equal("yes", inbox_response(inbox_begin(f, "1", NULL)));
    assert_string_equal("duplicate",
                        fixture_text(f, "SELECT answer FROM {inbox_begin}('shop', '1')"));
    assert_string_equal("conflict", fixture_text(f, "SELECT answer FROM {inbox_begin}('shop', '1',"
                                                    " hash => sha256('y'))"));
}

PAWL_TEST_ON(postgres, done_fails_the_transaction_of_an_attempt_that_lost_its_lease)
{
    fixture *f = inbox_fixture(NULL);
    int64_t fence = fixture_count(f, "SELECT fence FROM {inbox_begin}('shop', '1')");

    fixture_advance(f, 31 * SECOND_MS);
    int64_t next = fixture_count(f, "SELECT fence FROM {inbox_begin}('shop', '1')");
    assert_true(next > fence);
    assert_true(fixture_refuses(f, "SELECT {inbox_done}('shop', '1', fence => %d)", (int)fence));
    assert_int_equal(0, fixture_count(f, "SELECT {inbox_renew}('shop', '1', %d)", (int)fence));
    assert_int_equal(0, fixture_count(f, "SELECT {inbox_fail}('shop', '1', %d)", (int)fence));
    assert_int_equal(1, fixture_count(f, "SELECT {inbox_renew}('shop', '1', %d)", (int)next));
    fixture_exec(f, "SELECT {inbox_done}('shop', '1', fence => %d)", (int)next);
    assert_true(fixture_refuses(f, "SELECT {inbox_done}('shop', '1', fence => %d)", (int)next));
    assert_true(fixture_refuses(f, "SELECT {inbox_done}('shop', '1')"));
}

PAWL_TEST_ON(postgres, a_rolled_back_attempt_is_counted_by_fail)
{
    fixture *f = inbox_fixture(NULL);

    for (int i = 0; i < 10; i++) {
        fixture_tx_exec(f, 0, "BEGIN");
        fixture_tx_exec(f, 0, "SELECT * FROM {inbox_begin}('shop', '1')");
        fixture_tx_exec(f, 0, "ROLLBACK");
        assert_int_equal(1, fixture_count(f, "SELECT {inbox_fail}('shop', '1', error => 'no')"));
    }
    assert_int_equal(PAWL_INBOX_DEAD, inbox_record(f, "1")->state);
    assert_int_equal(10, inbox_record(f, "1")->attempts);
    assert_int_equal(0, fixture_count(f, "SELECT {inbox_fail}('shop', '1')"));
    assert_int_equal(1, fixture_count(f, "SELECT {inbox_retry}('shop')"));
    assert_string_equal("new", fixture_text(f, "SELECT answer FROM {inbox_begin}('shop', '1')"));
}

PAWL_TEST_ON(postgres, bad_arguments_are_refused)
{
    fixture *f = inbox_fixture(NULL);

    assert_true(fixture_refuses(f, "SELECT * FROM {inbox_begin}('', '1')"));
    assert_true(fixture_refuses(f, "SELECT * FROM {inbox_begin}('a', NULL)"));
    assert_true(fixture_refuses(f, "SELECT * FROM {inbox_begin}('a', '1', hash => 'short')"));
    assert_true(fixture_refuses(f, "SELECT * FROM {inbox_begin}('a', '1', lease => '0')"));
    assert_true(fixture_refuses(f, "SELECT * FROM {inbox_seen}('a', repeat('x', 256))"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {inbox_record}"));
}

static pawl_store *as_role(fixture *f, const char *role, const char **ret_name)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    *ret_name = test_note("pawl_test_%s_%s", role, fixture_store_options(f)->schema);
    fixture_exec(f, "CREATE ROLE %s LOGIN", *ret_name);
    fixture_exec(f, "GRANT %s TO %s", role, *ret_name);
    assert_ok(pawl_store_open(test_note("%s user=%s", fixture_url(f), *ret_name),
                              fixture_store_options(f), &store, &err),
              &err);
    return store;
}

PAWL_TEST_ON(postgres, workers_receive_and_administrators_manage_dead_deliveries)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = NULL;
    pawl_inbox_records *list = NULL;
    pawl_inbox_stats stats = PAWL_INBOX_STATS_INIT;
    const char *name;
    bool processed;
    pawl_store *store = as_role(f, "pawl_work", &name);

    assert_ok(pawl_inbox_begin(store, "shop", "1", NULL, NULL, &arrival, &err), &err);
    inbox_done(arrival, "r");
    pawl_inbox_task_free(arrival);
    assert_ok(pawl_inbox_call(store, "shop", "2", NULL, NULL, &arrival, &err), &err);
    assert_ok(pawl_inbox_task_renew(arrival, MINUTE_MS, &err), &err);
    assert_ok(pawl_inbox_task_fail_permanently(arrival, "x", &err), &err);
    pawl_inbox_task_free(arrival);
    assert_ok(pawl_inbox_already_processed(store, "shop", "1", NULL, &processed, &err), &err);
    assert_ok(pawl_inbox_list(store, NULL, &list, NULL, &err), &err);
    pawl_inbox_records_free(list);
    assert_ok(pawl_inbox_get_stats(store, &stats, &err), &err);
    assert_ok(pawl_inbox_clean(store, NULL, NULL, &err), &err);
    assert_status(PAWL_E_DENIED, pawl_inbox_retry(store, NULL, NULL, NULL, &err), &err);
    pawl_store_close(store);
    fixture_exec(f, "DROP ROLE %s", name);
    store = as_role(f, "pawl_send", &name);
    assert_status(PAWL_E_DENIED, pawl_inbox_begin(store, "shop", "1", NULL, NULL, &arrival, &err),
                  &err);
    pawl_store_close(store);
    fixture_exec(f, "DROP ROLE %s", name);
    store = as_role(f, "pawl_admin", &name);
    assert_ok(pawl_inbox_retry(store, NULL, NULL, NULL, &err), &err);
    pawl_store_close(store);
    fixture_exec(f, "DROP ROLE %s", name);
}
