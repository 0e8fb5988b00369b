/* tests/worker/lease_runner_threads_test.c - a lease that renews itself, on a thread of its own. */
#include "worker_fixture.h"

#include <poll.h>
#include <stdatomic.h>

#include "lease_fixture.h"

/* Renewals are frequent during the test, but leave time for a busy machine. */
#define SHORT_MS (5 * SECOND_MS)

static void free_runner(void *runner)
{
    pawl_lease_runner_free(runner);
}

static pawl_lease_runner_options short_options(void)
{
    pawl_lease_runner_options options = PAWL_LEASE_RUNNER_OPTIONS_INIT;

    options.ttl_ms = SHORT_MS;
    options.renew_percent = 10;
    options.jitter_percent = 5;
    options.owner = queue_owner(1);
    return options;
}

static pawl_lease_runner *start_runner(fixture *f, const pawl_lease_runner_options *options)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_runner *runner = NULL;

    assert_ok(pawl_lease_runner_start(fixture_store(f), "it", options, &runner, &err), &err);
    test_defer(free_runner, runner);
    return runner;
}

/* Until it is readable; it fails after a minute. */
static void await_lost(pawl_lease_runner *runner)
{
    struct pollfd fd = {.fd = pawl_lease_runner_fd(runner), .events = POLLIN};

    assert_int_equal(1, poll(&fd, 1, 60000));
    assert_true(pawl_lease_runner_lost(runner));
}

PAWL_TEST(the_thread_renews_by_itself)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_runner_options options = short_options();
    pawl_lease_runner *runner = start_runner(f, &options);

    for (int i = 0; i < 3; i++) {
        fixture_advance(f, 10);
        until(lease_read(f, "it")->renewed_at.us == fixture_now(f).us);
    }
    assert_ok(pawl_lease_runner_check(runner, &err), &err);
    assert_ok(pawl_lease_runner_stop(runner, &err), &err);
    assert_int_equal(PAWL_OK, lease_try(f, "it", 2));
}

PAWL_TEST(a_lease_that_is_revoked_makes_the_descriptor_readable)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_runner_options options = short_options();
    pawl_lease_runner *runner = start_runner(f, &options);

    assert_int_equal(PAWL_OK, lease_force(f, "it"));
    await_lost(runner);
    assert_int_equal(PAWL_LEASE_REFUSED, pawl_lease_runner_loss(runner));
    assert_status(PAWL_E_LOST, pawl_lease_runner_stop(runner, &err), &err);
}

PAWL_TEST(a_store_that_hangs_does_not_hide_the_loss)
{
    fixture *f = fixture_open(NULL);
    pawl_lease_runner_options options = short_options();

    options.ttl_ms = PAWL_LEASE_TTL_MIN_MS;
    pawl_lease_runner *runner = start_runner(f, &options);
    if (fixture_is_postgres(f)) {
        fixture_tx_exec(f, 0, "BEGIN");
        fixture_tx_exec(f, 0, "LOCK TABLE {lease} IN ACCESS EXCLUSIVE MODE");
    } else {
        fixture_tx_exec(f, 0, "BEGIN IMMEDIATE");
    }
    await_lost(runner);
    assert_int_not_equal(PAWL_LEASE_KEPT, pawl_lease_runner_loss(runner));
    assert_int_not_equal(PAWL_LEASE_REFUSED, pawl_lease_runner_loss(runner));
    fixture_tx_exec(f, 0, "ROLLBACK");
}

struct asking {
    pawl_store *store;
    pawl_lease_runner *runner;
    atomic_int told;
};

static void count_loss(pawl_lease_runner *runner, pawl_lease_loss why, void *context)
{
    struct asking *asking = context;

    (void)runner;
    (void)why;
    atomic_fetch_add(&asking->told, 1);
}

