/* tests/worker/maintenance_load_test.c - maintenance keeps up with whatever there is to do. */
#include "worker_fixture.h"

#include <string.h>

static pawl_result handle_done(pawl_task *task, void *context)
{
    (void)task;
    (void)context;
    return PAWL_DONE;
}

/* Claims without running messages, as a crash of two finishing transactions may leave them; their
 * checks are due, a millisecond apart. */
static void leave_claims(fixture *f, int count)
{
    if (fixture_is_postgres(f))
        fixture_exec(
            f,
            "INSERT INTO {claim} (fence, owner, owner_name, check_at, lease, ids)"
            " SELECT 1000000 + i, '00000000-0000-0000-0000-000000000009', 'gone',"
            " {at:%lld + i * 1000}, '1 s', ARRAY[900000 + i] FROM generate_series(1, %d) i",
            (long long)FIXTURE_START.us, count);
    else
        fixture_exec(f,
                     "INSERT INTO {claim} (fence, owner, owner_name, check_at, ids)"
                     " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                     " SELECT 1000000 + i, x'00000000000000000000000000000009', 'gone', {at:%lld + "
                     "i * 1000},"
                     " '[' || (900000 + i) || ']' FROM n",
                     count, (long long)FIXTURE_START.us);
}

static int64_t claim_rows(fixture *f)
{
    return fixture_count(f, "SELECT count(*) FROM {claim}");
}

PAWL_TEST(one_step_reads_all_claims_that_are_due)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);

    worker_handle(worker, "t", handle_done, NULL);
    worker_until_idle(worker);
    leave_claims(f, 10000);
    fixture_advance(f, 20 * SECOND_MS);
    worker_step(worker);
    assert_int_equal(0, claim_rows(f));
    pawl_maintenance_stats reap = worker_stats(worker).maintenance[PAWL_MAINTENANCE_REAP];
    assert_int_equal(0, reap.changed);
    assert_int_equal(10000, reap.scanned);
}

/* A transaction ends that the cursor waits for: the claims that were read before are counted, too.
 */
PAWL_TEST_ON(postgres, messages_read_while_a_transaction_ends_are_counted)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_scan scan = {0, true};
    size_t read = 0;

    fixture_tx_exec(f, 3, "BEGIN; SELECT pg_current_xact_id()");
    for (int i = 0; i < 3; i++) {
        fixture_advance(f, 20 * SECOND_MS);
        assert_ok(pawl_queue_reap(fixture_store(f), NULL, &scan, &err), &err);
    }
    leave_claims(f, 50);
    fixture_exec(f, "UPDATE {claim} SET check_at = check_at + interval '65 seconds'");
    fixture_advance(f, 20 * SECOND_MS);
    fixture_tx_exec(f, 3, "ROLLBACK");
    scan.more = true;
    while (scan.more || claim_rows(f) > 0) {
        assert_ok(pawl_queue_reap(fixture_store(f), NULL, &scan, &err), &err);
        read += scan.rows;
    }
    assert_int_equal(50, read);
}

/* Its lease has ended; the claims before it are read first, and nothing of them is found. */
PAWL_TEST(a_dead_workers_message_is_recovered_in_the_first_step_after_its_lease)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_work_id id;

    worker_handle(worker, "t", handle_done, NULL);
    worker_until_idle(worker);
    leave_claims(f, 1000);
    id = fixture_send(f, "t", "x");
    fixture_claim(f, queue_owner(1), 3 * SECOND_MS, 1);
    fixture_advance(f, 3 * SECOND_MS);
    worker_step(worker);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
}

/* More deltas than one call moves. */
PAWL_TEST_ON(postgres, one_step_compacts_all_deltas)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);

    worker_handle(worker, "t", handle_done, NULL);
    worker_until_idle(worker);
    fixture_exec(f, "INSERT INTO {topic_stats_delta} (lane_id, state, n)"
                    " SELECT 1, 2, 1 FROM generate_series(1, 25000)");
    fixture_advance(f, MINUTE_MS);
    worker_step(worker);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {topic_stats_delta}"));
}

/* As many as three calls remove, of messages, inbox records and leases alike. */
PAWL_TEST(one_step_prunes_all_that_is_old_enough)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_error err = PAWL_ERROR_INIT;
    enum { OLD = 2500 };

    worker_handle(worker, "t", handle_done, NULL);
    for (int i = 0; i < OLD; i += 500) {
        for (int j = 0; j < 500; j++)
            fixture_send(f, "gone", "x");
        queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, 500));
    }
    for (int i = 0; i < OLD; i++)
        assert_ok(pawl_inbox_mark_processing(fixture_store(f), "shop", test_note("%d", i), &err),
                  &err);
    worker_until_idle(worker);
    fixture_advance(f, 30 * DAY_MS);
    worker_step(worker);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {outcome}"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {inbox_record}"));
}

/* The library's calls say how much they read, and whether they stopped at their limit. */
PAWL_TEST(reap_returns_how_much_it_read)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_scan scan = {0, false};
    size_t changed = 1, calls = 0, rows = 0;

    leave_claims(f, 250);
    fixture_advance(f, 20 * SECOND_MS);
    do {
        assert_ok(pawl_queue_reap(fixture_store(f), &changed, &scan, &err), &err);
        assert_int_equal(0, changed);
        rows += scan.rows;
        calls++;
    } while (scan.more);
    assert_int_equal(250, rows);
    assert_int_equal(3, calls);
    assert_int_equal(0, claim_rows(f));
}
