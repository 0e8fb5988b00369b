/* tests/conformance/job_switch_test.c - enabling and disabling a job, also when it is so already.
 */
#include "job_kit.h"

PAWL_TEST(switching_a_job_says_whether_that_was_a_change)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    bool changed = true;

    job_add(f, "j", "@hourly");
    assert_ok(pawl_job_enable(fixture_store(f), "j", &changed, &err), &err);
    assert_false(changed);
    assert_ok(pawl_job_disable(fixture_store(f), "j", &changed, &err), &err);
    assert_true(changed);
    assert_ok(pawl_job_disable(fixture_store(f), "j", &changed, &err), &err);
    assert_false(changed);
    assert_false(job_get(f, "j")->enabled);
    assert_ok(pawl_job_enable(fixture_store(f), "j", &changed, &err), &err);
    assert_true(changed);
    assert_status(PAWL_E_NOT_FOUND, pawl_job_enable(fixture_store(f), "no", &changed, &err), &err);
}
