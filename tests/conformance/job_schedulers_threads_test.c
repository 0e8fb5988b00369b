/* tests/conformance/job_schedulers_threads_test.c - several schedulers that each believe to be the
 * only one.
 */
#include "job_fixture.h"

PAWL_TEST(two_alternating_schedulers_make_each_occurrence_once)
{
    fixture *f = fixture_open(NULL);
    pawl_store *stores[] = {fixture_store(f), fixture_another_store(f)};
    pawl_job_definition job = job_define("a", "*/15 * * * * *");

    job.overlap = PAWL_OVERLAP_ALLOW;
    job_put(f, &job);
    job_add(f, "b", "* * * * *");
    for (int i = 0; i < 240; i++) {
        job_tick_on(stores[i % 2]);
        job_tick_on(stores[(i / 3) % 2]);
        fixture_advance(f, 5 * SECOND_MS);
        if (i % 12 == 5)
            job_work(f);
    }
    assert_int_equal(79, fixture_count(f, "SELECT count(*) FROM {job_run} r JOIN {job} j ON j.id = "
                                          "r.job_id WHERE j.name = 'a'"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM (SELECT job_id FROM {job_run} GROUP "
                                         "BY job_id, {us:scheduled_at} HAVING count(*) > 1) x"));
    assert_int_equal(fixture_count(f, "SELECT count(*) FROM {job_run} WHERE state <> 7"),
                     fixture_count(f, "SELECT count(*) FROM {body}"));
    queue_check(f);
}

typedef struct crowd {
    fixture *f;
    pawl_store *stores[4];
} crowd;

static const char *tick_and_change(void *context, size_t index)
{
    crowd *c = context;
    pawl_store *store = c->stores[index];
    pawl_error err = PAWL_ERROR_INIT;
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;

    for (int i = 0; i < 10; i++) {
        do {
            if (pawl_job_tick(store, &result, &err) != PAWL_OK)
                return test_note("%s", err.message);
        } while (result.more);
        pawl_job_definition job = job_define("shared", "* * * * * *");
        job.overlap = PAWL_OVERLAP_ALLOW;
        if (index == 0 && pawl_job_put(store, &job, NULL, &err) != PAWL_OK)
            return test_note("%s", err.message);
    }
    return NULL;
}

/* At one moment, with the same occurrences due for all of them, repeatedly. */
PAWL_TEST(four_at_the_same_moment_make_each_occurrence_once)
{
    fixture *f = fixture_open(NULL);
    crowd c = {f,
               {fixture_another_store(f), fixture_another_store(f), fixture_another_store(f),
                fixture_another_store(f)}};
    pawl_job_definition job = job_define("", "* * * * * *");

    job.overlap = PAWL_OVERLAP_ALLOW;
    for (int i = 0; i < 8; i++) {
        job.name = i == 0 ? "shared" : test_note("j%d", i);
        job_put(f, &job);
    }
    job_tick(f);
    for (int i = 0; i < 5; i++) {
        fixture_advance(f, 7 * SECOND_MS);
        test_threads(4, tick_and_change, &c);
    }
    job_tick(f);
    assert_int_equal(8 * 35, fixture_count(f, "SELECT count(*) FROM {job_run}"));
    assert_int_equal(8 * 35, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {job_run} WHERE state <> 0"));
    queue_check(f);
}
