/* tests/conformance/inbox_test.c - the atomic inbox: an effect once, however often it comes. */
#include <string.h>

#include "inbox_fixture.h"

PAWL_TEST(a_new_message_and_its_rows_are_one_commit)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec next = queue_message("next", "y");
    pawl_inbox_task *arrival = inbox_begin(f, "1", NULL);

    assert_answer(PAWL_INBOX_NEW, arrival);
    assert_int_equal(1, pawl_inbox_task_attempt(arrival));
    assert_true(pawl_inbox_task_fence(arrival) > 0);
    assert_string_equal("shop:1", pawl_inbox_task_key(arrival));
    assert_non_null(pawl_inbox_task_tx(arrival));
    assert_true(inbox_write(f, pawl_inbox_task_tx(arrival), "INSERT INTO {orders} VALUES (1)"));
    assert_ok(pawl_tx_enqueue(pawl_inbox_task_tx(arrival), &next, NULL, &err), &err);
    assert_int_equal(0, inbox_orders(f));
    inbox_done(arrival, "thanks");
    assert_int_equal(1, inbox_orders(f));
    assert_string_equal("y", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
    const pawl_inbox_record *record = inbox_record(f, "1");
    assert_int_equal(PAWL_INBOX_DONE, record->state);
    assert_int_equal(1, record->attempts);
    assert_int_equal(10, record->max_attempts);
    assert_time(FIXTURE_START.us, record->first_seen);
    assert_time(FIXTURE_START.us, record->processed_at);
    assert_time(FIXTURE_START.us + 2 * DAY_MS * 1000, record->expires_at);
    assert_time(0, record->lease_until);
    assert_null(record->hash);
    assert_int_equal(6, record->response_size);
    assert_memory_equal("thanks", record->response, 6);
    assert_true(fixture_logged(f, PAWL_LOG_INFO, "message 1 processed from shop"));
}

PAWL_TEST(a_duplicate_gets_the_cached_response_and_has_no_transaction)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *again;

    inbox_done(inbox_begin(f, "1", NULL), "thanks");
    fixture_advance(f, MINUTE_MS);
    again = inbox_begin(f, "1", NULL);
    assert_answer(PAWL_INBOX_DUPLICATE, again);
    assert_string_equal("thanks", inbox_response(again));
    assert_null(pawl_inbox_task_tx(again));
    assert_int_equal(0, pawl_inbox_task_fence(again));
    assert_status(PAWL_E_MISUSE, pawl_inbox_task_done(again, NULL, 0, &err), &err);
    assert_status(PAWL_E_MISUSE, pawl_inbox_task_fail(again, NULL, &err), &err);
    const pawl_inbox_record *record = inbox_record(f, "1");
    assert_int_equal(1, record->duplicates);
    assert_time(FIXTURE_START.us + MINUTE_MS * 1000, record->last_seen);
    assert_time(FIXTURE_START.us + 2 * DAY_MS * 1000, record->expires_at);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "duplicate 1 detected from shop"));
}

PAWL_TEST(responses_come_back_byte_by_byte_also_empty_and_none)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    static const char bytes[] = {0, 1, (char)0xff, 0, 'x'};
    size_t size = 0;

    assert_ok(pawl_inbox_task_done(inbox_begin(f, "bytes", NULL), bytes, sizeof bytes, &err), &err);
    inbox_done(inbox_begin(f, "empty", NULL), "");
    inbox_done(inbox_begin(f, "none", NULL), NULL);
    const void *back = pawl_inbox_task_response(inbox_begin(f, "bytes", NULL), &size);
    assert_int_equal(sizeof bytes, size);
    assert_memory_equal(bytes, back, sizeof bytes);
    assert_string_equal("", inbox_response(inbox_begin(f, "empty", NULL)));
    assert_string_equal("-", inbox_response(inbox_begin(f, "none", NULL)));
}

