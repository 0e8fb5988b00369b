/* tests/worker/run_threads_test.c - pawl_worker_run with real threads. */
#include "worker_fixture.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 8

/* The calls of many concurrent handlers for messages with ids from `first` on. */
#define MOST 3000
struct crowd {
    int64_t first;
    atomic_int seen[MOST];
    counter calls;
};

static pawl_result crowd_handle(pawl_task *task, void *context)
{
    struct crowd *crowd = context;
    int64_t number = pawl_message_work_id(pawl_task_message(task)).value - crowd->first;

    atomic_fetch_add(&crowd->seen[number], 1);
    counter_add(&crowd->calls, 1);
    return PAWL_DONE;
}

static struct crowd *crowd_new(fixture *f, int count)
{
    static struct crowd crowd;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec *messages = calloc((size_t)count, sizeof *messages);
    pawl_enqueued *sent = calloc((size_t)count, sizeof *sent);

    if (!messages || !sent)
        abort();
    crowd = (struct crowd){.calls = COUNTER_INIT};
    for (int i = 0; i < count; i++)
        messages[i] = queue_message(i % 3 ? "common" : "rare", "x");
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, (size_t)count, sent, &err),
              &err);
    crowd.first = sent[0].work_id.value;
    free(messages);
    free(sent);
    return &crowd;
}

static fixture *open_fast(bool real_clock)
{
    static pawl_store_options store = PAWL_STORE_OPTIONS_INIT;
    fixture_options opts = {.store = &store, .real_clock = real_clock};

    store.durability = PAWL_DURABILITY_NORMAL;
    return fixture_open(&opts);
}

static pawl_worker_options usual_options(void)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    options.concurrency = THREADS;
    return options;
}

PAWL_TEST(many_messages_are_handled_once_each)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    pawl_worker *worker = worker_open(f, &options);
    struct crowd *crowd = crowd_new(f, MOST);

    worker_handle(worker, "rare", crowd_handle, crowd);
    worker_handle(worker, NULL, crowd_handle, crowd);
    running *run = worker_run(worker);
    counter_expect(&crowd->calls, MOST);
    worker_stop(run);
    for (int i = 0; i < MOST; i++)
        if (atomic_load(&crowd->seen[i]) != 1)
            test_fail("message %d was handled %d times", i, atomic_load(&crowd->seen[i]));
    pawl_worker_stats stats = worker_stats(worker);
    assert_int_equal(MOST, stats.done);
    assert_int_equal(MOST, stats.claimed);
    assert_int_equal(0, stats.lost);
    assert_int_equal(0, stats.in_flight);
    assert_int_equal(MOST, fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 2"));
    worker_check_nothing_leased(f);
}

PAWL_TEST(stopping_under_load_leaves_nothing_leased_and_loses_nothing)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    pawl_worker *worker = worker_open(f, &options);
    struct crowd *crowd = crowd_new(f, MOST);
    int rounds = 0;

    worker_handle(worker, NULL, crowd_handle, crowd);
    while (counter_get(&crowd->calls) < MOST) {
        running *run = worker_run(worker);
        counter_expect(&crowd->calls, rounds < 5 ? counter_get(&crowd->calls) + 100 : MOST);
        worker_stop(run);
        worker_check_nothing_leased(f);
        assert_int_equal(counter_get(&crowd->calls),
                         fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 2"));
        rounds++;
    }
    for (int i = 0; i < MOST; i++)
        assert_int_equal(1, atomic_load(&crowd->seen[i]));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {outcome} WHERE retries > 0"));
    assert_int_equal(worker_stats(worker).claimed,
                     worker_stats(worker).done + worker_stats(worker).released);
}

/* ---- limits ---- */

struct limited {
    atomic_int now, most;
    int limit;
    counter calls;
};

static pawl_result limited_handle(pawl_task *task, void *context)
{
    struct limited *limited = context;
    int now = atomic_fetch_add(&limited->now, 1) + 1;
    int most = atomic_load(&limited->most);

    (void)task;
    while (now > most && !atomic_compare_exchange_weak(&limited->most, &most, now))
        continue;
    activity_report();
    uint64_t seen = activity_count();
    if (limited->limit > 0)
        activity_wait(atomic_load(&limited->most) >= limited->limit);
    activity_await(seen); /* so that calls overlap: until another one begins or ends */
    atomic_fetch_sub(&limited->now, 1);
    counter_add(&limited->calls, 1);
    return PAWL_DONE;
}

