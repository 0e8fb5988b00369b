/* tests/worker/lease_test.c - leases that are kept, lost and taken away, on the virtual clock. */
#include "worker_fixture.h"

#include <string.h>

#include "op_counter.h"

/* A handler under whose hands time passes. */
struct slow {
    fixture *f;
    int64_t takes_ms;       /* each call */
    int64_t every_ms;       /* and so often it asks whether it should end; 0: never */
    bool reap;              /* others take back what has run out meanwhile */
    pawl_work_id to_cancel; /* cancelled by an administrator in the first call; 0: none */
    int calls;
    int cancelled; /* calls that were cancelled */
    pawl_result result;
};

static pawl_result slow_handle(pawl_task *task, void *context)
{
    struct slow *slow = context;
    int64_t step_ms = slow->every_ms > 0 ? slow->every_ms : slow->takes_ms;

    slow->calls++;
    if (slow->calls == 1 && slow->to_cancel.value != 0)
        (void)queue_cancel(slow->f, slow->to_cancel);
    for (int64_t passed_ms = 0; passed_ms < slow->takes_ms; passed_ms += step_ms) {
        fixture_advance(slow->f, step_ms);
        if (slow->reap)
            (void)queue_reap(slow->f);
        if (slow->every_ms > 0 && pawl_task_cancelled(task)) {
            slow->cancelled++;
            return PAWL_RETRY;
        }
    }
    return slow->result;
}

/* Maintenance would reap, too. */
static pawl_worker *make_worker(fixture *f, struct slow *slow)
{
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++)
        options.maintenance_interval_ms[i] = 0;
    slow->f = f;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", slow_handle, slow);
    return worker;
}

PAWL_TEST(leases_are_renewed_while_messages_wait_for_a_handler)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {.takes_ms = 15 * SECOND_MS, .reap = true};
    pawl_worker *worker = make_worker(f, &slow);

    for (int i = 0; i < 6; i++)
        fixture_send(f, "t", "x");
    worker_step(worker);
    assert_int_equal(6, slow.calls);
    assert_int_equal(6, worker_stats(worker).done);
    assert_int_equal(0, worker_stats(worker).lost);
    assert_true(worker_stats(worker).renewals >= 15);
    assert_int_equal(6, fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 2"));
}

PAWL_TEST(a_handler_that_asks_keeps_its_lease_however_long_it_takes)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {.takes_ms = 10 * MINUTE_MS, .every_ms = 5 * SECOND_MS, .reap = true};
    pawl_worker *worker = make_worker(f, &slow);
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_step(worker);
    assert_int_equal(1, slow.calls);
    assert_int_equal(0, slow.cancelled);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    assert_int_equal(0, pawl_message_retries(queue_get(f, id)));
}

PAWL_TEST(a_message_with_a_lease_of_its_own_is_renewed_by_that)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {.takes_ms = 4 * SECOND_MS, .reap = true};
    pawl_worker *worker = make_worker(f, &slow);

    for (int i = 0; i < 5; i++) {
        pawl_message_spec message = queue_message("t", "x");
        message.lease_ms = 6 * SECOND_MS;
        queue_send(f, &message);
    }
    worker_step(worker);
    assert_int_equal(5, worker_stats(worker).done);
    assert_int_equal(0, worker_stats(worker).lost);
}

PAWL_TEST(a_lost_lease_reaches_the_handler_and_its_result_is_dropped)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {.takes_ms = 2 * MINUTE_MS, .every_ms = 31 * SECOND_MS, .reap = true};
    pawl_worker *worker = make_worker(f, &slow);
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_step(worker);
    assert_int_equal(1, slow.cancelled);
    assert_int_equal(1, worker_stats(worker).lost);
    assert_int_equal(0, worker_stats(worker).retried);
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
    assert_int_equal(1, pawl_message_retries(queue_get(f, id)));
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "was dropped"));
    slow.takes_ms = 0;
    worker_step(worker);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
}

PAWL_TEST(the_local_deadline_counts_even_before_a_reap)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {.takes_ms = MINUTE_MS, .every_ms = 30 * SECOND_MS};
    pawl_worker *worker = make_worker(f, &slow);
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_step(worker);
    assert_int_equal(1, slow.cancelled);
    assert_int_equal(1, worker_stats(worker).lost);
    assert_int_equal(PAWL_STATE_RUNNING, fixture_state(f, id));
    assert_int_equal(1, (int)queue_reap(f));
}

PAWL_TEST(a_message_whose_lease_is_lost_while_it_waits_is_not_handled)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {.takes_ms = 31 * SECOND_MS, .reap = true};
    pawl_worker *worker = make_worker(f, &slow);

    fixture_send(f, "t", "a");
    fixture_send(f, "t", "b");
    fixture_send(f, "t", "c");
    worker_step(worker);
    assert_int_equal(1, slow.calls);
    assert_int_equal(3, worker_stats(worker).lost);
    assert_int_equal(3, fixture_count(f, "SELECT count(*) FROM {queue} WHERE fence = 0"));
}

PAWL_TEST(a_cancelled_message_reaches_its_handler_with_the_next_renewal)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {.takes_ms = MINUTE_MS, .every_ms = 6 * SECOND_MS};
    pawl_worker *worker = make_worker(f, &slow);
    pawl_work_id id = fixture_send(f, "t", "x");

    slow.to_cancel = id;
    worker_step(worker);
    assert_int_equal(1, slow.cancelled);
    assert_int_equal(PAWL_STATE_CANCELLED, fixture_state(f, id));
    assert_int_equal(1, worker_stats(worker).lost);
    assert_time(FIXTURE_START.us + 12 * SECOND_MS * 1000, fixture_now(f));
}

