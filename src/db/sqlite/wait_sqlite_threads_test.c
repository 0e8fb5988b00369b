/* src/db/sqlite/wait_sqlite_threads_test.c - deadlines, interruption and locks, with a simulated
 * clock. */
#include "test.h"

#if PAWL_TEST_SQLITE
#include <pthread.h>
#include <semaphore.h>

#include "fixture_sqlite_test.h"

#define ENDLESS                                                                                    \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "                             \
    "SELECT i FROM n WHERE i = 1 OR i < 0;"

/* ---- a platform whose time advances only by sleeping and by reading the clock ---- */

static struct {
    int64_t now_us;
    int64_t step_us; /* at every clock reading */
    int pauses;
    int64_t max_wait_us;
    void (*on_pause)(void *context);
    void *context;
} held;

static pawl_mono held_mono(void)
{
    held.now_us += held.step_us;
    return (pawl_mono){held.now_us};
}

static void held_pause(int64_t us)
{
    held.now_us += us;
    held.pauses++;
    if (us > held.max_wait_us)
        held.max_wait_us = us;
    if (held.on_pause)
        held.on_pause(held.context);
}

static void let_world_go(void *unused)
{
    (void)unused;
    pawli_platform_install(NULL);
}

static void hold_platform(int64_t step_us)
{
    static pawli_platform world;

    world = pawli_platform_default;
    world.mono_now = held_mono;
    world.sleep_us = held_pause;
    memset(&held, 0, sizeof held);
    held.now_us = SECOND;
    held.step_us = step_us;
    test_defer(let_world_go, NULL);
    pawli_platform_install(&world);
}

static pawl_mono held_deadline(int64_t us)
{
    return (pawl_mono){held.now_us + us};
}

static sqlite_fixture *sqlite_fixture_with(const char *script)
{
    sqlite_fixture *g = sqlite_fixture_new();

    g->texts[PAWLI_SQL_PURGE].text = script;
    g->conn = sqlite_fixture_open(g);
    sqlite_fixture_deploy(g, g->conn);
    exec(handle_of(g->conn), "CREATE TABLE t (x)");
    return g;
}

PAWL_TEST(a_lock_that_is_not_released_is_busy_at_the_deadline)
{
    sqlite_fixture *g = sqlite_fixture_with("INSERT INTO t VALUES (1)");
    sqlite3 *other = sqlite_fixture_handle(g);
    pawl_error err = PAWL_ERROR_INIT;
    pawli_op op = op_of(PAWLI_SQL_PURGE, true, NULL);

    exec(other, "BEGIN IMMEDIATE");
    hold_platform(0);
    int64_t start = held.now_us;
    assert_status(PAWL_E_BUSY, pawli_driver_sqlite->run(g->conn, &op, held_deadline(SECOND), &err),
                  &err);
    assert_int_equal(held.now_us - start, SECOND); /* waited to the end and not longer */
    assert_true(held.pauses > 15);
    assert_true(held.max_wait_us > 25000 && held.max_wait_us <= 50000);
    assert_int_equal(err.native_code, SQLITE_BUSY);
    assert_non_null(strstr(err.message, "write lock"));
    assert_non_null(strstr(err.message, g->settings.target));
    assert_status(PAWL_E_BUSY, pawli_driver_sqlite->begin(g->conn, held_deadline(SECOND), &err),
                  &err);
    exec(other, "COMMIT");
    assert_ok(pawli_driver_sqlite->run(g->conn, &op, held_deadline(SECOND), &err), &err);
}

static void commit_after_three(void *other)
{
    if (held.pauses == 3)
        exec(other, "COMMIT");
}

PAWL_TEST(a_lock_that_is_released_is_acquired)
{
    sqlite_fixture *g = sqlite_fixture_with("INSERT INTO t VALUES (1)");
    sqlite3 *other = sqlite_fixture_handle(g);
    pawl_error err = PAWL_ERROR_INIT;
    pawli_op op = op_of(PAWLI_SQL_PURGE, true, NULL);

    exec(other, "BEGIN IMMEDIATE");
    hold_platform(0);
    held.on_pause = commit_after_three;
    held.context = other;
    assert_ok(pawli_driver_sqlite->run(g->conn, &op, held_deadline(SECOND), &err), &err);
    assert_int_equal(held.pauses, 3);
}

