/* tests/worker/stress_threads_test.c - two workers with all their threads busy at once. */
#include "worker_fixture.h"

#include <string.h>

#define WORKERS 2
#define SENDERS 2
#define ROUNDS 40 /* per sender: one message of each busy topic */
#define ENDLESS 4

/*
 * Short leases that are renewed, every maintenance_step all the time, handlers that send, put off,
 * fail, end with an effect, say how far they are and are cancelled; meanwhile topics are paused and
 * resumed and the figures are read. The final counts come from the database.
 */
typedef struct everything {
    fixture *f;
    pawl_worker *workers[WORKERS];
    counter endless; /* calls that were entered, and left again */
    counter dead;
    pawl_work_id endless_ids[ENDLESS];
} everything;

static const char *const busy_topics[] = {"quick", "effect", "again", "bad"};
#define BUSY COUNT_OF(busy_topics)

static pawl_result handle_quick(pawl_task *task, void *context)
{
    (void)task;
    (void)context;
    return PAWL_DONE;
}

/* Ends together with a further message. */
static pawl_result handle_effect(pawl_task *task, void *context)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_tx *tx = NULL;

    (void)context;
    message.topic = "followed";
    message.payload = "x";
    message.payload_size = 1;
    pawl_status st = pawl_task_begin(task, &tx, NULL);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue(tx, &message, NULL, NULL);
    if (st == PAWL_OK)
        st = pawl_tx_commit_with_ack(tx, NULL);
    pawl_tx_free(tx);
    return st == PAWL_OK ? PAWL_DONE : PAWL_RETRY;
}

static pawl_result handle_again(pawl_task *task, void *context)
{
    (void)context;
    if (pawl_task_attempt(task) > 1)
        return pawl_task_progress(task, "the second time", NULL) == PAWL_OK ? PAWL_DONE
                                                                            : PAWL_RETRY;
    pawl_task_set_error(task, "not the first time");
    pawl_task_set_retry_delay(task, 1);
    return PAWL_RETRY;
}

static pawl_result handle_bad(pawl_task *task, void *context)
{
    (void)context;
    pawl_task_set_error(task, "never");
    return PAWL_FAIL;
}

static pawl_result handle_dead(pawl_task *task, void *context)
{
    (void)task;
    counter_add(context, 1);
    return PAWL_DONE;
}

static pawl_result handle_endless(pawl_task *task, void *context)
{
    counter_add(context, 1);
    (void)worker_await_cancel(task);
    counter_add(context, 1);
    return PAWL_RETRY;
}

static const char *send_topic(pawl_store *store, const char *topic, pawl_work_id *ret_id)
{
    pawl_message_spec message = queue_message(topic, "x");
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued sent;

    message.max_attempts = 1000; /* a lease that a slow machine lets end counts, too */
    if (pawl_outbox_enqueue(store, &message, &sent, &err) != PAWL_OK)
        return test_note("send: %s", err.message);
    if (ret_id)
        *ret_id = sent.work_id;
    return NULL;
}

static const char *send_busy(everything *e)
{
    const char *wrong = NULL;

    for (size_t i = 0; !wrong && i < ROUNDS * BUSY; i++)
        wrong = send_topic(fixture_store(e->f), busy_topics[i % BUSY], NULL);
    return wrong;
}

static const char *cancel_endless(everything *e)
{
    pawl_error err = PAWL_ERROR_INIT;
    const char *wrong = NULL;
    size_t changed = 0;

    for (int i = 0; !wrong && i < ENDLESS; i++)
        wrong = send_topic(fixture_store(e->f), "endless", &e->endless_ids[i]);
    if (wrong)
        return wrong;
    if (!counter_wait(&e->endless, ENDLESS))
        return "the endless handlers were not called";
    if (pawl_outbox_cancel(fixture_store(e->f), e->endless_ids, ENDLESS, &changed, &err) != PAWL_OK)
        return test_note("cancel: %s", err.message);
    if (changed != ENDLESS)
        return "an endless message had ended";
    return counter_wait(&e->endless, 2 * ENDLESS) ? NULL : "a handler was not cancelled";
}

