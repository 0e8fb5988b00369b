/* src/base/fail_test.c - filling in the caller's error. */
#include <string.h>

#include "fail.h"
#include "test.h"
#include "text.h"

PAWL_TEST(a_failure_fills_status_retryable_and_message)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_int_equal(pawli_fail(&err, PAWL_E_BUSY, "file %s is busy", "x"), PAWL_E_BUSY);
    assert_int_equal(err.status, PAWL_E_BUSY);
    assert_true(err.retryable);
    assert_string_equal(err.message, "file x is busy");
    assert_string_equal(err.sqlstate, "");
    assert_int_equal(err.native_code, 0);
}

PAWL_TEST(native_codes_are_kept_and_do_not_linger)
{
    pawl_error err = PAWL_ERROR_INIT;

    (void)pawli_fail_code(&err, PAWL_E_IO, 266, "no");
    assert_int_equal(err.native_code, 266);
    (void)pawli_fail_state(&err, PAWL_E_STORE, "42P01", "no");
    assert_string_equal(err.sqlstate, "42P01");
    assert_int_equal(err.native_code, 0);
}

PAWL_TEST(a_null_error_struct_is_accepted)
{
    assert_int_equal(pawli_fail(NULL, PAWL_E_NOMEM, "x"), PAWL_E_NOMEM);
    assert_int_equal(pawli_fail_code(NULL, PAWL_E_IO, 1, "x"), PAWL_E_IO);
    assert_int_equal(pawli_fail_state(NULL, PAWL_E_STORE, "XX000", "x"), PAWL_E_STORE);
}

PAWL_TEST(a_message_that_is_too_long_is_cut_between_characters)
{
    pawl_error err = PAWL_ERROR_INIT;
    char text[1200];

    for (int shift = 0; shift < 4; shift++) {
        memset(text, 'x', (size_t)shift);
        for (size_t i = (size_t)shift; i + 4 < sizeof text; i += 4)
            memcpy(text + i, "\xf0\x9f\x90\x98", 4);
        text[1100 + shift] = '\0';
        (void)pawli_fail(&err, PAWL_E_INVALID, "%s", text);
        assert_true(pawli_utf8_check(err.message, strlen(err.message), NULL));
        assert_true(strlen(err.message) > 500);
    }
}
