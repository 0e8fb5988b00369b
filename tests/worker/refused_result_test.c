/* tests/worker/refused_result_test.c - a result that the database refuses for good stops nothing
 * else. */
#include "worker_fixture.h"

#include <string.h>

#define MESSAGES 8

/* The results of a test's handlers, and how often they were called. */
typedef struct script {
    pawl_result result;
    const char *error;
    const char *output;
    int calls;
} script;

static pawl_result follow(pawl_task *task, void *context)
{
    script *s = context;
    pawl_error err = PAWL_ERROR_INIT;

    s->calls++;
    pawl_task_set_error(task, s->error);
    if (s->output)
        assert_ok(pawl_task_output(task, s->output, strlen(s->output), &err), &err);
    return s->result;
}

/* Send MESSAGES; the database will not let the one in the middle end. */
static pawl_work_id send_one_refused(fixture *f)
{
    pawl_work_id id = {0};

    for (int i = 0; i < MESSAGES; i++) {
        pawl_work_id sent = fixture_send(f, "t", "x");
        if (i == MESSAGES / 2)
            id = sent;
    }
    fixture_refuse(f, "outcome", "INSERT", test_note("NEW.id = %lld", (long long)id.value));
    return id;
}

static int64_t count_done(fixture *f)
{
    return fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 2");
}

PAWL_TEST(an_acknowledgement_that_is_refused_stops_no_other)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    script s = {.result = PAWL_DONE};
    pawl_work_id id = send_one_refused(f);

    worker_handle(worker, "t", follow, &s);
    worker_until_idle(worker);
    assert_int_equal(MESSAGES - 1, count_done(f));
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, id));
    assert_int_equal(MESSAGES - 1, worker_stats(worker).done);
    assert_int_equal(1, worker_stats(worker).lost);
    assert_int_equal(0, worker_stats(worker).in_flight);
    assert_int_equal(1, fixture_logged_times(f, "the database rejected"));

    fixture_send(f, "t", "later");
    worker_until_idle(worker);
    assert_int_equal(MESSAGES, count_done(f));
    /* Its lease ends like that of any message whose result was lost. */
    fixture_accept(f, "outcome");
    fixture_advance(f, 31 * SECOND_MS);
    worker_until_idle(worker);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    queue_check(f);
}

PAWL_TEST(a_failure_that_is_refused_stops_no_other)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    script s = {.result = PAWL_FAIL, .error = "no"};
    pawl_work_id id = send_one_refused(f);

    worker_handle(worker, "t", follow, &s);
    worker_until_idle(worker);
    assert_int_equal(MESSAGES - 1,
                     fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 3"));
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, id));
    assert_int_equal(1, fixture_logged_times(f, "the database rejected"));
    queue_check(f);
}

/* The text alone is dropped: the attempt counts and is retried by its policy. */
PAWL_TEST(an_error_text_that_is_refused_is_omitted)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    script s = {.result = PAWL_RETRY, .error = "poison"};
    pawl_work_id id = fixture_send(f, "t", "x");

    fixture_refuse(f, "queue", "UPDATE", "NEW.last_error = 'poison'");
    worker_handle(worker, "t", follow, &s);
    worker_until_idle(worker);
    assert_int_equal(PAWL_STATE_SCHEDULED, fixture_state(f, id));
    assert_int_equal(1, pawl_message_retries(queue_get(f, id)));
    assert_null(pawl_message_last_error(queue_get(f, id)));
    assert_int_equal(1, fixture_logged_times(f, "the database rejected"));
    assert_int_equal(1, worker_stats(worker).retried);
    queue_check(f);
}

PAWL_TEST(an_output_that_is_refused_is_omitted)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    script s = {.result = PAWL_DONE, .output = "poison"};
    pawl_work_id id = fixture_send(f, "t", "x");

    fixture_refuse(f, "outcome", "INSERT", "NEW.output IS NOT NULL");
    worker_handle(worker, "t", follow, &s);
    worker_until_idle(worker);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    assert_int_equal(1, fixture_logged_times(f, "the database rejected"));
    assert_int_equal(1, worker_stats(worker).done);
    queue_check(f);
}

/* Through the public interface alone: 2^30 times 30 days is no interval of PostgreSQL. */
PAWL_TEST(a_backoff_beyond_the_end_of_time_stops_no_other)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_message_spec message = queue_message("late", "x");
    script retry = {.result = PAWL_RETRY}, good = {.result = PAWL_DONE};

    message.backoff.base_ms = message.backoff.max_ms = 30 * DAY_MS;
    message.max_attempts = 100;
    pawl_work_id id = queue_send(f, &message).work_id;
    fixture_exec(f, "UPDATE {queue} SET retries = 30 WHERE id = %lld", (long long)id.value);
    pawl_work_id other = fixture_send(f, "t", "x");
    worker_handle(worker, "late", follow, &retry);
    worker_handle(worker, "t", follow, &good);
    worker_until_idle(worker);
    assert_int_equal(1, retry.calls);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, other));
    queue_check(f);
}

PAWL_TEST(a_running_worker_does_not_end_because_of_a_result)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    script s = {.result = PAWL_DONE};

    options.concurrency = 1;
    options.until_empty = true;
    pawl_worker *worker = worker_open(f, &options);
    send_one_refused(f);
    worker_handle(worker, "t", follow, &s);
    assert_ok(pawl_worker_run(worker, &err), &err);
    assert_int_equal(MESSAGES - 1, count_done(f));
    assert_int_equal(1, fixture_logged_times(f, "the database rejected"));
}
