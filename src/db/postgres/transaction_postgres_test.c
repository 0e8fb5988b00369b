/* src/db/postgres/transaction_postgres_test.c - ops inside transactions, pawl's and the
 * application's. */
#include <string.h>

#include "fixture_postgres.h"

PAWL_TEST(a_failing_op_leaves_the_transaction_as_it_was)
{
    static const outgoing one[] = {{NULL, "a", "x"}};
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    query_result a;
    claimed c = {0};

    deploy(g);
    pawli_conn *conn = connect_to(g);
    assert_ok(conn->driver->begin(conn, soon(), &err), &err);
    assert_ok(enqueue(conn, one, 1, true, soon(), &a, &err), &err);
    assert_status(PAWL_E_INVALID, claim(conn, -1, NULL, 0, note_claim, &c, &err), &err);
    assert_string_equal("22023", err.sqlstate);
    assert_ok(enqueue(conn, one, 1, true, soon(), &a, &err), &err);
    assert_ok(conn->driver->commit(conn, soon(), &err), &err);
    assert_string_equal("2", ask(g->other, test_note("SELECT count(*) FROM %s.body", g->names)));
    assert_ok(conn->driver->begin(conn, soon(), &err), &err);
    assert_ok(enqueue(conn, one, 1, true, soon(), &a, &err), &err);
    conn->driver->rollback(conn);
    assert_false(conn->broken);
    assert_string_equal("2", ask(g->other, test_note("SELECT count(*) FROM %s.body", g->names)));
}

PAWL_TEST(a_commit_that_postgres_rolls_back_is_a_failure)
{
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = connect_to(g);

    assert_ok(conn->driver->begin(conn, soon(), &err), &err);
    assert_status(PAWL_E_INVALID, conn->driver->script(conn, "SELECT 1/0", soon(), &err), &err);
    assert_status(PAWL_E_STORE, conn->driver->commit(conn, soon(), &err), &err);
    assert_true(conn->driver->alive(conn));
}

static pawli_conn *foreign_tx(postgres_fixture *g, handle *h)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = NULL;

    assert_ok(pawli_driver_postgres->open_foreign(&g->settings, handle_engine_postgres->native(h),
                                                  &conn, &err),
              &err);
    test_defer(close_conn, conn);
    return conn;
}

static void close_handle(void *argument)
{
    handle_engine_postgres->close(argument);
}

static handle *second_handle(postgres_fixture *g)
{
    char message[512];
    handle *h = handle_engine_postgres->open(g->target, message);

    assert_non_null(h);
    test_defer(close_handle, h);
    return h;
}

PAWL_TEST(a_wrapped_transaction_is_the_applications)
{
    static const outgoing one[] = {{NULL, "a", "x"}};
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = NULL;
    query_result a;
    claimed c = {0};

    deploy(g);
    handle *h = second_handle(g);
    void *native = handle_engine_postgres->native(h);
    assert_status(PAWL_E_MISUSE,
                  pawli_driver_postgres->open_foreign(&g->settings, native, &conn, &err), &err);
    ask(h, "BEGIN");
    conn = foreign_tx(g, h);
    assert_true(conn->driver->tx_open(conn));
    assert_ok(enqueue(conn, one, 1, true, soon(), &a, &err), &err);
    assert_status(PAWL_E_INVALID, claim(conn, -1, NULL, 0, note_claim, &c, &err), &err);
    assert_string_equal("1", ask(h, test_note("SELECT count(*) FROM %s.body", g->names)));
    ask(h, "ROLLBACK");
    assert_false(conn->driver->tx_open(conn));
    assert_string_equal("0", ask(h, test_note("SELECT count(*) FROM %s.body", g->names)));
    ask(h, "BEGIN");
    conn = foreign_tx(g, h);
    assert_ok(enqueue(conn, one, 1, false, soon(), &a, &err), &err);
    ask(h, "COMMIT");
    assert_string_equal("1", ask(h, test_note("SELECT count(*) FROM %s.body", g->names)));
}

PAWL_TEST(a_failed_wrapped_transaction_must_be_rolled_back_first)
{
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = NULL;
    handle *h = second_handle(g);
    char message[512];

    assert_false(handle_engine_postgres->run(h, "BEGIN; SELECT 1/0", NULL, message));
    /* A failed multi-statement text keeps the transaction that it opened. */
    assert_status(PAWL_E_TX_RESTART,
                  pawli_driver_postgres->open_foreign(
                      &g->settings, handle_engine_postgres->native(h), &conn, &err),
                  &err);
}

