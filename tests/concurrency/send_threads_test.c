/* tests/concurrency/send_threads_test.c - the same ids sent by many at once: stored once. */
#include "queue_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define IDS 120

struct duplicates {
    pawl_store *stores[THREADS];
    atomic_int stored[IDS];
    _Atomic int64_t work_id[IDS];
};

static const char *note_answer(struct duplicates *all, int number, const pawl_enqueued *sent)
{
    int64_t expected = 0;

    if (!sent->existed)
        atomic_fetch_add(&all->stored[number], 1);
    if (!atomic_compare_exchange_strong(&all->work_id[number], &expected, sent->work_id.value) &&
        expected != sent->work_id.value)
        return test_note("message %d has two work ids", number);
    return NULL;
}

/* Each thread in an order of its own: forwards, backwards, from another start. */
static int number_at(size_t index, int i)
{
    int step = index % 2 ? IDS - 1 - i : i;

    return (step + (int)index * 13) % IDS;
}

static const char *send_singly(void *context, size_t index)
{
    struct duplicates *all = context;

    for (int i = 0; i < IDS; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        int number = number_at(index, i);
        pawl_message_spec message = queue_message("t", "same");
        pawl_enqueued sent;
        const char *wrong;

        message.id = queue_id(number);
        if (pawl_outbox_enqueue(all->stores[index], &message, &sent, &err) != PAWL_OK)
            return test_note("send: %s", err.message);
        wrong = note_answer(all, number, &sent);
        if (wrong)
            return wrong;
    }
    return NULL;
}

static const char *send_in_batches(void *context, size_t index)
{
    struct duplicates *all = context;

    for (int i = 0; i < IDS; i += 15) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_message_spec batch[30];
        pawl_enqueued sent[30];

        for (int n = 0; n < 30; n++) {
            batch[n] = queue_message(n % 2 ? "t" : "u", "same");
            batch[n].id = queue_id(number_at(index, (i + n) % IDS));
            batch[n].topic = number_at(index, (i + n) % IDS) % 2 ? "t" : "u";
        }
        if (pawl_outbox_enqueue_batch(all->stores[index], batch, 30, sent, &err) != PAWL_OK)
            return test_note("batch: %s", err.message);
        for (int n = 0; n < 30; n++) {
            const char *wrong = note_answer(all, number_at(index, (i + n) % IDS), &sent[n]);

            if (wrong)
                return wrong;
        }
    }
    return NULL;
}