PAWL_TEST(a_rollback_leaves_nothing_but_the_counted_attempt)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_task *arrival = inbox_begin(f, "1", NULL);

    assert_true(inbox_write(f, pawl_inbox_task_tx(arrival), "INSERT INTO {orders} VALUES (1)"));
    inbox_fail(arrival, "no stock");
    assert_null(pawl_inbox_task_tx(arrival));
    assert_int_equal(0, inbox_orders(f));
    assert_int_equal(PAWL_INBOX_SEEN, inbox_record(f, "1")->state);
    assert_int_equal(1, inbox_record(f, "1")->attempts);
    assert_string_equal("no stock", inbox_record(f, "1")->error);
    arrival = inbox_begin(f, "1", NULL);
    assert_answer(PAWL_INBOX_NEW, arrival);
    assert_int_equal(2, pawl_inbox_task_attempt(arrival));
    assert_string_equal("no stock", pawl_inbox_task_error(arrival));
    inbox_let_go(arrival); /* forgotten: rolled back, too */
    arrival = inbox_begin(f, "1", NULL);
    assert_answer(PAWL_INBOX_NEW, arrival);
    assert_int_equal(3, pawl_inbox_task_attempt(arrival));
    inbox_done(arrival, NULL);
    assert_null(inbox_record(f, "1")->error);
}

PAWL_TEST(after_the_last_attempt_it_is_dead_and_refused)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_task *arrival;

    for (int i = 1; i <= 10; i++) {
        arrival = inbox_begin(f, "1", NULL);
        assert_answer(PAWL_INBOX_NEW, arrival);
        assert_int_equal(i, pawl_inbox_task_attempt(arrival));
        inbox_fail(arrival, "no");
    }
    assert_int_equal(PAWL_INBOX_DEAD, inbox_record(f, "1")->state);
    assert_time(0, inbox_record(f, "1")->expires_at);
    arrival = inbox_begin(f, "1", NULL);
    assert_answer(PAWL_INBOX_REJECTED, arrival);
    assert_int_equal(10, pawl_inbox_task_attempt(arrival));
    assert_string_equal("no", pawl_inbox_task_error(arrival));
    assert_null(pawl_inbox_task_tx(arrival));
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "is dead after 10 attempts"));
    fixture_advance(f, 100 * DAY_MS);
    assert_int_equal(0, inbox_clean(f));
}

/* The first attempt may have died with another one: it does not count. */
PAWL_TEST(a_message_that_kills_its_receiver_every_time_ends_as_dead)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_options two = PAWL_INBOX_OPTIONS_INIT;

    two.max_attempts = 2;
    for (int i = 1; i <= 3; i++) {
        /* The record of a killed process: the counted attempt. */
        pawl_inbox_task *dying = inbox_call(f, "1", &two);
        assert_answer(PAWL_INBOX_NEW, dying);
        inbox_let_go(dying);
        assert_answer(PAWL_INBOX_IN_PROGRESS, inbox_begin(f, "1", &two));
        fixture_advance(f, 31 * SECOND_MS);
    }
    assert_int_equal(PAWL_INBOX_PROCESSING, inbox_record(f, "1")->state);
    assert_answer(PAWL_INBOX_REJECTED, inbox_begin(f, "1", &two));
    assert_int_equal(PAWL_INBOX_DEAD, inbox_record(f, "1")->state);
    assert_string_equal("the last attempt did not end", inbox_record(f, "1")->error);
}

PAWL_TEST(a_permanent_failure_makes_it_dead_at_once)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = inbox_begin(f, "1", NULL);

    assert_ok(pawl_inbox_task_fail_permanently(arrival, "malformed", &err), &err);
    assert_status(PAWL_E_MISUSE, pawl_inbox_task_done(arrival, NULL, 0, &err), &err);
    assert_answer(PAWL_INBOX_REJECTED, inbox_begin(f, "1", NULL));
    assert_string_equal("malformed", inbox_record(f, "1")->error);
}

