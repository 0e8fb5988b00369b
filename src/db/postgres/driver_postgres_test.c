/* src/db/postgres/driver_postgres_test.c - the PostgreSQL driver alone: values, statements, errors.
 */
#include <string.h>

#include "fixture_postgres.h"

static void live_once(postgres_fixture *g)
{
    static const outgoing messages[] = {{NULL, "a", "one"}, {NULL, "b", "two"}, {NULL, "a", ""}};
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = connect_to(g);
    query_result a;
    claimed c = {0};

    assert_ok(enqueue(conn, messages, 3, true, soon(), &a, &err), &err);
    assert_int_equal(3, a.rows);
    assert_int_equal(0, a.third);
    assert_ok(claim(conn, 30000, (const char *const[]){"b", "c"}, 2, note_claim, &c, &err), &err);
    assert_int_equal(1, c.rows);
    assert_ok(ack(conn, c.id, c.fence + 1, &a, &err), &err);
    assert_int_equal(0, a.sum);
    assert_ok(ack(conn, c.id, c.fence, &a, &err), &err);
    assert_int_equal(1, a.sum);
    c = (claimed){0};
    assert_ok(claim(conn, 30000, NULL, 0, note_claim, &c, &err), &err);
    assert_int_equal(2, c.rows);
    c = (claimed){0};
    assert_ok(claim(conn, 30000, (const char *const[]){"x"}, 0, note_claim, &c, &err), &err);
    assert_int_equal(0, c.rows); /* an empty list of topics means none, not all */
    assert_true(conn->driver->alive(conn));
}

PAWL_TEST(the_message_lifecycle_in_the_driver)
{
    postgres_fixture *g = postgres_fixture_new();

    deploy(g);
    live_once(g);
}

PAWL_TEST(the_message_lifecycle_in_prepared_statements)
{
    postgres_fixture *g = postgres_fixture_new();

    deploy(g);
    g->settings.prepare = true;
    live_once(g);
    live_once(g);
}

/* ---- columns by name ---- */

static const char *const wanted_names[] = {"b", "missing", "a"};
static const pawli_columns wanted = {wanted_names, 3};
enum { B, MISSING, A };

/* The sum shows which column had which value: a is 1, b is 2. */
static pawl_status read_by_name(void *context, const pawli_row *row, pawl_error *err)
{
    int64_t *sum = context;
    uint8_t id[16];
    size_t size = 1;

    (void)err;
    *sum += 100 * pawli_row_int(row, A) + 10 * pawli_row_int(row, B);
    if (!pawli_row_is_null(row, MISSING)) {
        *sum += pawli_row_int(row, MISSING);
        return PAWL_OK;
    }
    assert_int_equal(pawli_row_int(row, MISSING), 0);
    assert_int_equal(pawli_row_time(row, MISSING).us, 0);
    assert_null(pawli_row_bytes(row, MISSING, &size));
    assert_int_equal(size, 0);
    pawli_row_uuid(row, MISSING, id);
    assert_int_equal(id[0], 0);
    return PAWL_OK;
}

static int64_t sum_by_name(pawli_conn *conn, const pawli_columns *columns)
{
    pawl_error err = PAWL_ERROR_INIT;
    int64_t sum = 0;
    pawli_op op = {
        .sql = PAWLI_SQL_GET, .columns = columns, .on_row = read_by_name, .context = &sum};

    assert_ok(conn->driver->run(conn, &op, soon(), &err), &err);
    return sum;
}

static const char *ask_session(pawli_conn *conn, const char *sql)
{
    pawl_error err = PAWL_ERROR_INIT;
    char *value = NULL;

    assert_ok(conn->driver->ask(conn, sql, soon(), &value, &err), &err);
    const char *kept = test_note("%s", value);
    free(value);
    return kept;
}