PAWL_TEST(a_deadline_inside_a_wrapped_transaction_leaves_it_usable)
{
    static const outgoing one[] = {{NULL, "a", "x"}};
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    query_result a;

    deploy(g);
    handle *h = second_handle(g);
    ask(g->other, test_note("BEGIN; LOCK TABLE %s.body IN ACCESS EXCLUSIVE MODE", g->names));
    ask(h, "BEGIN");
    pawli_conn *conn = foreign_tx(g, h);
    assert_status(
        PAWL_E_TIMEOUT,
        enqueue(conn, one, 1, true, pawli_mono_after(pawli_mono_now(), SECONDS / 10), &a, &err),
        &err);
    ask(g->other, "ROLLBACK");
    assert_ok(enqueue(conn, one, 1, true, soon(), &a, &err), &err);
    ask(h, "COMMIT");
    assert_string_equal("1", ask(h, test_note("SELECT count(*) FROM %s.body", g->names)));
}

PAWL_TEST(crossed_ids_in_two_transactions_do_not_deadlock)
{
    static const outgoing first[] = {{"00000000-0000-7000-8000-00000000000a", "a", "x"}};
    static const outgoing second[] = {{"00000000-0000-7000-8000-00000000000b", "b", "y"}};
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    query_result a;

    deploy(g);
    handle *left = second_handle(g), *right = second_handle(g);
    const char *patience = ask(left, "SHOW lock_timeout");
    ask(left, "BEGIN");
    ask(right, "BEGIN");
    pawli_conn *l = foreign_tx(g, left), *r = foreign_tx(g, right);
    assert_ok(enqueue(l, first, 1, false, soon(), &a, &err), &err);
    assert_int_equal(0, a.third);
    assert_ok(enqueue(r, second, 1, false, soon(), &a, &err), &err);
    assert_int_equal(0, a.third);
    assert_ok(enqueue(l, second, 1, false, soon(), &a, &err), &err);
    assert_int_equal(3, a.third);
    assert_ok(enqueue(r, first, 1, false, soon(), &a, &err), &err);
    assert_int_equal(3, a.third);
    assert_string_equal(patience, ask(left, "SHOW lock_timeout"));
    ask(left, "COMMIT");
    assert_ok(enqueue(r, first, 1, false, soon(), &a, &err), &err);
    assert_int_equal(1, a.third);
    ask(right, "COMMIT");
    assert_string_equal("2", ask(left, test_note("SELECT count(*) FROM %s.queue", g->names)));
}

PAWL_TEST(other_content_under_the_same_id_takes_the_whole_batch_back)
{
    static const outgoing known[] = {{"00000000-0000-7000-8000-00000000000b", "b", "y"}};
    static const outgoing batch[] = {{"00000000-0000-7000-8000-00000000000a", "a", "x"},
                                     {"00000000-0000-7000-8000-00000000000b", "b", "other"}};
    static const outgoing twice[] = {{"00000000-0000-7000-8000-00000000000c", "c", "z"},
                                     {"00000000-0000-7000-8000-00000000000c", "c", "z"}};
    static const outgoing torn[] = {{"00000000-0000-7000-8000-00000000000d", "d", "z"},
                                    {"00000000-0000-7000-8000-00000000000d", "d", "zz"}};
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    query_result a;

    deploy(g);
    pawli_conn *conn = connect_to(g);
    assert_ok(enqueue(conn, known, 1, false, soon(), &a, &err), &err);
    assert_ok(enqueue(conn, batch, 2, false, soon(), &a, &err), &err);
    assert_int_equal(1, a.rows);
    assert_int_equal(1, a.first);
    assert_int_equal(2, a.third);
    assert_ok(enqueue(conn, twice, 2, false, soon(), &a, &err), &err);
    assert_int_equal(2, a.rows);
    assert_int_equal(1, a.third);
    assert_ok(enqueue(conn, torn, 2, false, soon(), &a, &err), &err);
    assert_int_equal(2, a.third);
    assert_string_equal("2", ask(g->other, test_note("SELECT count(*) FROM %s.body", g->names)));
    assert_string_equal("2", ask(g->other, test_note("SELECT count(*) FROM %s.queue", g->names)));
}

