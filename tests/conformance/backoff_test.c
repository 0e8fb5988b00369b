/* tests/conformance/backoff_test.c - when an abandoned message is tried again, and when no more. */
#include <inttypes.h>

#include "queue_fixture.h"

/* Claim the one message, abandon it, and give back how long it has to wait (-1: it is finished). */
static int64_t abandon_once(fixture *f, pawl_work_id id, int64_t delay_ms)
{
    const pawl_message *m = queue_get(f, id);
    const char *destination = pawl_message_destination(m);
    pawl_messages *list = destination
                              ? queue_claim_for(f, queue_owner(1), MINUTE_MS, 1, destination)
                              : fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    int64_t now = fixture_now(f).us;

    assert_int_equal(1, pawl_messages_count(list));
    assert_int_equal(1, queue_abandon(f, queue_owner(1), list, "again", delay_ms));
    m = queue_get(f, id);
    if (pawl_message_state(m) == PAWL_STATE_FAILED)
        return -1;
    assert_int_equal(PAWL_STATE_SCHEDULED, pawl_message_state(m));
    return pawl_message_next_attempt_at(m).us - now;
}

/* Just before its time it is not claimable; at its time it is. */
static void wait_exactly(fixture *f, int64_t wait_us)
{
    fixture_set(f, (pawl_wall){fixture_now(f).us + wait_us - 1000});
    assert_int_equal(0, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
    fixture_set(f, (pawl_wall){fixture_now(f).us + 1000});
}

PAWL_TEST(a_local_message_waits_1_2_4_8_16_32_60_60_60_seconds_and_fails_at_the_tenth)
{
    static const int seconds[] = {1, 2, 4, 8, 16, 32, 60, 60, 60};
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");
    const pawl_message *m;

    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        int64_t wait_us = abandon_once(f, id, PAWL_DELAY_BY_POLICY);

        assert_int_equal(seconds[i] * 1000000, wait_us);
        assert_int_equal(i + 1, pawl_message_retries(queue_get(f, id)));
        wait_exactly(f, wait_us);
    }
    assert_int_equal(-1, abandon_once(f, id, PAWL_DELAY_BY_POLICY));
    m = queue_get(f, id);
    assert_int_equal(10, pawl_message_retries(m));
    assert_string_equal("again", pawl_message_last_error(m));
    assert_non_null(pawl_message_processed_by(m));
    assert_time(fixture_now(f).us, pawl_message_finished_at(m));
    queue_check(f);
}

PAWL_TEST(where_all_sends_count_delays_double_from_2_seconds_and_the_sixth_fails)
{
    static const int seconds[] = {2, 4, 8, 16, 32};
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;

    message.destination = "http://localhost/";
    message.count = PAWL_COUNT_ALL;
    id = queue_send(f, &message).work_id;
    assert_int_equal(PAWL_COUNT_ALL, pawl_message_count(queue_get(f, id)));
    assert_int_equal(6, pawl_message_max_attempts(queue_get(f, id)));
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        int64_t wait_us = abandon_once(f, id, PAWL_DELAY_BY_POLICY);

        assert_in_range(wait_us, seconds[i] * 1000000, seconds[i] * 1000000 + 500000);
        fixture_set(f, (pawl_wall){fixture_now(f).us + wait_us + 1000});
    }
    assert_int_equal(-1, abandon_once(f, id, PAWL_DELAY_BY_POLICY));
    assert_int_equal(6, pawl_message_retries(queue_get(f, id)));
}

PAWL_TEST(count_every_send_is_not_encoded_as_a_negative_number)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");

    message.destination = "http://localhost/";
    message.count = PAWL_COUNT_ALL;
    pawl_work_id id = queue_send(f, &message).work_id;
    assert_int_equal(
        6, fixture_count(f, "SELECT max_attempts FROM {message} WHERE id = %" PRId64, id.value));
    assert_true(fixture_refuses(f, "UPDATE {body} SET max_attempts = -6"));
    assert_true(fixture_refuses(f, "UPDATE {body} SET max_attempts = 0"));
}

PAWL_TEST(a_message_asks_for_either_way_of_counting_or_for_none)
{
    static const struct {
        pawl_count count;
        const char *column;
    } cases[] = {
        {PAWL_COUNT_DEFAULT, "unset"}, {PAWL_COUNT_ANSWERED, "no"}, {PAWL_COUNT_ALL, "yes"}};
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pawl_message_spec message = queue_message("t", "x");
        message.count = cases[i].count;
        pawl_work_id local = queue_send(f, &message).work_id; /* it has no sends */
        message.destination = "http://localhost/";
        pawl_work_id id = queue_send(f, &message).work_id;
        assert_int_equal(PAWL_COUNT_DEFAULT, pawl_message_count(queue_get(f, local)));
        assert_int_equal(cases[i].count, pawl_message_count(queue_get(f, id)));
        assert_string_equal(cases[i].column,
                            fixture_text(f,
                                         "SELECT CASE WHEN count_all THEN 'yes' WHEN NOT count_all "
                                         "THEN 'no' ELSE 'unset' END FROM {message} WHERE id = "
                                         "%" PRId64,
                                         id.value));
        pawl_messages *list = queue_claim_for(f, queue_owner(1), MINUTE_MS, 1, "http://localhost/");
        assert_int_equal(cases[i].count, pawl_message_count(pawl_messages_at(list, 0)));
        queue_ack(f, queue_owner(1), list);
    }
    queue_check(f);
}

