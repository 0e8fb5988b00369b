/*
 * tests/conformance/inbox_suspect_test.c - messages that may have killed their receiver: which of
 * their attempts count, and that they are processed one at a time.
 */
#include "inbox_fixture.h"

#define MESSAGES 12
#define ATTEMPTS 3

static pawl_inbox_options impatient(void)
{
    pawl_inbox_options options = PAWL_INBOX_OPTIONS_INIT;

    options.max_attempts = ATTEMPTS;
    options.suspect_wait_ms = PAWL_SUSPECT_NO_WAIT;
    return options;
}

static pawl_inbox_task *call_message(fixture *f, int message)
{
    const pawl_inbox_options options = impatient();

    return inbox_call(f, test_note("%d", message), &options);
}

/* The records of a killed process: begun attempts without an end. */
static void die(fixture *f, pawl_inbox_task *arrivals[MESSAGES])
{
    for (int i = 0; i < MESSAGES; i++)
        inbox_let_go(arrivals[i]);
    fixture_advance(f, 31 * SECOND_MS);
}

static int64_t attempts_of(fixture *f, int message)
{
    return inbox_record(f, test_note("%d", message))->attempts;
}

/* The killer comes first each time, which is the worst for the others. */
PAWL_TEST(attempts_beside_a_message_that_kills_its_receiver_are_not_counted)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_task *arrivals[MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        arrivals[i] = call_message(f, i);
        assert_answer(PAWL_INBOX_NEW, arrivals[i]);
    }
    die(f, arrivals);
    for (int death = 1; death <= ATTEMPTS; death++) {
        for (int i = 0; i < MESSAGES; i++) {
            arrivals[i] = call_message(f, i);
            assert_answer(i == 0 ? PAWL_INBOX_NEW : PAWL_INBOX_IN_PROGRESS, arrivals[i]);
            assert_int_equal(i > 0, pawl_inbox_task_suspect(arrivals[i]));
            assert_int_equal(i == 0 ? death + 1 : 1, attempts_of(f, i));
        }
        die(f, arrivals);
    }
    assert_answer(PAWL_INBOX_REJECTED, call_message(f, 0));
    for (int i = 1; i < MESSAGES; i++) {
        pawl_inbox_task *arrival = call_message(f, i);
        assert_answer(PAWL_INBOX_NEW, arrival);
        assert_int_equal(2, pawl_inbox_task_attempt(arrival));
        inbox_done(arrival, NULL);
    }
}

PAWL_TEST(a_suspect_waits_until_the_one_before_it_has_ended)
{
    fixture *f = inbox_fixture(NULL);
    pawl_inbox_options options = impatient();
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < 4; i++)
        inbox_let_go(call_message(f, i));
    fixture_advance(f, 31 * SECOND_MS);
    pawl_inbox_task *first = call_message(f, 0);
    assert_answer(PAWL_INBOX_IN_PROGRESS, call_message(f, 1));
    assert_answer(PAWL_INBOX_NEW, call_message(f, 9)); /* not a suspect: it passes */
    /* Of transactions and calls each has its own place. */
    pawl_inbox_task *atomic = inbox_begin(f, "2", &options);
    assert_answer(PAWL_INBOX_NEW, atomic);
    inbox_done(atomic, NULL);
    inbox_fail(first, "no");
    pawl_inbox_task *second = call_message(f, 1);
    assert_answer(PAWL_INBOX_NEW, second);
    assert_answer(PAWL_INBOX_IN_PROGRESS, call_message(f, 3));
    assert_ok(pawl_inbox_task_fail_permanently(second, "no", &err), &err);
    pawl_inbox_task *third = call_message(f, 3);
    assert_answer(PAWL_INBOX_NEW, third);
    inbox_let_go(third);
    options.suspect_wait_ms = PAWL_SUSPECT_NOT_BEGUN;
    assert_true(pawl_inbox_task_suspect(inbox_call(f, "0", &options))); /* failed, and still one */
    assert_answer(PAWL_INBOX_NEW, call_message(f, 0));
    options.suspect_wait_ms = -3;
    assert_status(PAWL_E_INVALID,
                  pawl_inbox_call(fixture_store(f), "shop", "0", NULL, &options, &third, &err),
                  &err);
}

