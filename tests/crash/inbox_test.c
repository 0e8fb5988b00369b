/* tests/crash/inbox_test.c - power is lost at every operation while messages are received. */
#include <stdio.h>
#include <string.h>

#include "inbox_life.h"
#include "summary.h"

/* Power lost before operation `at`; all images of it. False: it was not reached any more. */
static bool lose_power(const char *directory, long at, bool syncs_lie, campaign_result *result)
{
    crash_plan plan = {.power_lost_at = at, .syncs_lie = syncs_lie};
    char path[1024], folder[1024], text[512];
    inbox_life l;

    campaign_clear(directory, "live", path, sizeof path);
    assert_true(inbox_life_prepare(path));
    crash_vfs_begin(&plan);
    inbox_life_run(&l, path);
    crash_vfs_end();
    bool lost = crash_vfs_power_lost();
    for (int loss = 0; loss < DISK_LOSS_COUNT; loss++) {
        campaign_clear(directory, "image", path, sizeof path);
        snprintf(folder, sizeof folder, "%s/image", directory);
        assert_true(crash_vfs_image(folder, (disk_loss)loss, (uint64_t)at));
        result->points++;
        if (!l.wrong[0] && inbox_life_check(&l, path, text, sizeof text))
            continue;
        result->violations++;
        if (!result->first[0])
            snprintf(result->first, sizeof result->first, "operation %ld, %s: %s", at,
                     disk_loss_name((disk_loss)loss), l.wrong[0] ? l.wrong : text);
    }
    if (!lost)
        result->operations = crash_vfs_operations();
    crash_vfs_forget();
    return lost;
}

PAWL_TEST(an_effect_is_there_with_its_record_or_not_at_all)
{
    const char *directory = test_directory();
    campaign_result result = {0};

    crash_vfs_install();
    for (long at = 1; lose_power(directory, at, false, &result);)
        at += test_stride(9);
    summary_print("inbox", &result);
    if (result.violations > 0)
        test_fail("%ld violations; the first: %s", result.violations, result.first);
    assert_true(result.operations > 40);
}

PAWL_TEST(a_disk_that_lies_about_syncs_is_found)
{
    const char *directory = test_directory();
    campaign_result result = {0};

    crash_vfs_install();
    for (long at = 1; result.violations == 0 && lose_power(directory, at, true, &result);)
        at += 7;
    assert_true(result.violations > 0);
}