static const char *administrate(everything *e)
{
    pawl_store *store = fixture_store(e->f);
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < ROUNDS; i++) {
        (void)worker_stats(e->workers[i % WORKERS]);
        if (pawl_topic_pause(store, "quick", NULL, &err) != PAWL_OK ||
            pawl_topic_resume(store, "quick", NULL, &err) != PAWL_OK)
            return test_note("pause and resume: %s", err.message);
    }
    return NULL;
}

static const char *body(void *context, size_t index)
{
    return index < SENDERS    ? send_busy(context)
           : index == SENDERS ? cancel_endless(context)
                              : administrate(context);
}

static void free_worker(void *worker)
{
    pawl_worker_free(worker);
}

static pawl_worker *make_worker(everything *e, pawl_store *store)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_worker *worker = NULL;

    options.concurrency = 4;
    options.lease_ms = 3 * PAWL_SQLITE_TX_MAX_MS;
    options.retention_ms = 50;
    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++)
        options.maintenance_interval_ms[i] = 20;
    assert_ok(pawl_worker_new(store, &options, &worker, &err), &err);
    test_defer(free_worker, worker);
    worker_handle(worker, NULL, handle_quick, NULL);
    worker_handle(worker, "effect", handle_effect, NULL);
    worker_handle(worker, "again", handle_again, NULL);
    worker_handle(worker, "bad", handle_bad, NULL);
    worker_handle(worker, "endless", handle_endless, &e->endless);
    assert_ok(pawl_worker_handle_dead(worker, "bad", handle_dead, &e->dead, &err), &err);
    return worker;
}

/* How many messages of a topic have ended as `state`, since the beginning. */
static int64_t total(fixture *f, const char *topic, pawl_state state)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;
    int64_t count = 0;

    assert_ok(pawl_outbox_get_stats(fixture_store(f), &stats, &err), &err);
    for (size_t i = 0; i < pawl_outbox_stats_count(stats); i++) {
        const pawl_topic_stats *one = pawl_outbox_stats_at(stats, i);
        if (strcmp(one->topic, topic) == 0)
            count = state == PAWL_STATE_DONE     ? one->total_done
                    : state == PAWL_STATE_FAILED ? one->total_failed
                                                 : one->total_cancelled;
    }
    pawl_outbox_stats_free(stats);
    return count;
}

PAWL_TEST(all_operations_at_once_and_each_message_ends_once)
{
    static everything e;
    const int64_t each = SENDERS * ROUNDS;
    running *runs[WORKERS];

    e = (everything){.endless = COUNTER_INIT, .dead = COUNTER_INIT};
    e.f = fixture_open(&(fixture_options){.real_clock = true});
    for (int i = 0; i < WORKERS; i++)
        e.workers[i] = make_worker(&e, i == 0 ? fixture_store(e.f) : fixture_another_store(e.f));
    for (int i = 0; i < WORKERS; i++)
        runs[i] = worker_run(e.workers[i]);
    test_threads(SENDERS + 2, body, &e);
    until(fixture_count(e.f, "SELECT count(*) FROM {queue}") == 0);
    counter_expect(&e.dead, (int)each);
    /* And stop with something to do. */
    for (int i = 0; i < ROUNDS; i++)
        assert_null(send_topic(fixture_store(e.f), "quick", NULL));
    for (int i = 0; i < WORKERS; i++)
        worker_stop(runs[i]);
    worker_check_nothing_leased(e.f);
    int64_t left = fixture_count(e.f, "SELECT count(*) FROM {queue}");
    assert_int_equal(each + ROUNDS - left, total(e.f, "quick", PAWL_STATE_DONE));
    assert_int_equal(each, total(e.f, "effect", PAWL_STATE_DONE));
    assert_int_equal(each, total(e.f, "followed", PAWL_STATE_DONE));
    assert_int_equal(each, total(e.f, "again", PAWL_STATE_DONE));
    assert_int_equal(each, total(e.f, "bad", PAWL_STATE_FAILED));
    assert_int_equal(ENDLESS, total(e.f, "endless", PAWL_STATE_CANCELLED));
}
