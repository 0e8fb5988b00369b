/* tests/concurrency/wake_threads_test.c - no wake-up is lost, whenever a message is sent. */
#include "wake_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_private.h"

#define ROUNDS 300

static const fixture_options real_clock = {.real_clock = true};

static void send_one(pawl_store *store, const char *topic)
{
    pawl_message_spec message = queue_message(topic, "x");
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_outbox_enqueue(store, &message, NULL, &err), &err);
}

/* Again and again: it goes to sleep, and at some moment of that one message is sent. */
static void send_to_waiter(bool other_store, bool flighty)
{
    fixture *f = fixture_open(&real_clock);
    pawl_store *store = other_store ? fixture_another_store(f) : fixture_store(f);
    wake_worker *worker = wake_start(fixture_store(f), flighty);
    unsigned seed = 1;

    wake_need_events(f);
    for (int i = 1; i <= wake_rounds(ROUNDS); i++) {
        wake_dawdle(worker, &seed);
        send_one(store, i % 7 ? "t" : "u");
        wake_expect(worker, i);
    }
    printf("# %d of %d messages were slept for\n", worker->sleeps, worker->taken);
}

PAWL_TEST(a_message_sent_through_the_same_store_wakes)
{
    send_to_waiter(false, false);
}

PAWL_TEST(a_message_sent_through_another_store_wakes)
{
    send_to_waiter(true, false);
}

PAWL_TEST(a_message_wakes_a_worker_going_idle)
{
    send_to_waiter(true, true);
}

/* In an open transaction of SQLite the worker cannot get anywhere. */
static void dawdle_inside(fixture *f, wake_worker *worker, unsigned *seed)
{
    if (fixture_is_postgres(f))
        wake_dawdle(worker, seed);
    else
        wake_moment(seed);
}

static void enqueue_inside(fixture *f)
{
    pawl_message_spec message = queue_message("t", "x");
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    assert_ok(fixture_tx_foreign(f, 0, fixture_store(f), &tx, &err), &err);
    assert_ok(pawl_tx_enqueue(tx, &message, NULL, &err), &err);
}

/* Sent at one moment, committed at another: before, while and after the worker goes to sleep. */
static void send_in_transaction(const char *begin, bool flighty)
{
    fixture *f = fixture_open(&real_clock);
    wake_worker *worker = wake_start(fixture_store(f), flighty);
    unsigned seed = 2;
    int sent = 0;

    wake_need_events(f);
    for (int i = 0; i < wake_rounds(ROUNDS); i++) {
        wake_dawdle(worker, &seed);
        fixture_tx_exec(f, 0, "%s", begin);
        if (i % 3 == 0) /* its snapshot, if it keeps one */
            fixture_tx_exec(f, 0, "SELECT count(*) FROM {queue}");
        dawdle_inside(f, worker, &seed);
        enqueue_inside(f);
        if (fixture_is_postgres(f) && i % 2 == 0) { /* wake it, so that it goes to sleep again */
            send_one(fixture_store(f), "u");
            wake_expect(worker, ++sent);
        }
        dawdle_inside(f, worker, &seed);
        fixture_tx_exec(f, 0, i % 5 ? "COMMIT" : "ROLLBACK");
        if (i % 5)
            wake_expect(worker, ++sent);
    }
    printf("# %d of %d messages were slept for\n", worker->sleeps, worker->taken);
}

static const char *usual_begin(void)
{
    return test_on_postgres() ? "BEGIN" : "BEGIN IMMEDIATE";
}

PAWL_TEST(a_commit_at_any_moment_wakes)
{
    send_in_transaction(usual_begin(), false);
}

PAWL_TEST(a_commit_at_any_moment_wakes_a_worker_going_idle)
{
    send_in_transaction(usual_begin(), true);
}

PAWL_TEST_ON(postgres, a_commit_of_an_old_snapshot_wakes)
{
    send_in_transaction("BEGIN ISOLATION LEVEL REPEATABLE READ", true);
}

struct interrupted {
    pawli_waiter *waiter;
    pawl_status status;
    atomic_bool armed;
    atomic_bool ended;
};

static void *wait_for_ever(void *context)
{
    struct interrupted *call = context;
    const pawl_mono never = {INT64_MAX};

    call->status = pawli_waiter_arm(call->waiter, NULL, 0, NULL);
    atomic_store(&call->armed, true);
    activity_report();
    while (call->status == PAWL_OK) { /* polls until the epoch has passed */
        call->status = pawli_waiter_wait(call->waiter, never, NULL, NULL);
        if (call->status == PAWL_OK)
            call->status = pawli_waiter_arm(call->waiter, NULL, 0, NULL);
    }
    atomic_store(&call->ended, true);
    activity_report();
    return NULL;
}

PAWL_TEST(a_waiter_can_be_interrupted)
{
    fixture *f = fixture_open(&real_clock);
    struct interrupted call = {.waiter = NULL};
    pawl_error err = PAWL_ERROR_INIT;
    pthread_t thread;

    assert_ok(pawli_waiter_new(fixture_store(f)->db, NULL, &call.waiter, &err), &err);
    assert_int_equal(0, pthread_create(&thread, NULL, wait_for_ever, &call));
    until(atomic_load(&call.armed));
    fixture_interrupt_until(fixture_store(f), &call.ended);
    pthread_join(thread, NULL);
    assert_int_equal(PAWL_E_INTERRUPTED, call.status);
    pawli_waiter_free(call.waiter);
}

struct crowd {
    pawl_store *stores[2];
    wake_worker *workers[3];
    int each;
};

static const char *send_many(void *context, size_t index)
{
    struct crowd *crowd = context;
    unsigned seed = 100 + (unsigned)index;

    for (int i = 0; i < crowd->each; i++) {
        pawl_message_spec message = queue_message("t", "x");
        pawl_error err = PAWL_ERROR_INIT;

        wake_dawdle(crowd->workers[i % 3], &seed);
        if (pawl_outbox_enqueue(crowd->stores[index % 2], &message, NULL, &err) != PAWL_OK)
            return test_note("send: %s", err.message);
    }
    return NULL;
}

/* Several idle workers, several senders: in the end everything is claimed without polling.
 */
PAWL_TEST(several_workers_leave_nothing_behind)
{
    fixture *f = fixture_open(&real_clock);
    struct crowd crowd = {{fixture_store(f), fixture_another_store(f)}, {NULL}, 20};

    wake_need_events(f);
    for (int i = 0; i < 3; i++)
        crowd.workers[i] = wake_start(crowd.stores[i % 2], i == 1);
    for (int round = 0; round < wake_rounds(5); round++) {
        test_threads(4, send_many, &crowd);
        /* Each worker may have any share; an empty queue is what counts. */
        while (fixture_count(f, "SELECT count(*) FROM {queue}") > 0)
            for (int i = 0; i < 3; i++)
                wake_expect(crowd.workers[i], 0);
    }
}
