/* src/db/sqlite/foreign_sqlite_test.c - ops inside a transaction of the application's own handle.
 */
#include "test.h"

#if PAWL_TEST_SQLITE
#include <unistd.h>

#include "fixture_sqlite_test.h"

#define SCRIPT PAWLI_SQL_PURGE

static sqlite_fixture *sqlite_fixture_with_table(void)
{
    sqlite_fixture *g = sqlite_fixture_new();

    g->texts[SCRIPT].text = "INSERT INTO t VALUES (:now); INSERT INTO t VALUES (2); SELECT 1;";
    g->conn = sqlite_fixture_open(g);
    sqlite_fixture_deploy(g, g->conn);
    exec(handle_of(g->conn), "CREATE TABLE t (x)");
    return g;
}

static pawli_conn *foreign_tx(sqlite_fixture *g, sqlite3 *handle)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = NULL;

    assert_ok(pawli_driver_sqlite->open_foreign(&g->settings, handle, &conn, &err), &err);
    assert_true(conn->foreign);
    return conn;
}

static void reject_foreign(sqlite_fixture *g, sqlite3 *handle, pawl_status expected,
                           const char *words)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = NULL;

    assert_status(expected, pawli_driver_sqlite->open_foreign(&g->settings, handle, &conn, &err),
                  &err);
    assert_null(conn);
    if (!strstr(err.message, words))
        test_fail("the message should say '%s': %s", words, err.message);
}

static pawl_status insert(pawli_conn *conn, pawl_status refuse_with, pawl_error *err)
{
    answers a = {.refuse_with = refuse_with};
    pawli_op op = op_of(SCRIPT, true, &a);

    return run(conn, &op, err);
}

static int64_t rows_in_t(sqlite3 *handle)
{
    return number(handle, "SELECT count(*) FROM t");
}

PAWL_TEST(only_an_open_transaction_on_the_same_file_is_wrapped)
{
    sqlite_fixture *g = sqlite_fixture_with_table();
    sqlite_fixture *elsewhere = sqlite_fixture_with_table();
    sqlite3 *handle = sqlite_fixture_handle(g);
    sqlite3 *other = sqlite_fixture_handle(elsewhere);
    sqlite3 *memory = NULL;

    reject_foreign(g, handle, PAWL_E_MISUSE, "BEGIN IMMEDIATE");
    exec(other, "BEGIN IMMEDIATE");
    reject_foreign(g, other, PAWL_E_MISUSE, "same file");
    exec(other, "COMMIT");
    exec(other, test_note("ATTACH '%s' AS attached; BEGIN IMMEDIATE", g->settings.target));
    reject_foreign(g, other, PAWL_E_MISUSE, "attached");
    exec(other, "COMMIT");
    assert_int_equal(sqlite3_open(":memory:", &memory), SQLITE_OK);
    test_defer(close_handle, memory);
    exec(memory, "BEGIN");
    reject_foreign(g, memory, PAWL_E_MISUSE, "same file");
    g->settings.target = ":memory:";
    reject_foreign(g, memory, PAWL_E_MISUSE, "in-memory");
}

PAWL_TEST(another_name_of_the_same_file_is_the_same_file)
{
    sqlite_fixture *g = sqlite_fixture_with_table();
    sqlite3 *handle = sqlite_fixture_handle(g);
    const char *link_path = test_note("%s/link.db", test_directory());

    assert_int_equal(symlink(g->settings.target, link_path), 0);
    g->settings.target = link_path;
    exec(handle, "BEGIN IMMEDIATE");
    pawli_driver_sqlite->close(foreign_tx(g, handle));
}

