/* tests/worker/lease_runner_test.c - a lease that renews itself, step by step on the virtual clock.
 */
#include "worker_fixture.h"

#include <poll.h>

#include "lease_fixture.h"

static void free_runner(void *runner)
{
    pawl_lease_runner_free(runner);
}

struct loss {
    int calls;
    pawl_lease_loss why;
};

static void on_lost(pawl_lease_runner *runner, pawl_lease_loss why, void *context)
{
    struct loss *loss = context;

    loss->calls++;
    loss->why = why;
    (void)pawl_lease_runner_lost(
        runner); /* this call is allowed here, and calls on_lost only once */
}

static pawl_lease_runner *start_runner(fixture *f, struct loss *loss)
{
    pawl_lease_runner_options options = PAWL_LEASE_RUNNER_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_runner *runner = NULL;

    options.by_steps = true;
    options.owner = queue_owner(1);
    options.on_lost = on_lost;
    options.context = loss;
    assert_ok(pawl_lease_runner_start(fixture_store(f), "it", &options, &runner, &err), &err);
    test_defer(free_runner, runner);
    return runner;
}

static bool readable(const pawl_lease_runner *runner)
{
    struct pollfd fd = {.fd = pawl_lease_runner_fd(runner), .events = POLLIN};

    return poll(&fd, 1, 0) == 1;
}

static pawl_status step_after(fixture *f, pawl_lease_runner *runner, int64_t ms)
{
    fixture_advance(f, ms);
    return pawl_lease_runner_step(runner, NULL);
}

static int64_t left_ms(fixture *f)
{
    return (lease_read(f, "it")->expires_at.us - fixture_now(f).us) / 1000;
}

/* Every renewal fails while the table has another name. */
static void break_leases(fixture *f)
{
    fixture_exec(f, "ALTER TABLE {lease} RENAME TO moved_lease");
}

static void restore_leases(fixture *f)
{
    if (fixture_is_postgres(f))
        fixture_exec(f, "ALTER TABLE {moved_lease} RENAME TO lease");
    else
        fixture_exec(f, "ALTER TABLE moved_lease RENAME TO {lease}");
}

PAWL_TEST(it_is_renewed_at_sixty_percent_for_as_long_as_it_runs)
{
    fixture *f = fixture_open(NULL);
    struct loss loss = {0};
    pawl_lease_runner *runner = start_runner(f, &loss);
    int64_t fence = pawl_lease_runner_fence(runner);

    assert_int_equal(PAWL_OK, step_after(f, runner, 17999));
    assert_int_equal(TTL_MS - 17999, left_ms(f)); /* not yet */
    for (int i = 0; i < 20; i++) {
        assert_int_equal(PAWL_OK, step_after(f, runner, i == 0 ? 1 : 18000));
        assert_int_equal(TTL_MS, left_ms(f));
        assert_int_equal(PAWL_E_HELD, lease_try(f, "it", 2));
    }
    assert_time(lease_read(f, "it")->expires_at.us, pawl_lease_runner_expires_at(runner));
    assert_int_equal(fence, lease_read(f, "it")->fence);
    assert_false(pawl_lease_runner_lost(runner));
    assert_false(readable(runner));
    assert_int_equal(0, loss.calls);
}

PAWL_TEST(stopping_releases_it)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    struct loss loss = {0};
    pawl_lease_runner *runner = start_runner(f, &loss);

    assert_ok(pawl_lease_runner_stop(runner, &err), &err);
    assert_ok(pawl_lease_runner_stop(runner, &err), &err);
    assert_int_equal(PAWL_OK, lease_try(f, "it", 2));
    assert_true(pawl_lease_runner_lost(runner));
    assert_true(readable(runner));
    assert_status(PAWL_E_LOST, pawl_lease_runner_check(runner, &err), &err);
    assert_says(&err, "was released");
    assert_status(PAWL_E_LOST, pawl_lease_runner_renew_now(runner, &err), &err);
    assert_int_equal(0, loss.calls); /* nothing was lost */
}

PAWL_TEST(freeing_releases_it_too)
{
    fixture *f = fixture_open(NULL);
    struct loss loss = {0};
    pawl_lease_runner *runner = start_runner(f, &loss);

    test_defer_cancel(runner);
    pawl_lease_runner_free(runner);
    assert_false(lease_read(f, "it")->owned);
}

PAWL_TEST(it_is_lost_at_the_local_deadline)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    struct loss loss = {0};
    pawl_lease_runner *runner = start_runner(f, &loss);

    fixture_advance(f, TTL_MS - 300); /* one percent before the end */
    assert_status(PAWL_E_LOST, pawl_lease_runner_step(runner, &err), &err);
    assert_says(&err, "in time");
    assert_int_equal(PAWL_LEASE_LATE, pawl_lease_runner_loss(runner));
    assert_true(readable(runner));
    assert_int_equal(1, loss.calls);
    assert_int_equal(PAWL_LEASE_LATE, loss.why);
    assert_int_equal(300, left_ms(f)); /* the database still counts it as ours, without a renewal */
    assert_status(PAWL_E_LOST, pawl_lease_runner_renew_now(runner, &err), &err);
    assert_status(PAWL_E_LOST, pawl_lease_runner_stop(runner, &err), &err);
    assert_int_equal(1, loss.calls);
    assert_int_equal(PAWL_OK, lease_try(f, "it", 2)); /* released anyway */
}

PAWL_TEST(a_moment_before_the_deadline_it_is_renewed)
{
    fixture *f = fixture_open(NULL);
    struct loss loss = {0};
    pawl_lease_runner *runner = start_runner(f, &loss);

    assert_int_equal(PAWL_OK, step_after(f, runner, TTL_MS - 301));
    assert_int_equal(TTL_MS, left_ms(f));
}

