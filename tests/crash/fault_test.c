/* tests/crash/fault_test.c - a write or a sync that fails: in doubt, then going on, nothing lost.
 */
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "summary.h"

static void let_fail(crash_fault fault, int in_a_row, long stride)
{
    fault_campaign c = {
        .directory = test_directory(), .fault = fault, .in_a_row = in_a_row, .first = 1};
    fault_result result;

    crash_vfs_install();
    c.stride = test_stride(stride);
    faults_run(&c, &result);
    printf("# %d x %s: %ld times, %ld answers in doubt, %ld not done, then %ld crash points, %ld "
           "violations\n",
           in_a_row, crash_fault_name(fault), result.points, result.in_doubt, result.not_done,
           result.images, result.violations);
    if (result.violations > 0)
        test_fail("%ld violations; the first: %s", result.violations, result.first);
    assert_true(result.points > 0);
    assert_true(result.in_doubt > 0);
}

PAWL_TEST(a_sync_that_fails_is_in_doubt)
{
    let_fail(CRASH_FAULT_SYNC, 1, 4);
}

PAWL_TEST(syncs_that_fail_for_a_while_are_in_doubt)
{
    let_fail(CRASH_FAULT_SYNC, 4, 9);
}

PAWL_TEST(a_full_disk_is_in_doubt_and_can_be_emptied)
{
    let_fail(CRASH_FAULT_FULL, 4, 37);
}

PAWL_TEST(a_write_that_fails_is_in_doubt)
{
    let_fail(CRASH_FAULT_WRITE, 1, 41);
}
