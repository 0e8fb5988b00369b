/* src/base/bounds_test.c - the defaults of the public headers equal those of bounds.h. */
#include "bounds.h"

#include <pawl/pawl.h>

#include "test.h"

/* src/core/message.c compares everything that the compiler can compare. */
PAWL_TEST(initializers_have_the_defaults_of_both_engines)
{
    const pawl_backoff local = PAWL_BACKOFF_LOCAL, remote = PAWL_BACKOFF_REMOTE;
    const pawl_backoff counted = PAWL_BACKOFF_ALL;
    const pawl_store_options store = PAWL_STORE_OPTIONS_INIT;
    const pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;

    assert_int_equal(PAWLI_BACKOFF_LOCAL_BASE, local.base_ms);
    assert_int_equal(PAWLI_BACKOFF_LOCAL_MOST, local.max_ms);
    assert_int_equal(PAWLI_BACKOFF_REMOTE_BASE, remote.base_ms);
    assert_int_equal(PAWLI_BACKOFF_REMOTE_MOST, remote.max_ms);
    assert_int_equal(PAWLI_BACKOFF_COUNTED_BASE, counted.base_ms);
    assert_int_equal(PAWLI_BACKOFF_COUNTED_MOST, counted.max_ms);
    assert_int_equal(PAWLI_BACKOFF_COUNTED_JITTER, counted.jitter_ms);
    assert_int_equal(PAWLI_INBOX_KEEP_DEFAULT, store.inbox_keep_ms);
    assert_int_equal(PAWLI_MISFIRE_CAP_DEFAULT, job.misfire_cap);
    assert_int_equal(PAWLI_MISFIRE_GRACE_DEFAULT, job.misfire_grace_ms);
    assert_int_equal(PAWLI_JOB_LEASE_DEFAULT, job.lease_ms);
    assert_int_equal(PAWLI_JOB_HEARTBEAT_DEFAULT, job.heartbeat_ms);
    assert_int_equal(PAWLI_KEEP_RUNS_DEFAULT, job.keep_runs);
}

/* An index entry of PostgreSQL has at most 2,704 bytes. */
PAWL_TEST(the_widest_names_fit_into_an_index)
{
    assert_true(PAWLI_TOPIC_MAX * 4 + PAWLI_DESTINATION_MAX + 64 <= 2704); /* lanes */
    assert_true(PAWLI_INBOX_KEY_MAX * 4 * 2 + 64 <= 2704);                 /* the inbox */
}
