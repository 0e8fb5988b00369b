/* tests/conformance/job_line_test.c - runs that wait in line start when it is their turn. */
#include "job_kit.h"

PAWL_TEST(who_waits_starts_though_the_run_before_is_forgotten)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("line", "* * * * *");
    pawl_error err = PAWL_ERROR_INIT;

    job.overlap = PAWL_OVERLAP_QUEUE;
    job.keep_runs = 1;
    job_put(f, &job);
    job_tick(f);
    job_after(f, MINUTE_MS);
    job_after(f, MINUTE_MS);
    assert_string_equal("ready@60 waiting@120", job_story(f, "line"));
    assert_int_equal(1, job_work(f));
    assert_ok(pawl_job_clean(fixture_store(f), NULL, NULL, &err), &err);
    assert_int_equal(1, job_tick(f).started);
    assert_string_equal("done@60 ready@120", job_story(f, "line"));
    kit_check(f);
}
