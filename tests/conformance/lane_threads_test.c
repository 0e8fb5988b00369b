/*
 * tests/conformance/lane_threads_test.c - lanes are removed while messages are sent to them.
 *
 * On PostgreSQL a sender reads its lane and adds the message later; the session that removes lanes
 * cannot see it. docs/internals/queue.md, "Lanes come and go".
 */
#include "lane_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static void send_in(pawl_tx *tx, const char *payload)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", payload);

    assert_ok(pawl_tx_enqueue(tx, &message, NULL, &err), &err);
}

/* Lanes are removed as soon as nothing but an open transaction speaks against it. */
static void clean_meanwhile(fixture *f)
{
    fixture_advance(f, 6 * MINUTE_MS);
    lanes_fold(f, 10);
}

PAWL_TEST_ON(postgres, a_lane_waits_for_an_open_transaction_that_used_it)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    lanes_fold(f, 1);
    send_in(fixture_tx_begin(f, 0), "late");
    clean_meanwhile(f);
    assert_int_equal(1, lane_count(f));
    fixture_send(f, "t", "goes into a lane of its own");
    assert_int_equal(2, lane_count(f));
    assert_string_equal("goes into a lane of its own", lanes_take(f));
    fixture_tx_commit(f, 0);
    lanes_fold(f, 3);
    queue_check(f);
    assert_string_equal("late", lanes_take(f));
    lanes_clean(f);
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
}

PAWL_TEST_ON(postgres, a_lane_is_removed_when_the_transaction_that_used_it_is_rolled_back)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    lanes_fold(f, 1);
    send_in(fixture_tx_begin(f, 0), "never");
    clean_meanwhile(f);
    assert_int_equal(1, lane_count(f));
    fixture_tx_rollback(f, 0);
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
}

/* The control: without the wait, the first test's message is in no lane, and that is seen. */
PAWL_TEST_ON(postgres, removing_without_waiting_loses_a_message)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    lanes_fold(f, 1);
    send_in(fixture_tx_begin(f, 0), "late");
    fixture_advance(f, 6 * MINUTE_MS);
    lanes_fold(f, 1);
    fixture_exec(f, "UPDATE {lane_use} SET epoch = 1");
    lanes_fold(f, 1);
    assert_int_equal(0, lane_count(f));
    fixture_tx_commit(f, 0);
    assert_string_equal("1 messages are in no lane, or not in their own", queue_check_note(f));
    assert_string_equal("", lanes_take(f));
}

/* A transaction that sees the lane as it was when the transaction began. */
static void begin_repeatable(fixture *f)
{
    fixture_tx_exec(f, 0, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_int_equal(1, fixture_tx_count(f, 0, "SELECT count(*) FROM {lane}"));
}

PAWL_TEST_ON(postgres, an_old_snapshot_does_not_use_a_lane_that_is_gone)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    lanes_fold(f, 1);
    begin_repeatable(f);
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
    fixture_tx_exec(f, 0, "SELECT {enqueue}('t', 'late'); COMMIT");
    queue_check(f);
    assert_string_equal("late", lanes_take(f));
}

PAWL_TEST_ON(postgres, an_old_snapshot_keeps_the_lane_that_it_uses)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    lanes_fold(f, 1);
    begin_repeatable(f);
    fixture_advance(f, 6 * MINUTE_MS);
    lanes_fold(f, 2); /* retiring, and its epoch is drawn: below the id of the transaction */
    fixture_tx_exec(f, 0, "SELECT {enqueue}('t', 'late')");
    lanes_fold(f, 10);
    assert_int_equal(1, lane_count(f));
    fixture_tx_exec(f, 0, "COMMIT");
    lanes_fold(f, 3);
    queue_check(f);
    assert_string_equal("late", lanes_take(f));
}

PAWL_TEST_ON(postgres, a_prepared_transaction_keeps_the_lane_that_it_used)
{
    fixture *f = fixture_open(NULL);

    if (fixture_count(f, "SELECT current_setting('max_prepared_transactions')::int") == 0)
        test_fail("the server has max_prepared_transactions = 0: use tests/with-postgres");
    queue_make(f, "t", "x", PAWL_STATE_DONE);
    lanes_fold(f, 1);
    begin_repeatable(f);
    fixture_advance(f, 6 * MINUTE_MS);
    lanes_fold(f, 2);
    fixture_tx_exec(f, 0, "SET LOCAL %s.notify = off", fixture_store_options(f)->schema);
    fixture_tx_exec(f, 0, "SELECT {enqueue}('t', 'late')");
    fixture_tx_exec(f, 0, "PREPARE TRANSACTION '%s'", fixture_store_options(f)->schema);
    lanes_fold(f, 10);
    assert_int_equal(1, lane_count(f));
    fixture_tx_exec(f, 0, "COMMIT PREPARED '%s'", fixture_store_options(f)->schema);
    lanes_fold(f, 3);
    queue_check(f);
    assert_string_equal("late", lanes_take(f));
}

/* ---- threads ---- */

#define SENDERS 3
#define EACH 60
#define TOPICS 4

typedef struct sender {
    pawl_store *store;
    pawl_status status;
    pawl_error err;
} sender;

static atomic_int senders_left;

static void *send_all(void *argument)
{
    sender *self = argument;
    static const char *const topics[TOPICS] = {"a", "b", "c", "d"};

    for (int i = 0; i < EACH && self->status == PAWL_OK; i++) {
        pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
        message.topic = topics[i % TOPICS];
        message.payload = "x";
        message.payload_size = 1;
        self->status = pawl_outbox_enqueue(self->store, &message, NULL, &self->err);
    }
    atomic_fetch_sub(&senders_left, 1);
    return NULL;
}

PAWL_TEST(nothing_is_lost_when_lanes_are_removed_while_threads_send)
{
    fixture *f = fixture_open(NULL);
    sender senders[SENDERS];
    pthread_t threads[SENDERS];
    size_t taken = 0;
    bool sending = true;

    atomic_store(&senders_left, SENDERS);
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = (sender){.store = fixture_store(f), .status = PAWL_OK};
        assert_int_equal(0, pthread_create(&threads[i], NULL, send_all, &senders[i]));
    }
    while (sending) { /* one round more after the last has ended */
        sending = atomic_load(&senders_left) > 0;
        pawl_messages *list = fixture_claim(f, queue_owner(1), DAY_MS, 50);
        taken += queue_ack(f, queue_owner(1), list);
        fixture_advance(f, 6 * MINUTE_MS);
        lanes_fold(f, 2);
    }
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(threads[i], NULL);
        assert_ok(senders[i].status, &senders[i].err);
    }
    for (size_t more = 1; more > 0; taken += more)
        more = queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), DAY_MS, 1000));
    queue_check(f);
    assert_int_equal(SENDERS * EACH, taken);
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
}
