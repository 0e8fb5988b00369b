/* src/base/status_test.c - the status table: complete, consistent, total. */
#include <stdio.h>
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

PAWL_TEST(lease_errors_have_exit_codes_of_their_own)
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

PAWL_TEST(caller_errors_are_not_retryable)
{
    assert_false(pawl_status_retryable(PAWL_E_INVALID));
    assert_false(pawl_status_retryable(PAWL_E_CONFLICT));
    assert_true(pawl_status_retryable(PAWL_E_BUSY));
    assert_true(pawl_status_retryable(PAWL_E_IN_DOUBT));
}

/* What is printed for an error. */
static const char *printed(const pawl_error *err)
{
    static char text[1024];
    FILE *to = fmemopen(text, sizeof text, "w");

    assert_non_null(to);
    pawl_error_print(to, err);
    assert_int_equal(fclose(to), 0);
    return text;
}

PAWL_TEST(an_error_is_printed_with_its_name_its_message_and_the_next_step)
{
    pawl_error busy = {PAWL_E_BUSY, true, 5, "", "the database is locked"};
    pawl_error invalid = {PAWL_E_INVALID, false, 0, "", "the topic is empty"};
    pawl_error doubt = {PAWL_E_IN_DOUBT, true, 0, "", "no answer to COMMIT"};

    assert_string_equal(printed(&busy), "PAWL_E_BUSY: the database is locked "
                                        "(retryable: the same call may succeed later)\n");
    assert_string_equal(printed(&invalid), "PAWL_E_INVALID: the topic is empty (not retryable)\n");
    assert_string_equal(printed(&doubt), "PAWL_E_IN_DOUBT: no answer to COMMIT "
                                         "(in doubt: the call may have taken effect)\n");
}

PAWL_TEST(an_error_without_a_message_is_printed_as_its_status)
{
    pawl_error none = PAWL_ERROR_INIT;
    pawl_error nomem = {PAWL_E_NOMEM, true, 0, "", ""};

    assert_string_equal(printed(&none), "PAWL_OK: done\n");
    assert_string_equal(printed(NULL), "PAWL_OK: done\n");
    assert_string_equal(printed(&nomem), "PAWL_E_NOMEM: out of memory "
                                         "(retryable: the same call may succeed later)\n");
}

PAWL_TEST(an_error_is_printed_as_one_line_for_any_message)
{
    pawl_error err = {PAWL_E_INVALID, false, 0, "", "topic 'a\nPAWL_OK: done\r\x1b[31m'"};

    assert_string_equal(printed(&err),
                        "PAWL_E_INVALID: topic 'a PAWL_OK: done  [31m' (not retryable)\n");
}
