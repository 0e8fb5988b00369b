/* tests/worker/dead_letter_handler_test.c - dead-letter handlers of a worker, on the virtual clock.
 */
#include "worker_fixture.h"

#include <string.h>

static void handle_dead(pawl_worker *worker, const char *topic, recorder *record)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_worker_handle_dead(worker, topic, recorder_handle, record, &err), &err);
}

PAWL_TEST(a_dead_letter_handler_is_called_for_failed_messages)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder work = {.result = PAWL_FAIL, .error = "broken"}, dead = {0}, other = {0};

    worker_handle(worker, NULL, recorder_handle, &work);
    handle_dead(worker, "t", &dead);
    handle_dead(worker, NULL, &other);
    worker_step(worker); /* from now on they are recorded */
    pawl_work_id id = fixture_send(f, "t", "x");
    fixture_send(f, "u", "y");
    worker_until_idle(worker);
    fixture_advance(f, SECOND_MS);
    worker_until_idle(worker);
    assert_string_equal("x", dead.seen);
    assert_string_equal("y", other.seen);
    assert_int_equal(1, dead.attempt);
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, id));
    assert_int_equal(2, worker_stats(worker).dead);
    assert_int_equal(2, worker_stats(worker).failed);
    assert_int_equal(0, worker_stats(worker).done);
    fixture_advance(f, HOUR_MS);
    worker_until_idle(worker);
    assert_int_equal(1, dead.calls);
}

PAWL_TEST(a_dead_letter_handler_is_called_for_expired_messages)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder dead = {0};
    pawl_message_spec message = queue_message("t", "late");

    handle_dead(worker, "t", &dead);
    worker_step(worker);
    message.expires_at = (pawl_wall){FIXTURE_START.us + 1000000};
    queue_send(f, &message);
    fixture_advance(f, 10 * SECOND_MS);
    worker_until_idle(worker);
    assert_string_equal("late", dead.seen);
}

PAWL_TEST(a_dead_letter_is_retried_until_its_handler_succeeds)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder work = {.result = PAWL_FAIL}, dead = {.result = PAWL_FAIL, .error = "no mail"};

    worker_handle(worker, "t", recorder_handle, &work);
    handle_dead(worker, "t", &dead);
    worker_step(worker);
    fixture_send(f, "t", "x");
    worker_until_idle(worker);
    for (int i = 0; i < 20; i++) {
        fixture_advance(f, MINUTE_MS);
        worker_until_idle(worker);
    }
    assert_int_equal(20, dead.calls);
    assert_int_equal(20, dead.attempt);
    assert_int_equal(0, worker_stats(worker).dead);
    dead.result = PAWL_DONE;
    fixture_advance(f, MINUTE_MS);
    worker_until_idle(worker);
    fixture_advance(f, MINUTE_MS);
    worker_until_idle(worker);
    assert_int_equal(21, dead.calls);
    assert_int_equal(1, work.calls);
    assert_int_equal(1, worker_stats(worker).dead);
}

static pawl_result want_what_is_not_there(pawl_task *task, void *context)
{
    pawl_tx *tx = NULL;
    int *wrong = context;

    *wrong += pawl_task_begin(task, &tx, NULL) != PAWL_E_MISUSE;
    *wrong += pawl_task_progress(task, "half", NULL) != PAWL_E_MISUSE;
    *wrong += pawl_message_state(pawl_task_message(task)) != PAWL_STATE_FAILED;
    *wrong += strcmp(pawl_message_last_error(pawl_task_message(task)), "broken") != 0;
    return PAWL_DONE;
}

PAWL_TEST(a_dead_letter_is_the_message_as_it_ended_and_no_more)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder work = {.result = PAWL_FAIL, .error = "broken"};
    pawl_error err = PAWL_ERROR_INIT;
    int wrong = 0;

    worker_handle(worker, "t", recorder_handle, &work);
    assert_ok(pawl_worker_handle_dead(worker, "t", want_what_is_not_there, &wrong, &err), &err);
    worker_step(worker);
    fixture_send(f, "t", "x");
    worker_until_idle(worker);
    fixture_advance(f, SECOND_MS);
    worker_until_idle(worker);
    assert_int_equal(0, wrong);
    assert_int_equal(1, worker_stats(worker).dead);
}

PAWL_TEST(without_a_dead_letter_handler_nothing_is_recorded)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder work = {.result = PAWL_FAIL};

    worker_handle(worker, "t", recorder_handle, &work);
    fixture_send(f, "t", "x");
    worker_until_idle(worker);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {dead}"));
}
