/* tests/fault/fault_worker.c - a worker, one of whose calls below fails. */
#include "fault_worker.h"

#include <stdatomic.h>
#include <string.h>

#include "fault_run.h"

#define ROUNDS 4
#define MESSAGES 8

/* ---- step by step ---- */

typedef struct stepped_worker {
    fixture *f;
    pawl_store *store;
    pawl_worker *worker;
    const char *insert; /* the effect */
    int done_calls;
    int dead_calls;
    bool retried;
    bool effect_lost; /* its transaction failed: the message comes again */
} stepped_worker;

static pawl_result handle_done(pawl_task *task, void *context)
{
    stepped_worker *l = context;

    l->done_calls++;
    return pawl_task_cancelled(task) ? PAWL_RETRY : PAWL_DONE;
}

static pawl_result handle_retry(pawl_task *task, void *context)
{
    stepped_worker *l = context;

    pawl_task_set_error(task, "not now");
    if (l->retried)
        return PAWL_DONE;
    l->retried = true;
    return PAWL_RETRY;
}

static pawl_result handle_fail(pawl_task *task, void *context)
{
    (void)context;
    pawl_task_set_error(task, "never");
    return PAWL_FAIL;
}

static pawl_result handle_dead(pawl_task *task, void *context)
{
    stepped_worker *l = context;

    (void)task;
    l->dead_calls++;
    return PAWL_DONE;
}

static pawl_result handle_effect(pawl_task *task, void *context)
{
    stepped_worker *l = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;
    pawl_status st = pawl_task_begin(task, &tx, &err);

    if (st == PAWL_OK && !fault_application_sql(tx, l->insert))
        st = PAWL_E_UNAVAILABLE;
    if (st == PAWL_OK)
        st = pawl_tx_commit_with_ack(tx, &err);
    pawl_tx_free(tx);
    l->effect_lost |= st != PAWL_OK;
    return st == PAWL_OK ? PAWL_DONE : PAWL_RETRY;
}

/* After a failure with a sound error the same call is made again, and must succeed. */
static void expect_fault(stepped_worker *l, pawl_status st, const pawl_error *err,
                         bool *failed_before)
{
    if (*failed_before || !failing_happened())
        test_fail("the worker answered %s without a fault: %s", pawl_status_name(st), err->message);
    if (err->status != st || !err->message[0])
        test_fail("the worker answered %s after %s failed, but the error says %s: \"%s\"",
                  pawl_status_name(st), failing_where(), pawl_status_name(err->status),
                  err->message);
    *failed_before = true;
    failing_pause();
    fault_wait_for_server(l->f);
}

static pawl_status set_up_stepped(stepped_worker *l, pawl_error *err)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_status st;

    options.all_topics = true;
    options.owner_name = "life";
    st = pawl_worker_new(l->store, &options, &l->worker, err);
    if (st == PAWL_OK)
        st = pawl_worker_handle(l->worker, "done", handle_done, l, NULL, err);
    if (st == PAWL_OK)
        st = pawl_worker_handle(l->worker, "retry", handle_retry, l, NULL, err);
    if (st == PAWL_OK)
        st = pawl_worker_handle(l->worker, "fail", handle_fail, l, NULL, err);
    if (st == PAWL_OK)
        st = pawl_worker_handle(l->worker, "effect", handle_effect, l, NULL, err);
    if (st == PAWL_OK)
        st = pawl_worker_handle_dead(l->worker, NULL, handle_dead, l, err);
    if (st != PAWL_OK) {
        pawl_worker_free(l->worker);
        l->worker = NULL;
    }
    return st;
}

static void work_off(stepped_worker *l, worker_points *points, bool *failed_before)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    failing_resume();
    if (!l->worker && (st = set_up_stepped(l, &err)) != PAWL_OK) {
        expect_fault(l, st, &err, failed_before);
        assert_ok(set_up_stepped(l, &err), &err);
    }
    while ((st = pawl_worker_until_idle(l->worker, &err)) != PAWL_OK) {
        points->in_doubt += st == PAWL_E_IN_DOUBT;
        expect_fault(l, st, &err, failed_before);
    }
    failing_pause();
}

