/*
 * tests/conformance/cursor_threads_test.c - claims of one store that overlap on a real server.
 *
 * docs/internals/claim-cursor.md, "Concurrent scans".
 */
#include "queue_fixture.h"

#include <pthread.h>

/* A claim that first acknowledges, and has to wait for that: between its id and its snapshot. */
typedef struct slow_claim {
    pawl_store *store;
    const pawl_receipt *done;
    pawl_status status;
    pawl_messages *list;
    pawl_error err;
} slow_claim;

static void *claim_slowly(void *argument)
{
    slow_claim *slow = argument;
    size_t acked;

    slow->status = pawl_queue_ack_and_claim(slow->store, queue_owner(1), slow->done, 1, DAY_MS, 10,
                                            NULL, &acked, &slow->list, &slow->err);
    return NULL;
}

static const char *claim_all(fixture *f)
{
    return queue_payloads(fixture_claim(f, queue_owner(9), DAY_MS, 100));
}

static void move_on(fixture *f)
{
    for (int i = 0; i < 3; i++) {
        fixture_advance(f, SECOND_MS);
        fixture_send(f, "t", "step");
        assert_string_equal("step", claim_all(f));
        assert_string_equal("", claim_all(f));
    }
    fixture_advance(f, SECOND_MS);
}

static void overtake_slow_claim(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec late = queue_message("t", "late");
    slow_claim slow = {.store = fixture_store(f)};
    pthread_t thread;

    fixture_send(f, "t", "first");
    slow.done = queue_receipts(fixture_claim(f, queue_owner(1), DAY_MS, 1));
    move_on(f);
    fixture_tx_exec(f, 1, "BEGIN; SELECT id FROM {queue} WHERE owner = '%s' FOR UPDATE",
                    "ee000000-0000-0000-0000-000000000001");
    assert_int_equal(0, pthread_create(&thread, NULL, claim_slowly, &slow));
    fixture_await_blocked(f, "ack"); /* before the claim of the same transaction */
    assert_ok(pawl_tx_enqueue(fixture_tx_begin(f, 0), &late, NULL, &err), &err);
    move_on(f); /* all three are long transactions now */
    fixture_tx_exec(f, 1, "COMMIT");
    pthread_join(thread, NULL);
    assert_ok(slow.status, &slow.err);
    assert_string_equal("", queue_payloads(queue_keep(slow.list)));
    fixture_tx_commit(f, 0);
    assert_string_equal("late", claim_all(f));
}

/*
 * The slow claim's snapshot is younger than its id, and shows a transaction between the two as
 * running. It must not be taken for ended: its message would be passed over until the next sweep.
 */
PAWL_TEST_ON(postgres, a_slow_claim_does_not_end_the_wait_for_a_running_transaction)
{
    fixture *f = fixture_open(NULL);

    overtake_slow_claim(f); /* opens a second connection, which drops all positions */
    overtake_slow_claim(f);
    queue_check(f);
}
