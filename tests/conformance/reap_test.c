/* tests/conformance/reap_test.c - leases that ran out. */
#include "queue_fixture.h"

PAWL_TEST(reap_recovers_expired_leases_and_nothing_else)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id expired = fixture_send(f, "t", "expired");
    pawl_work_id receipt, ready = queue_send_after(f, "t", "ready", HOUR_MS);
    const pawl_message *m;

    fixture_claim(f, queue_owner(1), 10 * SECOND_MS, 1);
    receipt = fixture_send(f, "t", "held");
    fixture_claim(f, queue_owner(2), 20 * SECOND_MS, 1);
    fixture_advance(f, 10 * SECOND_MS - 1);
    assert_int_equal(0, queue_reap(f));
    fixture_advance(f, 2);
    assert_int_equal(1, queue_reap(f));
    m = queue_get(f, expired);
    assert_int_equal(PAWL_STATE_READY, pawl_message_state(m));
    assert_true(pawl_owner_is_zero(pawl_message_owner(m)));
    assert_time(0, pawl_message_lease_until(m));
    assert_time(fixture_now(f).us, pawl_message_next_attempt_at(m));
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, receipt));
    assert_int_equal(0, pawl_message_retries(queue_get(f, ready)));
    assert_int_equal(0, queue_reap(f));
    queue_check(f);
}

PAWL_TEST(a_lease_ends_at_its_end)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "x");
    fixture_claim(f, queue_owner(1), SECOND_MS, 1);
    fixture_set(f, (pawl_wall){FIXTURE_START.us + 999000});
    assert_int_equal(0, queue_reap(f));
    fixture_set(f, (pawl_wall){FIXTURE_START.us + 1000000});
    assert_int_equal(1, queue_reap(f));
}

PAWL_TEST(reap_counts_the_attempt_and_says_why)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    const pawl_message *m;

    fixture_claim(f, queue_owner(1), SECOND_MS, 1);
    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(1, queue_reap(f));
    m = queue_get(f, id);
    assert_int_equal(1, pawl_message_retries(m));
    assert_non_null(pawl_message_last_error(m));
    m = pawl_messages_at(fixture_claim(f, queue_owner(2), SECOND_MS, 1), 0);
    assert_non_null(m);
    assert_int_equal(2, pawl_message_attempt(m));
}

PAWL_TEST(a_message_that_kills_its_worker_ends_as_failed)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "poison");
    const pawl_message *m;
    pawl_work_id id;

    message.max_attempts = 3;
    id = queue_send(f, &message).work_id;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(1, pawl_messages_count(fixture_claim(f, queue_owner(i), SECOND_MS, 1)));
        fixture_advance(f, 2 * SECOND_MS);
        assert_int_equal(1, queue_reap(f));
    }
    m = queue_get(f, id);
    assert_int_equal(PAWL_STATE_FAILED, pawl_message_state(m));
    assert_int_equal(3, pawl_message_retries(m));
    assert_non_null(pawl_message_last_error(m));
    assert_time(fixture_now(f).us, pawl_message_finished_at(m));
    assert_int_equal(0, pawl_messages_count(fixture_claim(f, queue_owner(1), SECOND_MS, 1)));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {claim}"));
    queue_check(f);
}

PAWL_TEST(reaping_and_abandoning_count_together)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;

    message.max_attempts = 3;
    id = queue_send(f, &message).work_id;
    fixture_claim(f, queue_owner(1), SECOND_MS, 1);
    fixture_advance(f, 2 * SECOND_MS);
    queue_reap(f);
    queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), SECOND_MS, 1), NULL, 1);
    fixture_advance(f, 1);
    fixture_claim(f, queue_owner(1), SECOND_MS, 1);
    fixture_advance(f, 2 * SECOND_MS);
    assert_int_equal(1, queue_reap(f));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, id));
}

