/* tests/crash/power_test.c - power is lost at every write, sync, truncation and deletion. */
#include <stdio.h>
#include <string.h>

#include "crash_summary.h"

#define A_FEW ((1u << DISK_DROPPED) | (1u << DISK_KEPT) | (1u << DISK_SECTORS))

/* A different start in each mode, so that the reduced runs do not test the same operations. */
static void lose_power(const char *what, pawl_durability durability, long first, long stride)
{
    crash_campaign c = {.directory = test_directory(), .durability = durability};
    crash_campaign_result result;

    crash_vfs_install();
    c.first = test_stride(first);
    c.stride = test_stride(stride);
    c.losses = test_whole() ? 0 : A_FEW;
    c.twice = test_whole();
    crash_campaign_run(&c, &result);
    summary_print(what, &result);
    summary_expect_none(&result);
    assert_true(result.operations > 500);
}

PAWL_TEST(acknowledgements_survive_power_loss)
{
    lose_power("synchronous=FULL", PAWL_DURABILITY_FULL, 5, 9);
}

PAWL_TEST(without_full_sync_only_the_last_commits_may_be_missing)
{
    lose_power("synchronous=NORMAL", PAWL_DURABILITY_NORMAL, 3, 17);
}

/* The first operations make the file: each of them, with every kind of loss. */
PAWL_TEST(a_store_that_was_being_created_is_there_or_can_be_created)
{
    char directory[512];
    char text[768];
    long points = 0;
    bool lost = true;

    crash_vfs_install();
    snprintf(directory, sizeof directory, "%s", test_directory());
    for (long at = 1; at <= 16 && lost; at++) {
        for (int loss = 0; loss < DISK_LOSS_COUNT; loss++, points++) {
            crash_case what = {.at = at, .loss = (disk_loss)loss, .seed = (uint64_t)at};
            if (!crash_campaign_run_case(directory, &what, &lost, text, sizeof text))
                test_fail("crash_replay full %ld %s %ld: %s", at, disk_loss_name(what.loss), at,
                          text);
        }
    }
    printf("# making the store: %ld crash points, 0 violations\n", points);
}

PAWL_TEST(a_second_power_loss_during_recovery_changes_nothing)
{
    crash_campaign c = {.directory = test_directory(), .first = 11, .stride = 41, .twice = true};
    crash_campaign_result result;

    crash_vfs_install();
    c.losses = 1u << DISK_SCRIBBLED;
    if (test_whole())
        c.stride = 5;
    crash_campaign_run(&c, &result);
    summary_print("twice", &result);
    summary_expect_none(&result);
}