PAWL_TEST(a_read_only_handle_is_refused)
{
    sqlite_fixture *g = sqlite_fixture_with_table();
    sqlite3 *handle = NULL;

    assert_int_equal(sqlite3_open_v2(g->settings.target, &handle, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
    test_defer(close_handle, handle);
    exec(handle, "BEGIN");
    reject_foreign(g, handle, PAWL_E_READ_ONLY, "read-only");
}

PAWL_TEST(ops_join_the_transaction_and_a_failing_one_leaves_it_as_it_was)
{
    sqlite_fixture *g = sqlite_fixture_with_table();
    sqlite3 *handle = sqlite_fixture_handle(g);
    pawl_error err = PAWL_ERROR_INIT;

    exec(handle, "BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
    pawli_conn *conn = foreign_tx(g, handle);
    sqlite3_set_last_insert_rowid(handle, 77);
    assert_ok(insert(conn, PAWL_OK, &err), &err);
    assert_status(PAWL_E_CONFLICT, insert(conn, PAWL_E_CONFLICT, &err), &err);
    assert_string_equal(err.message, "refused by the callback");
    assert_int_equal(rows_in_t(handle), 3);
    assert_int_equal(rows_in_t(handle_of(g->conn)), 0);
    assert_int_equal(sqlite3_last_insert_rowid(handle), 77);
    assert_true(pawli_driver_sqlite->tx_open(conn));
    exec(handle, "ROLLBACK");
    assert_false(pawli_driver_sqlite->tx_open(conn));
    assert_status(PAWL_E_MISUSE, insert(conn, PAWL_OK, &err), &err);
    pawli_driver_sqlite->close(conn);
    assert_null(sqlite3_next_stmt(handle, NULL)); /* no statement of ours is left on it */
    exec(handle, "BEGIN");
    conn = foreign_tx(g, handle);
    assert_ok(insert(conn, PAWL_OK, &err), &err);
    pawli_driver_sqlite->close(conn);
    exec(handle, "COMMIT");
    assert_int_equal(rows_in_t(handle_of(g->conn)), 2);
}

PAWL_TEST(a_transaction_that_read_before_another_write_must_be_restarted)
{
    sqlite_fixture *g = sqlite_fixture_with_table();
    sqlite3 *handle = sqlite_fixture_handle(g);
    pawl_error err = PAWL_ERROR_INIT;

    exec(handle, "BEGIN; SELECT * FROM t");
    exec(handle_of(g->conn), "INSERT INTO t VALUES (1)");
    pawli_conn *conn = foreign_tx(g, handle);
    assert_status(PAWL_E_TX_RESTART, insert(conn, PAWL_OK, &err), &err);
    assert_int_equal(err.native_code, SQLITE_BUSY_SNAPSHOT);
    assert_non_null(strstr(err.message, "BEGIN IMMEDIATE"));
    pawli_driver_sqlite->close(conn);
    exec(handle, "ROLLBACK");
    exec(handle, "BEGIN"); /* nothing read yet: it gets the latest state and the lock */
    exec(handle_of(g->conn), "INSERT INTO t VALUES (1)");
    conn = foreign_tx(g, handle);
    assert_ok(insert(conn, PAWL_OK, &err), &err);
    pawli_driver_sqlite->close(conn);
    exec(handle, "COMMIT");
    assert_int_equal(rows_in_t(handle), 4);
}

PAWL_TEST(a_taken_write_lock_is_busy_and_the_transaction_stays_usable)
{
    sqlite_fixture *g = sqlite_fixture_with_table();
    sqlite3 *handle = sqlite_fixture_handle(g);
    pawl_error err = PAWL_ERROR_INIT;

    exec(handle_of(g->conn), "BEGIN IMMEDIATE");
    exec(handle, "BEGIN");
    pawli_conn *conn = foreign_tx(g, handle);
    assert_status(PAWL_E_BUSY, insert(conn, PAWL_OK, &err), &err);
    exec(handle_of(g->conn), "ROLLBACK");
    assert_ok(insert(conn, PAWL_OK, &err), &err);
    pawli_driver_sqlite->close(conn);
    exec(handle, "COMMIT");
    assert_int_equal(rows_in_t(handle), 2);
}

static pawl_status interrupt_now(void *context, const pawli_row *row, pawl_error *err)
{
    (void)row;
    (void)err;
    pawli_driver_sqlite->interrupt(context);
    return PAWL_OK;
}

PAWL_TEST(an_interrupt_does_not_cost_the_application_its_transaction)
{
    sqlite_fixture *g = sqlite_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;

    g->texts[SCRIPT].text = "SELECT 1; INSERT INTO t VALUES (2);";
    g->conn = sqlite_fixture_open(g);
    sqlite_fixture_deploy(g, g->conn);
    sqlite3 *handle = sqlite_fixture_handle(g);
    exec(handle, "CREATE TABLE t (x); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
    pawli_conn *conn = foreign_tx(g, handle);
    pawli_op op = {.sql = SCRIPT, .writes = true, .on_row = interrupt_now, .context = conn};
    assert_status(PAWL_E_INTERRUPTED, run(conn, &op, &err), &err);
    pawli_driver_sqlite->close(conn);
    assert_int_equal(sqlite3_get_autocommit(handle), 0);
    exec(handle, "COMMIT");
    assert_int_equal(rows_in_t(handle), 1);
}

PAWL_TEST(when_sqlite_rolls_the_transaction_back_the_error_says_so)
{
    sqlite_fixture *g = sqlite_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;

    g->texts[SCRIPT].text = "INSERT INTO t VALUES (zeroblob(10000000));";
    g->conn = sqlite_fixture_open(g);
    sqlite_fixture_deploy(g, g->conn);
    sqlite3 *handle = sqlite_fixture_handle(g);
    exec(handle, "CREATE TABLE t (x); PRAGMA max_page_count = 200; BEGIN IMMEDIATE");
    pawli_conn *conn = foreign_tx(g, handle);
    pawli_op op = op_of(SCRIPT, true, NULL);
    assert_status(PAWL_E_FULL, run(conn, &op, &err), &err);
    bool gone = sqlite3_get_autocommit(handle) != 0;
    assert_int_equal(strstr(err.message, "whole transaction") != NULL, gone);
    pawli_driver_sqlite->close(conn);
}
#endif
