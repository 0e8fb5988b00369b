/* src/base/status_test.c - the status table: complete, consistent, total. */
#include <string.h>

#include "test.h"

PAWL_TEST(every_status_has_a_name_a_text_and_codes)
{
    for (int i = 0; i < PAWL_STATUS_COUNT; i++) {
        pawl_status status = (pawl_status)i;
        assert_int_equal(strncmp(pawl_status_name(status), "PAWL_", 5), 0);
        assert_true(strlen(pawl_status_text(status)) > 3);
        assert_in_range(pawl_status_http(status), 200, 599);
        assert_in_range(pawl_status_exit(status), 0, 255);
    }
}

PAWL_TEST(only_ok_exits_with_zero)
{
    assert_int_equal(pawl_status_exit(PAWL_OK), 0);
    for (int i = 1; i < PAWL_STATUS_COUNT; i++)
        assert_int_not_equal(pawl_status_exit((pawl_status)i), 0);
}

PAWL_TEST(in_doubt_has_an_exit_code_of_its_own)
{
    for (int i = 0; i < PAWL_STATUS_COUNT; i++)
        if (i != PAWL_E_IN_DOUBT)
            assert_int_not_equal(pawl_status_exit((pawl_status)i),
                                 pawl_status_exit(PAWL_E_IN_DOUBT));
}

PAWL_TEST(held_and_lost_have_exit_codes_of_their_own)
{
    for (int i = 0; i < PAWL_STATUS_COUNT; i++) {
        if (i != PAWL_E_HELD)
            assert_int_not_equal(pawl_status_exit((pawl_status)i), pawl_status_exit(PAWL_E_HELD));
        if (i != PAWL_E_LOST)
            assert_int_not_equal(pawl_status_exit((pawl_status)i), pawl_status_exit(PAWL_E_LOST));
    }
}

PAWL_TEST(a_number_outside_the_table_is_unknown_and_not_retryable)
{
    assert_string_equal(pawl_status_name((pawl_status)9999), "unknown status");
    assert_string_equal(pawl_status_text((pawl_status)-1), "unknown status");
    assert_false(pawl_status_retryable((pawl_status)9999));
}

PAWL_TEST(what_the_caller_got_wrong_is_not_retryable)
{
    assert_false(pawl_status_retryable(PAWL_E_INVALID));
    assert_false(pawl_status_retryable(PAWL_E_CONFLICT));
    assert_true(pawl_status_retryable(PAWL_E_BUSY));
    assert_true(pawl_status_retryable(PAWL_E_IN_DOUBT));
}