PAWL_TEST(of_many_leases_only_the_one_that_was_cancelled_is_lost)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {.takes_ms = 11 * SECOND_MS};
    pawl_worker *worker = make_worker(f, &slow);

    for (int i = 0; i < 9; i++) {
        pawl_work_id id = fixture_send(f, "t", "x");
        if (i == 5)
            slow.to_cancel = id;
    }
    worker_step(worker);
    assert_int_equal(8, slow.calls);
    assert_int_equal(8, worker_stats(worker).done);
    assert_int_equal(1, worker_stats(worker).lost);
    assert_int_equal(PAWL_STATE_CANCELLED, fixture_state(f, slow.to_cancel));
}

#define MANY 49 /* one claim */

/* The first call loses every seventh message to an administrator; the next one comes after a
 * renewal. */
struct thief {
    fixture *f;
    pawl_work_id ids[MANY];
    int calls;
    int renewals; /* how many ops that took */
};

static pawl_result thief_handle(pawl_task *task, void *context)
{
    struct thief *thief = context;

    (void)task;
    if (++thief->calls == 2)
        thief->renewals = op_counter_of(PAWLI_SQL_RENEW);
    if (thief->calls > 1)
        return PAWL_DONE;
    for (int i = 6; i < MANY; i += 7)
        (void)queue_cancel(thief->f, thief->ids[i]);
    op_counter_start(fixture_store(thief->f));
    fixture_advance(thief->f, 11 * SECOND_MS);
    return PAWL_DONE;
}

PAWL_TEST(one_op_finds_all_leases_that_are_lost_among_many)
{
    fixture *f = fixture_open(NULL);
    struct thief thief = {.f = f};
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    for (int i = 0; i < PAWL_MAINTENANCE_COUNT; i++)
        options.maintenance_interval_ms[i] = 0;
    pawl_worker *worker = worker_open(f, &options);
    worker_handle(worker, "t", thief_handle, &thief);
    for (int i = 0; i < MANY; i++)
        thief.ids[i] = fixture_send(f, "t", "x");
    worker_step(worker);
    assert_int_equal(1, thief.renewals);
    assert_int_equal(MANY - MANY / 7, thief.calls);
    assert_int_equal(MANY / 7, worker_stats(worker).lost);
    assert_int_equal(MANY - MANY / 7, worker_stats(worker).done);
}

PAWL_TEST(a_handler_past_its_time_limit_is_cancelled_and_its_result_still_counts)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {.takes_ms = MINUTE_MS, .every_ms = SECOND_MS};
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_handler_options limit = PAWL_HANDLER_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_worker *worker = worker_open(f, &options);
    pawl_work_id id = fixture_send(f, "t", "x");

    slow.f = f;
    limit.timeout_ms = 5 * SECOND_MS;
    assert_ok(pawl_worker_handle(worker, "t", slow_handle, &slow, &limit, &err), &err);
    worker_step(worker);
    assert_int_equal(1, slow.cancelled);
    assert_time(FIXTURE_START.us + 5 * SECOND_MS * 1000, fixture_now(f));
    assert_int_equal(1, worker_stats(worker).retried);
    assert_int_equal(1, pawl_message_retries(queue_get(f, id)));
    assert_non_null(strstr(pawl_message_last_error(queue_get(f, id)), "5000 ms"));
}

/* A message that was lost, and claimed again by the same worker. */
static pawl_result steal_and_finish(pawl_task *task, void *context)
{
    struct slow *slow = context;

    slow->calls++;
    if (slow->calls == 1) {
        fixture_advance(slow->f, MINUTE_MS);
        (void)queue_reap(slow->f);
    }
    (void)task;
    return PAWL_DONE;
}

PAWL_TEST(the_result_of_a_handler_whose_lease_expired_does_not_end_the_later_claim)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {0};
    pawl_worker *worker = worker_open(f, NULL);
    pawl_work_id id = fixture_send(f, "t", "x");

    slow.f = f;
    worker_handle(worker, "t", steal_and_finish, &slow);
    worker_step(worker);
    assert_int_equal(PAWL_STATE_READY, fixture_state(f, id));
    assert_int_equal(0, worker_stats(worker).done);
    worker_step(worker);
    assert_int_equal(2, slow.calls);
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, id));
    assert_int_equal(1, worker_stats(worker).done);
}

/* A store that does not respond for a while. */
static pawl_result watch_renewals_fail(pawl_task *task, void *context)
{
    struct slow *slow = context;
    fixture *f = slow->f;

    fixture_exec(f, "ALTER TABLE {claim} RENAME TO moved_claim");
    for (int i = 0; i < 20 && !pawl_task_cancelled(task); i++)
        fixture_advance(f, SECOND_MS);
    slow->cancelled += pawl_task_cancelled(task);
    if (fixture_is_postgres(f))
        fixture_exec(f, "ALTER TABLE {moved_claim} RENAME TO claim");
    else
        fixture_exec(f, "ALTER TABLE moved_claim RENAME TO {claim}");
    return PAWL_DONE;
}

PAWL_TEST(three_renewals_that_fail_in_a_row_lose_the_lease)
{
    fixture *f = fixture_open(NULL);
    struct slow slow = {.f = f};
    pawl_worker *worker = worker_open(f, NULL);
    pawl_work_id id = fixture_send(f, "t", "x");

    worker_handle(worker, "t", watch_renewals_fail, &slow);
    worker_step(worker);
    assert_int_equal(1, slow.cancelled);
    assert_time(FIXTURE_START.us + 20 * SECOND_MS * 1000, fixture_now(f));
    assert_int_equal(1, worker_stats(worker).lost);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "leases could not be renewed"));
    fixture_advance(f, 10 * SECOND_MS);
    worker_step(worker);
    assert_int_equal(1, pawl_message_retries(queue_get(f, id)));
}
