/* tests/worker/retry_cap_threads_test.c - a legal retry policy whose power of two is beyond all
 * times: the worker continues, and the message is ready again after the policy's longest delay. */
#include "worker_fixture.h"

static const pawl_backoff policy = {.base_ms = 6 * HOUR_MS, .max_ms = DAY_MS};

/* A message with that policy, and 30 attempts behind it. */
static pawl_work_id send_old(fixture *f)
{
    pawl_message_spec message = queue_message("old", "x");
    pawl_work_id id;

    message.backoff = policy;
    message.max_attempts = 1000;
    id = queue_send(f, &message).work_id;
    fixture_exec(f, "UPDATE {queue} SET retries = 30 WHERE id = %lld", (long long)id.value);
    return id;
}

static void assert_waits_for_the_cap(fixture *f, pawl_work_id id)
{
    const pawl_message *m = queue_get(f, id);

    assert_int_equal(PAWL_STATE_SCHEDULED, pawl_message_state(m));
    assert_int_equal(31, pawl_message_retries(m));
    assert_time(fixture_now(f).us + DAY_MS * 1000, pawl_message_next_attempt_at(m));
}

PAWL_TEST(the_31st_attempt_at_a_base_of_six_hours_is_retried_after_the_cap)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder old = {.result = PAWL_RETRY, .error = "no"}, others = {.result = PAWL_DONE};
    pawl_work_id id = send_old(f);

    worker_handle(worker, "old", recorder_handle, &old);
    worker_handle(worker, "t", recorder_handle, &others);
    fixture_send(f, "t", "beside");
    worker_until_idle(worker);
    assert_waits_for_the_cap(f, id);
    assert_int_equal(31, old.attempt);

    fixture_send(f, "t", "later");
    fixture_advance(f, DAY_MS - 1);
    worker_until_idle(worker);
    assert_int_equal(1, old.calls);
    assert_string_equal("beside later", others.seen);
    fixture_advance(f, 1);
    old.result = PAWL_DONE;
    worker_until_idle(worker);
    assert_int_equal(2, old.calls);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    queue_check(f);
}

static counter calls = COUNTER_INIT;

static pawl_result fail_once_more(pawl_task *task, void *context)
{
    pawl_task_set_error(task, "no");
    counter_add(&calls, 1);
    (void)context;
    return PAWL_RETRY;
}

static pawl_result succeed(pawl_task *task, void *context)
{
    (void)task;
    counter_add(context, 1);
    return PAWL_DONE;
}

PAWL_TEST(a_running_worker_continues_after_a_cancelled_attempt)
{
    static counter done = COUNTER_INIT;
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_work_id id = send_old(f);
    running *run;

    worker_handle(worker, "old", fail_once_more, NULL);
    worker_handle(worker, "t", succeed, &done);
    run = worker_run(worker);
    counter_expect(&calls, 1);
    fixture_send(f, "t", "later");
    counter_expect(&done, 1);
    worker_stop(run); /* checks that it ended without an error */
    assert_waits_for_the_cap(f, id);
    worker_check_nothing_leased(f);
}
