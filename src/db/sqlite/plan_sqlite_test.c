/* src/db/sqlite/plan_sqlite_test.c - no statement scans a whole table. */
#include "test.h"

#if PAWL_TEST_SQLITE
#include <stdio.h>

#include "fixture_sqlite_test.h"

/* A few lanes are scanned by design; these tables grow without bound. */
static const char *const big[] = {"pawl_body", "pawl_queue", "pawl_outcome", "pawl_claim",
                                  /* and their aliases in the statements */
                                  "b", "q", "o", "c", "m", "h"};

static void check_step(const char *statement, const char *step, int *ret_searches)
{
    char word[32] = "";

    if (strncmp(step, "SEARCH ", 7) == 0)
        ++*ret_searches;
    if (sscanf(step, "SCAN %31s", word) != 1)
        return;
    for (size_t i = 0; i < PAWLI_COUNT(big); i++) {
        if (strcmp(word, big[i]) == 0)
            test_fail("'%s' walks over a whole table: %s", statement, step);
    }
}

static void check_statement(sqlite3 *handle, const char *name, const char *sql, int *ret_searches)
{
    sqlite3_stmt *plan = NULL;

    if (sqlite3_prepare_v2(handle, sql, -1, &plan, NULL) != SQLITE_OK)
        test_fail("%s: %s", name, sqlite3_errmsg(handle));
    while (sqlite3_step(plan) == SQLITE_ROW)
        check_step(name, (const char *)sqlite3_column_text(plan, 3), ret_searches);
    sqlite3_finalize(plan);
}

static void check_all(sqlite_fixture *g)
{
    sqlite3 *handle = handle_of(g->conn);
    int searches = 0;

    for (int i = 0; i < PAWLI_SQL_COUNT; i++) {
        const char *at = g->texts[i].text;
        sqlite3_stmt *statement = NULL;
        if (i == PAWLI_SQL_CLOCK_RESET) /* scans everything, and is only run by hand */
            continue;
        while (sqlite3_prepare_v2(handle, at, -1, &statement, &at) == SQLITE_OK && statement) {
            const char *sql = test_note("EXPLAIN QUERY PLAN %s", sqlite3_sql(statement));
            sqlite3_finalize(statement);
            check_statement(handle, g->texts[i].name, sql, &searches);
        }
    }
    assert_true(searches > 80); /* the loop did check them */
}

PAWL_TEST(no_statement_walks_over_a_whole_table)
{
    check_all(sqlite_fixture_ready());
}

/* ANALYZE was run while the tables were almost empty. */
PAWL_TEST(nor_with_misleading_statistics)
{
    sqlite_fixture *g = sqlite_fixture_ready();
    sqlite3 *handle = handle_of(g->conn);

    exec(handle,
         "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
         " LIMIT 100) SELECT i FROM n;"
         "INSERT INTO pawl_lane (topic, priority) VALUES ('a', 0);"
         "INSERT INTO pawl_body (message_id, topic, priority, type, created_at, due_at, "
         "max_attempts,"
         " payload) SELECT randomblob(16), 'a', 0, 0, 1, 1, 1, x'' FROM n;"
         "INSERT INTO pawl_queue (id, lane_id, run_at) SELECT i, 1, 1 FROM n;"
         "INSERT INTO pawl_outcome (id, state, finished_at, retries) SELECT i, 2, 1, 0 FROM n;"
         "INSERT INTO pawl_claim (fence, owner, owner_name, check_at, ids)"
         " SELECT i, x'00', 'o', 1, '[1]' FROM n;"
         "ANALYZE");
    pawli_driver_sqlite->close(g->conn);
    test_defer_cancel(g->conn);
    g->conn = sqlite_fixture_open(g);
    check_all(g);
}

static void check_claim(const sqlite_fixture *g, enum pawli_sql claim)
{
    sqlite3 *handle = handle_of(g->conn);
    sqlite3_stmt *plan = NULL;
    int at = 0;
    static const char *const expected[] = {
        "SEARCH t USING COVERING INDEX pawl_lane_stats_order (paused=? AND destination=?)",
        "SEARCH q USING INDEX pawl_queue_due (lane_id=? AND run_at<?)"};
    const char *insert = strstr(g->texts[claim].text, "INSERT OR FAIL INTO pawl_claim");
    const char *sql = test_note("EXPLAIN QUERY PLAN %s", insert);

    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &plan, NULL), SQLITE_OK);
    while (sqlite3_step(plan) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(plan, 3);
        if (at < 2 && strncmp(step, expected[at], strlen(expected[at])) == 0)
            at++;
    }
    sqlite3_finalize(plan);
    assert_int_equal(at, 2);
}

PAWL_TEST(a_claim_scans_bounded_ranges_of_the_lanes_in_order)
{
    sqlite_fixture *g = sqlite_fixture_ready();

    check_claim(g, PAWLI_SQL_CLAIM);
    check_claim(g, PAWLI_SQL_CLAIM_REMOTE);
}
#endif
