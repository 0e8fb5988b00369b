/* tests/worker/job_test.c - jobs scheduled and handled by a worker, on the virtual clock. */
#include "job_fixture.h"
#include "worker_fixture.h"

#include <string.h>

PAWL_TEST(a_worker_schedules_and_handles)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder record = {0};

    worker_handle(worker, "t", recorder_handle, &record);
    job_add(f, "j", "* * * * *");
    worker_until_idle(worker);
    assert_int_equal(0, record.calls);
    for (int i = 0; i < 3; i++) {
        fixture_advance(f, MINUTE_MS);
        worker_until_idle(worker);
    }
    assert_int_equal(3, record.calls);
    assert_string_equal("done@60 done@120 done@180", job_story(f, "j"));
    assert_int_equal(3, worker_stats(worker).maintenance[PAWL_MAINTENANCE_SCHEDULE].changed);
}

PAWL_TEST(one_scheduler_at_a_time_and_the_next_takes_over)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *first = worker_open(f, NULL), *second = worker_open(f, NULL);
    recorder record = {0};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_leases *lease = NULL;

    worker_handle(first, "t", recorder_handle, &record);
    worker_handle(second, "t", recorder_handle, &record);
    worker_until_idle(first);
    assert_status(PAWL_E_NOT_FOUND,
                  pawl_lease_get(fixture_store(f), "pawl.scheduler", &lease, &err), &err);
    job_add(f, "j", "*/10 * * * * *");
    worker_until_idle(first); /* the job is examined, which needs the lease */
    assert_ok(pawl_lease_get(fixture_store(f), "pawl.scheduler", &lease, &err), &err);
    assert_true(pawl_leases_at(lease, 0)->owned);
    pawl_leases_free(lease);
    fixture_advance(f, 10 * SECOND_MS);
    worker_until_idle(second); /* the other has the lease */
    assert_int_equal(0, record.calls);
    worker_until_idle(first);
    assert_int_equal(1, record.calls);
    fixture_advance(f, 20 * SECOND_MS); /* the first one has died: its lease has ended */
    worker_until_idle(second);
    assert_string_equal("done@10 done@20 overlap@30", job_story(f, "j"));
    fixture_advance(f, 10 * SECOND_MS);
    worker_until_idle(first);
    assert_int_equal(2, record.calls);
    worker_until_idle(second);
    assert_int_equal(3, record.calls);
}

PAWL_TEST(a_worker_without_the_scheduler_starts_no_jobs)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    recorder record = {0};

    options.scheduler = false;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", recorder_handle, &record);
    job_add(f, "j", "* * * * *");
    worker_until_idle(worker);
    fixture_advance(f, HOUR_MS);
    worker_until_idle(worker);
    assert_int_equal(0, record.calls);
    assert_string_equal("", job_story(f, "j"));
}

PAWL_TEST(queued_runs_follow_each_other)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_job_definition job = job_define("j", "@daily");
    recorder record = {0};

    worker_handle(worker, "t", recorder_handle, &record);
    job.misfire = PAWL_MISFIRE_ALL;
    job_put(f, &job);
    worker_until_idle(worker);
    fixture_advance(f, 5 * DAY_MS + HOUR_MS);
    worker_until_idle(worker);
    assert_int_equal(5, record.calls);
    assert_string_equal("done@86400 done@172800 done@259200 done@345600 done@432000",
                        job_story(f, "j"));
}

typedef struct slow {
    fixture *f;
    int64_t takes_ms;
    bool cancelled;
    pawl_result result;
} slow;

static pawl_result work_slowly(pawl_task *task, void *context)
{
    slow *s = context;

    for (int64_t done_ms = 0; done_ms < s->takes_ms && !s->cancelled; done_ms += SECOND_MS) {
        fixture_advance(s->f, SECOND_MS);
        s->cancelled = pawl_task_cancelled(task);
    }
    return s->cancelled ? PAWL_RETRY : s->result;
}

PAWL_TEST(a_run_that_takes_too_long_is_cancelled)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_job_definition job = job_define("j", "@hourly");
    slow s = {f, HOUR_MS, false, PAWL_DONE};

    worker_handle(worker, "t", work_slowly, &s);
    job.timeout_ms = 5 * SECOND_MS;
    job.max_attempts = 1;
    job_put(f, &job);
    worker_until_idle(worker);
    fixture_advance(f, HOUR_MS);
    worker_until_idle(worker);
    assert_true(s.cancelled);
    const pawl_run *run = job_last_run(f, "j");
    assert_int_equal(PAWL_RUN_FAILED, run->state);
    assert_string_equal("the handler took longer than 5000 ms", run->error);
    assert_time(FIXTURE_START.us + HOUR_MS * 1000 + 5000000, run->ended_at);
}

PAWL_TEST(a_run_is_renewed_at_its_heartbeat)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    slow s = {f, 10 * MINUTE_MS, false, PAWL_DONE};

    worker_handle(worker, "t", work_slowly, &s);
    job_add(f, "j", "@hourly"); /* 2 min and 30 s */
    worker_until_idle(worker);
    fixture_advance(f, HOUR_MS);
    worker_until_idle(worker);
    assert_false(s.cancelled);
    assert_int_equal(PAWL_RUN_DONE, job_last_run(f, "j")->state);
    int64_t renewals = worker_stats(worker).renewals;
    assert_in_range(renewals, 19, 20);
}

static pawl_result leave_output(pawl_task *task, void *context)
{
    pawl_error err = PAWL_ERROR_INIT;
    const char *words = context;

    if (pawl_task_output(task, words, strlen(words), &err) != PAWL_OK)
        return PAWL_FAIL;
    return PAWL_DONE;
}

PAWL_TEST(handlers_leave_output)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);

    worker_handle(worker, "t", leave_output, (void *)(uintptr_t) "42 rows");
    job_add(f, "j", "* * * * *");
    pawl_work_id other = fixture_send(f, "t", "no job");
    worker_until_idle(worker);
    fixture_advance(f, MINUTE_MS);
    worker_until_idle(worker);
    const pawl_run *run = job_last_run(f, "j");
    assert_int_equal(PAWL_RUN_DONE, run->state);
    assert_string_equal("42 rows", run->output);
    assert_string_equal("42 rows", pawl_message_output(queue_get(f, other), NULL));
    assert_int_equal(2, worker_stats(worker).done);
}

PAWL_TEST(history_is_cleaned_by_the_worker)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_job_definition job = job_define("j", "* * * * *");
    recorder record = {0};

    worker_handle(worker, "t", recorder_handle, &record);
    job.keep_runs = 3;
    job_put(f, &job);
    for (int i = 0; i <= 10; i++) {
        worker_until_idle(worker);
        fixture_advance(f, MINUTE_MS);
    }
    assert_int_equal(10, record.calls);
    assert_in_range(pawl_runs_count(job_runs(f, "j")), 3, 5);
}