static void send_topics(stepped_worker *l)
{
    static const char *const topics[] = {"done", "done", "done", "retry", "fail", "effect", "none"};
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < COUNT_OF(topics); i++) {
        pawl_message_spec message = queue_message(topics[i], "x");
        message.correlation_id = topics[i];
        assert_ok(pawl_outbox_enqueue(l->store, &message, NULL, &err), &err);
    }
}

static void check_stepped(stepped_worker *l)
{
    static const char expected[] = "done:2 done:2 done:2 effect:2 fail:3 none:0 retry:2";
    const char *end =
        fixture_text(l->f,
                     "SELECT %s FROM (SELECT correlation_id || ':' || state AS one"
                     " FROM {message} ORDER BY correlation_id) AS list",
                     fixture_is_postgres(l->f) ? "string_agg(one, ' ')" : "group_concat(one, ' ')");
    pawl_worker_stats stats = worker_stats(l->worker);

    if (!end || strcmp(end, expected) != 0)
        test_fail("it ended with \"%s\" after %s failed, not with \"%s\"", end ? end : "",
                  failing_where(), expected);
    assert_int_equal(1, fixture_count(l->f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(0, fixture_count(l->f, "SELECT count(*) FROM {dead}"));
    if (l->done_calls != 3)
        test_fail("three messages took %d calls after %s failed", l->done_calls, failing_where());
    assert_true(l->dead_calls >= 1 && l->dead_calls <= 2); /* at least once */
    if (stats.lost > l->effect_lost)
        test_fail("%d results were lost after %s failed", (int)stats.lost, failing_where());
    assert_int_equal(0, stats.in_flight);
    worker_check_nothing_leased(l->f);
}

/* However the test ends. */
static void end_stepped(void *argument)
{
    stepped_worker *l = argument;

    pawl_worker_free(l->worker);
    pawl_store_close(l->store);
    l->worker = NULL;
    l->store = NULL;
}

bool fault_worker_step(fixture *f, failing_kind kind, long nth, int how, worker_points *points)
{
    static stepped_worker l;
    pawl_store_options opts = fault_store_options(f);
    pawl_error err = PAWL_ERROR_INIT;
    bool failed_before = false;

    l = (stepped_worker){.f = f, .insert = fixture_expand(f, "INSERT INTO {orders} VALUES (1)")};
    test_defer(end_stepped, &l);
    scenario_clean(f);
    assert_ok(pawl_store_open(fixture_url(f), &opts, &l.store, &err), &err);
    send_topics(&l);
    failing_arm(kind, nth, how);
    failing_pause();
    for (int round = 0; round < ROUNDS; round++) {
        work_off(&l, points, &failed_before);
        fixture_advance(f, HOUR_MS);
    }
    check_stepped(&l);
    test_defer_cancel(&l);
    end_stepped(&l);
    bool failed = failing_disarm();
    points->failed += failed;
    return failed;
}

/* ---- with threads ---- */

typedef struct running_worker {
    fixture *f;
    pawl_store *store;
    pawl_worker *worker;
    int64_t first; /* work id */
    atomic_int seen[MESSAGES];
    atomic_int different; /* messages that were seen */
} running_worker;

/* Without allocating: it runs while memory fails. */
static pawl_result handle_running(pawl_task *task, void *context)
{
    running_worker *l = context;
    int64_t number = pawl_message_work_id(pawl_task_message(task)).value - l->first;

    if (atomic_fetch_add(&l->seen[number], 1) == 0 &&
        atomic_fetch_add(&l->different, 1) + 1 == MESSAGES)
        pawl_worker_request_stop(l->worker);
    return PAWL_DONE;
}

static pawl_status set_up_running(running_worker *l, pawl_error *err)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_status st;

    options.concurrency = 2;
    options.batch = 3;
    st = pawl_worker_new(l->store, &options, &l->worker, err);
    if (st == PAWL_OK)
        st = pawl_worker_handle(l->worker, "run", handle_running, l, NULL, err);
    if (st != PAWL_OK) {
        pawl_worker_free(l->worker);
        l->worker = NULL;
    }
    return st;
}

static void free_running(void *argument)
{
    running_worker *l = argument;

    pawl_worker_free(l->worker);
    pawl_store_close(l->store);
    l->worker = NULL;
    l->store = NULL;
}

static void begin_running(running_worker *l, fixture *f)
{
    pawl_store_options opts = fault_store_options(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued sent[MESSAGES];
    pawl_message_spec messages[MESSAGES];

    *l = (running_worker){.f = f};
    test_defer(free_running, l);
    scenario_clean(f);
    assert_ok(pawl_store_open(fixture_url(f), &opts, &l->store, &err), &err);
    for (int i = 0; i < MESSAGES; i++)
        messages[i] = queue_message("run", "x");
    assert_ok(pawl_outbox_enqueue_batch(l->store, messages, MESSAGES, sent, &err), &err);
    l->first = sent[0].work_id.value;
}

/* Unfinished messages are finished now; every message was handled, and none was lost. */
static void finish_running(running_worker *l)
{
    pawl_error err = PAWL_ERROR_INIT;

    if (!l->worker)
        assert_ok(set_up_running(l, &err), &err);
    assert_ok(pawl_worker_until_idle(l->worker, &err), &err);
    for (int i = 0; i < MESSAGES; i++)
        if (atomic_load(&l->seen[i]) < 1)
            test_fail("message %d was lost after %s failed", i, failing_where());
    assert_int_equal(MESSAGES, fixture_count(l->f, "SELECT count(*) FROM {outcome}"
                                                   " WHERE state = 2"));
    worker_check_nothing_leased(l->f);
    test_defer_cancel(l);
    free_running(l);
}

/* Whatever was claimed and not given back is found by its owner; no lease has to end. */
bool fault_worker_run(fixture *f, long nth)
{
    static running_worker l;
    pawl_error err = PAWL_ERROR_INIT;

    begin_running(&l, f);
    failing_arm_everywhere(nth);
    pawl_status st = set_up_running(&l, &err);
    if (st == PAWL_OK)
        st = pawl_worker_run(l.worker, &err);
    bool failed = failing_disarm();
    if (st != PAWL_OK && (!failed || err.status != st || !err.message[0]))
        test_fail("the worker answered %s, and the error says \"%s\"", pawl_status_name(st),
                  err.message);
    if (st == PAWL_OK)
        worker_check_nothing_leased(f);
    finish_running(&l);
    return failed;
}

static void stop_worker(void *worker)
{
    pawl_worker_request_stop(worker);
}

/* The store can be reached again at once: it may be late, but it leaves nothing leased. */
bool fault_worker_stop(fixture *f, long nth, int how)
{
    static running_worker l;
    pawl_error err = PAWL_ERROR_INIT;

    begin_running(&l, f);
    assert_ok(set_up_running(&l, &err), &err);
    failing_arm(FAILING_SQL, nth, how);
    failing_then(stop_worker, l.worker);
    pawl_status st = pawl_worker_run(l.worker, &err);
    bool failed = failing_disarm();
    if (st != PAWL_OK)
        test_fail("stopping answered %s after %s failed: %s", pawl_status_name(st), failing_where(),
                  err.message);
    fault_wait_for_server(f);
    int64_t owned = fixture_count(f, "SELECT count(*) FROM {queue} WHERE fence > 0");
    if (owned != 0)
        test_fail("%d messages stayed leased after %s failed", (int)owned, failing_where());
    finish_running(&l);
    return failed;
}
