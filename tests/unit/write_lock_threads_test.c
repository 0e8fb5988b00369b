/*
 * tests/unit/write_lock_threads_test.c - a transaction that keeps the one writer of a SQLite file:
 * the order of waiting threads, and the rollback of a transaction that takes too long.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "db_private.h"
#include "store_private.h"
#include "test.h"

#define WORKERS 4
#define SENDERS 2
#define EACH 25

struct test_store {
    char url[512];
    pawl_store *store;
    sqlite3 *foreign;
    pawl_owner owner;
    pawl_messages *list;
    atomic_int step;
};

static void close_test_store(void *context)
{
    struct test_store *test_store = context;

    pawl_messages_free(test_store->list);
    pawl_store_close(test_store->store);
    sqlite3_close(test_store->foreign);
    free(test_store);
}

static int64_t number(struct test_store *test_store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t n = -1;

    if (sqlite3_prepare_v2(test_store->foreign, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        n = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return n;
}

static pawl_status send_one(struct test_store *test_store)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;

    message.topic = "t";
    message.payload = "";
    return pawl_outbox_enqueue(test_store->store, &message, NULL, NULL);
}

/* With `count` messages claimed, and the application's table in the same file. */
static struct test_store *open_test_store(int count)
{
    struct test_store *test_store = calloc(1, sizeof *test_store);
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    const char *path = test_note("%s/write_lock.db", test_directory());

    assert_non_null(test_store);
    test_defer(close_test_store, test_store);
    snprintf(test_store->url, sizeof test_store->url, "sqlite:%s", path);
    options.deploy_schema = true;
    assert_ok(pawl_store_open(test_store->url, &options, &test_store->store, &err), &err);
    assert_int_equal(SQLITE_OK, sqlite3_open(path, &test_store->foreign));
    sqlite3_busy_timeout(test_store->foreign, 30000);
    assert_int_equal(SQLITE_OK, sqlite3_exec(test_store->foreign,
                                             "CREATE TABLE effect (n); CREATE TABLE log (what)",
                                             NULL, NULL, NULL));
    for (int i = 0; i < count; i++)
        assert_ok(send_one(test_store), &err);
    test_store->owner = pawl_owner_new();
    assert_ok(pawl_queue_claim(test_store->store, test_store->owner, 3600000, count, NULL,
                               &test_store->list, &err),
              &err);
    return test_store;
}

static pawl_receipt receipt(struct test_store *test_store, size_t index)
{
    const pawl_message *message = pawl_messages_at(test_store->list, index);

    return (pawl_receipt){pawl_message_work_id(message), pawl_message_fence(message)};
}

static pawl_status begin_effect(struct test_store *test_store, size_t index, pawl_tx **ret_tx)
{
    return pawl_tx_begin_for(test_store->store, test_store->owner, receipt(test_store, index),
                             ret_tx, NULL);
}

static bool write_row(pawl_tx *tx)
{
    return sqlite3_exec(pawl_tx_sqlite(tx), "INSERT INTO effect VALUES (1)", NULL, NULL, NULL) ==
           SQLITE_OK;
}

static void await_step(struct test_store *test_store, int step)
{
    activity_wait(atomic_load(&test_store->step) >= step);
}

static void await_waiting(struct test_store *test_store, size_t count)
{
    activity_wait(pawli_group_waiting(test_store->store->db->group) >= count);
}

/* ---- the late one ---- */

static const char *late_owner(struct test_store *test_store)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;
    const char *wrong = NULL;

    if (begin_effect(test_store, 0, &tx) != PAWL_OK || !write_row(tx))
        return "it could not begin";
    atomic_store(&test_store->step, 1);
    activity_report();
    await_step(test_store, 2); /* until another thread has written */
    if (write_row(tx))
        wrong = "a statement after the late rollback was accepted";
    else if (pawl_tx_commit_with_ack(tx, &err) != PAWL_E_TIMEOUT)
        wrong = test_note("the late commit answered: %s", err.message);
    pawl_tx_free(tx);
    return wrong;
}

static const char *be_late(void *context, size_t index)
{
    struct test_store *test_store = context;

    if (index == 0)
        return late_owner(test_store);
    await_step(test_store, 1);
    pawl_status st = send_one(test_store);
    atomic_store(&test_store->step, 2);
    activity_report();
    return st == PAWL_OK ? NULL : "the one who waited could not write";
}

PAWL_TEST(a_transaction_that_takes_too_long_is_rolled_back)
{
    struct test_store *test_store = open_test_store(1);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    test_threads(2, be_late, test_store);
    assert_int_equal(0, number(test_store, "SELECT count(*) FROM effect"));
    assert_int_equal(2, number(test_store, "SELECT count(*) FROM pawl_queue"));
    assert_ok(begin_effect(test_store, 0, &tx), &err);
    assert_true(write_row(tx));
    assert_ok(pawl_tx_commit_with_ack(tx, &err), &err);
    pawl_tx_free(tx);
    assert_int_equal(1, number(test_store, "SELECT count(*) FROM effect"));
    assert_int_equal(1, number(test_store, "SELECT count(*) FROM pawl_queue"));
}

