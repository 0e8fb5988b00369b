/*
 * tests/plans/sqlite_test.c - the cost of every statement on a queue of many messages.
 *
 * Two measures, neither of them time: the plan, which must not scan a big table, and the number of
 * steps of SQLite's virtual machine, which must not grow with rows that the statement does not
 * want.
 */
#include "plans_fixture.h"

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite/conn_sqlite.h"
#include "statements.h"

#define EXTRA 100000

static bool is(const char *statement, const char *names)
{
    return strstr(names, test_note(" %s ", statement)) != NULL;
}

static int64_t number_for(const plans_fixture *w, const char *statement, const char *name)
{
    static const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"lease", 30000000},
        {"ttl", 30000000},
        {"only_owned", 0},
        {"limit", PLANS_BATCH},
        {"local_base", 1000000},
        {"local_max", 60000000},
        {"local_jitter", 0},
        {"remote_base", 200000},
        {"remote_max", 60000000},
        {"remote_jitter", 500000},
        {"states", 63},
        {"before", INT64_MAX},
        {"after_id", 0},
        {"ttl", 30000000},
        {"only_owned", 1},
        {"scan", 100},
        {"with_payload", 1},
        {"cap", 100},
        {"keep", 7 * DAY_MS * 1000},
        {"base", 1000000},
        {"max", 60000000},
        {"wanted", 1},
        {"present", 1},
        {"epoch", 1},
        {"dead", 0},
        {"max_attempts", 10},
        {"most", PLANS_BATCH},
        {"retry_base", 1000000},
        {"retry_max", 1000000},
        {"retry_jitter", 0},
        {"misfire_cap", 100},
        {"misfire_grace", 60000000},
        {"jitter", 0},
        {"timeout", 1000000},
        {"heartbeat", 1000000},
        {"keep_runs", 100},
        {"keep_age", 1000000},
        {"enabled", 1},
        {"type", 0},
        {"priority", 0},
        {"force", 1},
        {"alone", 0},
        {"with_output", 1},
        {"tick", 7},
        {"step", 4},
        {"seen", 1},
        {"run_id", 1},
        {"occurrences", 1},
        {"occurrences_more", 0},
        {"in_line", 1},
        {"awaits", 0},
        {"rewinds", 0},
        {"dry_run", 0},
        {"others", 0},
        {"row_count", 2}, /* one more than changes: the statement says which */
    };

    if (strcmp(name, "now") == 0)
        return fixture_now(w->f).us;
    if (strcmp(name, "fence") == 0)
        return w->fence;
    if (strcmp(name, "job_id") == 0)
        return w->job;
    if (is(name, " occurrence last_occurrence due next_check_at since anchor planned_at "))
        return fixture_now(w->f).us;
    if (strcmp(name, "id") == 0)
        return is(statement, " retry purge dead_done dead_abandon dead_renew ") ? w->dead
               : is(statement, " cancel get ")                                  ? w->ready
                                                                                : w->leased;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (strcmp(numbers[i].name, name) == 0)
            return numbers[i].value;
    test_fail("the parameter %s of %s has no value in this test", name, statement);
}

/* The rows for pawli_rows(:rows): a message to send, or an item to ack. */
static pawli_sqlite_rows *one_row(const plans_fixture *w, const char *statement)
{
    static const char *const names[] = {"id",    "fence",        "position",   "message_id",
                                        "topic", "payload",      "type",       "priority",
                                        "lease", "max_attempts", "other_lane", "due_at"};
    static pawl_uuid fresh;
    static pawli_value values[COUNT_OF(names)];
    static pawli_rows rows = {1, COUNT_OF(names), names, NULL, values};
    static pawli_sqlite_rows given = {.rows = &rows};
    pawli_value *at = values;

    fresh = queue_id(123456789);
    *at++ = pawli_int(number_for(w, statement, "id"));
    *at++ = pawli_int(w->fence);
    *at++ = pawli_int(0);
    *at++ = pawli_uuid(fresh.bytes);
    *at++ = pawli_text("busy");
    *at++ = pawli_bytes("x", 1);
    *at++ = pawli_int(0);
    *at++ = pawli_int(0);
    *at++ = pawli_null(PAWLI_SPAN);
    *at++ = pawli_int(10);
    *at++ = pawli_bool(true);
    *at++ = pawli_null(PAWLI_TIME);
    free(given.slots);
    given.slots = pawli_sqlite_rows_match(&rows);
    return &given;
}