PAWL_TEST(a_renewed_lease_survives_the_end_of_the_first)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_messages *list = fixture_claim(f, queue_owner(1), 10 * SECOND_MS, 1);

    for (int i = 0; i < 5; i++) {
        fixture_advance(f, 6 * SECOND_MS);
        assert_int_equal(1, queue_renew(f, queue_owner(1), list, 10 * SECOND_MS));
        assert_int_equal(0, queue_reap(f));
    }
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, id));
    fixture_advance(f, 10 * SECOND_MS - 1);
    assert_int_equal(0, queue_reap(f));
    fixture_advance(f, 1);
    assert_int_equal(1, queue_reap(f));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
}

PAWL_TEST(a_lease_that_was_made_shorter_ends_sooner)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    pawl_messages *list = fixture_claim(f, queue_owner(1), HOUR_MS, 1);

    assert_int_equal(1, queue_renew(f, queue_owner(1), list, 10 * SECOND_MS));
    fixture_advance(f, 10 * SECOND_MS - 1);
    assert_int_equal(0, queue_reap(f));
    fixture_advance(f, 1);
    assert_int_equal(1, queue_reap(f));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
}

PAWL_TEST(of_one_claim_some_are_renewed_and_some_are_not)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list;
    pawl_receipt renewed[2];

    for (int i = 0; i < 5; i++)
        fixture_send(f, "t", test_note("%d", i));
    list = fixture_claim(f, queue_owner(1), 10 * SECOND_MS, 5);
    renewed[0] = fixture_receipt(list, 1);
    renewed[1] = fixture_receipt(list, 3);
    fixture_advance(f, 5 * SECOND_MS);
    assert_ok(
        pawl_queue_renew(fixture_store(f), queue_owner(1), renewed, 2, 10 * SECOND_MS, NULL, &err),
        &err);
    assert_ok(pawl_queue_ack(fixture_store(f), queue_owner(1), queue_receipts(list), 1, NULL, &err),
              &err);
    fixture_advance(f, 6 * SECOND_MS);
    assert_int_equal(2, queue_reap(f));
    assert_string_equal("2 4", queue_payloads(fixture_claim(f, queue_owner(2), HOUR_MS, 10)));
    fixture_advance(f, 5 * SECOND_MS);
    assert_int_equal(2, queue_reap(f));
    assert_string_equal("1 3", queue_payloads(fixture_claim(f, queue_owner(2), HOUR_MS, 10)));
    assert_int_equal(0, queue_ack(f, queue_owner(1), list));
    queue_check(f);
}

PAWL_TEST(reap_never_changes_finished_messages)
{
    static const pawl_state ends[] = {PAWL_STATE_DONE, PAWL_STATE_FAILED};
    fixture *f = fixture_open(NULL);
    pawl_work_id ids[2], cancelled;

    for (size_t i = 0; i < COUNT_OF(ends); i++)
        ids[i] = queue_make(f, "t", "x", ends[i]);
    cancelled = queue_make(f, "t", "x", PAWL_STATE_RUNNING);
    assert_int_equal(1, queue_cancel(f, cancelled));
    fixture_advance(f, DAY_MS);
    assert_int_equal(0, queue_reap(f));
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        assert_int_equal(ends[i], fixture_state(f, ids[i]));
    assert_int_equal(PAWL_STATE_CANCELLED, fixture_state(f, cancelled));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {claim}"));
}

PAWL_TEST(released_or_abandoned_messages_are_not_reaped_for_their_old_lease)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id first = fixture_send(f, "t", "1");
    pawl_work_id second = fixture_send(f, "t", "2");

    queue_release(f, queue_owner(1), fixture_claim(f, queue_owner(1), SECOND_MS, 1));
    queue_abandon(f, queue_owner(1), fixture_claim(f, queue_owner(1), SECOND_MS, 1), NULL, HOUR_MS);
    fixture_claim(f, queue_owner(2), HOUR_MS, 10);
    fixture_advance(f, MINUTE_MS);
    assert_int_equal(0, queue_reap(f));
    assert_int_equal(1, pawl_message_retries(queue_get(f, first)) +
                            pawl_message_retries(queue_get(f, second)));
    queue_check(f);
}