static void read_view(postgres_fixture *g, bool prepare)
{
    static const char *const other_names[] = {"a", "missing", "b"};
    static const pawli_columns others = {other_names, 3};
    pawli_conn *conn;

    g->settings.prepare = prepare;
    conn = connect_to(g);
    ask(g->other, test_note("CREATE VIEW %s.v AS SELECT 1 AS a, 2 AS b", g->names));
    assert_int_equal(120, sum_by_name(conn, &wanted));
    assert_int_equal(120, sum_by_name(conn, &wanted));
    assert_int_equal(210, sum_by_name(conn, &others));
    ask(g->other,
        test_note("DROP VIEW %s.v; CREATE VIEW %s.v AS SELECT 2 AS b, 1 AS a", g->names, g->names));
    assert_int_equal(120, sum_by_name(conn, &wanted));
    ask(g->other, test_note("DROP VIEW %s.v; CREATE VIEW %s.v AS SELECT 8 AS c, 1 AS a, 2 AS b, "
                            "3 AS missing",
                            g->names, g->names));
    assert_int_equal(123, sum_by_name(conn, &wanted));
    if (prepare) { /* once more, under another name */
        assert_int_equal(123, sum_by_name(conn, &wanted));
        assert_string_equal("2", ask_session(conn, "SELECT count(*) FROM pg_prepared_statements"));
    }
    ask(g->other, test_note("DROP VIEW %s.v", g->names));
}

PAWL_TEST(columns_are_found_by_name_and_found_again_after_a_migration)
{
    postgres_fixture *g = postgres_fixture_new();

    g->texts[PAWLI_SQL_GET].text = "SELECT * FROM pawl.v";
    ask(g->other, test_note("CREATE SCHEMA %s", g->names));
    read_view(g, false);
    read_view(g, true);
}

/* ---- values ---- */

#define LONG_AGO 1000000                /* one second after 1970 */
#define LATER INT64_C(4102444800123456) /* 2100 */

static pawl_status check_full(void *context, const pawli_row *row, pawl_error *err)
{
    int *seen = context;
    uint8_t id[16], zero[16] = {0};
    size_t size;

    (void)err;
    (*seen)++;
    pawli_row_uuid(row, 1, id);
    assert_memory_not_equal(id, zero, 16);
    assert_memory_equal(pawli_row_bytes(row, 2, &size), "t\xc3\xb6pic", 6);
    assert_int_equal(6, size);
    assert_memory_equal(pawli_row_bytes(row, 3, &size), "\0\xff'\\", 4);
    assert_int_equal(4, size);
    assert_int_equal(3, pawli_row_int(row, 4));
    assert_memory_equal(pawli_row_bytes(row, 5, &size), "http://x", 8);
    assert_memory_equal(pawli_row_bytes(row, 6, &size), "{ \"a\": [1, null] }", 18);
    assert_int_equal(18, size);
    assert_memory_equal(pawli_row_bytes(row, 7, &size), "c", 1);
    assert_int_equal(9, pawli_row_int(row, 8));
    assert_int_equal(LONG_AGO, pawli_row_time(row, 10).us);
    assert_true(pawli_row_time(row, 11).us == LATER);
    assert_int_equal(1000, pawli_row_int(row, 12));
    assert_true(pawli_row_is_null(row, 16));
    pawli_row_uuid(row, 16, id);
    assert_memory_equal(id, zero, 16);
    assert_null(pawli_row_bytes(row, 17, &size));
    assert_int_equal(0, size);
    assert_int_equal(0, pawli_row_time(row, 20).us);
    return PAWL_OK;
}

PAWL_TEST(all_types_and_nulls_go_both_ways)
{
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_uuid ids[2] = {pawl_uuid_new(), pawl_uuid_new()};
    pawli_value values[2 * COLUMNS];
    pawli_value *full = values + COLUMNS;
    outgoing plain = {NULL, "p", ""};
    pawli_rows rows = {2, COLUMNS, enqueue_names, enqueue_types, values};
    query_result a = {.take_all = true};
    pawli_op send = {
        .sql = PAWLI_SQL_ENQUEUE, .writes = true, .rows = &rows, .on_row = note_row, .context = &a};
    pawli_param by_id[] = {{"message_id", pawli_uuid(ids[1].bytes)}};
    int seen = 0;
    pawli_op find = {.sql = PAWLI_SQL_FIND,
                     .params = by_id,
                     .param_count = 1,
                     .on_row = check_full,
                     .context = &seen};

    deploy(g);
    pawli_conn *conn = connect_to(g);
    fill_row(values, 0, &ids[0], &plain);
    fill_row(full, 1, &ids[1], &plain);
    full[2] = pawli_text("t\xc3\xb6pic");
    full[3] = pawli_bytes("\0\xff'\\", 4);
    full[4] = pawli_int(3);
    full[5] = pawli_text("http://x");
    full[6] = pawli_text("{ \"a\": [1, null] }");
    full[7] = pawli_text("c");
    full[8] = pawli_int(9);
    full[9] = pawli_time((pawl_wall){LONG_AGO});
    full[11] = pawli_time((pawl_wall){LATER});
    full[13] = pawli_int(1000);
    full[14] = pawli_span_ms(1500);
    full[15] = pawli_span_ms(10);
    full[16] = pawli_span_ms(INT64_C(86400000) * 20);
    full[17] = pawli_span_ms(0);
    assert_ok(conn->driver->run(conn, &send, soon(), &err), &err);
    assert_int_equal(2, a.rows);
    assert_int_equal(1, a.first);
    assert_ok(conn->driver->run(conn, &find, soon(), &err), &err);
    assert_int_equal(1, seen);
    assert_string_equal("00:00:01.5 00:00:00.01 480:00:00 00:00:00",
                        ask(g->other, test_note("SELECT concat_ws(' ', lease, retry_base, "
                                                "retry_max, retry_jitter) FROM %s.body WHERE "
                                                "lease IS NOT NULL",
                                                g->names)));
}

