/* src/base/bounds_test.c - the constants of the public headers are those of bounds.h. */
#include "bounds.h"

#include <pawl/pawl.h>

#include "test.h"

PAWL_TEST(public_constants_are_those_of_both_engines)
{
    assert_int_equal(PAWLI_TOPIC_MOST, PAWL_TOPIC_MAX);
    assert_int_equal(PAWLI_CORRELATION_MOST, PAWL_CORRELATION_MAX);
    assert_int_equal(PAWLI_DESTINATION_MOST, PAWL_DESTINATION_MAX);
    assert_int_equal(PAWLI_PRIORITY_MOST, PAWL_PRIORITY_MAX);
    assert_int_equal(PAWLI_TYPE_MOST, PAWL_TYPE_RESPONSE);
    assert_int_equal(PAWLI_BATCH_MOST, PAWL_BATCH_MAX);
    assert_int_equal(PAWLI_BATCH_BYTES_MOST, PAWL_BATCH_MAX_BYTES);
    assert_int_equal(PAWLI_OUTPUT_MOST, PAWL_OUTPUT_MAX);
    assert_int_equal(PAWLI_LEASE_NAME_MOST, PAWL_LEASE_NAME_MAX);
    assert_int_equal(PAWLI_LEASE_TTL_LEAST, PAWL_LEASE_TTL_MIN_MS);
    assert_int_equal(PAWLI_LEASE_TTL_MOST, PAWL_LEASE_TTL_MAX_MS);
    assert_int_equal(PAWLI_INBOX_KEY_MOST, PAWL_INBOX_KEY_MAX);
    assert_int_equal(PAWLI_JOB_NAME_MOST, PAWL_JOB_NAME_MAX);
    assert_int_equal(PAWLI_SCHEDULE_MOST, PAWL_SCHEDULE_MAX);
}

/* 2,704 bytes is the most that an entry of an index of PostgreSQL may have. */
PAWL_TEST(the_widest_names_fit_into_an_index)
{
    assert_true(PAWLI_TOPIC_MOST * 4 + PAWLI_DESTINATION_MOST + 64 <= 2704); /* lanes */
    assert_true(PAWLI_INBOX_KEY_MOST * 4 * 2 + 64 <= 2704);                  /* the inbox */
}