PAWL_TEST(other_content_under_the_same_key_is_a_conflict_and_writes_nothing)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    uint8_t one[PAWL_HASH_SIZE], two[PAWL_HASH_SIZE];
    pawl_inbox_task *arrival = NULL;

    assert_ok(pawl_inbox_hash("one", 3, one, &err), &err);
    assert_ok(pawl_inbox_hash("two", 3, two, &err), &err);
    assert_ok(pawl_inbox_begin(fixture_store(f), "shop", "1", one, NULL, &arrival, &err), &err);
    inbox_fail(arrival, "later");
    pawl_inbox_task_free(arrival);
    fixture_set(f, (pawl_wall){FIXTURE_START.us + MINUTE_MS * 1000});
    for (int done = 0; done < 2; done++) {
        assert_ok(pawl_inbox_begin(fixture_store(f), "shop", "1", two, NULL, &arrival, &err), &err);
        assert_answer(PAWL_INBOX_CONFLICT, arrival);
        assert_string_equal("-", inbox_response(arrival));
        pawl_inbox_task_free(arrival);
        assert_time(FIXTURE_START.us, inbox_record(f, "1")->last_seen);
        assert_int_equal(0, inbox_record(f, "1")->duplicates);
        assert_memory_equal(one, inbox_record(f, "1")->hash, sizeof one);
        fixture_set(f, FIXTURE_START);
        if (!done)
            inbox_done(inbox_begin(f, "1", NULL), "r"); /* without a hash nothing is compared */
    }
    assert_ok(pawl_inbox_begin(fixture_store(f), "shop", "1", one, NULL, &arrival, &err), &err);
    assert_answer(PAWL_INBOX_DUPLICATE, arrival);
    pawl_inbox_task_free(arrival);
}

PAWL_TEST(the_same_id_from_another_source_is_another_message)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = NULL;

    inbox_done(inbox_begin(f, "1", NULL), NULL);
    assert_ok(pawl_inbox_begin(fixture_store(f), "a:b%", "1", NULL, NULL, &arrival, &err), &err);
    assert_answer(PAWL_INBOX_NEW, arrival);
    assert_string_equal("a%3Ab%25:1", pawl_inbox_task_key(arrival));
    pawl_inbox_task_free(arrival);
    assert_answer(PAWL_INBOX_NEW, inbox_begin(f, "One", NULL));
}

/* SQLite has one writer: there the second delivery waits for the write lock, on another thread. */
PAWL_TEST_ON(postgres, while_a_handler_runs_another_delivery_does_not_wait)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *second = NULL;
    pawl_inbox_task *arrival;

    arrival = inbox_begin(f, "1", NULL);
    fixture_advance(f, HOUR_MS); /* the lock lasts as long as the transaction */
    assert_ok(pawl_inbox_begin(fixture_another_store(f), "shop", "1", NULL, NULL, &second, &err),
              &err);
    assert_answer(PAWL_INBOX_IN_PROGRESS, second);
    assert_true(pawl_inbox_task_retry_after_ms(second) >= 1);
    pawl_inbox_task_free(second);
    assert_answer(PAWL_INBOX_IN_PROGRESS, inbox_call(f, "1", NULL));
    assert_int_equal(1, inbox_record(f, "1")->attempts);
    inbox_done(arrival, "r");
    assert_answer(PAWL_INBOX_DUPLICATE, inbox_begin(f, "1", NULL));
}

PAWL_TEST(an_attempt_whose_lease_expired_leaves_no_effect)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = inbox_begin(f, "1", NULL);

    assert_true(inbox_write(f, pawl_inbox_task_tx(arrival), "INSERT INTO {orders} VALUES (1)"));
    /* The fence moves on under it; from inside, since SQLite has one writer. */
    assert_true(
        inbox_write(f, pawl_inbox_task_tx(arrival), "UPDATE {inbox_record} SET fence = fence + 1"));
    assert_status(PAWL_E_LOST, pawl_inbox_task_done(arrival, "r", 1, &err), &err);
    assert_says(&err, "fence");
    assert_int_equal(0, inbox_orders(f));
}

