/* tests/worker/observe_threads_test.c - hearing what becomes of messages. */
#include "worker_fixture.h"

#include <stdio.h>
#include <string.h>

#include "op_counter.h"

/* The calls of an observer, as text. */
struct heard {
    char text[2048];
    int results[PAWL_LOST + 1];
    int failed, well; /* of the store */
    counter news;
    bool on_time; /* `took_us` is what a handler took */
};

static void observe_result(void *context, const pawl_message_result *what)
{
    static const char *const names[] = {"done",     "retried",  "failed",
                                        "released", "deferred", "lost"};
    struct heard *heard = context;
    size_t used = strlen(heard->text);

    snprintf(heard->text + used, sizeof heard->text - used, "%s%s %s%s %d%s%s", used ? "; " : "",
             queue_payload(what->message), names[what->result], what->dead ? " dead" : "",
             what->attempt, what->error ? " " : "", what->error ? what->error : "");
    heard->results[what->result]++;
    heard->on_time &= what->took_us >= 0;
    counter_add(&heard->news, 1);
}

static void hear_store(void *context, const pawl_error *err)
{
    struct heard *heard = context;

    if (err && err->message[0] && heard->failed == heard->well)
        heard->failed++;
    else if (!err && heard->well < heard->failed)
        heard->well++;
    else
        heard->failed = -1; /* not alternating */
    counter_add(&heard->news, 1);
}

static pawl_worker *observed(fixture *f, struct heard *heard, pawl_worker_options options)
{
    *heard = (struct heard){.news = COUNTER_INIT, .on_time = true};
    options.observer = (pawl_observer){heard, observe_result, hear_store};
    return worker_open(f, &options);
}

static const pawl_worker_options usual = PAWL_WORKER_OPTIONS_INIT;

PAWL_TEST(every_result_is_observed_once_with_its_reason)
{
    fixture *f = fixture_open(NULL);
    struct heard heard;
    pawl_worker *worker = observed(f, &heard, usual);
    recorder done = {0}, retry = {PAWL_RETRY, .error = "busy"}, fail = {PAWL_FAIL, .error = "bad"},
             release = {PAWL_RELEASE};

    worker_handle(worker, "done", recorder_handle, &done);
    worker_handle(worker, "retry", recorder_handle, &retry);
    worker_handle(worker, "fail", recorder_handle, &fail);
    worker_handle(worker, "release", recorder_handle, &release);
    fixture_send(f, "done", "a");
    worker_step(worker);
    fixture_send(f, "retry", "b");
    worker_step(worker);
    fixture_send(f, "fail", "c");
    worker_step(worker);
    fixture_send(f, "release", "d");
    worker_step(worker);
    assert_string_equal("a done 1; b retried 1 busy; c failed 1 bad; d released 1", heard.text);
    fixture_advance(f, HOUR_MS);
    release.result = retry.result = PAWL_DONE;
    heard.text[0] = '\0';
    worker_until_idle(worker);
    assert_int_equal(3, heard.results[PAWL_DONE]);
    assert_non_null(strstr(heard.text, "b done 2"));
    assert_true(heard.on_time);
}

PAWL_TEST(dead_letters_are_observed_too)
{
    fixture *f = fixture_open(NULL);
    struct heard heard;
    pawl_worker *worker = observed(f, &heard, usual);
    recorder fail = {PAWL_FAIL, .error = "bad"}, dead = {PAWL_DONE};
    pawl_error err = PAWL_ERROR_INIT;

    worker_handle(worker, "t", recorder_handle, &fail);
    assert_ok(pawl_worker_handle_dead(worker, "t", recorder_handle, &dead, &err), &err);
    worker_step(worker);
    fixture_send(f, "t", "a");
    for (int i = 0; i < 3; i++, fixture_advance(f, 2 * SECOND_MS))
        worker_step(worker);
    assert_string_equal("a failed 1 bad; a done dead 1", heard.text);
}

/* Three are acknowledged together, one of which was cancelled meanwhile. */
static pawl_result cancel_second(pawl_task *task, void *context)
{
    fixture *f = context;

    if (strcmp(queue_payload(pawl_task_message(task)), "b") == 0)
        (void)queue_cancel(f, pawl_message_work_id(pawl_task_message(task)));
    return PAWL_DONE;
}

PAWL_TEST(of_several_results_the_late_one_is_named)
{
    fixture *f = fixture_open(NULL);
    struct heard heard;
    pawl_worker *worker = observed(f, &heard, usual);

    worker_handle(worker, "t", cancel_second, f);
    fixture_send(f, "t", "a");
    fixture_send(f, "t", "b");
    fixture_send(f, "t", "c");
    worker_step(worker);
    assert_string_equal("a done 1; b lost 1; c done 1", heard.text);
    assert_int_equal(1, worker_stats(worker).lost);
    assert_int_equal(2, worker_stats(worker).done);
}

