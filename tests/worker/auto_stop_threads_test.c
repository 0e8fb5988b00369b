/* tests/worker/auto_stop_threads_test.c - workers that end by themselves. */
#include "worker_fixture.h"

#include <stdio.h>
#include <stdlib.h>

static pawl_worker_options until_empty(void)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    options.concurrency = 4;
    options.until_empty = true;
    return options;
}

static void run_to_the_end(pawl_worker *worker)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_worker_run(worker, &err), &err);
}

PAWL_TEST(a_worker_exits_when_nothing_is_due)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = until_empty();
    pawl_worker *worker = worker_open(f, &options);
    counter calls = COUNTER_INIT;

    worker_handle(worker, NULL, count_handle, &calls);
    run_to_the_end(worker);
    assert_int_equal(0, counter_get(&calls));
    for (int i = 0; i < 100; i++)
        fixture_send(f, "t", "x");
    pawl_work_id later = queue_send_after(f, "t", "x", HOUR_MS);
    run_to_the_end(worker);
    assert_int_equal(100, counter_get(&calls));
    assert_int_equal(100, worker_stats(worker).done);
    assert_int_equal(PAWL_STATE_SCHEDULED, fixture_state(f, later));
    worker_check_nothing_leased(f);
}

/* Each message is followed by one of lower number, of a topic that was not there before. */
static pawl_result pass_on(pawl_task *task, void *context)
{
    int left = (int)strtol(queue_payload(pawl_task_message(task)), NULL, 10);
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    char payload[16], topic[16];

    counter_add(context, 1);
    if (left == 0)
        return PAWL_DONE;
    snprintf(topic, sizeof topic, "t%d", left);
    message.topic = topic;
    message.payload = payload;
    message.payload_size = (size_t)snprintf(payload, sizeof payload, "%d", left - 1);
    return pawl_outbox_enqueue(pawl_task_store(task), &message, NULL, NULL) == PAWL_OK ? PAWL_DONE
                                                                                       : PAWL_FAIL;
}

PAWL_TEST(messages_sent_by_handlers_are_handled_before_it_stops)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = until_empty();
    pawl_worker *worker = worker_open(f, &options);
    counter calls = COUNTER_INIT;

    worker_handle(worker, NULL, pass_on, &calls);
    fixture_send(f, "t", "30");
    run_to_the_end(worker);
    assert_int_equal(31, counter_get(&calls));
}

/* Beside a handler with a limit of its own topics are claimed by their names, which are read now
 * and then: a new one must be seen anyway. */
PAWL_TEST(a_new_topic_is_seen_before_it_ends)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = until_empty();
    pawl_worker *worker = worker_open(f, &options);
    pawl_handler_options limit = PAWL_HANDLER_OPTIONS_INIT;
    counter calls = COUNTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    limit.concurrency = 1;
    assert_ok(pawl_worker_handle(worker, "first", pass_on, &calls, &limit, &err), &err);
    worker_handle(worker, NULL, pass_on, &calls);
    fixture_send(f, "first", "1");
    run_to_the_end(worker);
    assert_int_equal(2, counter_get(&calls));
}

PAWL_TEST(messages_of_a_dead_worker_are_handled_before_it_stops)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = until_empty();
    pawl_worker *worker = worker_open(f, &options);
    counter calls = COUNTER_INIT;

    fixture_send(f, "t", "x");
    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    worker_handle(worker, NULL, count_handle, &calls);
    run_to_the_end(worker);
    assert_int_equal(0, counter_get(&calls));
    fixture_advance(f, 2 * MINUTE_MS);
    run_to_the_end(worker);
    assert_int_equal(1, counter_get(&calls));
    worker_check_nothing_leased(f);
}

static pawl_result fail_task(pawl_task *task, void *context)
{
    (void)task;
    counter_add(context, 1);
    return PAWL_FAIL;
}

PAWL_TEST(dead_letters_are_handled_before_it_ends)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = until_empty();
    pawl_worker *worker = worker_open(f, &options);
    counter calls = COUNTER_INIT, dead = COUNTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    worker_handle(worker, NULL, fail_task, &calls);
    assert_ok(pawl_worker_handle_dead(worker, NULL, count_handle, &dead, &err), &err);
    run_to_the_end(worker); /* the first claim makes the store record them */
    for (int i = 0; i < 10; i++)
        fixture_send(f, "t", "x");
    run_to_the_end(worker);
    assert_int_equal(10, counter_get(&calls));
    assert_int_equal(10, counter_get(&dead));
}

PAWL_TEST(a_worker_exits_after_max_messages)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = until_empty();
    counter calls = COUNTER_INIT;

    options.until_empty = false;
    options.max_messages = 30;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, NULL, count_handle, &calls);
    for (int i = 0; i < 100; i++)
        fixture_send(f, "t", "x");
    for (int i = 1; i <= 3; i++) { /* each run counts from 0 */
        run_to_the_end(worker);
        assert_int_equal(30 * i, counter_get(&calls));
        assert_int_equal(30 * i, worker_stats(worker).claimed);
        assert_int_equal(30 * i, worker_stats(worker).done);
        worker_check_nothing_leased(f);
    }
    assert_int_equal(10, fixture_count(f, "SELECT count(*) FROM {queue}"));
}

PAWL_TEST(both_limits_may_be_given)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = until_empty();
    counter calls = COUNTER_INIT;

    options.max_messages = 3;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, NULL, count_handle, &calls);
    for (int i = 0; i < 5; i++)
        fixture_send(f, "t", "x");
    run_to_the_end(worker);
    assert_int_equal(3, counter_get(&calls));
    run_to_the_end(worker); /* only two are left */
    assert_int_equal(5, counter_get(&calls));
    options.max_messages = -1;
    pawl_worker *bad = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    assert_status(PAWL_E_INVALID, pawl_worker_new(fixture_store(f), &options, &bad, &err), &err);
}