static void check_limits(fixture *f, pawl_worker *worker, bool with_default)
{
    static struct limited topics[3];
    static const char *const names[] = {"one", "two", "free"};
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < 3; i++) {
        pawl_handler_options limit = PAWL_HANDLER_OPTIONS_INIT;
        topics[i] = (struct limited){.limit = i < 2 ? i + 1 : 0, .calls = COUNTER_INIT};
        limit.concurrency = topics[i].limit;
        assert_ok(pawl_worker_handle(worker, with_default && i == 2 ? NULL : names[i],
                                     limited_handle, &topics[i], &limit, &err),
                  &err);
    }
    for (int i = 0; i < 300; i++)
        fixture_send(f, names[i % 3], "x");
    running *run = worker_run(worker);
    for (int i = 0; i < 3; i++)
        counter_expect(&topics[i].calls, 100);
    worker_stop(run);
    assert_int_equal(1, atomic_load(&topics[0].most));
    assert_int_equal(2, atomic_load(&topics[1].most));
    assert_int_equal(300, worker_stats(worker).done);
    worker_check_nothing_leased(f);
}

PAWL_TEST(a_topics_limit_is_never_exceeded)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();

    check_limits(f, worker_open(f, &options), false);
}

PAWL_TEST(a_topics_limit_applies_beside_a_default_handler)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();

    check_limits(f, worker_open(f, &options), true);
}

PAWL_TEST(a_topic_at_its_limit_does_not_delay_others)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    pawl_handler_options limit = PAWL_HANDLER_OPTIONS_INIT;
    struct gate gate = {COUNTER_INIT, COUNTER_INIT};
    counter others = COUNTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_worker *worker = worker_open(f, &options);

    limit.concurrency = 1;
    assert_ok(pawl_worker_handle(worker, "stuck", gate_handle, &gate, &limit, &err), &err);
    worker_handle(worker, NULL, count_handle, &others);
    for (int i = 0; i < 200; i++)
        fixture_send(f, "stuck", "x");
    running *run = worker_run(worker);
    counter_expect(&gate.entered, 1);
    for (int i = 0; i < 100; i++)
        fixture_send(f, "other", "x");
    counter_expect(&others, 100);
    assert_int_equal(1, counter_get(&gate.entered));
    counter_add(&gate.open, 1);
    counter_expect(&gate.entered, 200);
    worker_stop(run);
    assert_int_equal(300, worker_stats(worker).done);
}

/* Two slow handlers after many fast ones, by which the worker would expect to need more. */
PAWL_TEST(prefetch_can_be_turned_off)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    struct gate gate = {COUNTER_INIT, COUNTER_INIT};
    counter fast = COUNTER_INIT;

    options.concurrency = 2;
    options.claim_ahead = false;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "fast", count_handle, &fast);
    worker_handle(worker, "slow", gate_handle, &gate);
    for (int i = 0; i < 50; i++)
        fixture_send(f, "fast", "x");
    running *run = worker_run(worker);
    until(worker_stats(worker).done == 50);
    for (int i = 0; i < 10; i++)
        fixture_send(f, "slow", "x");
    counter_expect(&gate.entered, 2);
    assert_int_equal(52, worker_stats(worker).claimed);
    assert_int_equal(8, fixture_count(f, "SELECT count(*) FROM {queue} WHERE fence = 0"));
    counter_add(&gate.open, 1);
    until(worker_stats(worker).done == 60);
    worker_stop(run);
}

/* ---- leases ---- */

static pawl_worker_options brief(void)
{
    pawl_worker_options options = usual_options();

    options.lease_ms = 900;
    options.maintenance_interval_ms[PAWL_MAINTENANCE_REAP] = 50;
    return options;
}

static pawl_result outlast_lease(pawl_task *task, void *context)
{
    pawl_worker *worker = *(pawl_worker **)context;

    /* Six renewals at a third each are two leases. */
    activity_wait(worker_stats(worker).renewals >= 6 || pawl_task_cancelled(task));
    return pawl_task_cancelled(task) ? PAWL_FAIL : PAWL_DONE;
}