PAWL_TEST_ON(postgres, in_sql_it_is_an_argument)
{
    fixture *f = fixture_open(NULL);

    fixture_exec(f, "SELECT {enqueue}('a', 'x'::text, destination => 'd', count_all => true)");
    fixture_exec(f, "SELECT {enqueue}('b', 'x'::text, destination => 'd', count_all => false)");
    fixture_exec(f, "SELECT {enqueue}('c', 'x'::text, count_all => true)");
    assert_string_equal("a 6 t 00:00:02, b 0 f -, c 10 - -",
                        fixture_text(f, "SELECT string_agg(concat_ws(' ', topic, max_attempts,"
                                        " coalesce(left(count_all::text, 1), '-'),"
                                        " coalesce(retry_base::text, '-')), ', ' ORDER BY id)"
                                        " FROM {message}"));
    assert_true(fixture_refuses(f, "SELECT {enqueue}('t', 'x'::text, destination => 'd',"
                                   " max_attempts => -1)"));
    assert_true(fixture_refuses(f, "SELECT {enqueue}('t', 'x'::text, destination => 'd',"
                                   " max_attempts => 0, count_all => true)"));
}

PAWL_TEST(where_all_sends_count_a_delay_is_five_minutes_at_most)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;
    int64_t wait_us = 0;

    message.destination = "http://localhost/";
    message.count = PAWL_COUNT_ALL;
    message.max_attempts = 12;
    id = queue_send(f, &message).work_id;
    for (int i = 0; i < 11; i++) {
        wait_us = abandon_once(f, id, PAWL_DELAY_BY_POLICY);
        fixture_set(f, (pawl_wall){fixture_now(f).us + wait_us + 1000});
    }
    assert_in_range(wait_us, 300 * 1000000, 300 * 1000000 + 500000);
}

PAWL_TEST(a_message_with_a_destination_is_retried_until_it_expires)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_error err = PAWL_ERROR_INIT;
    size_t expired = 0;
    int sends = 0;

    message.destination = "http://localhost/";
    pawl_work_id id = queue_send(f, &message).work_id;
    assert_int_equal(0, pawl_message_max_attempts(queue_get(f, id)));
    while (fixture_now(f).us < FIXTURE_START.us + DAY_MS * 1000) {
        int64_t nominal_us = sends < 11 ? (INT64_C(2000000) << sends) : INT64_C(3600000000);
        int64_t wait_us = abandon_once(f, id, PAWL_DELAY_BY_POLICY);

        if (nominal_us > INT64_C(3600000000))
            nominal_us = INT64_C(3600000000);
        assert_in_range(wait_us, nominal_us, nominal_us + nominal_us / 10);
        fixture_set(f, (pawl_wall){fixture_now(f).us + wait_us + 1000});
        sends++;
    }
    assert_in_range(sends, 31, 34); /* the more jitter, the fewer */
    assert_ok(pawl_queue_expire(fixture_store(f), &expired, NULL, &err), &err);
    assert_int_equal(1, expired);
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, id));
    assert_string_equal("again", pawl_message_last_error(queue_get(f, id)));
    assert_int_equal(sends, pawl_message_retries(queue_get(f, id)));
    queue_check(f);
}

PAWL_TEST(jitter_spreads_messages_that_are_abandoned_together)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");

    message.destination = "http://localhost/";
    for (int i = 0; i < 20; i++)
        queue_send(f, &message);
    assert_int_equal(
        20, queue_abandon(f, queue_owner(1),
                          queue_claim_for(f, queue_owner(1), MINUTE_MS, 20, message.destination),
                          NULL, PAWL_DELAY_BY_POLICY));
    assert_true(fixture_count(f, "SELECT count(DISTINCT run_at) FROM {queue}") > 5);
    assert_int_equal(20, fixture_count(f,
                                       "SELECT count(*) FROM {queue} WHERE {us:run_at}"
                                       " BETWEEN %lld AND %lld",
                                       (long long)(FIXTURE_START.us + 2000000),
                                       (long long)(FIXTURE_START.us + 2200000)));
}

