/* tests/crash/shared_commit_threads_test.c - power is lost while several threads share commits. */
#include <stdio.h>
#include <string.h>

#include "crash_summary.h"

/* The crowd sends in the last third of the scenario. */
PAWL_TEST(threads_that_share_a_commit_get_their_own_results)
{
    crash_campaign c = {.directory = test_directory(), .stride = 1000000};
    crash_campaign_result result;

    crash_vfs_install();
    c.first = 1000000;
    c.losses = 1u << DISK_KEPT;
    crash_campaign_run(&c, &result);
    assert_int_equal(0, result.violations);

    c.first = result.operations * 2 / 3;
    c.stride = test_stride(13);
    crash_campaign_run(&c, &result);
    summary_print("from the crowd on", &result);
    summary_expect_none(&result);
}
