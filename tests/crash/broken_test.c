/* tests/crash/broken_test.c - deliberate faults must be found, or the checks prove nothing.
 */
#include <stdio.h>
#include <string.h>

#include "crash_summary.h"

static void must_be_found(breakage b, const char *what)
{
    crash_campaign c = {.directory = test_directory(), .broken = b, .first = 3, .stride = 20};
    crash_campaign_result result;

    if (b == BREAK_MARK) /* otherwise every claim is on the disk anyway */
        c.durability = PAWL_DURABILITY_NORMAL;
    crash_vfs_install();
    c.losses = (1u << DISK_DROPPED) | (1u << DISK_KEPT) | (1u << DISK_SECTORS);
    c.enough = test_whole() ? 1000000 : 1;
    crash_campaign_run(&c, &result);
    printf("# %s: %ld crash points, %ld violations found, as they must be; the first: %s\n", what,
           result.points, result.violations, result.first);
    if (result.violations == 0)
        test_fail("%s, and nothing was found in %ld crash points", what, result.points);
}

PAWL_TEST(an_ack_before_the_sync_is_found)
{
    must_be_found(BREAK_SYNC, "the disk says it has synced and has not");
}

PAWL_TEST(synchronous_off_is_found)
{
    must_be_found(BREAK_SYNCHRONOUS, "synchronous=OFF");
}

PAWL_TEST(an_ack_that_does_not_check_the_fence_is_found)
{
    must_be_found(BREAK_FENCE, "ack does not check the fence");
}

PAWL_TEST(a_reap_that_does_not_count_is_found)
{
    must_be_found(BREAK_REAP, "reap does not count the attempt");
}

PAWL_TEST(fences_that_power_takes_with_it_are_found)
{
    must_be_found(BREAK_MARK, "fences are given out that were not set aside");
}

PAWL_TEST(a_release_that_does_not_check_the_token_is_found)
{
    must_be_found(BREAK_LEASE, "the release of a lease does not check the token");
}

PAWL_TEST(treating_in_doubt_as_failed_is_found)
{
    must_be_found(BREAK_DOUBT, "in doubt is taken for failed");
}
