/* tests/fault/life_worker.c - a worker's life step by step, every call of which may fail once. */
#include "life_worker.h"

#include <string.h>

#include "application_sql.h"
#include "life.h"
#include "life_steps.h"

#define ROUNDS 4

typedef struct worker_life {
    fixture *f;
    pawl_store *store;
    pawl_worker *worker;
    const char *insert; /* the effect */
    int done_calls;
    int dead_calls;
    bool retried;
    bool effect_lost; /* its transaction failed: the message comes again */
} worker_life;

/* ---- handlers ---- */

static pawl_verdict handle_done(pawl_task *task, void *context)
{
    worker_life *l = context;

    l->done_calls++;
    return pawl_task_cancelled(task) ? PAWL_RETRY : PAWL_DONE;
}

static pawl_verdict handle_retry(pawl_task *task, void *context)
{
    worker_life *l = context;

    pawl_task_explain(task, "not now");
    if (l->retried)
        return PAWL_DONE;
    l->retried = true;
    return PAWL_RETRY;
}

static pawl_verdict handle_fail(pawl_task *task, void *context)
{
    (void)context;
    pawl_task_explain(task, "never");
    return PAWL_FAIL;
}

static pawl_verdict handle_dead(pawl_task *task, void *context)
{
    worker_life *l = context;

    (void)task;
    l->dead_calls++;
    return PAWL_DONE;
}

/* The application's own statement fails only with its connection. */
static bool write_row(pawl_tx *tx, const char *sql)
{
    failing_pause();
    bool done = application_sql(tx, sql);
    failing_resume();
    return done;
}

static pawl_verdict handle_effect(pawl_task *task, void *context)
{
    worker_life *l = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;
    pawl_status st = pawl_task_begin(task, &tx, &err);

    if (st == PAWL_OK && !write_row(tx, l->insert))
        st = PAWL_E_UNAVAILABLE;
    if (st == PAWL_OK)
        st = pawl_message_commit(tx, &err);
    pawl_tx_free(tx);
    l->effect_lost |= st != PAWL_OK;
    return st == PAWL_OK ? PAWL_DONE : PAWL_RETRY;
}

/* ---- calls that may fail, once ---- */

/* After a failure with a sound error the same call is made again, and must succeed. */
static void recover(worker_life *l, pawl_status st, const pawl_error *err, bool *failed_before)
{
    if (*failed_before || !failing_happened())
        test_fail("the worker answered %s without a fault: %s", pawl_status_name(st), err->message);
    if (err->status != st || !err->message[0])
        test_fail("the worker answered %s after %s failed, but the error says %s: \"%s\"",
                  pawl_status_name(st), failing_where(), pawl_status_name(err->status),
                  err->message);
    *failed_before = true;
    failing_pause();
    life_wait_for_server(l->f);
}

static pawl_status set_up(worker_life *l, pawl_error *err)
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

static void work(worker_life *l, worker_points *points, bool *failed_before)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    failing_resume();
    if (!l->worker && (st = set_up(l, &err)) != PAWL_OK) {
        recover(l, st, &err, failed_before);
        assert_ok(set_up(l, &err), &err);
    }
    while ((st = pawl_worker_until_idle(l->worker, &err)) != PAWL_OK) {
        points->in_doubt += st == PAWL_E_IN_DOUBT;
        recover(l, st, &err, failed_before);
    }
    failing_pause();
}

/* ---- a life ---- */

static void send(worker_life *l)
{
    static const char *const topics[] = {"done", "done", "done", "retry", "fail", "effect", "none"};
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < COUNT_OF(topics); i++) {
        pawl_outgoing message = kit_message(topics[i], "x");
        message.correlation_id = topics[i];
        assert_ok(pawl_outbox_enqueue(l->store, &message, NULL, &err), &err);
    }
}

static void check_end(worker_life *l)
{
    static const char expected[] = "done:2 done:2 done:2 effect:2 fail:3 none:0 retry:2";
    const char *end =
        fixture_text(l->f,
                     "SELECT %s FROM (SELECT correlation_id || ':' || state AS one"
                     " FROM {message} ORDER BY correlation_id) AS list",
                     fixture_is_postgres(l->f) ? "string_agg(one, ' ')" : "group_concat(one, ' ')");
    pawl_worker_stats stats = workshop_stats(l->worker);

    if (!end || strcmp(end, expected) != 0)
        test_fail("life ended with \"%s\" after %s failed, not with \"%s\"", end ? end : "",
                  failing_where(), expected);
    assert_int_equal(1, fixture_count(l->f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(0, fixture_count(l->f, "SELECT count(*) FROM {dead}"));
    if (l->done_calls != 3)
        test_fail("three messages took %d calls after %s failed", l->done_calls, failing_where());
    assert_true(l->dead_calls >= 1 && l->dead_calls <= 2); /* at least once */
    if (stats.lost > l->effect_lost)
        test_fail("%d results were lost after %s failed", (int)stats.lost, failing_where());
    assert_int_equal(0, stats.in_hand);
    workshop_check_nothing_held(l->f);
}

/* However the test ends. */
static void bury(void *argument)
{
    worker_life *l = argument;

    pawl_worker_free(l->worker);
    pawl_store_close(l->store);
    l->worker = NULL;
    l->store = NULL;
}

bool worker_life_step(fixture *f, failing_kind kind, long nth, int how, worker_points *points)
{
    static worker_life l;
    pawl_store_options opts = life_options(f);
    pawl_error err = PAWL_ERROR_INIT;
    bool failed_before = false;

    l = (worker_life){.f = f, .insert = fixture_expand(f, "INSERT INTO {orders} VALUES (1)")};
    test_defer(bury, &l);
    life_clean(f);
    assert_ok(pawl_store_open(fixture_url(f), &opts, &l.store, &err), &err);
    send(&l);
    failing_arm(kind, nth, how);
    failing_pause();
    for (int round = 0; round < ROUNDS; round++) {
        work(&l, points, &failed_before);
        fixture_advance(f, HOUR_MS);
    }
    check_end(&l);
    test_defer_cancel(&l);
    bury(&l);
    bool failed = failing_disarm();
    points->failed += failed;
    return failed;
}
