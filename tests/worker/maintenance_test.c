/* tests/worker/maintenance_test.c - maintenance by the worker, on the virtual clock. */
#include "worker_fixture.h"

#include <string.h>

static pawl_result handle_done(pawl_task *task, void *context)
{
    (void)task;
    (void)context;
    return PAWL_DONE;
}

PAWL_TEST(expired_leases_are_reaped_and_handled_in_one_step)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder record = {0};
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_handle(worker, "t", recorder_handle, &record);
    (void)fixture_claim(f, queue_owner(1), 30 * SECOND_MS, 10); /* by a worker that then dies */
    worker_until_idle(worker);
    assert_int_equal(0, record.calls);
    fixture_advance(f, 31 * SECOND_MS);
    worker_step(worker);
    assert_int_equal(1, record.calls);
    assert_int_equal(2, record.attempt);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    assert_true(fixture_logged(f, PAWL_LOG_INFO, "reaped 1"));
    pawl_maintenance_stats reap = worker_stats(worker).maintenance[PAWL_MAINTENANCE_REAP];
    assert_int_equal(1, reap.changed);
    assert_time(fixture_now(f).us, reap.last_success);
}

PAWL_TEST(messages_expire_and_old_ones_are_pruned)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_message_spec message = queue_message("other", "x");
    pawl_work_id old = queue_make(f, "t", "x", PAWL_STATE_DONE);

    worker_handle(worker, "t", handle_done, NULL);
    message.expires_at = (pawl_wall){FIXTURE_START.us + 1000000};
    pawl_work_id id = queue_send(f, &message).work_id;
    worker_until_idle(worker);
    fixture_advance(f, 5 * SECOND_MS);
    worker_until_idle(worker);
    assert_int_equal(PAWL_STATE_EXPIRED, fixture_state(f, id));
    fixture_advance(f, 8 * DAY_MS);
    worker_until_idle(worker);
    assert_int_equal(0,
                     fixture_count(f, "SELECT count(*) FROM {body} WHERE id = %d", (int)old.value));
    assert_int_equal(1, worker_stats(worker).maintenance[PAWL_MAINTENANCE_PRUNE].changed);
}

PAWL_TEST(the_inbox_prunes_records_past_the_retention)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_error err = PAWL_ERROR_INIT;

    worker_handle(worker, "t", handle_done, NULL);
    assert_ok(pawl_inbox_mark_processing(fixture_store(f), "shop", "1", &err), &err);
    assert_ok(pawl_inbox_mark_processed(fixture_store(f), "shop", "1", &err), &err);
    worker_until_idle(worker);
    assert_int_equal(0, worker_stats(worker).maintenance[PAWL_MAINTENANCE_INBOX].changed);
    fixture_advance(f, 2 * DAY_MS);
    worker_until_idle(worker);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {inbox_record}"));
    pawl_maintenance_stats maintenance_step =
        worker_stats(worker).maintenance[PAWL_MAINTENANCE_INBOX];
    assert_int_equal(1, maintenance_step.changed);
    assert_time(fixture_now(f).us, maintenance_step.last_success);
    int64_t runs = maintenance_step.runs;
    fixture_advance(f, 4 * MINUTE_MS);
    worker_until_idle(worker);
    assert_int_equal(runs, worker_stats(worker).maintenance[PAWL_MAINTENANCE_INBOX].runs);
    fixture_advance(f, MINUTE_MS);
    worker_until_idle(worker);
    assert_int_equal(runs + 1, worker_stats(worker).maintenance[PAWL_MAINTENANCE_INBOX].runs);
}

PAWL_TEST(each_maintenance_step_has_its_own_interval)
{
    fixture *f = fixture_open(NULL);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    options.maintenance_interval_ms[PAWL_MAINTENANCE_REAP] = 10 * SECOND_MS;
    options.maintenance_interval_ms[PAWL_MAINTENANCE_EXPIRE] = 30 * SECOND_MS;
    options.maintenance_interval_ms[PAWL_MAINTENANCE_COMPACT_STATS] = 0;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", handle_done, NULL);
    for (int i = 0; i < 7; i++) {
        worker_step(worker);
        fixture_advance(f, 10 * SECOND_MS);
    }
    pawl_worker_stats stats = worker_stats(worker);
    assert_int_equal(7, stats.maintenance[PAWL_MAINTENANCE_REAP].runs);
    assert_int_equal(3, stats.maintenance[PAWL_MAINTENANCE_EXPIRE].runs);
    assert_int_equal(1, stats.maintenance[PAWL_MAINTENANCE_PRUNE].runs);
    assert_int_equal(0, stats.maintenance[PAWL_MAINTENANCE_COMPACT_STATS].runs);
}

PAWL_TEST(a_failing_maintenance_step_stops_no_other_and_recovers)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    pawl_error err = PAWL_ERROR_INIT;

    worker_handle(worker, "t", handle_done, NULL);
    fixture_exec(f, "ALTER TABLE {claim} RENAME TO moved_claim");
    assert_true(pawl_worker_step(worker, NULL, &err) != PAWL_OK);
    pawl_worker_stats stats = worker_stats(worker);
    assert_int_equal(0, stats.maintenance[PAWL_MAINTENANCE_REAP].runs);
    assert_int_equal(1, stats.maintenance[PAWL_MAINTENANCE_REAP].failures);
    assert_true(strlen(stats.maintenance[PAWL_MAINTENANCE_REAP].last_error) > 0);
    assert_time(0, stats.maintenance[PAWL_MAINTENANCE_REAP].last_success);
    assert_int_equal(1, stats.maintenance[PAWL_MAINTENANCE_EXPIRE].runs);
    assert_int_equal(1, stats.maintenance[PAWL_MAINTENANCE_PRUNE].runs);
    assert_int_equal(1, stats.maintenance[PAWL_MAINTENANCE_COMPACT_STATS].runs);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "maintenance task 'reap' failed"));
    if (fixture_is_postgres(f))
        fixture_exec(f, "ALTER TABLE {moved_claim} RENAME TO claim");
    else
        fixture_exec(f, "ALTER TABLE moved_claim RENAME TO {claim}");
    fixture_advance(f, 2 * SECOND_MS);
    worker_step(worker);
    assert_int_equal(1, worker_stats(worker).maintenance[PAWL_MAINTENANCE_REAP].runs);
    assert_string_equal("", worker_stats(worker).maintenance[PAWL_MAINTENANCE_REAP].last_error);
}

PAWL_TEST(maintenance_steps_have_names)
{
    assert_string_equal("reap", pawl_maintenance_name(PAWL_MAINTENANCE_REAP));
    assert_string_equal("checkpoint", pawl_maintenance_name(PAWL_MAINTENANCE_CHECKPOINT));
    assert_string_equal("inbox", pawl_maintenance_name(PAWL_MAINTENANCE_INBOX));
    assert_string_equal("jobs", pawl_maintenance_name(PAWL_MAINTENANCE_JOBS));
    assert_string_equal("schedule", pawl_maintenance_name(PAWL_MAINTENANCE_SCHEDULE));
    assert_string_equal("unknown", pawl_maintenance_name(PAWL_MAINTENANCE_COUNT));
}
