/* tests/worker/task_tx_test.c - effect once and progress, from inside a handler. */
#include "application_sql.h"
#include "worker_fixture.h"

/* One row of the application's own, through pawl's transaction. */
static bool insert_note(fixture *f, pawl_tx *tx)
{
    return application_sql(tx, fixture_expand(f, "INSERT INTO {orders} (note) VALUES ('written')"));
}

/* The handler's write to the application's table. */
struct effect {
    fixture *f;
    bool lose; /* the lease ends before the commit */
    bool roll_back;
    bool send; /* a further message in the same commit */
    pawl_status committed;
    int calls;
};

static pawl_result effect_handle(pawl_task *task, void *context)
{
    struct effect *effect = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("next", "n");
    pawl_tx *tx = NULL;

    effect->calls++;
    if (effect->lose) {
        fixture_advance(effect->f, MINUTE_MS);
        (void)queue_reap(effect->f);
    }
    assert_ok(pawl_task_begin(task, &tx, &err), &err);
    assert_true(insert_note(effect->f, tx));
    if (effect->send)
        assert_ok(pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    if (effect->roll_back)
        pawl_tx_rollback(tx);
    else
        effect->committed = pawl_tx_commit_with_ack(tx, &err);
    pawl_tx_free(tx);
    return effect->roll_back || effect->committed != PAWL_OK ? PAWL_RETRY : PAWL_DONE;
}

static pawl_worker *open_worker(fixture *f, struct effect *effect)
{
    pawl_worker *worker = worker_open(f, NULL);

    effect->f = f;
    fixture_exec(f, "CREATE TABLE {orders} (note text)");
    worker_handle(worker, "t", effect_handle, effect);
    return worker;
}

PAWL_TEST(rows_further_messages_and_the_end_of_the_message_are_one_commit)
{
    fixture *f = fixture_open(NULL);
    struct effect effect = {.send = true};
    pawl_worker *worker = open_worker(f, &effect);
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_until_idle(worker);
    assert_int_equal(1, effect.calls);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {queue}"));
    assert_int_equal(1, worker_stats(worker).done);
    assert_int_equal(0, worker_stats(worker).lost);
}

PAWL_TEST(nothing_of_it_remains_when_the_lease_was_lost)
{
    fixture *f = fixture_open(NULL);
    struct effect effect = {.lose = true, .send = true};
    pawl_worker *worker = open_worker(f, &effect);
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_step(worker);
    assert_int_equal(PAWL_E_LOST, effect.committed);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {queue}"));
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
    effect.lose = false;
    worker_step(worker);
    assert_int_equal(PAWL_OK, effect.committed);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
}

PAWL_TEST(after_a_rollback_the_handlers_result_counts)
{
    fixture *f = fixture_open(NULL);
    struct effect effect = {.roll_back = true};
    pawl_worker *worker = open_worker(f, &effect);
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_step(worker);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(PAWL_STATE_SCHEDULED, fixture_state(f, id));
    assert_int_equal(1, worker_stats(worker).retried);
}

static pawl_result progress_handle(pawl_task *task, void *context)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_task_progress(task, "page 3 of 7", &err), &err);
    assert_string_equal(
        "page 3 of 7",
        pawl_message_progress(queue_get(context, pawl_message_work_id(pawl_task_message(task)))));
    return PAWL_DONE;
}

PAWL_TEST(progress_is_kept_with_the_message)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_handle(worker, "t", progress_handle, f);
    worker_step(worker);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    assert_string_equal("page 3 of 7", pawl_message_progress(queue_get(f, id)));
}
