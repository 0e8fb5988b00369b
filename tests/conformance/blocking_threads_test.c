/* tests/conformance/blocking_threads_test.c - calls that have to wait: deadlines, interrupts. */
#include "queue_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* Another connection has locked the tables exclusively. */
static void lock_tables(fixture *f)
{
    if (fixture_is_postgres(f)) {
        fixture_tx_exec(f, 0, "BEGIN");
        fixture_tx_exec(f, 0, "LOCK TABLE {body}, {queue}, {claim} IN ACCESS EXCLUSIVE MODE");
    } else {
        fixture_tx_exec(f, 0, "BEGIN IMMEDIATE");
    }
}

static int64_t mono_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void close_store(void *store)
{
    pawl_store_close(store);
}

PAWL_TEST(a_call_on_locked_tables_ends_by_its_deadline_and_changes_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_store_options opts = *fixture_store_options(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_messages *list = NULL;
    pawl_store *hasty = NULL;
    int64_t start;
    pawl_status st;

    fixture_send(f, "t", "old");
    opts.timeout_ms = 500;
    assert_ok(pawl_store_open(fixture_url(f), &opts, &hasty, &err), &err);
    test_defer(close_store, hasty);
    lock_tables(f);
    start = mono_ms();
    st = pawl_outbox_enqueue(hasty, &message, NULL, &err);
    assert_true(st == PAWL_E_BUSY || st == PAWL_E_TIMEOUT);
    assert_true(err.retryable);
    st = pawl_queue_claim(hasty, queue_owner(1), MINUTE_MS, 1, NULL, &list, &err);
    assert_true(st == PAWL_E_BUSY || st == PAWL_E_TIMEOUT);
    assert_null(list);
    assert_in_range(mono_ms() - start, 500, 30000);
    fixture_tx_exec(f, 0, "ROLLBACK");
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_string_equal("old", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
    queue_check(f);
}

struct blocked {
    pawl_store *store;
    int kind;
    pawl_status status;
    pawl_error err;
    atomic_bool ended;
};

static void *call_and_wait(void *context)
{
    struct blocked *blocked = context;
    pawl_message_spec message = queue_message("t", "x");
    pawl_messages *list = NULL;

    if (blocked->kind == 0)
        blocked->status = pawl_outbox_enqueue(blocked->store, &message, NULL, &blocked->err);
    else if (blocked->kind == 1)
        blocked->status = pawl_queue_claim(blocked->store, queue_owner(1), MINUTE_MS, 1, NULL,
                                           &list, &blocked->err);
    else
        blocked->status = pawl_queue_wait(blocked->store, HOUR_MS, &blocked->err);
    pawl_messages_free(list);
    atomic_store(&blocked->ended, true);
    activity_report();
    return NULL;
}

/* An interrupt that comes before the call does nothing, so it is repeated until the call ends. */
static void interrupt_until_ended(struct blocked *blocked)
{
    pthread_t thread;

    assert_int_equal(0, pthread_create(&thread, NULL, call_and_wait, blocked));
    fixture_interrupt_until(blocked->store, &blocked->ended);
    pthread_join(thread, NULL);
}

PAWL_TEST(a_blocked_call_can_be_interrupted_from_another_thread)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "old");
    lock_tables(f);
    for (int kind = 0; kind < 2; kind++) {
        struct blocked blocked = {.store = fixture_store(f), .kind = kind};

        interrupt_until_ended(&blocked);
        assert_status(PAWL_E_INTERRUPTED, blocked.status, &blocked.err);
        assert_true(blocked.err.retryable);
    }
    fixture_tx_exec(f, 0, "ROLLBACK");
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {body}"));
    fixture_send(f, "t", "after"); /* later calls are not affected */
    assert_string_equal("old after",
                        queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 9)));
    queue_check(f);
}

PAWL_TEST(a_wait_can_be_interrupted)
{
    fixture *f = fixture_open(NULL);
    struct blocked blocked = {.store = fixture_store(f), .kind = 2};

    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    interrupt_until_ended(&blocked);
    assert_status(PAWL_E_INTERRUPTED, blocked.status, &blocked.err);
}

PAWL_TEST(a_wait_ends_when_something_is_sent)
{
    fixture *f = fixture_open(NULL);
    struct blocked blocked = {.store = fixture_store(f), .kind = 2};
    pthread_t thread;

    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    assert_int_equal(0, pthread_create(&thread, NULL, call_and_wait, &blocked));
    fixture_send(f, "t", "x"); /* before or during the wait: both end it */
    pthread_join(thread, NULL);
    assert_status(PAWL_OK, blocked.status, &blocked.err);
}

PAWL_TEST(a_wait_ends_at_its_time)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t start = mono_ms();

    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    assert_ok(pawl_queue_wait(fixture_store(f), 0, &err), &err);
    assert_ok(pawl_queue_wait(fixture_store(f), 30, &err), &err);
    assert_in_range(mono_ms() - start, 30, 20000);
}

static void *send_plainly(void *context)
{
    struct blocked *blocked = context;
    pawl_message_spec message = queue_message("t", "other thread");

    blocked->status = pawl_outbox_enqueue(blocked->store, &message, NULL, &blocked->err);
    return NULL;
}

PAWL_TEST(another_threads_call_waits_for_a_wrapped_transaction)
{
    fixture *f = fixture_open(NULL);
    struct blocked blocked = {.store = fixture_store(f)};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "wrapped");
    pawl_tx *tx = fixture_tx_begin(f, 0);
    pthread_t thread;

    assert_ok(pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    assert_int_equal(0, pthread_create(&thread, NULL, send_plainly, &blocked));
    fixture_tx_commit(f, 0);
    pthread_join(thread, NULL);
    assert_status(PAWL_OK, blocked.status, &blocked.err);
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {queue}"));
}
