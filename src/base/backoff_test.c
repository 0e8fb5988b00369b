/* src/base/backoff_test.c - the delay formula. */
#include "test.h"

PAWL_TEST(local_delays_double_up_to_a_minute)
{
    static const int64_t expected[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    pawl_backoff policy = PAWL_BACKOFF_LOCAL;

    for (int i = 0; i < 8; i++)
        assert_int_equal(pawl_backoff_delay_ms(&policy, i, 12345), expected[i]);
}

PAWL_TEST(jitter_is_added_and_bounded)
{
    pawl_backoff policy = PAWL_BACKOFF_ALL;

    assert_int_equal(pawl_backoff_delay_ms(&policy, 0, 0), 2000);
    assert_int_equal(pawl_backoff_delay_ms(&policy, 0, 500), 2500);
    assert_int_equal(pawl_backoff_delay_ms(&policy, 0, 501), 2000);
    for (uint64_t random = 0; random < 5000; random += 7)
        assert_in_range(pawl_backoff_delay_ms(&policy, 3, random), 16000, 16500);
}

PAWL_TEST(remote_delays_double_to_an_hour_with_a_tenth_of_jitter)
{
    pawl_backoff policy = PAWL_BACKOFF_REMOTE;

    assert_int_equal(pawl_backoff_delay_ms(&policy, 0, 200), 2200);
    assert_int_equal(pawl_backoff_delay_ms(&policy, 0, 201), 2000);
    assert_int_equal(pawl_backoff_delay_ms(&policy, 10, 0), 2048000);
    assert_int_equal(pawl_backoff_delay_ms(&policy, 11, 0), 3600000);
    assert_int_equal(pawl_backoff_delay_ms(&policy, 1000, 360000), 3960000);
}

PAWL_TEST(extreme_numbers_do_not_overflow)
{
    pawl_backoff policy = {INT64_MAX / 2, INT64_MAX - 10, 0};

    assert_int_equal(pawl_backoff_delay_ms(&policy, 1000000, 0), INT64_MAX - 10);
    policy = (pawl_backoff){1000, 60000, 0};
    assert_int_equal(pawl_backoff_delay_ms(&policy, 2147483647, 0), 60000);
}
