/* src/db/postgres/lost_postgres_test.c - deadlines, interruption and killed sessions. */
#include <string.h>

#include "fixture_postgres.h"

#define SLEEP "SELECT pg_sleep(60)"

PAWL_TEST(a_deadline_ends_a_statement_for_certain)
{
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = connect_to(g);
    pawl_mono deadline = pawli_mono_after(pawli_mono_now(), SECONDS / 10);

    assert_status(PAWL_E_TIMEOUT, conn->driver->script(conn, SLEEP, deadline, &err), &err);
    assert_string_equal("57014", err.sqlstate);
    assert_false(conn->broken);
    assert_true(conn->driver->alive(conn));
    assert_status(PAWL_E_TIMEOUT, conn->driver->script(conn, SLEEP, deadline, &err), &err);
    assert_ok(conn->driver->script(conn, "SELECT 1", soon(), &err), &err);
}

/* Waits until the connection's session is in the given wait state, then interferes with it. */
typedef struct meddler {
    postgres_fixture *g;
    pawli_conn *conn;
    const char *waiting; /* of pg_stat_activity */
    const char *sql;     /* called with its pid; NULL: interrupt */
    bool run_sleep;
    pawl_status st;
    pawl_error err;
} meddler;

static const char *meddle(void *context, size_t index)
{
    meddler *m = context;
    char message[512];
    char *value = NULL;

    if (index == 0) {
        static const outgoing one[] = {{NULL, "a", "x"}};
        query_result a;
        m->st = m->run_sleep ? m->conn->driver->script(m->conn, SLEEP, soon(), &m->err)
                             : enqueue(m->conn, one, 1, true, soon(), &a, &m->err);
        return NULL;
    }
    handle *h = handle_engine_postgres->open(m->g->target, message);
    for (pawl_mono end = soon(); h && !value && !pawli_mono_passed(end);)
        if (!handle_engine_postgres->run(
                h,
                test_note("SELECT pid FROM pg_stat_activity WHERE application_name = '%s' AND "
                          "wait_event = '%s'",
                          m->g->names, m->waiting),
                &value, message))
            break;
    if (!value)
        return "the statement was never seen waiting";
    if (!m->sql)
        m->conn->driver->interrupt(m->conn);
    else if (!handle_engine_postgres->run(h, test_note("%s(%s)", m->sql, value), NULL, message))
        return "the interfering statement failed";
    free(value);
    handle_engine_postgres->close(h);
    return NULL;
}

static pawli_conn *connect_named(postgres_fixture *g)
{
    size_t length = strlen(g->target);

    snprintf(g->target + length, sizeof g->target - length, " application_name=%s", g->names);
    return connect_to(g);
}

PAWL_TEST(an_interrupt_ends_a_statement_for_certain)
{
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    meddler m = {.g = g, .conn = connect_named(g), .waiting = "PgSleep", .run_sleep = true};

    test_threads(2, meddle, &m);
    assert_status(PAWL_E_INTERRUPTED, m.st, &m.err);
    assert_false(m.conn->broken);
    assert_status(PAWL_E_INTERRUPTED, m.conn->driver->script(m.conn, "SELECT 1", soon(), &err),
                  &err);
    assert_true(m.conn->driver->alive(m.conn));
    atomic_store(&m.conn->stop, false); /* as the pool does */
    assert_ok(m.conn->driver->script(m.conn, "SELECT 1", soon(), &err), &err);
}

PAWL_TEST(a_killed_session_while_reading_is_unavailable)
{
    postgres_fixture *g = postgres_fixture_new();
    meddler m = {.g = g,
                 .conn = connect_named(g),
                 .waiting = "PgSleep",
                 .run_sleep = true,
                 .sql = "SELECT pg_terminate_backend"};

    test_threads(2, meddle, &m);
    assert_status(PAWL_E_UNAVAILABLE, m.st, &m.err);
    assert_string_equal("57P01", m.err.sqlstate);
    assert_true(m.conn->broken);
}

PAWL_TEST(a_killed_session_while_writing_is_in_doubt)
{
    postgres_fixture *g = postgres_fixture_new();

    deploy(g);
    meddler m = {.g = g,
                 .conn = connect_named(g),
                 .waiting = "relation",
                 .sql = "SELECT pg_terminate_backend"};
    ask(g->other, test_note("BEGIN; LOCK TABLE %s.body IN ACCESS EXCLUSIVE MODE", g->names));
    test_threads(2, meddle, &m);
    assert_status(PAWL_E_IN_DOUBT, m.st, &m.err);
    assert_true(m.conn->broken);
    ask(g->other, "ROLLBACK");
    assert_string_equal("0", ask(g->other, test_note("SELECT count(*) FROM %s.body", g->names)));
}

PAWL_TEST(a_killed_session_inside_a_transaction_is_not_done)
{
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;

    deploy(g);
    meddler m = {.g = g,
                 .conn = connect_named(g),
                 .waiting = "relation",
                 .sql = "SELECT pg_terminate_backend"};
    assert_ok(m.conn->driver->begin(m.conn, soon(), &err), &err);
    ask(g->other, test_note("BEGIN; LOCK TABLE %s.body IN ACCESS EXCLUSIVE MODE", g->names));
    test_threads(2, meddle, &m);
    assert_status(PAWL_E_UNAVAILABLE, m.st, &m.err);
    assert_true(m.conn->broken);
    m.conn->driver->rollback(m.conn);
}

PAWL_TEST(an_idle_connection_that_was_killed_is_noticed)
{
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = connect_named(g);

    assert_true(conn->driver->alive(conn));
    ask(g->other, test_note("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE "
                            "application_name = '%s'",
                            g->names));
    assert_false(conn->driver->alive(conn));
    assert_status(PAWL_E_UNAVAILABLE, conn->driver->begin(conn, soon(), &err), &err);
    assert_true(conn->broken);
}