PAWL_TEST(a_failed_statement_of_the_application_affects_no_other_caller)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = inbox_begin(f, "1", NULL);
    pawl_status st;

    assert_true(inbox_write(f, pawl_inbox_task_tx(arrival), "INSERT INTO {orders} VALUES (1)"));
    assert_false(inbox_write(f, pawl_inbox_task_tx(arrival), "INSERT INTO {nowhere} VALUES (1)"));
    st = pawl_inbox_task_done(arrival, "r", 1, &err);
    /* PostgreSQL gives up a transaction with a failed statement, SQLite does not. */
    if (fixture_is_postgres(f))
        assert_status(PAWL_E_TX_RESTART, st, &err);
    else
        assert_ok(st, &err);
    assert_int_equal(fixture_is_postgres(f) ? 0 : 1, inbox_orders(f));
    assert_answer(fixture_is_postgres(f) ? PAWL_INBOX_NEW : PAWL_INBOX_DUPLICATE,
                  inbox_begin(f, "1", NULL));
}

PAWL_TEST(the_transaction_of_a_delivery_is_ended_by_the_delivery_only)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = inbox_begin(f, "1", NULL);
    pawl_inbox_task *second = NULL;
    pawl_message_spec other = queue_message("u", "y");

    assert_status(PAWL_E_MISUSE, pawl_tx_commit_with_ack(pawl_inbox_task_tx(arrival), &err), &err);
    assert_says(&err, "pawl_inbox_task_done");
    assert_status(
        PAWL_E_MISUSE,
        pawl_tx_inbox_begin(pawl_inbox_task_tx(arrival), "shop", "2", NULL, NULL, &second, &err),
        &err);
    if (!fixture_is_postgres(f))
        assert_status(PAWL_E_MISUSE, pawl_outbox_enqueue(fixture_store(f), &other, NULL, &err),
                      &err);
    assert_status(PAWL_E_MISUSE, pawl_inbox_task_renew(arrival, MINUTE_MS, &err), &err);
    inbox_done(arrival, NULL);
    assert_status(PAWL_E_MISUSE, pawl_inbox_task_done(arrival, NULL, 0, &err), &err);
}

PAWL_TEST(an_interrupt_ends_it_and_the_next_delivery_need_not_wait)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = inbox_begin(f, "1", NULL);

    assert_true(inbox_write(f, pawl_inbox_task_tx(arrival), "INSERT INTO {orders} VALUES (1)"));
    pawl_store_interrupt(fixture_store(f));
    assert_status(PAWL_E_INTERRUPTED, pawl_inbox_task_done(arrival, NULL, 0, &err), &err);
    assert_int_equal(0, inbox_orders(f));
    assert_answer(PAWL_INBOX_NEW, inbox_begin(f, "1", NULL));
}

PAWL_TEST(records_are_pruned_after_the_retention)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_options hour = PAWL_INBOX_OPTIONS_INIT;

    hour.keep_ms = HOUR_MS;
    inbox_done(inbox_begin(f, "day", NULL), NULL);
    inbox_done(inbox_begin(f, "hour", &hour), NULL);
    inbox_fail(inbox_begin(f, "seen", NULL), NULL);
    fixture_advance(f, HOUR_MS - 1);
    assert_int_equal(0, inbox_clean(f));
    fixture_advance(f, 1);
    assert_answer(PAWL_INBOX_DUPLICATE, inbox_begin(f, "hour", NULL)); /* until it is cleaned */
    assert_int_equal(1, inbox_clean(f));
    pawl_inbox_task *arrival = inbox_begin(f, "hour", &hour);
    assert_answer(PAWL_INBOX_NEW, arrival);
    inbox_done(arrival, NULL);
    fixture_advance(f, 47 * HOUR_MS - 1);
    assert_answer(PAWL_INBOX_DUPLICATE, inbox_begin(f, "day", NULL));
    assert_int_equal(1, inbox_clean(f));
    fixture_advance(f, 1);
    assert_int_equal(2, inbox_clean(f));
    assert_answer(PAWL_INBOX_NEW, inbox_begin(f, "day", NULL));
}

