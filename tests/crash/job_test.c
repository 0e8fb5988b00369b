/* tests/crash/job_test.c - power is lost at every operation while jobs are scheduled. */
#include <stdio.h>
#include <string.h>

#include "job_life.h"
#include "power_loss.h"
#include "summary.h"

typedef struct job_run {
    job_life l;
    job_life_book book;
} job_run;

static void run_jobs(void *context, const char *path)
{
    job_life_run(&((job_run *)context)->l, path);
}

static bool check_jobs(void *context, const char *path, char *ret_text, size_t size)
{
    job_run *r = context;

    return job_life_check(&r->l, &r->book, path, ret_text, size);
}

static void write_book(const char *directory, job_life_book *book)
{
    char path[1024];

    campaign_clear(directory, "live", path, sizeof path);
    assert_true(job_life_prepare(path));
    assert_true(job_life_write_book(book, path));
    for (int i = 1; i <= JOB_LIFE_STEPS; i++) /* a step that changes nothing would show nothing */
        assert_string_not_equal(book->after[i - 1], book->after[i]);
}

static void lose_power(bool syncs_lie, long stride, campaign_result *ret_result)
{
    static job_run r;
    const char *directory = test_directory();

    crash_vfs_install();
    write_book(directory, &r.book);
    power_loss_run(directory,
                   &(power_scenario){job_life_prepare, run_jobs, check_jobs, &r, syncs_lie}, stride,
                   ret_result);
}

PAWL_TEST(a_slot_is_recorded_with_its_message_or_not_at_all)
{
    campaign_result result;

    lose_power(false, test_stride(11), &result);
    summary_print("jobs", &result);
    summary_expect_none(&result);
    assert_true(result.operations > 40);
}

PAWL_TEST(a_disk_that_lies_about_syncs_is_found)
{
    campaign_result result;

    lose_power(true, 7, &result);
    assert_true(result.violations > 0);
}