PAWL_TEST(a_message_brings_its_own_policy_and_attempts)
{
    static const int milliseconds[] = {300, 600, 1000, 1000};
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;

    message.backoff = (pawl_backoff){300, 1000, 0};
    message.max_attempts = 5;
    id = queue_send(f, &message).work_id;
    for (size_t i = 0; i < COUNT_OF(milliseconds); i++) {
        int64_t wait_us = abandon_once(f, id, PAWL_DELAY_BY_POLICY);

        assert_int_equal(milliseconds[i] * 1000, wait_us);
        wait_exactly(f, wait_us);
    }
    assert_int_equal(-1, abandon_once(f, id, PAWL_DELAY_BY_POLICY));
}

PAWL_TEST(the_stores_policies_are_configurable)
{
    pawl_store_options store = PAWL_STORE_OPTIONS_INIT;
    fixture_options opts = {.store = &store};
    pawl_message_spec remote = queue_message("t", "x");
    fixture *f;
    pawl_work_id id;

    store.backoff_local = (pawl_backoff){50, 100, 0};
    store.backoff_remote = (pawl_backoff){7000, 9000, 0};
    f = fixture_open(&opts);
    id = fixture_send(f, "t", "x");
    assert_int_equal(50000, abandon_once(f, id, PAWL_DELAY_BY_POLICY));
    fixture_advance(f, 50);
    assert_int_equal(100000, abandon_once(f, id, PAWL_DELAY_BY_POLICY));
    remote.destination = "http://localhost/";
    id = queue_send(f, &remote).work_id;
    assert_int_equal(7000000, abandon_once(f, id, PAWL_DELAY_BY_POLICY));
}

PAWL_TEST(an_explicit_delay_replaces_the_policy_and_still_counts)
{
    fixture *f = fixture_open(NULL);
    pawl_work_id id = fixture_send(f, "t", "x");

    assert_int_equal(1000, abandon_once(f, id, 1));
    fixture_advance(f, 1);
    assert_int_equal(HOUR_MS * 1000, abandon_once(f, id, HOUR_MS));
    assert_int_equal(2, pawl_message_retries(queue_get(f, id)));
    fixture_advance(f, HOUR_MS);
    /* The policy applies to the number of attempts, also after an explicit delay. */
    assert_int_equal(4000000, abandon_once(f, id, PAWL_DELAY_BY_POLICY));
}

PAWL_TEST(an_explicit_delay_does_not_save_the_last_attempt)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;

    message.max_attempts = 1;
    id = queue_send(f, &message).work_id;
    assert_int_equal(-1, abandon_once(f, id, 5000));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, id));
}

PAWL_TEST(many_attempts_do_not_overflow_the_delay)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id id;

    message.max_attempts = 1000;
    id = queue_send(f, &message).work_id;
    for (int i = 0; i < 70; i++) {
        int64_t wait_us = abandon_once(f, id, PAWL_DELAY_BY_POLICY);

        assert_in_range(wait_us, 1000000, 60000000);
        fixture_set(f, (pawl_wall){fixture_now(f).us + wait_us});
    }
}

PAWL_TEST(a_batch_of_first_and_last_attempts_goes_both_ways)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec last = queue_message("t", "last");
    pawl_work_id ending, staying;

    last.max_attempts = 1;
    ending = queue_send(f, &last).work_id;
    staying = fixture_send(f, "t", "stays");
    assert_int_equal(2, queue_abandon(f, queue_owner(1),
                                      fixture_claim(f, queue_owner(1), MINUTE_MS, 2), "both",
                                      PAWL_DELAY_BY_POLICY));
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, ending));
    assert_int_equal(PAWL_STATE_SCHEDULED, fixture_state(f, staying));
    queue_check(f);
}

/* The policy that the issue was about, and the longest one that is legal. */
PAWL_TEST(a_long_base_is_capped_at_every_attempt)
{
    static const pawl_backoff policies[] = {{6 * HOUR_MS, 6 * HOUR_MS, 0},
                                            {6 * HOUR_MS, 30 * DAY_MS, 0},
                                            {30 * DAY_MS, 30 * DAY_MS, 30 * DAY_MS}};
    static const int retries[] = {0, 1, 29, 30, 31, 62, 63, 64, 998};
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(policies) * COUNT_OF(retries); i++) {
        const pawl_backoff *policy = &policies[i / COUNT_OF(retries)];
        int before = retries[i % COUNT_OF(retries)];
        int64_t least_ms = pawl_backoff_delay_ms(policy, before, 0), wait_us;
        pawl_message_spec message = queue_message("t", "x");
        pawl_work_id id;

        message.max_attempts = 1000;
        message.backoff = *policy;
        id = queue_send(f, &message).work_id;
        fixture_exec(f, "UPDATE {queue} SET retries = %d WHERE id = %lld", before,
                     (long long)id.value);
        wait_us = abandon_once(f, id, PAWL_DELAY_BY_POLICY);
        assert_in_range(wait_us, least_ms * 1000, (least_ms + policy->jitter_ms) * 1000);
        assert_int_equal(1, queue_cancel(f, id));
    }
}