PAWL_TEST(renewal_keeps_the_lease_of_a_long_handler)
{
    fixture *f = open_fast(true);
    pawl_worker_options options = brief();
    pawl_worker *worker = worker_open(f, &options);
    pawl_work_id id = fixture_send(f, "t", "x");
    counter after = COUNTER_INIT;

    worker_handle(worker, "t", outlast_lease, &worker);
    worker_handle(worker, "after", count_handle, &after);
    running *run = worker_run(worker);
    until(worker_stats(worker).done + worker_stats(worker).failed > 0);
    worker_stop(run);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    assert_int_equal(0, pawl_message_retries(queue_get(f, id)));
    assert_int_equal(0, worker_stats(worker).lost);
}

static pawl_result wait_for_cancel(pawl_task *task, void *context)
{
    counter_add(context, 1);
    (void)worker_await_cancel(task);
    if (!pawl_task_cancelled(task))
        return PAWL_FAIL;
    counter_add(context, 1);
    return PAWL_DONE;
}

PAWL_TEST(a_cancelled_message_reaches_its_handler)
{
    fixture *f = open_fast(true);
    pawl_worker_options options = brief();
    pawl_worker *worker = worker_open(f, &options);
    counter calls = COUNTER_INIT;
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_handle(worker, "t", wait_for_cancel, &calls);
    running *run = worker_run(worker);
    counter_expect(&calls, 1);
    assert_int_equal(1, (int)queue_cancel(f, id));
    counter_expect(&calls, 2);
    worker_stop(run);
    assert_int_equal(PAWL_STATE_CANCELLED, fixture_state(f, id));
    assert_int_equal(1, worker_stats(worker).lost);
}

PAWL_TEST(a_handler_sees_its_time_limit)
{
    fixture *f = open_fast(true);
    pawl_worker_options options = usual_options();
    pawl_handler_options limit = PAWL_HANDLER_OPTIONS_INIT;
    pawl_worker *worker = worker_open(f, &options);
    counter calls = COUNTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_work_id id = fixture_send(f, "t", "x");

    limit.timeout_ms = 100;
    assert_ok(pawl_worker_handle(worker, "t", wait_for_cancel, &calls, &limit, &err), &err);
    running *run = worker_run(worker);
    counter_expect(&calls, 2);
    worker_stop(run);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
}

/* The lease ends while the handler runs, and this very worker claims the message again. */
PAWL_TEST(one_message_is_never_handled_twice_at_once)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    struct gate gate = {COUNTER_INIT, COUNTER_INIT};
    pawl_worker *worker = worker_open(f, &options);
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_handle(worker, "t", gate_handle, &gate);
    running *run = worker_run(worker);
    counter_expect(&gate.entered, 1);
    fixture_advance(f, 31 * SECOND_MS);
    (void)queue_reap(f);
    until(worker_stats(worker).claimed == 2);
    assert_int_equal(1, counter_get(&gate.entered));
    assert_int_equal(1, worker_stats(worker).running);
    counter_add(&gate.open, 1);
    counter_expect(&gate.entered, 2);
    worker_stop(run);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    assert_int_equal(1, pawl_message_retries(queue_get(f, id)));
    assert_int_equal(1, worker_stats(worker).done);
    assert_int_equal(1, worker_stats(worker).lost);
}

/* ---- stopping ---- */

static pawl_result return_when_cancelled(pawl_task *task, void *context)
{
    counter_add(context, 1);
    return worker_await_cancel(task) ? PAWL_RETRY : PAWL_FAIL;
}

PAWL_TEST(after_the_grace_period_handlers_are_cancelled_and_messages_released)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    counter calls = COUNTER_INIT;

    options.grace_ms = 0;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", return_when_cancelled, &calls);
    for (int i = 0; i < 20; i++)
        fixture_send(f, "t", "x");
    running *run = worker_run(worker);
    counter_expect(&calls, THREADS);
    worker_stop(run);
    worker_check_nothing_leased(f);
    assert_int_equal(20, fixture_count(f, "SELECT count(*) FROM {queue} WHERE retries = 0"));
    assert_int_equal(worker_stats(worker).claimed, worker_stats(worker).released);
}

PAWL_TEST(a_second_call_to_stop_does_not_wait_for_the_grace_period)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    counter calls = COUNTER_INIT;

    options.grace_ms = HOUR_MS;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", return_when_cancelled, &calls);
    fixture_send(f, "t", "x");
    running *run = worker_run(worker);
    counter_expect(&calls, 1);
    pawl_worker_request_stop(worker);
    worker_stop(run);
    worker_check_nothing_leased(f);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {queue} WHERE retries = 0"));
}

