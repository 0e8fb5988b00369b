/* tests/fault/life_worker_run.c - a worker's life with threads, in which one call fails. */
#include <stdatomic.h>

#include "life.h"
#include "life_steps.h"
#include "life_worker.h"

#define MESSAGES 8

typedef struct run_life {
    fixture *f;
    pawl_store *store;
    pawl_worker *worker;
    int64_t first; /* work id */
    atomic_int seen[MESSAGES];
    atomic_int different; /* messages that were seen */
} run_life;

/* Without allocating: it runs while memory fails. */
static pawl_verdict handle(pawl_task *task, void *context)
{
    run_life *l = context;
    int64_t number = pawl_message_work_id(pawl_task_message(task)).value - l->first;

    if (atomic_fetch_add(&l->seen[number], 1) == 0 &&
        atomic_fetch_add(&l->different, 1) + 1 == MESSAGES)
        pawl_worker_stop(l->worker);
    return PAWL_DONE;
}

static pawl_status set_up(run_life *l, pawl_error *err)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_status st;

    options.concurrency = 2;
    options.batch = 3;
    st = pawl_worker_new(l->store, &options, &l->worker, err);
    if (st == PAWL_OK)
        st = pawl_worker_handle(l->worker, "run", handle, l, NULL, err);
    if (st != PAWL_OK) {
        pawl_worker_free(l->worker);
        l->worker = NULL;
    }
    return st;
}

static void bury(void *argument)
{
    run_life *l = argument;

    pawl_worker_free(l->worker);
    pawl_store_close(l->store);
    l->worker = NULL;
    l->store = NULL;
}

static void begin(run_life *l, fixture *f)
{
    pawl_store_options opts = life_options(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued sent[MESSAGES];
    pawl_outgoing messages[MESSAGES];

    *l = (run_life){.f = f};
    test_defer(bury, l);
    life_clean(f);
    assert_ok(pawl_store_open(fixture_url(f), &opts, &l->store, &err), &err);
    for (int i = 0; i < MESSAGES; i++)
        messages[i] = kit_message("run", "x");
    assert_ok(pawl_outbox_enqueue_batch(l->store, messages, MESSAGES, sent, &err), &err);
    l->first = sent[0].work_id.value;
}

/* What was not finished is finished now; every message was handled, and none was lost. */
static void end(run_life *l)
{
    pawl_error err = PAWL_ERROR_INIT;

    if (!l->worker)
        assert_ok(set_up(l, &err), &err);
    assert_ok(pawl_worker_until_idle(l->worker, &err), &err);
    for (int i = 0; i < MESSAGES; i++)
        if (atomic_load(&l->seen[i]) < 1)
            test_fail("message %d was lost after %s failed", i, failing_where());
    assert_int_equal(MESSAGES, fixture_count(l->f, "SELECT count(*) FROM {outcome}"
                                                   " WHERE state = 2"));
    workshop_check_nothing_held(l->f);
    test_defer_cancel(l);
    bury(l);
}

/* Whatever was claimed and not given back is found by its owner; no lease has to end. */
bool worker_life_run(fixture *f, long nth)
{
    static run_life l;
    pawl_error err = PAWL_ERROR_INIT;

    begin(&l, f);
    failing_arm_everywhere(nth);
    pawl_status st = set_up(&l, &err);
    if (st == PAWL_OK)
        st = pawl_worker_run(l.worker, &err);
    bool failed = failing_disarm();
    if (st != PAWL_OK && (!failed || err.status != st || !err.message[0]))
        test_fail("the worker answered %s, and the error says \"%s\"", pawl_status_name(st),
                  err.message);
    if (st == PAWL_OK)
        workshop_check_nothing_held(f);
    end(&l);
    return failed;
}

static void stop(void *worker)
{
    pawl_worker_stop(worker);
}

/* The store can be reached again at once: it may be late, but it leaves nothing leased. */
bool worker_life_stop(fixture *f, long nth, int how)
{
    static run_life l;
    pawl_error err = PAWL_ERROR_INIT;

    begin(&l, f);
    assert_ok(set_up(&l, &err), &err);
    failing_arm(FAILING_SQL, nth, how);
    failing_then(stop, l.worker);
    pawl_status st = pawl_worker_run(l.worker, &err);
    bool failed = failing_disarm();
    if (st != PAWL_OK)
        test_fail("stopping answered %s after %s failed: %s", pawl_status_name(st), failing_where(),
                  err.message);
    life_wait_for_server(f);
    int64_t held = fixture_count(f, "SELECT count(*) FROM {queue} WHERE fence > 0");
    if (held != 0)
        test_fail("%d messages stayed leased after %s failed", (int)held, failing_where());
    end(&l);
    return failed;
}
