/* tests/conformance/lease_guard_threads_test.c - an acquire waits for guarded transactions.
 */
#include "lease_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

struct taker {
    pawl_store *store;
    pawl_status status;
    pawl_error err;
    pawl_lease_grant grant;
    atomic_bool ended;
};

static void *take_lease(void *context)
{
    struct taker *taker = context;

    taker->status = pawl_lease_acquire(taker->store, "it", queue_owner(2), TTL_MS, NULL,
                                       &taker->grant, &taker->err);
    atomic_store(&taker->ended, true);
    return NULL;
}

PAWL_TEST(an_acquire_waits_for_the_end_of_a_guarded_transaction)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t fence = lease_take(f, "it", 1).fence;
    struct taker taker = {.store = fixture_another_store(f)};
    pthread_t thread;
    pawl_tx *tx;

    fixture_exec(f, "CREATE TABLE {orders} (n integer)");
    tx = fixture_tx_begin(f, 0);
    assert_ok(pawl_lease_guard(tx, "it", fence, &err), &err);
    if (fixture_is_postgres(f)) {
        /* Its owner can renew and release it meanwhile, and no other owner gets it then. */
        assert_int_equal(PAWL_OK, lease_renew(f, "it", 1, fence));
        assert_int_equal(PAWL_E_HELD, lease_try(f, "it", 2));
        fixture_advance(f, TTL_MS);
    }
    assert_int_equal(0, pthread_create(&thread, NULL, take_lease, &taker));
    fixture_await_blocked(f, "lease_acquire");
    assert_false(atomic_load(&taker.ended));
    fixture_tx_exec(f, 0, "INSERT INTO {orders} VALUES (1)");
    if (!fixture_is_postgres(f))
        fixture_tx_exec(f, 0, "UPDATE {test_clock} SET now = now + %lld", TTL_MS * 1000LL);
    fixture_tx_commit(f, 0);
    pthread_join(thread, NULL);
    assert_ok(taker.status, &taker.err);
    assert_true(taker.grant.fence > fence);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {orders}"));
    assert_int_equal(PAWL_E_LOST, lease_guard(f, "it", fence));
}

/* A transaction of SQLite has the write lock in any case. */
PAWL_TEST_ON(postgres, a_refused_guard_blocks_no_other_session)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t fence = lease_take(f, "it", 1).fence;
    pawl_tx *tx;

    fixture_advance(f, TTL_MS);
    tx = fixture_tx_begin(f, 0);
    assert_status(PAWL_E_LOST, pawl_lease_guard(tx, "it", fence, &err), &err);
    assert_true(lease_take(f, "it", 2).fence > fence);
    fixture_tx_rollback(f, 0);
}

/* ---- many contenders, and a counter that only the owner may change ---- */

#define TAKERS 4
#define ROUNDS 25

struct crowd {
    fixture *f;
    pawl_store *stores[TAKERS];
    _Atomic int64_t highest;
    atomic_int holders;
    atomic_int taken;
};

static const char *acquire_in_rotation(void *context, size_t index)
{
    struct crowd *crowd = context;
    pawl_owner owner = queue_owner((int)index + 1);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_grant grant;

    while (atomic_load(&crowd->taken) < ROUNDS) {
        uint64_t seen = activity_count();
        pawl_status st =
            pawl_lease_acquire(crowd->stores[index], "it", owner, TTL_MS, NULL, &grant, &err);
        if (st == PAWL_E_HELD) {
            activity_await(seen); /* until it is released */
            continue;
        }
        if (st != PAWL_OK)
            return test_note("acquire: %s", err.message);
        if (atomic_fetch_add(&crowd->holders, 1) != 0)
            return "two own it at once";
        if (atomic_exchange(&crowd->highest, grant.fence) >= grant.fence)
            return "a token went back";
        atomic_fetch_add(&crowd->taken, 1);
        atomic_fetch_sub(&crowd->holders, 1);
        st = pawl_lease_release(crowd->stores[index], "it", owner, grant.fence, NULL, &err);
        if (st != PAWL_OK)
            return test_note("release: %s", err.message);
        activity_report();
    }
    return NULL;
}

PAWL_TEST(of_many_contenders_one_acquires_it)
{
    struct crowd crowd = {.f = fixture_open(NULL)};

    for (int i = 0; i < TAKERS; i++)
        crowd.stores[i] = fixture_another_store(crowd.f);
    test_threads(TAKERS, acquire_in_rotation, &crowd);
    assert_true(atomic_load(&crowd.taken) >= ROUNDS);
}
