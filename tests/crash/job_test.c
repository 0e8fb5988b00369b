/* tests/crash/job_test.c - power is lost at every operation while jobs are scheduled. */
#include <stdio.h>
#include <string.h>

#include "job_life.h"
#include "summary.h"

/* Power lost before operation `at`; all images of it. False: it was not reached any more. */
static bool lose_power(const char *directory, const job_life_book *book, long at, bool syncs_lie,
                       campaign_result *result)
{
    crash_plan plan = {.power_lost_at = at, .syncs_lie = syncs_lie};
    char path[1024], folder[1024], text[512];
    job_life l;

    campaign_clear(directory, "live", path, sizeof path);
    assert_true(job_life_prepare(path));
    crash_vfs_begin(&plan);
    job_life_run(&l, path);
    crash_vfs_end();
    bool lost = crash_vfs_power_lost();
    for (int loss = 0; loss < DISK_LOSS_COUNT; loss++) {
        campaign_clear(directory, "image", path, sizeof path);
        snprintf(folder, sizeof folder, "%s/image", directory);
        assert_true(crash_vfs_image(folder, (disk_loss)loss, (uint64_t)at));
        result->points++;
        if (job_life_check(&l, book, path, text, sizeof text))
            continue;
        result->violations++;
        if (!result->first[0])
            snprintf(result->first, sizeof result->first, "operation %ld, %s: %s", at,
                     disk_loss_name((disk_loss)loss), text);
    }
    if (!lost)
        result->operations = crash_vfs_operations();
    crash_vfs_forget();
    return lost;
}

static job_life_book book;

static void write_book(const char *directory)
{
    char path[1024];

    crash_vfs_install();
    campaign_clear(directory, "live", path, sizeof path);
    assert_true(job_life_prepare(path));
    assert_true(job_life_write_book(&book, path));
    for (int i = 1; i <= JOB_LIFE_STEPS; i++) /* a step that changes nothing would show nothing */
        assert_string_not_equal(book.after[i - 1], book.after[i]);
}

PAWL_TEST(a_slot_is_recorded_with_its_message_or_not_at_all)
{
    const char *directory = test_directory();
    campaign_result result = {0};

    write_book(directory);
    for (long at = 1; lose_power(directory, &book, at, false, &result);)
        at += test_stride(11);
    summary_print("jobs", &result);
    if (result.violations > 0)
        test_fail("%ld violations; the first: %s", result.violations, result.first);
    assert_true(result.operations > 40);
}

PAWL_TEST(a_disk_that_lies_about_syncs_is_found)
{
    const char *directory = test_directory();
    campaign_result result = {0};

    write_book(directory);
    for (long at = 1; result.violations == 0 && lose_power(directory, &book, at, true, &result);)
        at += 7;
    assert_true(result.violations > 0);
}