PAWL_TEST(every_expired_lease_is_reaped_in_a_few_calls)
{
    fixture *f = fixture_open(NULL);
    size_t total = 0, changed;

    for (int i = 0; i < 300; i++)
        fixture_send(f, "t", "x");
    for (int i = 0; i < 150; i++)
        fixture_claim(f, queue_owner(i), SECOND_MS, 2);
    fixture_advance(f, MINUTE_MS);
    while ((changed = queue_reap(f)) > 0)
        total += changed;
    assert_int_equal(300, total);
    assert_int_equal(300, fixture_count(f, "SELECT count(*) FROM {message} WHERE state = 0"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {claim}"));
    queue_check(f);
}

/* How many messages one claim by pawl's SQL function takes. */
static int64_t claim_in_sql(fixture *f, int owner)
{
    return fixture_count(f,
                         "SELECT count(*) FROM {claim}('00000000-0000-0000-0000-00000000000%d',"
                         " interval '10 seconds')",
                         owner);
}

/* A client that only speaks SQL has no worker that reaps. */
PAWL_TEST_ON(postgres, a_claim_in_sql_reaps_when_it_finds_nothing)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "x");
    assert_int_equal(1, claim_in_sql(f, 1));
    assert_int_equal(0, claim_in_sql(f, 2));
    fixture_advance(f, 10 * SECOND_MS);
    assert_int_equal(1, claim_in_sql(f, 2));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {claim}"));
    queue_check(f);
}

/* Where there is always something to claim. The chance to fail without a fault is 0.95 ^ 600. */
PAWL_TEST_ON(postgres, a_claim_in_sql_reaps_periodically_although_it_finds_something)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id lost;

    lost = fixture_send(f, "t", "lost");
    fixture_claim(f, queue_owner(1), 10 * SECOND_MS, 1);
    fixture_advance(f, 10 * SECOND_MS);
    for (int i = 0; i < 610; i++)
        fixture_send(f, "t", "other");
    for (int i = 0; i < 600 && pawl_message_retries(queue_get(f, lost)) == 0; i++)
        assert_int_equal(1, claim_in_sql(f, 2));
    assert_int_equal(1, pawl_message_retries(queue_get(f, lost)));
}

/* The same for a loop of claims in C, on both engines. */
PAWL_TEST(a_claim_that_may_reap_does_so_when_it_finds_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;

    fixture_send(f, "t", "x");
    fixture_claim(f, queue_owner(1), 10 * SECOND_MS, 1);
    fixture_advance(f, 10 * SECOND_MS);
    assert_int_equal(
        0, pawl_messages_count(queue_claim(f, queue_owner(2), 10 * SECOND_MS, 1, &options)));
    options.reap = true;
    assert_int_equal(
        1, pawl_messages_count(queue_claim(f, queue_owner(2), 10 * SECOND_MS, 1, &options)));
    queue_check(f);
}

PAWL_TEST(a_claim_that_may_reap_does_so_periodically_although_it_finds_something)
{
    fixture *f = fixture_open(NULL);
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_work_id lost = fixture_send(f, "t", "lost");

    options.reap = true;
    fixture_claim(f, queue_owner(1), 10 * SECOND_MS, 1);
    fixture_advance(f, 10 * SECOND_MS);
    for (int i = 0; i < 20; i++) {
        fixture_send(f, "t", "other");
        assert_int_equal(0, pawl_message_retries(queue_get(f, lost)));
        assert_int_equal(
            1, pawl_messages_count(queue_claim(f, queue_owner(2), MINUTE_MS, 1, &options)));
    }
    assert_int_equal(1, pawl_message_retries(queue_get(f, lost)));
    queue_check(f);
}
