/* tests/worker/handlers_test.c - handlers by topic, and the effects of their results, step by step.
 */
#include "worker_fixture.h"

#include <inttypes.h>
#include <string.h>

static pawl_result never(pawl_task *task, void *context)
{
    (void)task;
    (void)context;
    return PAWL_FAIL;
}

PAWL_TEST(a_message_goes_to_the_handler_of_exactly_its_topic)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder lower = {0}, upper = {0}, rest = {0};

    worker_handle(worker, "orders", recorder_handle, &lower);
    worker_handle(worker, "Orders", recorder_handle, &upper);
    worker_handle(worker, NULL, recorder_handle, &rest);
    fixture_send(f, "orders", "a");
    fixture_send(f, "Orders", "b");
    fixture_send(f, "orders.new", "c");
    fixture_send(f, "orders", "d");
    worker_until_idle(worker);
    assert_string_equal("a d", lower.seen);
    assert_string_equal("b", upper.seen);
    assert_string_equal("c", rest.seen);
    assert_int_equal(4, worker_stats(worker).done);
    assert_int_equal(4, fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 2"));
    worker_check_nothing_leased(f);
}

PAWL_TEST(without_a_default_handler_other_topics_are_left_for_others)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder mine = {0};
    pawl_work_id other = fixture_send(f, "other", "x");

    worker_handle(worker, "mine", recorder_handle, &mine);
    fixture_send(f, "mine", "y");
    worker_until_idle(worker);
    assert_string_equal("y", mine.seen);
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, other));
    assert_int_equal(0, pawl_message_retries(queue_get(f, other)));
}

PAWL_TEST(bad_registrations_are_refused)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_handler_options opts = PAWL_HANDLER_OPTIONS_INIT;

    assert_status(PAWL_E_INVALID, pawl_worker_handle(worker, "", never, NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_worker_handle(worker, "a", NULL, NULL, NULL, &err), &err);
    worker_handle(worker, "a", never, NULL);
    assert_status(PAWL_E_INVALID, pawl_worker_handle(worker, "a", never, NULL, NULL, &err), &err);
    assert_says(&err, "already has a handler");
    worker_handle(worker, NULL, never, NULL);
    assert_status(PAWL_E_INVALID, pawl_worker_handle(worker, NULL, never, NULL, NULL, &err), &err);
    opts.concurrency = -1;
    assert_status(PAWL_E_INVALID, pawl_worker_handle(worker, "b", never, NULL, &opts, &err), &err);
    opts = (pawl_handler_options)PAWL_HANDLER_OPTIONS_INIT;
    opts.timeout_ms = -1;
    assert_status(PAWL_E_INVALID, pawl_worker_handle(worker, "b", never, NULL, &opts, &err), &err);
}

PAWL_TEST(bad_options_are_refused)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_worker_options base = PAWL_WORKER_OPTIONS_INIT, o;

    assert_status(PAWL_E_INVALID, pawl_worker_new(NULL, NULL, &worker, &err), &err);
    o = base, o.concurrency = 0;
    assert_status(PAWL_E_INVALID, pawl_worker_new(fixture_store(f), &o, &worker, &err), &err);
    o = base, o.batch = 0;
    assert_status(PAWL_E_INVALID, pawl_worker_new(fixture_store(f), &o, &worker, &err), &err);
    o = base, o.lease_ms = 0;
    assert_status(PAWL_E_INVALID, pawl_worker_new(fixture_store(f), &o, &worker, &err), &err);
    o = base, o.owner_name = "";
    assert_status(PAWL_E_INVALID, pawl_worker_new(fixture_store(f), &o, &worker, &err), &err);
    o = base, o.maintenance_interval_ms[PAWL_MAINTENANCE_REAP] = -1;
    assert_status(PAWL_E_INVALID, pawl_worker_new(fixture_store(f), &o, &worker, &err), &err);
    o = base, o.maintenance_timeout_ms[PAWL_MAINTENANCE_REAP] = 0;
    assert_status(PAWL_E_INVALID, pawl_worker_new(fixture_store(f), &o, &worker, &err), &err);
    o = base, o.maintenance_interval_ms[PAWL_MAINTENANCE_COUNT] = 1000;
    assert_status(PAWL_E_INVALID, pawl_worker_new(fixture_store(f), &o, &worker, &err), &err);
    assert_says(&err, "at least as new as the headers");
    assert_null(worker);
}

PAWL_TEST(a_maintenance_task_that_the_program_does_not_know_runs_by_default)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    options.maintenance_interval_ms[PAWL_MAINTENANCE_REAP] = 0;
    options.maintenance_timeout_ms[PAWL_MAINTENANCE_REAP] = 0; /* as in an older struct */
    options.maintenance_interval_ms[PAWL_MAINTENANCE_EXPIRE] = 0;
    options.maintenance_only = true;
    pawl_worker *worker = worker_open(f, &options);
    worker_until_idle(worker);
    assert_int_equal(1, worker_stats(worker).maintenance[PAWL_MAINTENANCE_REAP].runs);
    assert_int_equal(0, worker_stats(worker).maintenance[PAWL_MAINTENANCE_EXPIRE].runs);
}