static void run_duplicates(test_thread_body body)
{
    fixture *f = fixture_open(NULL);
    static struct duplicates all;

    all = (struct duplicates){.stores = {NULL}};
    for (int i = 0; i < THREADS; i++)
        all.stores[i] = i % 2 ? fixture_another_store(f) : fixture_store(f);
    test_threads(THREADS, body, &all);
    for (int i = 0; i < IDS; i++)
        assert_int_equal(1, atomic_load(&all.stored[i]));
    assert_int_equal(IDS, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_int_equal(IDS, fixture_count(f, "SELECT count(*) FROM {queue}"));
    queue_check(f);
}

PAWL_TEST(eight_threads_send_the_same_ids_and_each_is_stored_once)
{
    run_duplicates(send_singly);
}

PAWL_TEST(eight_threads_send_overlapping_batches_and_each_message_is_stored_once)
{
    run_duplicates(send_in_batches);
}

static const char *send_conflicting(void *context, size_t index)
{
    struct duplicates *all = context;

    for (int i = 0; i < IDS; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        int number = number_at(index, i);
        pawl_message_spec message = queue_message("t", index % 2 ? "odd" : "even");
        pawl_enqueued sent = {{0}, {{0}}, true};
        pawl_status st;

        message.id = queue_id(number);
        st = pawl_outbox_enqueue(all->stores[index], &message, &sent, &err);
        if (st != PAWL_OK && st != PAWL_E_CONFLICT)
            return test_note("send: %s", err.message);
        if (st == PAWL_OK && !sent.existed)
            atomic_fetch_add(&all->stored[number], 1);
    }
    return NULL;
}

PAWL_TEST(of_two_contents_under_one_id_one_is_stored_and_the_other_is_a_conflict)
{
    run_duplicates(send_conflicting);
}

/* Two transactions of the application on connections of their own. */
struct crossing {
    fixture *f;
    pawl_tx *txs[2];
    pthread_barrier_t step;
    pawl_status second[2];
};

static pawl_status tx_send(pawl_tx *tx, int number, pawl_error *err)
{
    pawl_message_spec message = queue_message("t", "crossed");

    message.id = queue_id(number);
    return pawl_tx_enqueue(tx, &message, NULL, err);
}

/* Thread 0 sends 0 then 1, thread 1 sends 1 then 0, step by step together. */
static const char *send_crossed(void *context, size_t index)
{
    struct crossing *crossing = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st = tx_send(crossing->txs[index], (int)index, &err);

    pthread_barrier_wait(&crossing->step);
    if (st != PAWL_OK)
        return test_note("first: %s", err.message);
    st = tx_send(crossing->txs[index], 1 - (int)index, &err);
    pthread_barrier_wait(&crossing->step);
    if (st != PAWL_OK && st != PAWL_E_BUSY)
        return test_note("second: %s", err.message);
    crossing->second[index] = st;
    return NULL;
}

PAWL_TEST_ON(postgres, two_postgres_transactions_that_send_the_same_ids_crosswise_do_not_deadlock)
{
    fixture *f = fixture_open(NULL);
    struct crossing crossing = {.f = f};
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < 2; i++)
        crossing.txs[i] = fixture_tx_begin(f, i);
    pthread_barrier_init(&crossing.step, NULL, 2);
    test_threads(2, send_crossed, &crossing);
    pthread_barrier_destroy(&crossing.step);
    /* Neither can know how the other ends, so at least one got PAWL_E_BUSY. */
    assert_true(crossing.second[0] == PAWL_E_BUSY || crossing.second[1] == PAWL_E_BUSY);
    fixture_tx_exec(f, 0, "SELECT 1"); /* unharmed */
    fixture_tx_commit(f, 0);
    fixture_tx_commit(f, 1);
    for (int i = 0; i < 2; i++) {
        pawl_tx *tx = fixture_tx_begin(f, i);

        assert_ok(tx_send(tx, 1 - i, &err), &err);
        fixture_tx_commit(f, i);
    }
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {body}"));
    queue_check(f);
}

PAWL_TEST_ON(sqlite, two_sqlite_transactions_that_send_crosswise_are_serialized)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *txs[2] = {NULL, NULL};
    pawl_status st;

    for (int i = 0; i < 2; i++) {
        fixture_tx_exec(f, i, "PRAGMA busy_timeout = 100"); /* the application's, not pawl's */
        fixture_tx_exec(f, i, "BEGIN");
        assert_ok(fixture_tx_foreign(f, i, fixture_store(f), &txs[i], &err), &err);
    }
    assert_ok(tx_send(txs[0], 0, &err), &err);
    st = tx_send(txs[1], 1, &err);
    assert_true(st == PAWL_E_BUSY || st == PAWL_E_TIMEOUT || st == PAWL_E_TX_RESTART);
    assert_true(err.retryable);
    assert_ok(tx_send(txs[0], 1, &err), &err);
    fixture_tx_commit(f, 0);
    fixture_tx_rollback(f, 1);
    txs[1] = fixture_tx_begin(f, 1);
    assert_ok(tx_send(txs[1], 1, &err), &err);
    assert_ok(tx_send(txs[1], 0, &err), &err);
    fixture_tx_commit(f, 1);
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {body}"));
    queue_check(f);
}

PAWL_TEST_ON(postgres, two_postgres_transactions_use_new_topics_crosswise)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    static const char *const topics[] = {"new one", "new two"};
    pawl_tx *txs[2];

    for (int i = 0; i < 2; i++)
        txs[i] = fixture_tx_begin(f, i);
    for (int step = 0; step < 2; step++)
        for (int i = 0; i < 2; i++) {
            pawl_message_spec message = queue_message(topics[(i + step) % 2], "x");

            assert_ok(pawl_tx_enqueue(txs[i], &message, NULL, &err), &err);
        }
    fixture_tx_commit(f, 1);
    fixture_tx_commit(f, 0);
    assert_int_equal(4, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
    queue_check(f);
}

PAWL_TEST(a_rival_that_rolls_back_leaves_the_id_free)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "crossed");

    message.id = queue_id(5);
    assert_ok(tx_send(fixture_tx_begin(f, 0), 5, &err), &err);
    fixture_tx_rollback(f, 0);
    assert_false(queue_send(f, &message).existed);
}