PAWL_TEST(the_message_of_a_handler_that_ignores_cancellation_is_released)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    struct gate gate = {COUNTER_INIT, COUNTER_INIT};

    options.grace_ms = options.cancel_ms = 0;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", gate_handle, &gate);
    pawl_work_id id = fixture_send(f, "t", "x");
    running *run = worker_run(worker);
    counter_expect(&gate.entered, 1);
    pawl_worker_request_stop(worker);
    until(fixture_state(f, id) == PAWL_STATE_READY);
    counter_add(&gate.open, 1);
    assert_ok(worker_join(run), &run->err);
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
    assert_int_equal(0, pawl_message_retries(queue_get(f, id)));
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "did not return within the grace period"));
    worker_check_nothing_leased(f);
}

static pawl_worker *signalled;

static void on_signal(int number)
{
    (void)number;
    pawl_worker_request_stop(signalled);
}

PAWL_TEST(a_signal_handler_may_stop_the_worker)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    counter calls = COUNTER_INIT;
    struct sigaction action = {.sa_handler = on_signal}, before;

    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", count_handle, &calls);
    fixture_send(f, "t", "x");
    signalled = worker;
    sigaction(SIGUSR1, &action, &before);
    running *run = worker_run(worker);
    counter_expect(&calls, 1);
    raise(SIGUSR1);
    assert_ok(worker_join(run), &run->err);
    sigaction(SIGUSR1, &before, NULL);
    worker_check_nothing_leased(f);
}

PAWL_TEST(a_worker_that_was_stopped_before_does_not_begin_and_may_run_later)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    counter calls = COUNTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_worker *worker = worker_open(f, &options);

    worker_handle(worker, "t", count_handle, &calls);
    fixture_send(f, "t", "x");
    pawl_worker_request_stop(worker);
    assert_ok(pawl_worker_run(worker, &err), &err);
    assert_int_equal(0, counter_get(&calls));
    running *run = worker_run(worker);
    counter_expect(&calls, 1);
    assert_status(PAWL_E_MISUSE, pawl_worker_run(worker, &err), &err);
    assert_status(PAWL_E_MISUSE, pawl_worker_step(worker, NULL, &err), &err);
    assert_status(PAWL_E_MISUSE, pawl_worker_handle(worker, "u", count_handle, &calls, NULL, &err),
                  &err);
    worker_stop(run);
}

/* ---- waking ---- */

PAWL_TEST(an_idle_worker_wakes_for_a_new_message)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    counter calls = COUNTER_INIT;
    pawl_store *other = fixture_another_store(f);
    pawl_error err = PAWL_ERROR_INIT;

    options.max_poll_ms = 10 * MINUTE_MS;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", count_handle, &calls);
    running *run = worker_run(worker);
    for (int i = 0; i < 100; i++) {
        pawl_message_spec message = queue_message("t", "x");
        assert_ok(pawl_outbox_enqueue(i % 2 ? other : fixture_store(f), &message, NULL, &err),
                  &err);
        counter_expect(&calls, i + 1);
    }
    worker_stop(run);
    assert_int_equal(100, worker_stats(worker).done);
}

/* "0" is done, "1" is put off for an hour, "2" fails. */
static pawl_result return_requested_result(pawl_task *task, void *unused)
{
    (void)unused;
    pawl_task_set_retry_delay(task, 60 * MINUTE_MS);
    return (pawl_result)strtol(queue_payload(pawl_task_message(task)), NULL, 10);
}

/* Short handlers end at any moment of the worker's going idle; nothing else would wake it. */
PAWL_TEST(an_idle_worker_stores_every_result_before_it_waits)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    pawl_worker_stats stats;

    options.max_poll_ms = 10 * MINUTE_MS;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", return_requested_result, NULL);
    running *run = worker_run(worker);
    for (int i = 0; i < 60; i++) {
        char payload[] = {(char)('0' + i % 3), '\0'};
        fixture_send(f, "t", payload);
        until((stats = worker_stats(worker), stats.done + stats.retried + stats.failed > i));
    }
    worker_stop(run);
    stats = worker_stats(worker);
    assert_int_equal(20, stats.done);
    assert_int_equal(20, stats.retried);
    assert_int_equal(20, stats.failed);
    worker_check_nothing_leased(f);
}

