/* tests/fault/worker_test.c - a worker whose memory, database or connection fails. */
#include <stdio.h>
#include <stdlib.h>

#include "fault_run.h"
#include "fault_worker.h"

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif

/* Before the first use of SQLite, which sets up its memory then. */
__attribute__((constructor)) static void prepare_sqlite(void)
{
    failing_prepare();
}

static worker_points step_all(failing_kind kind, int how, const char *name, long stride)
{
    fixture *f = fault_fixture();
    worker_points points = {0};

    for (long nth = 1; fault_worker_step(f, kind, nth, how, &points); nth += test_stride(stride))
        continue;
    printf("# worker step by step, %s: %ld points failed, %ld of them in doubt\n", name,
           points.failed, points.in_doubt);
    assert_true(points.failed > 0);
    fixture_close(f);
    return points;
}

static void stop_all(int how, const char *name, long first, long stride)
{
    fixture *f = fault_fixture();
    long points = 0;

    for (long nth = first; fault_worker_stop(f, nth, how); nth += test_stride(stride))
        points++;
    printf("# worker stopped at once, %s: %ld points failed\n", name, points);
    assert_true(points > 0);
    fixture_close(f);
}

PAWL_TEST(a_worker_survives_every_failing_allocation)
{
    step_all(FAILING_MEMORY, 0, "out of memory", 17);
}

PAWL_TEST(a_running_worker_survives_failing_allocations_of_its_threads)
{
    fixture *f = fault_fixture();
    long points = 0;

    for (long nth = 1; fault_worker_run(f, nth); nth += test_stride(23))
        points++;
    printf("# worker with threads, out of memory: %ld points failed\n", points);
    assert_true(points > 0);
}

/* Claims whose result was lost are resumed, acks whose result was lost are repeated: the clock
 * stands still, so that nothing else brings them back. */
PAWL_TEST(a_worker_survives_failing_calls_of_the_database)
{
    worker_points points;

    if (test_on_sqlite()) {
#if PAWL_TEST_SQLITE
        points = step_all(FAILING_SQL, SQLITE_IOERR, "I/O errors", 37);
        assert_true(points.in_doubt > 0);
        points = step_all(FAILING_SQL, SQLITE_IOERR | FAILING_AFTERWARDS,
                          "I/O errors after the work was done", 37);
        assert_true(points.in_doubt > 0);
#endif
    } else {
        (void)step_all(FAILING_SQL, FAILING_REFUSES, "libpq answers a failure", 37);
        points = step_all(FAILING_SQL, FAILING_CUTS, "the connection is cut", 53);
        assert_true(points.in_doubt > 0);
    }
}

PAWL_TEST(a_worker_that_stops_while_in_doubt_leaves_nothing_leased)
{
    if (test_on_sqlite()) {
#if PAWL_TEST_SQLITE
        stop_all(SQLITE_IOERR, "I/O errors", 1, 29);
        stop_all(SQLITE_IOERR | FAILING_AFTERWARDS, "I/O errors after the work was done", 1, 29);
#endif
    } else {
        stop_all(FAILING_REFUSES, "libpq answers a failure", 1, 29);
        stop_all(FAILING_CUTS, "the connection is cut", 1, 61); /* some take the 5 s of doubt */
    }
}

#if PAWL_TEST_POSTGRES
/* The server processes of this fixture's schema whose last statement was this function. */
#define BACKENDS                                                                                   \
    " FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%%%s%%.%s(%%' AND "

PAWL_TEST_ON(postgres, a_claim_that_is_committed_after_the_stop_is_released)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    recorder record = {.result = PAWL_DONE};

    fixture *f = fixture_open(NULL);
    const char *schema = fixture_store_options(f)->schema;
    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++)
        options.maintenance_interval_ms[i] = 0;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "topic", recorder_handle, &record);
    pawl_work_id id = fixture_send(f, "topic", "x");

    /* The claim waits at its last write, and its connection is cut. */
    fixture_tx_exec(f, 0, "BEGIN");
    fixture_tx_exec(f, 0, "LOCK TABLE {claim} IN SHARE MODE");
    running *run = worker_run(worker);
    int backend = fixture_await_blocked(f, "claim_batch");
    pawl_worker_request_stop(worker);
    assert_true(failing_cut_last(backend));
    /* The worker has asked for it, in vain: only now is it committed. */
    until(fixture_count(f, "SELECT count(*)" BACKENDS "state = 'idle'", schema, "owned") > 0);
    fixture_tx_exec(f, 0, "COMMIT");
    assert_ok(worker_join(run), &run->err);
    fixture_await_backend_end(f, backend);
    assert_int_equal(1, worker_stats(worker).released);
    assert_int_equal(0, record.calls);
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
    worker_check_nothing_leased(f);
}
#endif