PAWL_TEST(a_retention_shorter_than_twice_the_retries_is_warned_of_once)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_inbox_options brief = PAWL_INBOX_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    fixture *f = inbox_fixture(NULL);

    assert_false(fixture_logged(f, PAWL_LOG_WARNING, "twice"));
    brief.keep_ms = 2 * HOUR_MS - 1000;
    inbox_let_go(inbox_begin(f, "1", &brief));
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "7199 s"));
    fixture_close(f);
    opts.inbox_keep_ms = DAY_MS;
    opts.inbox_retry_window_ms = 13 * HOUR_MS;
    f = inbox_fixture(&opts);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "senders retry for 46800 s"));
    opts = *fixture_store_options(f);
    opts.inbox_keep_ms = 0;
    pawl_store *store = NULL;
    assert_status(PAWL_E_INVALID, pawl_store_open(fixture_url(f), &opts, &store, &err), &err);
}

PAWL_TEST(bad_arguments_are_refused)
{
    fixture *f = inbox_fixture(NULL);
    pawl_store *store = fixture_store(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_options bad = PAWL_INBOX_OPTIONS_INIT;
    pawl_inbox_task *none = NULL;
    char longest[PAWL_INBOX_KEY_MAX + 2];
    uint8_t hash[PAWL_HASH_SIZE];

    memset(longest, 'x', sizeof longest);
    longest[PAWL_INBOX_KEY_MAX + 1] = '\0';
    assert_status(PAWL_E_INVALID, pawl_inbox_begin(NULL, "a", "b", NULL, NULL, &none, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_begin(store, "", "b", NULL, NULL, &none, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_begin(store, "a", NULL, NULL, NULL, &none, &err),
                  &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_begin(store, "a", longest, NULL, NULL, &none, &err),
                  &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_begin(store, "\xff", "b", NULL, NULL, &none, &err),
                  &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_begin(store, "a", "b", NULL, NULL, NULL, &err), &err);
    bad.max_attempts = 0;
    assert_status(PAWL_E_INVALID, pawl_inbox_begin(store, "a", "b", NULL, &bad, &none, &err), &err);
    bad.max_attempts = 10;
    bad.lease_ms = 0;
    assert_status(PAWL_E_INVALID, pawl_inbox_call(store, "a", "b", NULL, &bad, &none, &err), &err);
    bad.lease_ms = 1;
    bad.keep_ms = -1;
    assert_status(PAWL_E_INVALID, pawl_inbox_call(store, "a", "b", NULL, &bad, &none, &err), &err);
    bad.keep_ms = 0;
    bad.endpoint = longest;
    assert_status(PAWL_E_INVALID, pawl_inbox_call(store, "a", "b", NULL, &bad, &none, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_tx_inbox_begin(NULL, "a", "b", NULL, NULL, &none, &err),
                  &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_hash(NULL, 1, hash, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_task_done(NULL, NULL, 0, &err), &err);
    assert_null(none);
    pawl_inbox_task_free(NULL);
    longest[PAWL_INBOX_KEY_MAX] = '\0';
    assert_ok(pawl_inbox_begin(store, longest, longest, NULL, NULL, &none, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_inbox_task_done(none, NULL, 1, &err), &err);
    pawl_inbox_task_free(none);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {inbox_record}"));
    assert_string_equal("unknown", pawl_inbox_result_name((pawl_inbox_result)9));
}

#if PAWL_TEST_SQLITE
PAWL_TEST(a_store_in_memory_has_an_inbox_too)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_store *store = NULL;
    pawl_inbox_task *arrival = NULL;

    options.deploy_schema = true;
    assert_ok(pawl_store_open("sqlite::memory:", &options, &store, &err), &err);
    assert_ok(pawl_inbox_begin(store, "shop", "1", NULL, NULL, &arrival, &err), &err);
    inbox_done(arrival, "r");
    pawl_inbox_task_free(arrival);
    assert_ok(pawl_inbox_begin(store, "shop", "1", NULL, NULL, &arrival, &err), &err);
    assert_answer(PAWL_INBOX_DUPLICATE, arrival);
    pawl_inbox_task_free(arrival);
    pawl_store_close(store);
}
#endif