/* The key, and what has no value, of the inbox's statements; false: it is another parameter. */
static bool bind_inbox(sqlite3_stmt *statement, const char *name, const char *parameter, int index)
{
    bool key = !is(name, " inbox_list_any inbox_list_dead inbox_list_unfinished inbox_retry"
                         " inbox_purge ");

    if (strncmp(name, "inbox_", 6) != 0 ||
        !is(parameter, " source id hash endpoint response holder "))
        return false;
    if (key && is(parameter, " source id "))
        sqlite3_bind_text(statement, index, parameter[0] == 's' ? "few" : "held", -1,
                          SQLITE_STATIC);
    else
        sqlite3_bind_null(statement, index);
    return true;
}

/* The texts of the jobs' statements; false: it is another parameter. */
static bool bind_job(sqlite3_stmt *statement, const char *name, const char *parameter, int index)
{
    static const char *const texts[][2] = {
        {"schedule", "@daily"}, {"zone", "UTC"},  {"topic", "jobs"}, {"misfire", "once"},
        {"overlap", "skip"},    {"payload", "x"}, {"job", "x"}};

    if (strncmp(name, "job_", 4) != 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (strcmp(texts[i][0], parameter) != 0)
            continue;
        sqlite3_bind_text(statement, index, texts[i][1], -1, SQLITE_STATIC);
        return true;
    }
    if (strcmp(parameter, "message_id") != 0)
        return false;
    pawl_uuid fresh = queue_id(123456789);
    sqlite3_bind_blob(statement, index, fresh.bytes, 16, SQLITE_TRANSIENT);
    return true;
}

static void bind(const plans_fixture *w, sqlite3_stmt *statement, const char *name, int index)
{
    static const char nulls[] =
        " topics topic correlation_id created_before delay idle_worker destination destinations"
        " after_due due_before headers problem error_prefix ";
    const char *parameter = sqlite3_bind_parameter_name(statement, index) + 1;
    pawl_owner owner = queue_owner(1);

    if (bind_inbox(statement, name, parameter, index) ||
        bind_job(statement, name, parameter, index))
        return;
    if (strcmp(parameter, "owner") == 0)
        sqlite3_bind_blob(statement, index, owner.bytes, 16, SQLITE_TRANSIENT);
    else if (strcmp(parameter, "message_id") == 0)
        sqlite3_bind_blob(statement, index, w->find.bytes, 16, SQLITE_TRANSIENT);
    else if (strcmp(parameter, "rows") == 0)
        pawli_sqlite_rows_bind(statement, index, one_row(w, name));
    else if (strncmp(name, "topic_", 6) == 0 && strcmp(parameter, "topic") == 0)
        sqlite3_bind_text(statement, index, "busy", -1, SQLITE_STATIC);
    else if (strcmp(parameter, "after") == 0)
        sqlite3_bind_text(statement, index, "", -1, SQLITE_STATIC);
    else if (is(parameter, " owner_name error text name by reason "))
        sqlite3_bind_text(statement, index, "x", -1, SQLITE_STATIC);
    else if (strcmp(name, "claim_remote") == 0 && strcmp(parameter, "destinations") == 0)
        sqlite3_bind_text(statement, index, "[\"idle\",\"there\",\"none\"]", -1, SQLITE_STATIC);
    else if (strcmp(parameter, "limits") == 0)
        sqlite3_bind_text(statement, index, "[50,20,50]", -1, SQLITE_STATIC);
    else if (is(parameter, nulls))
        sqlite3_bind_null(statement, index);
    else
        sqlite3_bind_int64(statement, index, number_for(w, name, parameter));
}