/* A handler that sends: each message is followed by one of lower number. */
static pawl_result pass_on(pawl_task *task, void *context)
{
    int left = (int)strtol(queue_payload(pawl_task_message(task)), NULL, 10);
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    char payload[16];

    counter_add(context, 1);
    if (left == 0)
        return PAWL_DONE;
    message.topic = "t";
    message.payload = payload;
    message.payload_size = (size_t)snprintf(payload, sizeof payload, "%d", left - 1);
    return pawl_outbox_enqueue(pawl_task_store(task), &message, NULL, NULL) == PAWL_OK ? PAWL_DONE
                                                                                       : PAWL_RETRY;
}

PAWL_TEST(handlers_may_send)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    counter calls = COUNTER_INIT;
    pawl_worker *worker = worker_open(f, &options);

    worker_handle(worker, "t", pass_on, &calls);
    for (int i = 0; i < 4; i++)
        fixture_send(f, "t", "24");
    running *run = worker_run(worker);
    counter_expect(&calls, 100);
    worker_stop(run);
    assert_int_equal(100, worker_stats(worker).done);
    worker_check_nothing_leased(f);
}

PAWL_TEST(two_workers_share_the_work)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    struct crowd *crowd = crowd_new(f, 1000);
    pawl_worker *workers[2];
    running *runs[2];

    options.concurrency = 4;
    for (int i = 0; i < 2; i++) {
        workers[i] = worker_open(f, &options);
        worker_handle(workers[i], NULL, crowd_handle, crowd);
        runs[i] = worker_run(workers[i]);
    }
    counter_expect(&crowd->calls, 1000);
    for (int i = 0; i < 2; i++)
        worker_stop(runs[i]);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(1, atomic_load(&crowd->seen[i]));
    worker_check_nothing_leased(f);
}

/* ---- topics without a handler ---- */

PAWL_TEST(a_running_worker_retries_messages_without_a_handler)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    counter calls = COUNTER_INIT;

    options.all_topics = true;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", count_handle, &calls);
    for (int i = 0; i < 20; i++)
        fixture_send(f, i % 2 ? "t" : "nobody", "x");
    running *run = worker_run(worker);
    counter_expect(&calls, 10);
    until(worker_stats(worker).retried == 10);
    worker_stop(run);
    assert_int_equal(10, worker_stats(worker).unhandled);
    assert_int_equal(10, fixture_count(f, "SELECT count(*) FROM {queue} WHERE retries = 1"));
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "no handler is registered"));
    worker_check_nothing_leased(f);
}

/* ---- a store that fails ---- */

PAWL_TEST(a_worker_waits_while_the_store_fails_and_continues)
{
    fixture *f = open_fast(false);
    pawl_worker_options options = usual_options();
    counter calls = COUNTER_INIT;
    pawl_worker *worker = worker_open(f, &options);

    worker_handle(worker, "t", count_handle, &calls);
    running *run = worker_run(worker);
    fixture_send(f, "t", "x");
    counter_expect(&calls, 1);
    fixture_exec(f, "ALTER TABLE {claim} RENAME TO moved_claim");
    fixture_send(f, "t", "x");
    until(worker_stats(worker).breaker != PAWL_BREAKER_CLOSED);
    assert_true(worker_stats(worker).last_error[0] != '\0');
    if (fixture_is_postgres(f))
        fixture_exec(f, "ALTER TABLE {moved_claim} RENAME TO claim");
    else
        fixture_exec(f, "ALTER TABLE moved_claim RENAME TO {claim}");
    counter_expect(&calls, 2);
    until(worker_stats(worker).done == 2);
    worker_stop(run);
    assert_int_equal(PAWL_BREAKER_CLOSED, worker_stats(worker).breaker);
    assert_string_equal("", worker_stats(worker).last_error);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "circuit breaker opened"));
    assert_true(fixture_logged(f, PAWL_LOG_INFO, "responds again"));
}

PAWL_TEST(a_maintenance_worker_needs_no_handler_and_claims_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_work_id stays = fixture_send(f, "t", "y");
    pawl_worker *worker;

    message.expires_at = (pawl_wall){FIXTURE_START.us + 1000000};
    pawl_work_id goes = queue_send(f, &message).work_id;
    fixture_advance(f, 2 * SECOND_MS);
    options.maintenance_only = true;
    options.concurrency = 1;
    worker = worker_open(f, &options);
    running *run = worker_run(worker);
    until(worker_stats(worker).maintenance[PAWL_MAINTENANCE_EXPIRE].changed > 0);
    worker_stop(run);
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, goes));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, stays));
    assert_int_equal(0, worker_stats(worker).claimed);
}