/* No one else waits; and a statement that does not end is interrupted. */
PAWL_TEST(a_statement_does_not_run_past_the_transaction_limit)
{
    struct test_store *test_store = open_test_store(1);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    assert_ok(begin_effect(test_store, 0, &tx), &err);
    assert_true(write_row(tx));
    int code = sqlite3_exec(pawl_tx_sqlite(tx),
                            "INSERT INTO effect WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL "
                            "SELECT n + 1 FROM c) SELECT n FROM c WHERE n < 0",
                            NULL, NULL, NULL);
    assert_int_equal(SQLITE_INTERRUPT, code & 0xff);
    assert_false(write_row(tx)); /* there is no transaction any more that it could be part of */
    assert_status(PAWL_E_TIMEOUT, pawl_tx_commit_with_ack(tx, &err), &err);
    assert_true(err.retryable);
    pawl_tx_free(tx);
    assert_int_equal(0, number(test_store, "SELECT count(*) FROM effect"));
    assert_ok(send_one(test_store), &err);
}

/* ---- order ---- */

static const char *begin_then_check(void *context, size_t index)
{
    struct test_store *test_store = context;
    pawl_receipt item = receipt(test_store, 0);
    pawl_tx *tx = NULL;
    pawl_status st = PAWL_OK;

    switch (index) {
    case 0:
        if (begin_effect(test_store, 0, &tx) != PAWL_OK)
            return "it could not begin";
        atomic_store(&test_store->step, 1);
        activity_report();
        await_waiting(test_store, 3);
        pawl_tx_free(tx);
        return NULL;
    case 1:
    case 2:
        await_step(test_store, 1);
        st = send_one(test_store);
        break;
    default:
        await_step(test_store, 1);
        await_waiting(test_store, 2);
        st = pawl_queue_renew(test_store->store, test_store->owner, &item, 1, 7200000, NULL, NULL);
    }
    return st == PAWL_OK ? NULL : "one of those who waited could not write";
}

PAWL_TEST(renewals_go_first_when_a_transaction_ends)
{
    struct test_store *test_store = open_test_store(1);

    assert_int_equal(
        SQLITE_OK, sqlite3_exec(test_store->foreign,
                                "CREATE TRIGGER s AFTER INSERT ON pawl_body BEGIN "
                                "INSERT INTO log VALUES (1); END;"
                                "CREATE TRIGGER r AFTER UPDATE OF lease_until ON pawl_queue BEGIN "
                                "INSERT INTO log VALUES (2); END;",
                                NULL, NULL, NULL));
    test_threads(4, begin_then_check, test_store);
    assert_int_equal(3, number(test_store, "SELECT count(*) FROM log"));
    assert_int_equal(2, number(test_store, "SELECT what FROM log ORDER BY rowid LIMIT 1"));
}

PAWL_TEST(waiting_for_the_write_lock_can_be_interrupted)
{
    struct test_store *test_store = open_test_store(1);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    assert_ok(begin_effect(test_store, 0, &tx), &err);
    pawl_store_interrupt(test_store->store);
    assert_status(PAWL_E_INTERRUPTED, pawl_tx_commit_with_ack(tx, &err), &err);
    pawl_tx_free(tx);
    assert_ok(send_one(test_store), &err);
}

/* ---- many at once ---- */

static const char *work_or_send(void *context, size_t index)
{
    struct test_store *test_store = context;

    for (size_t i = 0; i < EACH; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_tx *tx = NULL;
        if (index >= WORKERS) {
            if (send_one(test_store) != PAWL_OK)
                return "sending failed";
            continue;
        }
        if (begin_effect(test_store, index * EACH + i, &tx) != PAWL_OK)
            return "beginning failed";
        bool written = write_row(tx);
        pawl_status st = i % 5 == 4 ? PAWL_OK : pawl_tx_commit_with_ack(tx, &err);
        pawl_tx_free(tx);
        if (!written || st != PAWL_OK)
            return test_note("committing failed: %s", err.message);
    }
    return NULL;
}

PAWL_TEST(handlers_and_senders_alternate)
{
    struct test_store *test_store = open_test_store(WORKERS * EACH);

    test_threads(WORKERS + SENDERS, work_or_send, test_store);
    assert_int_equal(WORKERS * EACH * 4 / 5, number(test_store, "SELECT count(*) FROM effect"));
    assert_int_equal(WORKERS * EACH * 4 / 5,
                     number(test_store, "SELECT count(*) FROM pawl_outcome"));
    assert_int_equal(WORKERS * EACH / 5 + SENDERS * EACH,
                     number(test_store, "SELECT count(*) FROM pawl_queue"));
}