typedef void (*visit_fn)(const plans_fixture *w, const char *name, sqlite3_stmt *statement,
                         void *context);

/* Each statement of the file in order, bound, inside a transaction that is rolled back. */
static void visit(const plans_fixture *w, const pawli_sql_text *sql, visit_fn fn, void *context)
{
    sqlite3 *handle = fixture_sqlite(w->f, 0);
    const char *at = sql->text;

    if (!at) /* a statement of another engine's driver */
        return;
    fixture_tx_exec(w->f, 0, "BEGIN");
    while (true) {
        sqlite3_stmt *statement = NULL;

        if (sqlite3_prepare_v2(handle, at, -1, &statement, &at) != SQLITE_OK)
            test_fail("%s: %s", sql->name, sqlite3_errmsg(handle));
        if (!statement)
            break;
        for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++)
            bind(w, statement, sql->name, i);
        fn(w, sql->name, statement, context);
        sqlite3_finalize(statement);
    }
    fixture_tx_exec(w->f, 0, "ROLLBACK");
}

/* "SCAN pawl_queue" is every row of it, with or without an index. */
static bool scans(const char *detail, const char *table, const char *alias)
{
    char word[64] = "";

    if (sscanf(detail, "SCAN %63s", word) != 1)
        return false;
    return strcmp(word, alias) == 0 || strcmp(word, test_note("pawl_%s", table)) == 0;
}

struct tolerance {
    bool claims; /* whether the claims may be scanned */
    int found;
};

static void check_plan(const plans_fixture *w, const char *name, sqlite3_stmt *statement,
                       void *context)
{
    struct tolerance *tolerance = context;
    sqlite3_stmt *plan = NULL;

    if (strcmp(name, "clock_reset") == 0) /* reads everything, and is run manually */
        return;
    if (sqlite3_prepare_v2(fixture_sqlite(w->f, 0),
                           test_note("EXPLAIN QUERY PLAN %s", sqlite3_sql(statement)), -1, &plan,
                           NULL) != SQLITE_OK)
        test_fail("%s: %s", name, sqlite3_errmsg(fixture_sqlite(w->f, 0)));
    while (sqlite3_step(plan) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(plan, 3);

        if (scans(detail, "body", "b") || scans(detail, "queue", "q") ||
            scans(detail, "outcome", "o") || scans(detail, "dead", "d") ||
            /* Its partial indexes contain what is wanted, and the limit ends the scan. */
            (scans(detail, "inbox_record", "i") && !strstr(detail, " INDEX ")) ||
            (strncmp(name, "lease_", 6) == 0 && scans(detail, "lease", "l")) ||
            (strncmp(name, "job_", 4) == 0 &&
             (scans(detail, "job", "j") || scans(detail, "job_run", "r")) &&
             !strstr(detail, "pawl_job_run_pending_events")) ||
            (!tolerance->claims && scans(detail, "claim", "c"))) {
            printf("# %s: \"%s\" in the plan of %s\n", name, detail, sqlite3_sql(statement));
            tolerance->found++;
        }
    }
    sqlite3_finalize(plan);
}

static void count_steps(const plans_fixture *w, const char *name, sqlite3_stmt *statement,
                        void *context)
{
    int64_t *steps = context;
    int code;

    do
        code = sqlite3_step(statement);
    while (code == SQLITE_ROW);
    if (code != SQLITE_DONE)
        test_fail("%s: %s", name, sqlite3_errmsg(fixture_sqlite(w->f, 0)));
    *steps += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
}

static void sqlite_measure(const plans_fixture *w, int64_t steps[PAWLI_SQL_COUNT])
{
    for (size_t i = 0; i < PAWLI_SQL_COUNT; i++) {
        steps[i] = 0;
        visit(w, &pawli_sql_sqlite.statements[i], count_steps, &steps[i]);
    }
}

