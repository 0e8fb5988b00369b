/* src/base/breaker_test.c - unit tests of the circuit breaker. */
#include "breaker.h"

#include "test.h"

static const pawli_breaker_policy policy = {3, {10, 15, 0}, {100, 400, 0}};

static pawl_mono at_ms(int64_t ms)
{
    return (pawl_mono){ms * 1000};
}

PAWL_TEST(a_failure_delays_the_next_attempt_and_a_success_resets_the_delay)
{
    pawli_breaker breaker;

    pawli_breaker_init(&breaker, &policy);
    assert_true(pawli_breaker_allows(&breaker, at_ms(0)));
    assert_false(pawli_breaker_failed(&breaker, at_ms(0), 0));
    assert_false(pawli_breaker_allows(&breaker, at_ms(9)));
    assert_true(pawli_breaker_allows(&breaker, at_ms(10)));
    assert_false(pawli_breaker_failed(&breaker, at_ms(10), 0));
    assert_false(pawli_breaker_allows(&breaker, at_ms(24)));
    assert_true(pawli_breaker_allows(&breaker, at_ms(25)));
    assert_int_equal(PAWLI_BREAKER_CLOSED, breaker.state);
    assert_false(pawli_breaker_succeeded(&breaker));
    assert_true(pawli_breaker_allows(&breaker, at_ms(0)));
    assert_int_equal(0, breaker.failures);
}

PAWL_TEST(the_breaker_opens_probes_and_opens_for_longer)
{
    pawli_breaker breaker;

    pawli_breaker_init(&breaker, &policy);
    assert_false(pawli_breaker_failed(&breaker, at_ms(0), 0));
    assert_false(pawli_breaker_failed(&breaker, at_ms(0), 0));
    assert_true(pawli_breaker_failed(&breaker, at_ms(0), 0));
    assert_int_equal(PAWLI_BREAKER_OPEN, breaker.state);
    assert_false(pawli_breaker_allows(&breaker, at_ms(99)));
    assert_true(pawli_breaker_allows(&breaker, at_ms(100)));
    assert_int_equal(PAWLI_BREAKER_HALF_OPEN, breaker.state);
    assert_false(pawli_breaker_failed(&breaker, at_ms(100), 0));
    assert_int_equal(PAWLI_BREAKER_OPEN, breaker.state);
    assert_false(pawli_breaker_allows(&breaker, at_ms(299)));
    assert_true(pawli_breaker_allows(&breaker, at_ms(300)));
    assert_true(pawli_breaker_succeeded(&breaker));
    assert_int_equal(PAWLI_BREAKER_CLOSED, breaker.state);
}

PAWL_TEST(a_store_that_has_worked_is_given_time_unless_it_is_the_wrong_one)
{
    static const pawl_status passing[] = {PAWL_E_READ_ONLY, PAWL_E_DENIED, PAWL_E_STORE,
                                          PAWL_E_NO_SCHEMA};
    static const pawl_status lasting[] = {PAWL_E_INVALID, PAWL_E_MISUSE, PAWL_E_INCOMPATIBLE,
                                          PAWL_E_NOT_OURS, PAWL_E_CORRUPT};

    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) {
        assert_true(pawli_store_error_is_final(passing[i], false));
        assert_false(pawli_store_error_is_final(passing[i], true));
    }
    for (size_t i = 0; i < sizeof lasting / sizeof lasting[0]; i++)
        assert_true(pawli_store_error_is_final(lasting[i], true));
    assert_false(pawli_store_error_is_final(PAWL_E_UNAVAILABLE, false));
    assert_false(pawli_store_error_is_final(PAWL_E_IN_DOUBT, false));
}

PAWL_TEST(a_deliverys_pauses_double_from_a_second_to_five_minutes)
{
    static const pawli_breaker_policy usual = {5, {0, 0, 0}, {1000, 300000, PAWL_JITTER_TENTH}};
    static const int64_t seconds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300};
    pawli_breaker breaker;
    int64_t now_ms = 0;

    pawli_breaker_init(&breaker, &usual);
    for (int i = 1; i < 5; i++) {
        assert_false(pawli_breaker_failed(&breaker, at_ms(0), 0));
        assert_true(pawli_breaker_allows(&breaker, at_ms(0)));
    }
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        assert_int_equal(i == 0, pawli_breaker_failed(&breaker, at_ms(now_ms), 0));
        assert_false(pawli_breaker_allows(&breaker, at_ms(now_ms + seconds[i] * 1000 - 1)));
        now_ms += seconds[i] * 1000;
        assert_true(pawli_breaker_allows(&breaker, at_ms(now_ms))); /* one probe */
        assert_int_equal(PAWLI_BREAKER_HALF_OPEN, breaker.state);
    }
    (void)pawli_breaker_failed(&breaker, at_ms(0), 30000);
    assert_int_equal(330000000, breaker.retry_at.us); /* and a tenth of jitter */
}

PAWL_TEST(a_woken_breaker_probes_at_once_and_restarts_with_the_first_pause)
{
    pawli_breaker breaker;

    pawli_breaker_init(&breaker, &policy);
    pawli_breaker_wake(&breaker);
    assert_int_equal(PAWLI_BREAKER_CLOSED, breaker.state);
    for (int i = 0; i < 9; i++)
        (void)pawli_breaker_failed(&breaker, at_ms(0), 0);
    assert_false(pawli_breaker_allows(&breaker, at_ms(399)));
    pawli_breaker_wake(&breaker);
    assert_true(pawli_breaker_allows(&breaker, at_ms(1)));
    assert_int_equal(PAWLI_BREAKER_HALF_OPEN, breaker.state);
    assert_false(pawli_breaker_failed(&breaker, at_ms(1), 0));
    assert_false(pawli_breaker_allows(&breaker, at_ms(100)));
    assert_true(pawli_breaker_allows(&breaker, at_ms(101)));
}

PAWL_TEST(pauses_end_at_the_policys_longest_and_have_jitter)
{
    static const pawli_breaker_policy jittery = {1, {1, 1, 0}, {100, 400, 50}};
    pawli_breaker breaker;

    pawli_breaker_init(&breaker, &jittery);
    for (int i = 0; i < 100; i++)
        (void)pawli_breaker_failed(&breaker, at_ms(0), 0);
    assert_int_equal(400000, breaker.retry_at.us);
    (void)pawli_breaker_failed(&breaker, at_ms(0), 7);
    assert_int_equal(407000, breaker.retry_at.us);
}