PAWL_TEST(a_suspect_that_fails_has_as_many_attempts_as_any_other_and_one)
{
    fixture *f = inbox_fixture(NULL);

    inbox_let_go(call_message(f, 1));
    fixture_advance(f, 31 * SECOND_MS);
    for (int i = 1; i <= ATTEMPTS; i++) {
        assert_int_equal(i == 1 ? PAWL_INBOX_PROCESSING : PAWL_INBOX_SEEN,
                         inbox_record(f, "1")->state);
        inbox_fail(call_message(f, 1), "no");
    }
    assert_int_equal(PAWL_INBOX_DEAD, inbox_record(f, "1")->state);
    assert_int_equal(ATTEMPTS + 1, attempts_of(f, 1));
    assert_true(inbox_record(f, "1")->suspect);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {inbox}"
                                         " WHERE suspect = (1 = 1) AND status = 'dead'"));
}

PAWL_TEST(a_suspect_that_is_retried_begins_like_any_other)
{
    fixture *f = inbox_fixture(NULL);
    pawl_error err = PAWL_ERROR_INIT;

    inbox_let_go(call_message(f, 1));
    fixture_advance(f, 31 * SECOND_MS);
    assert_ok(pawl_inbox_task_fail_permanently(call_message(f, 1), "no", &err), &err);
    assert_ok(pawl_inbox_retry(fixture_store(f), NULL, NULL, NULL, &err), &err);
    for (int i = 1; i <= ATTEMPTS; i++)
        inbox_fail(call_message(f, 1), "no");
    assert_int_equal(PAWL_INBOX_DEAD, inbox_record(f, "1")->state);
    assert_int_equal(ATTEMPTS, attempts_of(f, 1));
    assert_false(inbox_record(f, "1")->suspect);
}

PAWL_TEST_ON(postgres, the_database_reports_the_duplicate_on_request)
{
    fixture *f = inbox_fixture(NULL);

    inbox_let_go(call_message(f, 1));
    fixture_advance(f, 31 * SECOND_MS);
    assert_string_equal("suspect", fixture_text(f, "SELECT answer FROM {inbox_begin}('shop', '1',"
                                                   " alone => false)"));
    assert_int_equal(1, attempts_of(f, 1));
    assert_string_equal("new", fixture_text(f, "SELECT answer FROM {inbox_begin}('shop', '1')"));
}

/* An attempt whose transaction could not be opened was not made. SQLite has one writer. */
PAWL_TEST_ON(postgres, an_attempt_that_loses_its_lease_before_its_transaction_is_released)
{
    fixture *f = inbox_fixture(NULL);

    fixture_exec(f, "CREATE OR REPLACE FUNCTION {inbox_lease}(source text, id text, fence bigint)"
                    " RETURNS boolean LANGUAGE sql AS 'SELECT false'");
    assert_answer(PAWL_INBOX_IN_PROGRESS, inbox_begin(f, "1", NULL));
    assert_int_equal(0, attempts_of(f, 1));
    assert_int_equal(PAWL_INBOX_SEEN, inbox_record(f, "1")->state);
    assert_answer(PAWL_INBOX_NEW, inbox_call(f, "1", NULL)); /* at once */
}

/* Another delivery has the row for a moment: the attempt waits for it, and continues. */
PAWL_TEST_ON(postgres, the_lock_of_a_key_does_not_stop_the_attempt_that_has_it)
{
    fixture *f = inbox_fixture(NULL);

    int64_t fence = fixture_count(f, "SELECT fence FROM {inbox_begin}('shop', '1')");
    fixture_tx_exec(f, 0, "BEGIN");
    fixture_tx_exec(f, 0, "SELECT {inbox_lock}('shop', '1')");
    assert_string_equal(
        "true", fixture_text(f, "SELECT {inbox_lease}('shop', '1', %lld)::text", (long long)fence));
    assert_string_equal("false", fixture_text(f, "SELECT {inbox_lease}('shop', '1', %lld)::text",
                                              (long long)fence - 1));
    fixture_tx_exec(f, 0, "ROLLBACK");
}