static plans_fixture open_world(void)
{
    plans_fixture w = {.f = fixture_open(NULL)};

    pawli_sqlite conn = {.base.foreign = true, .handle = fixture_sqlite(w.f, 0)};
    assert_int_equal(SQLITE_OK, pawli_sqlite_rows_register(&conn));
    assert_int_equal(SQLITE_OK, pawli_sqlite_sync_register(&conn));
    plans_lanes(w.f);
    return w;
}

static void check_plans(const plans_fixture *w, bool tolerate_claims)
{
    struct tolerance tolerance = {tolerate_claims, 0};

    for (size_t i = 0; i < PAWLI_SQL_COUNT; i++)
        visit(w, &pawli_sql_sqlite.statements[i], check_plan, &tolerance);
    assert_int_equal(0, tolerance.found);
}

PAWL_TEST_ON(sqlite, no_statement_scans_a_big_table)
{
    plans_fixture w = open_world();

    check_plans(&w, false);
    plans_fill(w.f, 1000, 1000);
    plans_people(&w);
    check_plans(&w, false);
    /* Statistics must not talk the planner into it either. There is a row in `claim` for every
     * claim that is not over, which is few: to scan those is no harm. */
    fixture_exec(w.f, "ANALYZE");
    fixture_tx_exec(w.f, 0, "ANALYZE sqlite_schema");
    check_plans(&w, true);
}

PAWL_TEST_ON(sqlite, no_statement_costs_more_with_a_hundred_thousand_unwanted_messages)
{
    plans_fixture small = open_world(), big = open_world();
    int64_t few[PAWLI_SQL_COUNT], many[PAWLI_SQL_COUNT];

    /* The same handful of unwanted messages, so that limits are reached in both. */
    plans_fill(small.f, 500, 500);
    plans_fill(big.f, 500 + EXTRA / 2, 500 + EXTRA / 2);
    plans_people(&small);
    plans_people(&big);
    sqlite_measure(&small, few);
    sqlite_measure(&big, many);
    for (size_t i = 0; i < PAWLI_SQL_COUNT; i++) {
        const char *name = pawli_sql_sqlite.statements[i].name;

        if (strcmp(name, "clock_reset") == 0)
            continue;
        printf("# %s: %lld steps, %lld with %d more messages\n", name, (long long)few[i],
               (long long)many[i], EXTRA);
        if (many[i] > few[i] + few[i] / 4 + 100)
            test_fail("%s takes %lld steps instead of %lld with %d more messages", name,
                      (long long)many[i], (long long)few[i], EXTRA);
    }
}

/* Each with a message that is not due yet, so that the lane stays. */
static void add_waiting_lanes(const plans_fixture *w, int count)
{
    pawl_message_spec *messages = calloc((size_t)count, sizeof *messages);
    pawl_error err = PAWL_ERROR_INIT;

    assert_non_null(messages);
    for (int i = 0; i < count; i++) {
        messages[i] = queue_message(test_note("waiting %d", i), "x");
        messages[i].delay_ms = DAY_MS;
    }
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(w->f), messages, (size_t)count, NULL, &err),
              &err);
    free(messages);
}

PAWL_TEST_ON(sqlite, removing_lanes_reads_a_bounded_number_of_those_that_wait)
{
    plans_fixture few = open_world(), many = open_world();
    const pawli_sql_text *sql = &pawli_sql_sqlite.statements[PAWLI_SQL_COMPACT_STATS];
    int64_t few_steps = 0, many_steps = 0;

    add_waiting_lanes(&few, 2 * PLANS_BATCH);
    add_waiting_lanes(&many, 50 * PLANS_BATCH);
    visit(&few, sql, count_steps, &few_steps);
    visit(&many, sql, count_steps, &many_steps);
    printf("# compact_stats: %lld steps, %lld with 25 times as many lanes\n", (long long)few_steps,
           (long long)many_steps);
    assert_in_range(many_steps, 1, few_steps + few_steps / 4);
}
#endif
