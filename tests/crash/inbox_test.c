/* tests/crash/inbox_test.c - power is lost at every operation while messages are received. */
#include <stdio.h>
#include <string.h>

#include "inbox_life.h"
#include "power_loss.h"
#include "summary.h"

static void run_inbox(void *context, const char *path)
{
    inbox_life_run(context, path);
}

static bool check_inbox(void *context, const char *path, char *ret_text, size_t size)
{
    inbox_life *l = context;

    if (l->wrong[0])
        snprintf(ret_text, size, "%s", l->wrong);
    return !l->wrong[0] && inbox_life_check(l, path, ret_text, size);
}

static void lose_power(bool syncs_lie, long stride, campaign_result *ret_result)
{
    inbox_life l;

    crash_vfs_install();
    power_loss_run(test_directory(),
                   &(power_scenario){inbox_life_prepare, run_inbox, check_inbox, &l, syncs_lie},
                   stride, ret_result);
}

PAWL_TEST(an_effect_is_there_with_its_record_or_not_at_all)
{
    campaign_result result;

    lose_power(false, test_stride(9), &result);
    summary_print("inbox", &result);
    summary_expect_none(&result);
    assert_true(result.operations > 40);
}

PAWL_TEST(a_disk_that_lies_about_syncs_is_found)
{
    campaign_result result;

    lose_power(true, 7, &result);
    assert_true(result.violations > 0);
}