static void interrupt_conn(void *conn)
{
    pawli_driver_sqlite->interrupt(conn);
}

PAWL_TEST(waiting_for_a_lock_can_be_interrupted)
{
    sqlite_fixture *g = sqlite_fixture_with("INSERT INTO t VALUES (1)");
    sqlite3 *other = sqlite_fixture_handle(g);
    pawl_error err = PAWL_ERROR_INIT;
    pawli_op op = op_of(PAWLI_SQL_PURGE, true, NULL);

    exec(other, "BEGIN IMMEDIATE");
    hold_platform(0);
    held.on_pause = interrupt_conn;
    held.context = g->conn;
    assert_status(PAWL_E_INTERRUPTED,
                  pawli_driver_sqlite->run(g->conn, &op, held_deadline(SECOND), &err), &err);
    assert_int_equal(held.pauses, 1);
    /* It stays set until the pool clears the flag. */
    assert_status(PAWL_E_INTERRUPTED,
                  pawli_driver_sqlite->run(g->conn, &op, held_deadline(SECOND), &err), &err);
}

PAWL_TEST(a_statement_that_takes_too_long_ends_with_timeout)
{
    sqlite_fixture *g = sqlite_fixture_with(ENDLESS);
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_op op = op_of(PAWLI_SQL_PURGE, false, &a);

    hold_platform(10);
    assert_status(PAWL_E_TIMEOUT,
                  pawli_driver_sqlite->run(g->conn, &op, held_deadline(10000), &err), &err);
    assert_int_equal(a.rows, 1);
    assert_int_equal(err.native_code, SQLITE_INTERRUPT);
    assert_int_equal(held.pauses, 0);
    op.writes = true;
    assert_status(PAWL_E_TIMEOUT,
                  pawli_driver_sqlite->run(g->conn, &op, held_deadline(10000), &err), &err);
    assert_int_equal(sqlite3_get_autocommit(handle_of(g->conn)), 1);
    assert_status(PAWL_E_TIMEOUT,
                  pawli_driver_sqlite->script(g->conn, ENDLESS, held_deadline(10000), &err), &err);
    assert_false(g->conn->broken);
}

PAWL_TEST(a_deadline_that_has_passed_starts_nothing)
{
    sqlite_fixture *g = sqlite_fixture_with("INSERT INTO t VALUES (1)");
    pawl_error err = PAWL_ERROR_INIT;
    pawli_op op = op_of(PAWLI_SQL_PURGE, true, NULL);

    hold_platform(0);
    assert_status(PAWL_E_TIMEOUT, pawli_driver_sqlite->run(g->conn, &op, held_deadline(0), &err),
                  &err);
    assert_int_equal(number(handle_of(g->conn), "SELECT count(*) FROM t"), 0);
}

/* ---- a second thread ---- */

typedef struct meeting {
    pawli_conn *conn;
    sem_t running;
} meeting;

static pawl_status say_running(void *context, const pawli_row *row, pawl_error *err)
{
    meeting *m = context;

    (void)row;
    (void)err;
    sem_post(&m->running);
    return PAWL_OK;
}

static void *interrupt_when_running(void *context)
{
    meeting *m = context;

    sem_wait(&m->running);
    pawli_driver_sqlite->interrupt(m->conn);
    return NULL;
}

PAWL_TEST(a_running_statement_is_interrupted_from_another_thread)
{
    sqlite_fixture *g = sqlite_fixture_with(ENDLESS);
    pawl_error err = PAWL_ERROR_INIT;
    meeting m = {.conn = g->conn};
    pthread_t thread;
    pawli_op op = {.sql = PAWLI_SQL_PURGE, .on_row = say_running, .context = &m};

    sem_init(&m.running, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, interrupt_when_running, &m), 0);
    pawl_status st = run(g->conn, &op, &err);
    pthread_join(thread, NULL);
    sem_destroy(&m.running);
    assert_status(PAWL_E_INTERRUPTED, st, &err);
    atomic_store(&g->conn->stop, false);
    op = op_of(PAWLI_SQL_NOW, false, NULL);
    assert_ok(run(g->conn, &op, &err), &err);
}
#endif
