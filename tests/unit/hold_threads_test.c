/*
 * tests/unit/hold_threads_test.c - a transaction that keeps the one writer of a SQLite file: who
 * waits for it, who goes first afterwards, and what happens when it takes too long.
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

struct ground {
    char url[512];
    pawl_store *store;
    sqlite3 *foreign;
    pawl_owner owner;
    pawl_messages *list;
    atomic_int step;
};

static void close_ground(void *context)
{
    struct ground *ground = context;

    pawl_messages_free(ground->list);
    pawl_store_close(ground->store);
    sqlite3_close(ground->foreign);
    free(ground);
}

static int64_t number(struct ground *ground, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t n = -1;

    if (sqlite3_prepare_v2(ground->foreign, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        n = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return n;
}

static pawl_status send_one(struct ground *ground)
{
    pawl_outgoing message = PAWL_OUTGOING_INIT;

    message.topic = "t";
    message.payload = "";
    return pawl_outbox_enqueue(ground->store, &message, NULL, NULL);
}

/* With `count` messages claimed, and the application's table in the same file. */
static struct ground *open_ground(int count)
{
    struct ground *ground = calloc(1, sizeof *ground);
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    const char *path = test_note("%s/hold.db", test_directory());

    assert_non_null(ground);
    test_defer(close_ground, ground);
    snprintf(ground->url, sizeof ground->url, "sqlite:%s", path);
    options.deploy_schema = true;
    assert_ok(pawl_store_open(ground->url, &options, &ground->store, &err), &err);
    assert_int_equal(SQLITE_OK, sqlite3_open(path, &ground->foreign));
    sqlite3_busy_timeout(ground->foreign, 30000);
    assert_int_equal(SQLITE_OK, sqlite3_exec(ground->foreign,
                                             "CREATE TABLE effect (n); CREATE TABLE log (what)",
                                             NULL, NULL, NULL));
    for (int i = 0; i < count; i++)
        assert_ok(send_one(ground), &err);
    ground->owner = pawl_owner_new();
    assert_ok(
        pawl_queue_claim(ground->store, ground->owner, 3600000, count, NULL, &ground->list, &err),
        &err);
    return ground;
}

static pawl_held held(struct ground *ground, size_t index)
{
    const pawl_message *message = pawl_messages_at(ground->list, index);

    return (pawl_held){pawl_message_work_id(message), pawl_message_fence(message)};
}

static pawl_status begin(struct ground *ground, size_t index, pawl_tx **ret_tx)
{
    return pawl_message_begin(ground->store, ground->owner, held(ground, index), ret_tx, NULL);
}

static bool write_row(pawl_tx *tx)
{
    return sqlite3_exec(pawl_tx_sqlite(tx), "INSERT INTO effect VALUES (1)", NULL, NULL, NULL) ==
           SQLITE_OK;
}

static void await(struct ground *ground, int step)
{
    activity_wait(atomic_load(&ground->step) >= step);
}

static void await_waiting(struct ground *ground, size_t count)
{
    activity_wait(pawli_group_waiting(ground->store->db->group) >= count);
}

/* ---- the late one ---- */

static const char *late_owner(struct ground *ground)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;
    const char *wrong = NULL;

    if (begin(ground, 0, &tx) != PAWL_OK || !write_row(tx))
        return "it could not begin";
    atomic_store(&ground->step, 1);
    activity_report();
    await(ground, 2); /* until somebody else has written */
    if (write_row(tx))
        wrong = "a statement after the turn was taken back was accepted";
    else if (pawl_message_commit(tx, &err) != PAWL_E_TIMEOUT)
        wrong = test_note("the late commit answered: %s", err.message);
    pawl_tx_free(tx);
    return wrong;
}

static const char *be_late(void *context, size_t index)
{
    struct ground *ground = context;

    if (index == 0)
        return late_owner(ground);
    await(ground, 1);
    pawl_status st = send_one(ground);
    atomic_store(&ground->step, 2);
    activity_report();
    return st == PAWL_OK ? NULL : "the one who waited could not write";
}

PAWL_TEST(who_takes_too_long_loses_its_turn)
{
    struct ground *ground = open_ground(1);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    test_threads(2, be_late, ground);
    assert_int_equal(0, number(ground, "SELECT count(*) FROM effect"));
    assert_int_equal(2, number(ground, "SELECT count(*) FROM pawl_queue"));
    assert_ok(begin(ground, 0, &tx), &err);
    assert_true(write_row(tx));
    assert_ok(pawl_message_commit(tx, &err), &err);
    pawl_tx_free(tx);
    assert_int_equal(1, number(ground, "SELECT count(*) FROM effect"));
    assert_int_equal(1, number(ground, "SELECT count(*) FROM pawl_queue"));
}