/* ---- chains ---- */

/* The texts of a chain's first and second op; the second inserts :x. */
static postgres_fixture *chain_fixture(void)
{
    postgres_fixture *g = postgres_fixture_new();

    g->texts[PAWLI_SQL_PURGE].text = "INSERT INTO pawl.t VALUES (:x) RETURNING x, "
                                     "pg_current_xact_id()::text::bigint";
    g->texts[PAWLI_SQL_GET].text = "INSERT INTO pawl.t VALUES (100 / :x) RETURNING x, "
                                   "pg_current_xact_id()::text::bigint";
    ask(g->other, test_note("CREATE SCHEMA %s; CREATE TABLE %s.t (x bigint)", g->names, g->names));
    return g;
}

static pawl_status run_chain(pawli_conn *conn, int64_t x, query_result *first, query_result *second,
                             pawl_error *err)
{
    pawli_param params[] = {{"x", pawli_int(x)}};
    pawli_op then = {.sql = PAWLI_SQL_GET,
                     .params = params,
                     .param_count = 1,
                     .on_row = note_row,
                     .context = second};
    pawli_op op = {.sql = PAWLI_SQL_PURGE,
                   .writes = true,
                   .params = params,
                   .param_count = 1,
                   .on_row = note_row,
                   .context = first,
                   .next = &then};

    return conn->driver->run(conn, &op, soon(), err);
}

PAWL_TEST(a_chain_is_one_transaction)
{
    postgres_fixture *g = chain_fixture();
    pawli_conn *conn = connect_to(g);
    pawl_error err = PAWL_ERROR_INIT;
    query_result first = {0}, second = {0};

    assert_ok(run_chain(conn, 5, &first, &second, &err), &err);
    assert_string_equal(
        "1", ask(g->other, test_note("SELECT count(DISTINCT xmin::text) FROM %s.t", g->names)));
    ask(g->other, test_note("DELETE FROM %s.t", g->names));
    assert_status(PAWL_E_INVALID, run_chain(conn, 0, &first, &second, &err), &err);
    assert_string_equal("22012", err.sqlstate);
    assert_false(conn->broken);
    assert_string_equal("0", ask(g->other, test_note("SELECT count(*) FROM %s.t", g->names)));
    assert_ok(run_chain(conn, 5, &first, &second, &err), &err); /* from here on prepared */
    assert_ok(run_chain(conn, 5, &first, &second, &err), &err);
    assert_int_equal(5, first.first);
    assert_int_equal(20, second.first);
    assert_string_equal("4", ask(g->other, test_note("SELECT count(*) FROM %s.t", g->names)));
}

PAWL_TEST(a_chain_whose_commit_fails_has_changed_nothing)
{
    postgres_fixture *g = chain_fixture();
    pawli_conn *conn = connect_to(g);
    pawl_error err = PAWL_ERROR_INIT;
    query_result first = {0}, second = {0};

    ask(g->other,
        test_note("ALTER TABLE %s.t ADD UNIQUE (x) DEFERRABLE INITIALLY DEFERRED", g->names));
    assert_status(PAWL_E_STORE, run_chain(conn, 10, &first, &second, &err), &err); /* 10 twice */
    assert_string_equal("23505", err.sqlstate);
    assert_int_equal(0, first.rows + second.rows);
    assert_string_equal("0", ask(g->other, test_note("SELECT count(*) FROM %s.t", g->names)));
    if (!conn->broken)
        assert_ok(run_chain(conn, 5, &first, &second, &err), &err);
}

PAWL_TEST(a_chain_that_fails_inside_a_transaction_leaves_the_rest)
{
    postgres_fixture *g = chain_fixture();
    pawli_conn *conn = connect_to(g);
    pawl_error err = PAWL_ERROR_INIT;
    query_result first = {0}, second = {0};

    assert_ok(conn->driver->begin(conn, soon(), &err), &err);
    assert_ok(run_chain(conn, 5, &first, &second, &err), &err);
    assert_status(PAWL_E_INVALID, run_chain(conn, 0, &first, &second, &err), &err);
    assert_ok(run_chain(conn, 4, &first, &second, &err), &err);
    assert_int_equal(25, second.first);
    assert_ok(conn->driver->commit(conn, soon(), &err), &err);
    assert_string_equal("4", ask(g->other, test_note("SELECT count(*) FROM %s.t", g->names)));
}
