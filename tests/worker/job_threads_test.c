/* tests/worker/job_threads_test.c - workers with real threads and the real clock schedule jobs. */
#include "job_fixture.h"
#include "worker_fixture.h"

static pawl_result count_calls(pawl_task *task, void *context)
{
    (void)task;
    counter_add(context, 1);
    return PAWL_DONE;
}

static fixture *open_real(void)
{
    static pawl_store_options store = PAWL_STORE_OPTIONS_INIT;
    fixture_options opts = {.store = &store, .real_clock = true};

    store.durability = PAWL_DURABILITY_NORMAL;
    return fixture_open(&opts);
}

PAWL_TEST(two_workers_and_a_job_stored_while_they_run)
{
    fixture *f = open_real();
    static counter calls;
    pawl_worker *workers[2];
    running *runs[2];
    pawl_job_definition job = job_define("j", "every 1s");

    calls = (counter)COUNTER_INIT;
    for (int i = 0; i < 2; i++) {
        workers[i] = worker_open(f, NULL);
        worker_handle(workers[i], "t", count_calls, &calls);
        runs[i] = worker_run(workers[i]);
    }
    job.overlap = PAWL_OVERLAP_ALLOW;
    job_put(f, &job);
    counter_expect(&calls, 2);
    (void)job_trigger(f, "j");
    counter_expect(&calls, 3);
    worker_stop(runs[0]); /* perhaps the one that led: it gives the lease back */
    counter_expect(&calls, counter_get(&calls) + 1);
    worker_stop(runs[1]);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM (SELECT job_id FROM {job_run} WHERE "
                                         "state <> 7 GROUP BY job_id, {us:scheduled_at} HAVING "
                                         "count(*) > 1) x"));
    worker_check_nothing_leased(f);
}

PAWL_TEST(a_worker_may_be_nothing_but_a_scheduler)
{
    fixture *f = open_real();
    running *run = worker_run(worker_open(f, NULL));
    pawl_job_definition job = job_define("j", "every 1s");

    job.overlap = PAWL_OVERLAP_ALLOW;
    job_put(f, &job);
    until(fixture_count(f, "SELECT count(*) FROM {job_run}") >= 1);
    worker_stop(run);
    assert_true(fixture_count(f, "SELECT count(*) FROM {queue}") >= 1);
}