PAWL_TEST(a_lease_that_was_revoked_is_lost_at_the_next_renewal)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    struct loss loss = {0};
    pawl_lease_runner *runner = start_runner(f, &loss);

    assert_int_equal(PAWL_OK, lease_force(f, "it"));
    assert_int_equal(PAWL_OK, step_after(f, runner, SECOND_MS)); /* it does not know */
    assert_int_equal(PAWL_E_LOST, lease_guard(f, "it", pawl_lease_runner_fence(runner)));
    int64_t fence = lease_take(f, "it", 2).fence;
    assert_status(PAWL_E_LOST, pawl_lease_runner_renew_now(runner, &err), &err);
    assert_int_equal(PAWL_LEASE_REFUSED, loss.why);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "is lost (refused)"));
    assert_status(PAWL_E_LOST, pawl_lease_runner_stop(runner, &err), &err);
    assert_int_equal(PAWL_OK, lease_renew(f, "it", 2, fence)); /* the other one's is untouched */
}

PAWL_TEST(after_a_failure_it_is_retried_soon)
{
    fixture *f = fixture_open(NULL);
    struct loss loss = {0};
    pawl_lease_runner *runner = start_runner(f, &loss);

    break_leases(f);
    assert_int_not_equal(PAWL_OK, step_after(f, runner, 18000));
    assert_int_equal(PAWL_OK, step_after(f, runner, 1499)); /* not yet: a twentieth of it */
    assert_int_not_equal(PAWL_OK, step_after(f, runner, 1));
    restore_leases(f);
    assert_int_equal(PAWL_OK, step_after(f, runner, 1500));
    assert_int_equal(TTL_MS, left_ms(f));
    break_leases(f); /* and the count begins again */
    assert_int_not_equal(PAWL_OK, step_after(f, runner, 18000));
    assert_int_not_equal(PAWL_OK, step_after(f, runner, 1500));
    restore_leases(f);
    assert_false(pawl_lease_runner_lost(runner));
    assert_int_equal(PAWL_OK, step_after(f, runner, 1500));
}

PAWL_TEST(three_failures_in_a_row_lose_it)
{
    fixture *f = fixture_open(NULL);
    struct loss loss = {0};
    pawl_lease_runner *runner = start_runner(f, &loss);

    break_leases(f);
    assert_int_not_equal(PAWL_E_LOST, step_after(f, runner, 18000));
    assert_int_not_equal(PAWL_E_LOST, step_after(f, runner, 1500));
    assert_int_equal(PAWL_E_LOST, step_after(f, runner, 1500));
    restore_leases(f);
    assert_int_equal(PAWL_LEASE_FAILED, loss.why);
    assert_int_equal(1, loss.calls);
    assert_int_equal(PAWL_E_LOST, step_after(f, runner, 1500)); /* it stays lost */
}

PAWL_TEST(a_step_back_of_the_stores_clock_loses_nothing)
{
    fixture *f = fixture_open(NULL);
    struct loss loss = {0};
    pawl_lease_runner *runner = start_runner(f, &loss);

    assert_int_equal(PAWL_OK, step_after(f, runner, 18000));
    fixture_set(f, FIXTURE_START);
    assert_int_equal(PAWL_OK, pawl_lease_runner_step(runner, NULL));
    assert_int_equal(PAWL_E_HELD, lease_try(f, "it", 2));
}

PAWL_TEST(a_running_message_cannot_be_run_again)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_runner *runner = NULL;

    lease_take(f, "it", 2);
    assert_status(PAWL_E_HELD, pawl_lease_runner_start(fixture_store(f), "it", NULL, &runner, &err),
                  &err);
    assert_null(runner);
}

PAWL_TEST(bad_options_are_refused)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_runner *runner = NULL;
    pawl_lease_runner_options bad[] = {
        PAWL_LEASE_RUNNER_OPTIONS_INIT, PAWL_LEASE_RUNNER_OPTIONS_INIT,
        PAWL_LEASE_RUNNER_OPTIONS_INIT, PAWL_LEASE_RUNNER_OPTIONS_INIT,
        PAWL_LEASE_RUNNER_OPTIONS_INIT, PAWL_LEASE_RUNNER_OPTIONS_INIT,
    };

    bad[0].ttl_ms = 999;
    bad[1].renew_percent = 91;
    bad[2].jitter_percent = 21;
    bad[3].wait_ms = -1;
    bad[4].by_steps = true;
    bad[4].wait_ms = 1;
    bad[5].owner_name = "";
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_status(PAWL_E_INVALID,
                      pawl_lease_runner_start(fixture_store(f), "it", &bad[i], &runner, &err),
                      &err);
    assert_status(PAWL_E_INVALID,
                  pawl_lease_runner_start(fixture_store(f), "", NULL, &runner, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_lease_runner_start(NULL, "it", NULL, &runner, &err), &err);
    assert_null(runner);
    assert_null(lease_read(f, "it"));
    pawl_lease_runner_free(NULL);
    assert_true(pawl_lease_runner_lost(NULL));
}

PAWL_TEST(a_worker_prunes_old_leases)
{
    fixture *f = fixture_open(NULL);
    pawl_worker *worker = worker_open(f, NULL);
    recorder r = {0};

    worker_handle(worker, "t", recorder_handle, &r);
    lease_take(f, "it", 1);
    fixture_advance(f, 7 * DAY_MS);
    worker_until_idle(worker);
    assert_non_null(lease_read(f, "it"));
    fixture_advance(f, MINUTE_MS + 5 * MINUTE_MS);
    worker_until_idle(worker);
    assert_null(lease_read(f, "it"));
}