static pawl_status check_odd(void *context, const pawli_row *row, pawl_error *err)
{
    size_t size;

    (void)err;
    (*(int *)context)++;
    assert_memory_equal(pawli_row_bytes(row, 0, &size), ":id", 3);
    assert_int_equal(-42, pawli_row_int(row, 1));
    assert_memory_equal(pawli_row_bytes(row, 2, &size), "it's :id", 8);
    assert_memory_equal(pawli_row_bytes(row, 3, &size), " :id ", 5);
    assert_int_equal(-42, pawli_row_int(row, 4));
    assert_int_equal(1, pawli_row_int(row, 5));
    return PAWL_OK;
}

PAWL_TEST(only_real_parameters_are_translated)
{
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    pawli_sql_text texts[PAWLI_SQL_COUNT];
    pawli_engine_sql odd = {texts, NULL, 0, "pawl", 0};
    pawli_param params[] = {{"id", pawli_int(-42)}, {"unused", pawli_null(PAWLI_TEXT)}};
    int seen = 0;
    pawli_op op = {.sql = PAWLI_SQL_GET,
                   .params = params,
                   .param_count = 2,
                   .on_row = check_odd,
                   .context = &seen};
    pawli_op lacking = {.sql = PAWLI_SQL_GET};

    for (int i = 0; i < PAWLI_SQL_COUNT; i++)
        texts[i] = (pawli_sql_text){"odd", "-- :id\nSELECT ':id' AS \":id\", :id::bigint::int8, "
                                           "'it''s :id', $q$ :id $q$, /* :id */ (:id), true;"};
    pawli_statements_free(g->statements);
    assert_ok(pawli_statements_new(&odd, g->names, &g->statements, &err), &err);
    g->settings.statements = g->statements;
    pawli_conn *conn = connect_to(g);
    assert_ok(conn->driver->run(conn, &op, soon(), &err), &err);
    assert_int_equal(1, seen);
    assert_status(PAWL_E_STORE, conn->driver->run(conn, &lacking, soon(), &err), &err);
    assert_ok(conn->driver->run(conn, &op, soon(), &err), &err);
}

/* ---- errors ---- */

PAWL_TEST(every_sqlstate_has_its_status)
{
    static const struct {
        const char *state;
        pawl_status status;
    } cases[] = {
        {"40001", PAWL_E_SERIALIZATION}, {"40P01", PAWL_E_SERIALIZATION},
        {"55P03", PAWL_E_BUSY},          {"57014", PAWL_E_TIMEOUT},
        {"08006", PAWL_E_UNAVAILABLE},   {"57P01", PAWL_E_UNAVAILABLE},
        {"57P03", PAWL_E_UNAVAILABLE},   {"53300", PAWL_E_UNAVAILABLE},
        {"53100", PAWL_E_FULL},          {"53200", PAWL_E_NOMEM},
        {"25006", PAWL_E_READ_ONLY},     {"42501", PAWL_E_DENIED},
        {"28000", PAWL_E_DENIED},        {"3D000", PAWL_E_NOT_FOUND},
        {"42P01", PAWL_E_NO_SCHEMA},     {"3F000", PAWL_E_NO_SCHEMA},
        {"42883", PAWL_E_NO_SCHEMA},     {"XX001", PAWL_E_CORRUPT},
        {"XX002", PAWL_E_CORRUPT},       {"22023", PAWL_E_INVALID},
        {"22P05", PAWL_E_INVALID},       {"54000", PAWL_E_TOO_LARGE},
        {"23505", PAWL_E_STORE},         {"P0001", PAWL_E_STORE},
    };
    postgres_fixture *g = postgres_fixture_new();
    pawli_conn *conn = connect_to(g);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pawl_error err = PAWL_ERROR_INIT;
        const char *sql = test_note("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '%s', MESSAGE = "
                                    "'because', DETAIL = 'private'; END $$",
                                    cases[i].state);
        assert_status(cases[i].status, conn->driver->script(conn, sql, soon(), &err), &err);
        assert_string_equal(cases[i].state, err.sqlstate);
        assert_non_null(strstr(err.message, "because"));
        assert_null(strstr(err.message, "private"));
        assert_false(conn->broken);
    }
}