/* Cancels its own message if the payload asks for that, and returns what the topic says. */
static pawl_result cancel_or_not(pawl_task *task, void *context)
{
    const pawl_message *message = pawl_task_message(task);
    const char *topic = pawl_message_topic(message);

    if (strcmp(queue_payload(message), "late") == 0)
        (void)queue_cancel(context, pawl_message_work_id(message));
    return strcmp(topic, "retry") == 0     ? PAWL_RETRY
           : strcmp(topic, "fail") == 0    ? PAWL_FAIL
           : strcmp(topic, "release") == 0 ? PAWL_RELEASE
                                           : PAWL_DONE;
}

PAWL_TEST(late_results_of_each_kind_are_found_without_reading_a_message)
{
    static const char *const topics[] = {"done", "retry", "fail", "release"};
    static const pawl_result results[] = {PAWL_DONE, PAWL_RETRY, PAWL_FAIL, PAWL_RELEASE};

    for (size_t i = 0; i < COUNT_OF(topics); i++) {
        fixture *f = fixture_open(NULL);
        struct heard heard;
        pawl_worker *worker = observed(f, &heard, usual);

        worker_handle(worker, NULL, cancel_or_not, f);
        for (int k = 0; k < 12; k++)
            fixture_send(f, topics[i], k % 4 == 1 ? "late" : "ok");
        op_counter_start(fixture_store(f));
        worker_step(worker);
        assert_int_equal(9, heard.results[results[i]]);
        assert_int_equal(3, heard.results[PAWL_LOST]);
        for (const char *at = heard.text; (at = strstr(at, "late")); at++)
            assert_int_equal(0, strncmp(at, "late lost", 9));
        assert_int_equal(0, op_counter_of(PAWLI_SQL_GET));
        assert_int_equal(1, op_counter_of(PAWLI_SQL_ACK) + op_counter_of(PAWLI_SQL_ABANDON) +
                                op_counter_of(PAWLI_SQL_FAIL) + op_counter_of(PAWLI_SQL_RELEASE));
    }
}

/* ---- with threads ---- */

/* It was counted when it was given back: it is neither lost, nor counted twice. */
PAWL_TEST(a_message_released_under_its_handler_is_observed_as_released)
{
    fixture *f = fixture_open(NULL);
    struct heard heard;
    struct gate gate = {COUNTER_INIT, COUNTER_INIT};
    pawl_worker_options options = usual;

    options.grace_ms = options.cancel_ms = 0;
    pawl_worker *worker = observed(f, &heard, options);
    worker_handle(worker, "t", gate_handle, &gate);
    pawl_work_id id = fixture_send(f, "t", "a");
    running *run = worker_run(worker);
    counter_expect(&gate.entered, 1);
    pawl_worker_request_stop(worker);
    until(fixture_state(f, id) == PAWL_STATE_READY);
    counter_add(&gate.open, 1);
    assert_ok(worker_join(run), &run->err);
    assert_string_equal("a released 1", heard.text);
    assert_int_equal(1, worker_stats(worker).released);
    assert_int_equal(0, worker_stats(worker).lost);
}

static pawl_result do_nothing(pawl_task *task, void *context)
{
    (void)task;
    (void)context;
    return PAWL_DONE;
}

PAWL_TEST(every_claimed_message_is_observed_once)
{
    fixture *f = fixture_open(NULL);
    struct heard heard;
    pawl_worker_options options = usual;

    options.until_empty = true;
    pawl_worker *worker = observed(f, &heard, options);
    pawl_error err = PAWL_ERROR_INIT;
    worker_handle(worker, NULL, do_nothing, NULL);
    for (int i = 0; i < 200; i++)
        fixture_send(f, "t", "x");
    assert_ok(pawl_worker_run(worker, &err), &err);
    assert_int_equal(200, heard.results[PAWL_DONE]);
    assert_int_equal(200, counter_get(&heard.news));
}

PAWL_TEST(store_failures_and_recoveries_are_observed_alternately)
{
    fixture *f = fixture_open(NULL);
    struct heard heard;
    pawl_worker *worker = observed(f, &heard, usual);

    worker_handle(worker, "t", do_nothing, NULL);
    running *run = worker_run(worker);
    fixture_send(f, "t", "x");
    counter_expect(&heard.news, 1);
    fixture_exec(f, "ALTER TABLE {claim} RENAME TO moved_claim");
    fixture_send(f, "t", "x");
    counter_expect(&heard.news, 2);
    if (fixture_is_postgres(f))
        fixture_exec(f, "ALTER TABLE {moved_claim} RENAME TO claim");
    else
        fixture_exec(f, "ALTER TABLE moved_claim RENAME TO {claim}");
    counter_expect(&heard.news, 4);
    worker_stop(run);
    assert_int_equal(1, heard.failed);
    assert_int_equal(1, heard.well);
    assert_int_equal(2, heard.results[PAWL_DONE]);
}
