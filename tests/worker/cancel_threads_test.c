/* tests/worker/cancel_threads_test.c - handlers that wait in poll(), and that give messages back.
 */
#include "worker_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>

/* The observations of a handler that waits at the descriptor. */
struct waiting {
    counter entered;
    counter left;
    pawl_result result;
    atomic_int fd; /* of the last call */
};

static bool readable(int fd, int timeout_ms)
{
    struct pollfd one = {fd, POLLIN, 0};

    return poll(&one, 1, timeout_ms) == 1 && (one.revents & POLLIN);
}

/* A minute is a failure, which the missing count shows. */
static pawl_result wait_at_fd(pawl_task *task, void *context)
{
    struct waiting *waiting = context;
    int fd = -1, again = -1;

    if (pawl_task_cancel_fd(task, &fd, NULL) != PAWL_OK || readable(fd, 0) ||
        pawl_task_cancel_fd(task, &again, NULL) != PAWL_OK || again != fd)
        return PAWL_FAIL;
    atomic_store(&waiting->fd, fd);
    counter_add(&waiting->entered, 1);
    if (!readable(fd, 60000) || !pawl_task_cancelled(task) || !readable(fd, 0))
        return PAWL_FAIL;
    counter_add(&waiting->left, 1);
    return waiting->result;
}

static pawl_worker_options brief(void)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    options.concurrency = 4;
    options.lease_ms = 900;
    return options;
}

PAWL_TEST(a_cancelled_message_makes_the_descriptor_readable)
{
    fixture *f = fixture_open(&(fixture_options){.real_clock = true});
    pawl_worker_options options = brief();
    pawl_worker *worker = worker_open(f, &options);
    struct waiting waiting = {COUNTER_INIT, COUNTER_INIT, PAWL_DONE, -1};
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_handle(worker, "t", wait_at_fd, &waiting);
    running *run = worker_run(worker);
    counter_expect(&waiting.entered, 1);
    assert_int_equal(1, (int)queue_cancel(f, id));
    counter_expect(&waiting.left, 1);
    worker_stop(run);
    assert_int_equal(PAWL_STATE_CANCELLED, fixture_state(f, id));
    assert_int_equal(-1, fcntl(waiting.fd, F_GETFD)); /* it went with the call */
}

PAWL_TEST(stopping_makes_the_descriptor_readable)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = brief();
    struct waiting waiting = {COUNTER_INIT, COUNTER_INIT, PAWL_RETRY, -1};

    options.lease_ms = 30 * SECOND_MS;
    options.grace_ms = 0;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", wait_at_fd, &waiting);
    for (int i = 0; i < 4; i++)
        fixture_send(f, "t", "x");
    running *run = worker_run(worker);
    counter_expect(&waiting.entered, 4);
    worker_stop(run);
    assert_int_equal(4, counter_get(&waiting.left));
    assert_int_equal(4, worker_stats(worker).released);
    worker_check_nothing_leased(f);
}

/* Step by step the question itself finds out. */
static pawl_result ask_after_cancel(pawl_task *task, void *context)
{
    fixture *f = context;
    int fd = -1;

    (void)queue_cancel(f, pawl_message_work_id(pawl_task_message(task)));
    fixture_advance(f, 20 * SECOND_MS);
    if (pawl_task_cancel_fd(task, &fd, NULL) != PAWL_OK || readable(fd, 0))
        return PAWL_FAIL;
    if (!pawl_task_cancelled(task) || !readable(fd, 0))
        return PAWL_FAIL;
    pawl_task_set_error(task, "seen");
    return PAWL_DONE;
}

static void keep_error(void *context, const pawl_message_result *what)
{
    *(bool *)context = what->error && strcmp(what->error, "seen") == 0 && what->result == PAWL_LOST;
}

PAWL_TEST(step_by_step_asking_makes_it_readable)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    bool seen = false;

    options.observer = (pawl_observer){&seen, keep_error, NULL};
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", ask_after_cancel, f);
    fixture_send(f, "t", "x");
    worker_step(worker);
    assert_true(seen);
}

/* ---- giving back ---- */

PAWL_TEST(a_handler_may_release_its_message_without_counting_the_attempt)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder record = {.result = PAWL_RELEASE, .error = "not here"};
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_handle(worker, "t", recorder_handle, &record);
    worker_step(worker);
    assert_int_equal(1, record.calls);
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
    assert_int_equal(0, pawl_message_retries(queue_get(f, id)));
    assert_null(pawl_message_last_error(queue_get(f, id)));
    assert_int_equal(1, worker_stats(worker).released);
    assert_int_equal(0, worker_stats(worker).retried);
    record.result = PAWL_DONE;
    worker_step(worker);
    assert_int_equal(1, record.attempt);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    worker_check_nothing_leased(f);
}
