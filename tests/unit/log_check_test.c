/* tests/unit/log_check_test.c - the check of log records finds what is not a field. */
#include "log_check.h"
#include "test.h"

#include <stdlib.h>

#define ID "01020000-0000-0000-0000-000000000000"

static void expect_found(const char *expected, const char *message, const pawl_log_field *field)
{
    pawl_log_record record = {sizeof record, PAWL_LOG_INFO, "area", message, field, field != NULL};
    char *found = log_check(&record);

    if (expected)
        assert_string_equal(expected, found);
    else
        assert_null(found);
    free(found);
}

PAWL_TEST(ids_numbers_and_quoted_texts_without_a_field_are_found)
{
    expect_found(ID, "message " ID " enqueued", NULL);
    expect_found("3", "reaped 3 expired leases", NULL);
    expect_found("'nightly'", "job 'nightly' was created", NULL);
    expect_found("503", "rejected with HTTP 503: full", NULL);
    expect_found("12", "attempt 1 of 12", &(pawl_log_field){"attempt", "1", true});
}

PAWL_TEST(a_value_that_is_a_field_is_not_found)
{
    expect_found(NULL, "message " ID " enqueued", &(pawl_log_field){"message_id", ID, false});
    expect_found(NULL, "reaped 3 expired leases", &(pawl_log_field){"count", "3", true});
    expect_found(NULL, "job 'a b' was created", &(pawl_log_field){"job", "a\nb", false});
    expect_found(NULL, "topic 't', attempts", &(pawl_log_field){"topic", "t", false});
    expect_found(NULL, "it failed: error 7 in 'x'",
                 &(pawl_log_field){"error", "error 7 in 'x'", false});
}

PAWL_TEST(commands_and_spans_are_no_values)
{
    expect_found(NULL, "stop all workers and run 'pawl migrate --reset-clock'", NULL);
    expect_found(NULL, "retrying in about 4s", NULL);
    expect_found(NULL, "next probe in 30s", NULL);
    expect_found(NULL, "retrying in about 1m 4s", NULL);
    expect_found("4s", "the lease is 4s", NULL);
    expect_found(NULL, "this machine's clock is the store's", NULL);
}