PAWL_TEST(a_worker_with_neither_handlers_nor_a_scheduler_does_not_run)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    options.scheduler = false;
    assert_status(PAWL_E_MISUSE, pawl_worker_run(worker_open(f, &options), &err), &err);
}

static pawl_result check_every_getter(pawl_task *task, void *context)
{
    const pawl_message *message = pawl_task_message(task);
    int *calls = context;

    (*calls)++;
    return strcmp(pawl_message_topic(message), "t") == 0 &&
                   strcmp(queue_payload(message), "the payload") == 0 &&
                   strcmp(pawl_message_correlation_id(message), "order-7") == 0 &&
                   strcmp(pawl_message_claimed_by(message), "press") == 0 &&
                   pawl_message_priority(message) == 4 && pawl_task_attempt(task) == 1 &&
                   pawl_task_fence(task) == pawl_message_fence(message) &&
                   pawl_task_fence(task) > 0 && !pawl_task_cancelled(task)
               ? PAWL_DONE
               : PAWL_FAIL;
}

PAWL_TEST(a_handler_gets_the_whole_message)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_message_spec message = queue_message("t", "the payload");
    int calls = 0;

    options.owner_name = "press";
    message.correlation_id = "order-7";
    message.priority = 4;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", check_every_getter, &calls);
    pawl_work_id id = queue_send(f, &message).work_id;
    worker_until_idle(worker);
    assert_int_equal(1, calls);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    assert_string_equal("press", pawl_message_processed_by(queue_get(f, id)));
}

PAWL_TEST(a_retrying_handler_is_called_again_by_the_policy)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder record = {.result = PAWL_RETRY, .error = "the printer is out of paper"};
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_handle(worker, "t", recorder_handle, &record);
    worker_until_idle(worker);
    assert_int_equal(1, record.calls);
    assert_string_equal("the printer is out of paper", pawl_message_last_error(queue_get(f, id)));
    fixture_advance(f, 999);
    worker_until_idle(worker);
    assert_int_equal(1, record.calls);
    fixture_advance(f, 1);
    worker_until_idle(worker);
    assert_int_equal(2, record.calls);
    assert_int_equal(2, record.attempt);
    record.result = PAWL_DONE;
    fixture_advance(f, 2 * SECOND_MS);
    worker_until_idle(worker);
    assert_int_equal(3, record.calls);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    assert_int_equal(2, worker_stats(worker).retried);
    assert_int_equal(1, worker_stats(worker).done);
}

PAWL_TEST(a_handler_chooses_its_own_delay)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder record = {.result = PAWL_RETRY, .delay_ms = HOUR_MS};

    worker_handle(worker, "t", recorder_handle, &record);
    fixture_send(f, "t", "x");
    worker_until_idle(worker);
    fixture_advance(f, HOUR_MS - 1);
    worker_until_idle(worker);
    assert_int_equal(1, record.calls);
    fixture_advance(f, 1);
    worker_until_idle(worker);
    assert_int_equal(2, record.calls);
}

PAWL_TEST(a_failing_handler_makes_a_dead_letter_with_its_reason)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder record = {.result = PAWL_FAIL, .error = "no such customer"};
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_handle(worker, "t", recorder_handle, &record);
    worker_until_idle(worker);
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, id));
    assert_string_equal("no such customer", pawl_message_last_error(queue_get(f, id)));
    fixture_advance(f, DAY_MS);
    worker_until_idle(worker);
    assert_int_equal(1, record.calls);
    assert_int_equal(1, worker_stats(worker).failed);
}

PAWL_TEST(after_the_last_attempt_it_fails)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder record = {.result = PAWL_RETRY, .error = "again"};
    pawl_message_spec message = queue_message("t", "x");

    message.max_attempts = 3;
    pawl_work_id id = queue_send(f, &message).work_id;
    worker_handle(worker, "t", recorder_handle, &record);
    for (int i = 0; i < 5; i++) {
        worker_until_idle(worker);
        fixture_advance(f, MINUTE_MS);
    }
    assert_int_equal(3, record.calls);
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, id));
}

static pawl_result nonsense(pawl_task *task, void *context)
{
    (void)task;
    (void)context;
    return (pawl_result)77;
}

PAWL_TEST(an_invalid_result_counts_as_retry)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_handle(worker, "t", nonsense, NULL);
    worker_until_idle(worker);
    assert_int_equal(PAWL_STATE_SCHEDULED, fixture_state(f, id));
    assert_non_null(strstr(pawl_message_last_error(queue_get(f, id)), "invalid result"));
}

