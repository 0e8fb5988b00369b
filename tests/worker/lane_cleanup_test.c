/* tests/worker/lane_cleanup_test.c - maintenance keeps up with topics that are used once. */
#include "worker_fixture.h"

#define LANES 25000 /* more than two calls remove */

static pawl_result handle_done(pawl_task *task, void *context)
{
    (void)task;
    (void)context;
    return PAWL_DONE;
}

/* Lanes that are empty and were last used when the test began. */
static void leave_lanes(fixture *f, int count)
{
    if (fixture_is_postgres(f)) {
        fixture_exec(f,
                     "INSERT INTO {lane} (topic, priority, paused)"
                     " SELECT 'once ' || i, 0, false FROM generate_series(1, %d) i",
                     count);
        fixture_exec(f,
                     "INSERT INTO {lane_use} (lane_id, used_at) SELECT id, {at:%lld} FROM {lane}",
                     (long long)FIXTURE_START.us);
    } else {
        fixture_exec(f,
                     "INSERT INTO {lane} (topic, priority)"
                     " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                     " SELECT 'once ' || i, 0 FROM n",
                     count);
    }
}

PAWL_TEST(one_step_removes_all_empty_lanes)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);

    worker_handle(worker, "t", handle_done, NULL);
    worker_until_idle(worker);
    leave_lanes(f, LANES);
    fixture_advance(f, 10 * MINUTE_MS);
    worker_step(worker);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {lane}"));
    if (fixture_is_postgres(f))
        assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {lane_use}"));
}
