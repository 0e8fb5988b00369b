/*
 * tests/unit/write_lock_race_threads_test.c - a thread that waits for the one writer of a SQLite
 * file checks a transaction that is late, at the very moment at which that one has ended and has
 * not left yet.
 *
 * owned_tx.c is compiled into this file with a limit of a millisecond, and with the two calls
 * between which the moment lies.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define PAWLI_OWNED_TX_MAX_US INT64_C(1000)
#include "db_private.h"
#include "group.h"
#include "store_private.h"
#include "test.h"

static void grant_at_race_point(pawli_group *group, pawli_exclusive_writer *tenant);
static void leave_watched(pawli_group *group, pawli_exclusive_writer *tenant);
#define pawli_group_grant grant_at_race_point
#define pawli_group_leave leave_watched
#include "owned_tx.c" /* NOLINT(bugprone-suspicious-include): its calls are watched */
#undef pawli_group_grant
#undef pawli_group_leave

static bool (*real_may_evict)(pawli_exclusive_writer *tenant);
static atomic_bool has_ended;
static sem_t checked;

static bool may_evict_watched(pawli_exclusive_writer *tenant)
{
    bool after_the_end = atomic_load(&has_ended);
    bool may = real_may_evict(tenant);

    if (after_the_end)
        sem_post(&checked);
    return may;
}

static void grant_at_race_point(pawli_group *group, pawli_exclusive_writer *tenant)
{
    real_may_evict = tenant->may_roll_back;
    tenant->may_roll_back = may_evict_watched;
    pawli_group_grant(group, tenant);
}

/* The transaction has ended: wait here until the waiting thread has checked it. */
static void leave_watched(pawli_group *group, pawli_exclusive_writer *tenant)
{
    atomic_store(&has_ended, true);
    while (sem_wait(&checked) != 0)
        continue;
    pawli_group_leave(group, tenant);
}

static void close_store(void *store)
{
    pawl_store_close(store);
}

static void *send_one(void *store)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    message.topic = "t";
    message.payload = "";
    assert_ok(pawl_outbox_enqueue(store, &message, NULL, &err), &err);
    return NULL;
}

PAWL_TEST(a_transaction_that_has_ended_is_not_rolled_back_by_another_thread)
{
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    pawli_owned_tx *hold = NULL;
    pthread_t waiter;

    options.deploy_schema = true;
    assert_ok(
        pawl_store_open(test_note("sqlite:%s/race.db", test_directory()), &options, &store, &err),
        &err);
    test_defer(close_store, store);
    assert_int_equal(0, sem_init(&checked, 0, 0));
    assert_ok(pawli_db_begin_owned_tx(store->db, &hold, &err), &err);
    assert_int_equal(0, pthread_create(&waiter, NULL, send_one, store));
    /* It waits for the write lock, and checks at intervals whether its owner is late. */
    pawli_owned_tx_free(hold);
    assert_int_equal(0, pthread_join(waiter, NULL));
    sem_destroy(&checked);
}