PAWL_TEST(a_connection_that_cannot_be_made_says_why_and_no_secrets)
{
    static const struct {
        const char *target;
        bool added; /* appended to the test server's */
        pawl_status status;
    } cases[] = {
        {"host=/nowhere/at/all dbname=x password=hush", false, PAWL_E_UNAVAILABLE},
        {" dbname=no_such_database_hush", true, PAWL_E_NOT_FOUND},
        {" user=nobody_of_that_name password=hush", true, PAWL_E_DENIED},
        {"hush", false, PAWL_E_INVALID},
        {"postgresql://u:p@hush@localhost:1/x", false, PAWL_E_UNAVAILABLE},
        {"host=127.0.0.1 port=1 connect_timeout=2 password=hush", false, PAWL_E_UNAVAILABLE},
    };
    postgres_fixture *g = postgres_fixture_new();

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawli_conn *conn = NULL;
        pawli_db_settings settings = g->settings;
        settings.target = test_note("%s%s", cases[i].added ? g->target : "", cases[i].target);
        assert_status(cases[i].status,
                      pawli_driver_postgres->open(&settings, false, soon(), &conn, &err), &err);
        assert_null(conn);
        if (i != 1) /* the database's name is no secret, and useful */
            assert_null(strstr(err.message, "hush"));
    }
}

PAWL_TEST(functions_that_are_not_there_mean_pawl_init)
{
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = connect_to(g);
    claimed c = {0};

    assert_status(PAWL_E_NO_SCHEMA, claim(conn, 1000, NULL, 0, note_claim, &c, &err), &err);
    assert_non_null(strstr(err.message, "pawl init"));
    assert_true(conn->driver->alive(conn));
}

PAWL_TEST(tables_of_another_product_are_refused)
{
    static const struct {
        const char *columns;
        const char *row;
    } others[] = {{"name text", "'pawl'"},
                  {"product text, version text, compatible_from text", "'pawl', 'x', 'y'"},
                  {"product text, version int, compatible_from int", "'other', 1, 1"}};
    postgres_fixture *g = postgres_fixture_new();
    pawli_conn *conn = connect_to(g);

    for (size_t i = 0; i < COUNT_OF(others); i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawli_installed installed = {.version = -1};

        ask(g->other,
            test_note("DROP SCHEMA IF EXISTS %s CASCADE; CREATE SCHEMA %s; "
                      "CREATE TABLE %s.meta (%s); INSERT INTO %s.meta VALUES (%s)",
                      g->names, g->names, g->names, others[i].columns, g->names, others[i].row));
        assert_status(PAWL_E_NOT_OURS,
                      conn->driver->schema(conn, g->names, soon(), &installed, &err), &err);
        assert_int_equal(-1, installed.version);
    }
}

PAWL_TEST(a_second_migration_waits_and_gives_up_in_time)
{
    postgres_fixture *g = postgres_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *one = connect_to(g), *two = connect_to(g);
    const pawli_driver *driver = pawli_driver_postgres;

    assert_ok(driver->begin(one, soon(), &err), &err);
    assert_ok(driver->schema_lock(one, g->names, soon(), &err), &err);
    assert_ok(driver->begin(two, soon(), &err), &err);
    assert_status(
        PAWL_E_BUSY,
        driver->schema_lock(two, g->names, pawli_mono_after(pawli_mono_now(), SECONDS / 4), &err),
        &err);
    driver->rollback(two);
    driver->rollback(one);
    assert_ok(driver->begin(two, soon(), &err), &err);
    assert_ok(driver->schema_lock(two, g->names, soon(), &err), &err);
    driver->rollback(two);
}