PAWL_TEST(results_of_all_kinds_in_one_batch_reach_their_messages)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder done = {0}, again = {.result = PAWL_RETRY, .error = "e1"},
             later = {.result = PAWL_RETRY, .error = "e1", .delay_ms = 5000},
             bad = {.result = PAWL_FAIL, .error = "e2"};

    worker_handle(worker, "done", recorder_handle, &done);
    worker_handle(worker, "again", recorder_handle, &again);
    worker_handle(worker, "later", recorder_handle, &later);
    worker_handle(worker, "bad", recorder_handle, &bad);
    for (int i = 0; i < 5; i++) {
        fixture_send(f, "done", "x");
        fixture_send(f, "again", "x");
        fixture_send(f, "later", "x");
        fixture_send(f, "bad", "x");
    }
    worker_step(worker);
    pawl_worker_stats stats = worker_stats(worker);
    assert_int_equal(20, stats.claimed);
    assert_int_equal(5, stats.done);
    assert_int_equal(10, stats.retried);
    assert_int_equal(5, stats.failed);
    assert_int_equal(0, stats.lost);
    assert_int_equal(0, stats.in_flight);
    assert_int_equal(5, fixture_count(f,
                                      "SELECT count(*) FROM {queue} WHERE {us:run_at} = "
                                      "%" PRId64,
                                      FIXTURE_START.us + 5000000));
    worker_check_nothing_leased(f);
}

/* ---- topics without a handler ---- */

PAWL_TEST(a_missing_handler_is_logged_at_intervals_and_the_message_retried)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    recorder record = {0};

    options.all_topics = true;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", recorder_handle, &record);
    pawl_work_id id = fixture_send(f, "nobody", "x");
    fixture_send(f, "nobody", "y");
    fixture_send(f, "t", "z");
    fixture_log_clear(f);
    worker_until_idle(worker);
    assert_string_equal("z", record.seen);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "topic 'nobody': no handler is registered"));
    assert_int_equal(1, pawl_message_retries(queue_get(f, id)));
    assert_int_equal(2, worker_stats(worker).unhandled);
    fixture_log_clear(f);
    fixture_advance(f, SECOND_MS);
    worker_until_idle(worker);
    assert_int_equal(4, worker_stats(worker).unhandled);
    assert_false(fixture_logged(f, PAWL_LOG_WARNING, "no handler"));
    fixture_advance(f, MINUTE_MS);
    worker_until_idle(worker);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "no handler"));
}

PAWL_TEST(a_topic_without_a_handler_is_warned_of_by_default_and_left_to_other_workers)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder record = {0};
    pawl_message_spec remote = PAWL_MESSAGE_SPEC_INIT;

    worker_handle(worker, "t", recorder_handle, &record);
    pawl_work_id id = fixture_send(f, "nobody", "x");
    remote.topic = "delivered";
    remote.payload = "";
    remote.destination = "shop";
    queue_send(f, &remote);
    fixture_log_clear(f);
    worker_until_idle(worker);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "topic 'nobody': no handler is registered"));
    assert_false(fixture_logged(f, PAWL_LOG_WARNING, "'delivered'"));
    assert_false(fixture_logged(f, PAWL_LOG_WARNING, "topic 't'"));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
    assert_int_equal(0, pawl_message_retries(queue_get(f, id)));
    fixture_log_clear(f);
    fixture_advance(f, SECOND_MS);
    worker_until_idle(worker);
    assert_false(fixture_logged(f, PAWL_LOG_WARNING, "no handler"));
    fixture_advance(f, MINUTE_MS);
    worker_until_idle(worker);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "no handler"));
}

/* ---- logging ---- */

PAWL_TEST(calls_are_logged_as_info_and_failures_as_errors_without_the_payload)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder good = {0}, bad = {.result = PAWL_RETRY, .error = "the printer is on fire"};
    char id[PAWL_UUID_TEXT_SIZE];

    worker_handle(worker, "good", recorder_handle, &good);
    worker_handle(worker, "bad", recorder_handle, &bad);
    pawl_work_id work = fixture_send(f, "good", "secret-payload");
    pawl_uuid_format(pawl_message_id(queue_get(f, work)), id);
    worker_until_idle(worker);
    assert_true(
        fixture_logged(f, PAWL_LOG_INFO, test_note("handling message %s of topic 'good'", id)));
    assert_false(fixture_logged(f, PAWL_LOG_ERROR, ""));
    work = fixture_send(f, "bad", "secret-payload");
    pawl_uuid_format(pawl_message_id(queue_get(f, work)), id);
    worker_until_idle(worker);
    assert_true(fixture_logged(f, PAWL_LOG_ERROR, id));
    assert_true(fixture_logged(f, PAWL_LOG_ERROR, "the printer is on fire"));
    static const char failed[] = "topic 'bad': attempt 1 of message";
    assert_true(fixture_logged_field(f, failed, "message_id", id));
    assert_true(fixture_logged_field(f, failed, "topic", "bad"));
    assert_true(fixture_logged_field(f, failed, "attempt", "#1"));
    assert_true(fixture_logged_field(f, failed, "error", "the printer is on fire"));
    assert_true(fixture_logged_field(f, "enqueued: topic bad", "message_id", id));
    for (size_t i = 0; i < fixture_log_count(f); i++)
        assert_null(strstr(fixture_log_at(f, i), "secret-payload"));
}