/* One takes it away, one renews, the others ask. */
static const char *ask_until_lost(void *context, size_t index)
{
    struct asking *asking = context;

    if (index == 3 && pawl_lease_force_release(asking->store, "it", NULL, NULL, NULL) != PAWL_OK)
        return "it was not there";
    while (!pawl_lease_runner_lost(asking->runner))
        if (index == 0)
            (void)!pawl_lease_runner_renew_now(asking->runner, NULL);
    return pawl_lease_runner_renew_now(asking->runner, NULL) == PAWL_E_LOST ? NULL : "it came back";
}

PAWL_TEST(any_thread_may_ask_and_one_gets_the_lost_callback)
{
    fixture *f = fixture_open(NULL);
    struct asking asking = {.store = fixture_store(f)};
    pawl_lease_runner_options options = short_options();

    options.on_lost = count_loss;
    options.context = &asking;
    options.ttl_ms = MINUTE_MS;
    asking.runner = start_runner(f, &options);
    test_threads(4, ask_until_lost, &asking);
    assert_int_equal(1, atomic_load(&asking.told));
}

/* ---- waiting for it ---- */

struct waiter {
    pawl_store *store;
    pawl_lease_runner *runner;
    pawl_status status;
    pawl_error err;
    int64_t wait_ms;
    atomic_bool ended;
};

static void *wait_for_it(void *context)
{
    struct waiter *waiter = context;
    pawl_lease_runner_options options = short_options();

    options.ttl_ms = MINUTE_MS;
    options.owner = queue_owner(2);
    options.wait_ms = waiter->wait_ms;
    waiter->status =
        pawl_lease_runner_start(waiter->store, "it", &options, &waiter->runner, &waiter->err);
    atomic_store(&waiter->ended, true);
    activity_report();
    return NULL;
}

PAWL_TEST(a_waiter_acquires_it_when_it_is_released)
{
    fixture *f = fixture_open(NULL);
    struct waiter waiter = {.store = fixture_another_store(f), .wait_ms = HOUR_MS};
    int64_t fence = lease_take(f, "it", 1).fence;
    pthread_t thread;

    assert_int_equal(0, pthread_create(&thread, NULL, wait_for_it, &waiter));
    assert_int_equal(PAWL_OK, lease_release(f, "it", 1, fence));
    pthread_join(thread, NULL);
    test_defer(free_runner, waiter.runner);
    assert_ok(waiter.status, &waiter.err);
    assert_true(pawl_lease_runner_fence(waiter.runner) > fence);
}

PAWL_TEST(a_waiter_acquires_it_when_it_expires)
{
    fixture *f = fixture_open(NULL);
    struct waiter waiter = {.store = fixture_another_store(f), .wait_ms = HOUR_MS};
    pthread_t thread;

    lease_take(f, "it", 1);
    assert_int_equal(0, pthread_create(&thread, NULL, wait_for_it, &waiter));
    fixture_advance(f, TTL_MS);
    pthread_join(thread, NULL);
    test_defer(free_runner, waiter.runner);
    assert_ok(waiter.status, &waiter.err);
}

PAWL_TEST(a_wait_that_times_out_fails_because_of_the_owner)
{
    fixture *f = fixture_open(NULL);
    struct waiter waiter = {.store = fixture_store(f), .wait_ms = 1};

    lease_take(f, "it", 1);
    wait_for_it(&waiter);
    assert_status(PAWL_E_HELD, waiter.status, &waiter.err);
    assert_null(waiter.runner);
}

PAWL_TEST(a_wait_can_be_interrupted)
{
    fixture *f = fixture_open(NULL);
    struct waiter waiter = {.store = fixture_another_store(f), .wait_ms = HOUR_MS};
    pthread_t thread;

    lease_take(f, "it", 1);
    assert_int_equal(0, pthread_create(&thread, NULL, wait_for_it, &waiter));
    fixture_interrupt_until(waiter.store, &waiter.ended);
    pthread_join(thread, NULL);
    assert_status(PAWL_E_INTERRUPTED, waiter.status, &waiter.err);
}