/* Nobody waits; and a statement that does not end by itself is ended. */
PAWL_TEST(a_statement_does_not_run_past_the_turn)
{
    struct ground *ground = open_ground(1);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    assert_ok(begin(ground, 0, &tx), &err);
    assert_true(write_row(tx));
    int code = sqlite3_exec(pawl_tx_sqlite(tx),
                            "INSERT INTO effect WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL "
                            "SELECT n + 1 FROM c) SELECT n FROM c WHERE n < 0",
                            NULL, NULL, NULL);
    assert_int_equal(SQLITE_INTERRUPT, code & 0xff);
    assert_false(write_row(tx)); /* there is no transaction any more that it could be part of */
    assert_status(PAWL_E_TIMEOUT, pawl_message_commit(tx, &err), &err);
    assert_true(err.retryable);
    pawl_tx_free(tx);
    assert_int_equal(0, number(ground, "SELECT count(*) FROM effect"));
    assert_ok(send_one(ground), &err);
}

/* ---- who goes first ---- */

static const char *hold_then_see(void *context, size_t index)
{
    struct ground *ground = context;
    pawl_held item = held(ground, 0);
    pawl_tx *tx = NULL;
    pawl_status st = PAWL_OK;

    switch (index) {
    case 0:
        if (begin(ground, 0, &tx) != PAWL_OK)
            return "it could not begin";
        atomic_store(&ground->step, 1);
        activity_report();
        await_waiting(ground, 3);
        pawl_tx_free(tx);
        return NULL;
    case 1:
    case 2:
        await(ground, 1);
        st = send_one(ground);
        break;
    default:
        await(ground, 1);
        await_waiting(ground, 2);
        st = pawl_queue_renew(ground->store, ground->owner, &item, 1, 7200000, NULL, NULL);
    }
    return st == PAWL_OK ? NULL : "one of those who waited could not write";
}

PAWL_TEST(renewals_go_first_when_a_turn_ends)
{
    struct ground *ground = open_ground(1);

    assert_int_equal(
        SQLITE_OK, sqlite3_exec(ground->foreign,
                                "CREATE TRIGGER s AFTER INSERT ON pawl_body BEGIN "
                                "INSERT INTO log VALUES (1); END;"
                                "CREATE TRIGGER r AFTER UPDATE OF lease_until ON pawl_queue BEGIN "
                                "INSERT INTO log VALUES (2); END;",
                                NULL, NULL, NULL));
    test_threads(4, hold_then_see, ground);
    assert_int_equal(3, number(ground, "SELECT count(*) FROM log"));
    assert_int_equal(2, number(ground, "SELECT what FROM log ORDER BY rowid LIMIT 1"));
}

PAWL_TEST(waiting_for_the_turn_can_be_interrupted)
{
    struct ground *ground = open_ground(1);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_tx *tx = NULL;

    assert_ok(begin(ground, 0, &tx), &err);
    pawl_store_interrupt(ground->store);
    assert_status(PAWL_E_INTERRUPTED, pawl_message_commit(tx, &err), &err);
    pawl_tx_free(tx);
    assert_ok(send_one(ground), &err);
}

/* ---- many at once ---- */

static const char *work_or_send(void *context, size_t index)
{
    struct ground *ground = context;

    for (size_t i = 0; i < EACH; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_tx *tx = NULL;
        if (index >= WORKERS) {
            if (send_one(ground) != PAWL_OK)
                return "sending failed";
            continue;
        }
        if (begin(ground, index * EACH + i, &tx) != PAWL_OK)
            return "beginning failed";
        bool written = write_row(tx);
        pawl_status st = i % 5 == 4 ? PAWL_OK : pawl_message_commit(tx, &err);
        pawl_tx_free(tx);
        if (!written || st != PAWL_OK)
            return test_note("committing failed: %s", err.message);
    }
    return NULL;
}

PAWL_TEST(handlers_and_senders_take_turns)
{
    struct ground *ground = open_ground(WORKERS * EACH);

    test_threads(WORKERS + SENDERS, work_or_send, ground);
    assert_int_equal(WORKERS * EACH * 4 / 5, number(ground, "SELECT count(*) FROM effect"));
    assert_int_equal(WORKERS * EACH * 4 / 5, number(ground, "SELECT count(*) FROM pawl_outcome"));
    assert_int_equal(WORKERS * EACH / 5 + SENDERS * EACH,
                     number(ground, "SELECT count(*) FROM pawl_queue"));
}
