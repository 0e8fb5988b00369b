/* src/db/sqlite/driver_sqlite_test.c - scripts, transactions and savepoints of the SQLite driver.
 */
#include "test.h"

#if PAWL_TEST_SQLITE
#include "fixture_sqlite_test.h"

/* Test scripts replace real ones; any name does. */
#define SCRIPT PAWLI_SQL_PURGE
#define OTHER PAWLI_SQL_GET

static sqlite_fixture *sqlite_fixture_with(const char *script, const char *other)
{
    sqlite_fixture *g = sqlite_fixture_new();

    g->texts[SCRIPT].text = script;
    g->texts[OTHER].text = other ? other : "SELECT 1";
    g->conn = sqlite_fixture_open(g);
    sqlite_fixture_deploy(g, g->conn);
    exec(handle_of(g->conn), "CREATE TABLE t (x, y)");
    return g;
}

static int64_t rows_in_t(sqlite_fixture *g)
{
    return number(handle_of(g->conn), "SELECT count(*) FROM t");
}

PAWL_TEST(each_group_runs_row_by_row_and_comments_do_not_confuse)
{
    sqlite_fixture *g =
        sqlite_fixture_with("-- A comment with a ; and an 'apostrophe.\n"
                            "/* -- @each */\n"
                            "INSERT INTO t VALUES (:p, 'first'); -- behind\n"
                            "\n;\n"
                            "-- @each\n"
                            "-- and why\n"
                            "INSERT INTO t VALUES (:x, '-- @each; not a comment');\n"
                            "--@each\n"
                            "SELECT x FROM t ORDER BY rowid DESC LIMIT 1;\n"
                            "SELECT 100 + count(*) FROM t;\n"
                            "-- @each\n"
                            "SELECT 1000 + :x;\n"
                            "-- the end\n",
                            NULL);
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_value values[] = {pawli_int(7), pawli_int(8), pawli_int(9)};
    pawli_rows rows = numbers(values, 3);
    pawli_param params[] = {{"p", pawli_int(1)}};
    pawli_op op = op_of(SCRIPT, true, &a);

    op.rows = &rows;
    op.params = params;
    op.param_count = 1;
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(a.rows, 7);
    static const int64_t expected[] = {7, 8, 9, 104, 1007, 1008, 1009};
    for (int i = 0; i < 7; i++)
        assert_int_equal(a.first[i], expected[i]);
    rows.row_count = 0; /* nothing for @each, the rest runs */
    a = (answers){0};
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(a.rows, 1);
    assert_int_equal(a.first[0], 105);
}

/* ---- chains ---- */

PAWL_TEST(a_chain_is_one_transaction)
{
    sqlite_fixture *g =
        sqlite_fixture_with("-- @stop-unless-changed\n"
                            "UPDATE t SET y = y WHERE x = :p; SELECT 1 FROM t LIMIT 1;",
                            "INSERT INTO t VALUES (:p, (SELECT :now)); SELECT count(*) FROM t; "
                            "INSERT INTO t SELECT NULL, abs(-9223372036854775807 - (:p = 0));");
    pawl_error err = PAWL_ERROR_INIT;
    answers first = {0}, second = {0};
    pawli_param params[] = {{"p", pawli_int(0)}};
    pawli_op op = op_of(SCRIPT, true, &first), then = op_of(OTHER, true, &second);

    op.params = then.params = params;
    op.param_count = then.param_count = 1;
    op.next = &then;
    assert_status(run(g->conn, &op, &err), PAWL_E_STORE, &err); /* the last statement fails */
    assert_int_equal(rows_in_t(g), 0);
    params[0].value = pawli_int(7);
    assert_ok(run(g->conn, &op, &err), &err); /* the first script stops, the second runs */
    assert_int_equal(rows_in_t(g), 2);
    assert_int_equal(first.rows, 0);
    second = (answers){0};
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(first.rows, 1);
    assert_int_equal(second.rows, 1);
    assert_int_equal(second.first[0], 3);
    assert_int_equal(rows_in_t(g), 4);
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

static int64_t sum_by_name(sqlite_fixture *g, const pawli_columns *columns)
{
    pawl_error err = PAWL_ERROR_INIT;
    int64_t sum = 0;
    pawli_op op = {.sql = SCRIPT, .columns = columns, .on_row = read_by_name, .context = &sum};

    assert_ok(run(g->conn, &op, &err), &err);
    return sum;
}

PAWL_TEST(columns_are_found_by_name_in_every_statement_of_a_script)
{
    sqlite_fixture *g = sqlite_fixture_with(
        "SELECT 1 AS a, 2 AS b; SELECT 7 AS c, 2 AS b, 8 AS d, 1 AS a, 9 AS a;", NULL);
    static const char *const other_names[] = {"a", "missing", "b"};
    static const pawli_columns others = {other_names, 3};

    assert_int_equal(sum_by_name(g, &wanted), 240);
    assert_int_equal(sum_by_name(g, &wanted), 240);
    assert_int_equal(sum_by_name(g, &others), 420);
    assert_int_equal(sum_by_name(g, NULL), 100 * 0 + 10 * 1 + 2 + 100 * 8 + 10 * 7 + 2);
}

PAWL_TEST(columns_are_found_again_after_a_migration)
{
    sqlite_fixture *g = sqlite_fixture_with("SELECT * FROM v", NULL);
    sqlite3 *handle = sqlite_fixture_handle(g);

    exec(handle, "CREATE VIEW v AS SELECT 1 AS a, 2 AS b");
    assert_int_equal(sum_by_name(g, &wanted), 120);
    exec(handle, "DROP VIEW v; CREATE VIEW v AS SELECT 2 AS b, 1 AS a");
    assert_int_equal(sum_by_name(g, &wanted), 120);
    exec(handle, "DROP VIEW v; CREATE VIEW v AS SELECT 8 AS c, 1 AS a, 2 AS b, 3 AS missing");
    assert_int_equal(sum_by_name(g, &wanted), 123);
}

/* ---- scripts ---- */

PAWL_TEST(a_script_stops_when_nothing_changed)
{
    sqlite_fixture *g = sqlite_fixture_with("-- @stop-unless-changed\n"
                                            "UPDATE t SET y = 1 WHERE x = :p;\n"
                                            "INSERT INTO t VALUES (2, 2);\n"
                                            "SELECT 5;",
                                            NULL);
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_param params[] = {{"p", pawli_int(1)}};
    pawli_op op = op_of(SCRIPT, true, &a);

    op.params = params;
    op.param_count = 1;
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(a.rows, 0);
    assert_int_equal(rows_in_t(g), 0);
    exec(handle_of(g->conn), "INSERT INTO t VALUES (1, 0)");
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(a.sum, 5);
    assert_int_equal(rows_in_t(g), 2);
}

PAWL_TEST(a_missing_parameter_is_named)
{
    sqlite_fixture *g = sqlite_fixture_with("SELECT 1; SELECT :lost;", "-- @each\nSELECT :x;");
    pawl_error err = PAWL_ERROR_INIT;
    pawli_op op = op_of(SCRIPT, false, NULL);
    pawli_op other = op_of(OTHER, false, NULL);
    pawli_param params[] = {{"lost", pawli_int(1)}};

    assert_status(PAWL_E_STORE, run(g->conn, &op, &err), &err);
    assert_non_null(strstr(err.message, ":lost"));
    assert_status(PAWL_E_STORE, run(g->conn, &other, &err), &err);
    assert_non_null(strstr(err.message, "rows"));
    op.params = params; /* and the error is not permanent */
    op.param_count = 1;
    assert_ok(run(g->conn, &op, &err), &err);
}

PAWL_TEST(an_unknown_mark_is_refused)
{
    sqlite_fixture *g = sqlite_fixture_with("-- @evry\nSELECT 1;", NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawli_op op = op_of(SCRIPT, false, NULL);

    assert_status(PAWL_E_STORE, run(g->conn, &op, &err), &err);
    assert_non_null(strstr(err.message, "mark"));
}

PAWL_TEST(callers_may_bring_their_parameters_in_another_order)
{
    sqlite_fixture *g = sqlite_fixture_with("-- @each\nSELECT :a * 100 + :b * 10 + :x;", NULL);
    static const char *const names[] = {"unused", "x"};
    static const pawli_type types[] = {PAWLI_TEXT, PAWLI_INT};
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_value one[] = {pawli_int(3)};
    pawli_value two[] = {pawli_text("?"), pawli_int(4)};
    pawli_rows narrow = numbers(one, 1);
    pawli_rows wide = {1, 2, names, types, two};
    pawli_param ab[] = {{"a", pawli_int(1)}, {"b", pawli_int(2)}};
    pawli_param ba[] = {{"b", pawli_int(2)}, {"more", pawli_int(9)}, {"a", pawli_int(1)}};
    pawli_op op = op_of(SCRIPT, false, &a);

    for (int i = 0; i < 2; i++) {
        op.params = ab;
        op.param_count = 2;
        op.rows = &narrow;
        assert_ok(run(g->conn, &op, &err), &err);
        op.params = ba;
        op.param_count = 3;
        op.rows = &wide;
        assert_ok(run(g->conn, &op, &err), &err);
    }
    assert_int_equal(a.rows, 4);
    assert_int_equal(a.sum, 123 + 124 + 123 + 124);
}

/* ---- values ---- */

static pawl_status check_values(void *context, const pawli_row *row, pawl_error *err)
{
    static const uint8_t zero[16];
    uint8_t uuid[16];
    size_t size = 99;

    (void)err;
    assert_int_equal(pawli_row_int(row, 0), INT64_MIN);
    assert_int_equal(pawli_row_int(row, 1), 1);
    assert_memory_equal(pawli_row_bytes(row, 2, &size), "h\xc3\xa4", 3);
    assert_int_equal(size, 3);
    assert_memory_equal(pawli_row_bytes(row, 3, &size), "a\0b", 3);
    assert_int_equal(size, 3);
    assert_non_null(pawli_row_bytes(row, 4, &size)); /* empty is not NULL */
    assert_int_equal(size, 0);
    assert_false(pawli_row_is_null(row, 4));
    pawli_row_uuid(row, 5, uuid);
    assert_memory_equal(uuid, "0123456789abcdef", 16);
    assert_int_equal(pawli_row_time(row, 6).us, 1234567);
    assert_int_equal(pawli_row_int(row, 7), 5000);
    assert_true(pawli_row_is_null(row, 8));
    assert_null(pawli_row_bytes(row, 8, &size));
    assert_int_equal(size, 0);
    assert_int_equal(pawli_row_int(row, 8), 0);
    assert_int_equal(pawli_row_time(row, 8).us, 0);
    pawli_row_uuid(row, 8, uuid);
    assert_memory_equal(uuid, zero, 16);
    assert_non_null(pawli_row_bytes(row, 9, &size)); /* an empty text */
    assert_int_equal(size, 0);
    ++*(int *)context;
    return PAWL_OK;
}

static void check_all_types(sqlite_fixture *g)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_param params[] = {
        {"int", pawli_int(INT64_MIN)},
        {"bool", pawli_bool(true)},
        {"text", pawli_text("h\xc3\xa4")},
        {"bytes", pawli_bytes("a\0b", 3)},
        {"empty", pawli_bytes(NULL, 0)},
        {"uuid", pawli_uuid((const uint8_t *)"0123456789abcdef")},
        {"time", pawli_time((pawl_wall){1234567})},
        {"span", pawli_span_ms(5)},
        {"null", pawli_null(PAWLI_BYTES)},
        {"none", pawli_text("")},
    };
    int seen = 0;
    pawli_op op = {.sql = SCRIPT,
                   .params = params,
                   .param_count = PAWLI_COUNT(params),
                   .on_row = check_values,
                   .context = &seen};

    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(seen, 1);
}

static const char all_types[] =
    "SELECT :int, :bool, :text, :bytes, :empty, :uuid, :time, :span, :null, :none";

PAWL_TEST(values_of_every_type_go_in_and_come_back)
{
    check_all_types(sqlite_fixture_with(all_types, NULL));
}

PAWL_TEST(a_file_in_utf16_returns_utf8)
{
    sqlite_fixture *g = sqlite_fixture_new();
    sqlite3 *handle = sqlite_fixture_handle(g);

    exec(handle, "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (x)");
    g->texts[SCRIPT].text = all_types;
    g->conn = sqlite_fixture_open(g);
    check_all_types(g);
}

PAWL_TEST(a_list_of_texts_arrives_as_json)
{
    sqlite_fixture *g = sqlite_fixture_with(
        "SELECT count(*) FROM json_each(:list);"
        "SELECT :list IS NULL;"
        "SELECT value = 'a\"b' FROM json_each(:list) WHERE key = 0;"
        "SELECT value = '\\n' || char(10) || char(1) || 'ä' FROM json_each(:list) "
        "WHERE key = 1;"
        "SELECT value = '' FROM json_each(:list) WHERE key = 2;"
        "SELECT json_array_length(:second);",
        NULL);
    static const char *const items[] = {"a\"b", "\\n\n\x01ä", ""};
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_param params[] = {{"list", pawli_texts(items, 3)}, {"second", pawli_texts(items, 0)}};
    pawli_op op = op_of(SCRIPT, false, &a);
    static const int64_t expected[] = {3, 0, 1, 1, 1, 0};

    op.params = params;
    op.param_count = 2;
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(a.rows, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(a.first[i], expected[i]);
    a = (answers){0};
    params[0].value = pawli_texts(NULL, 0);
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(a.first[0], 0);
    assert_int_equal(a.first[1], 1);
}

PAWL_TEST(a_value_that_sqlite_does_not_take_is_too_large)
{
    sqlite_fixture *g = sqlite_fixture_with("SELECT length(:p)", NULL);
    pawl_error err = PAWL_ERROR_INIT;
    char text[2000] = "";
    pawli_param params[] = {{"p", pawli_bytes(text, sizeof text)}};
    pawli_op op = op_of(SCRIPT, false, NULL);

    sqlite3_limit(handle_of(g->conn), SQLITE_LIMIT_LENGTH, 1000);
    op.params = params;
    op.param_count = 1;
    assert_status(PAWL_E_TOO_LARGE, run(g->conn, &op, &err), &err);
}

PAWL_TEST(the_clock_is_read_once_for_an_op)
{
    sqlite_fixture *g =
        sqlite_fixture_with("-- @each\nINSERT INTO t VALUES (:now, :x);\nSELECT :now;", NULL);
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_value values[] = {pawli_int(1), pawli_int(2)};
    pawli_rows rows = numbers(values, 2);
    pawli_op op = op_of(SCRIPT, true, &a);
    sqlite3 *handle = handle_of(g->conn);

    /* A clock that advances at every reading. */
    exec(handle,
         "DROP VIEW pawl_wall;"
         "CREATE VIEW pawl_wall AS SELECT 9000000000000000 + abs(random() % 1000000000) AS now");
    op.rows = &rows;
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(number(handle, "SELECT count(DISTINCT x) FROM t"), 1);
    assert_int_equal(a.first[0], number(handle, "SELECT max(x) FROM t"));
    exec(handle, "DROP VIEW pawl_clock");
    assert_status(PAWL_E_NO_SCHEMA, run(g->conn, &op, &err), &err);
    assert_int_equal(sqlite3_get_autocommit(handle), 1);
}

/* ---- transactions ---- */

static const char two_inserts[] = "INSERT INTO t VALUES (:p, 1);\n"
                                  "INSERT INTO t VALUES (:p, 2);\n"
                                  "SELECT :p;";

static pawl_status run_inserts(sqlite_fixture *g, int64_t value, pawl_status refuse_with,
                               pawl_error *err)
{
    answers a = {.refuse_with = refuse_with};
    pawli_param params[] = {{"p", pawli_int(value)}};
    pawli_op op = op_of(SCRIPT, true, &a);

    op.params = params;
    op.param_count = 1;
    return run(g->conn, &op, err);
}

PAWL_TEST(a_callback_that_refuses_undoes_the_op)
{
    sqlite_fixture *g = sqlite_fixture_with(two_inserts, NULL);
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(PAWL_E_CONFLICT, run_inserts(g, 1, PAWL_E_CONFLICT, &err), &err);
    assert_string_equal(err.message, "refused by the callback");
    assert_int_equal(rows_in_t(g), 0);
    assert_ok(run_inserts(g, 1, PAWL_OK, &err), &err);
    assert_int_equal(rows_in_t(g), 2);
}

PAWL_TEST(an_op_that_fails_inside_a_transaction_leaves_the_rest)
{
    sqlite_fixture *g = sqlite_fixture_with(two_inserts, NULL);
    const pawli_driver *driver = pawli_driver_sqlite;
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(driver->begin(g->conn, soon(), &err), &err);
    assert_ok(run_inserts(g, 1, PAWL_OK, &err), &err);
    assert_status(PAWL_E_CONFLICT, run_inserts(g, 2, PAWL_E_CONFLICT, &err), &err);
    assert_ok(run_inserts(g, 3, PAWL_OK, &err), &err);
    assert_ok(driver->commit(g->conn, soon(), &err), &err);
    assert_int_equal(number(handle_of(g->conn), "SELECT sum(x) FROM t"), 8);
    assert_ok(driver->begin(g->conn, soon(), &err), &err);
    assert_ok(run_inserts(g, 4, PAWL_OK, &err), &err);
    driver->rollback(g->conn);
    assert_int_equal(number(handle_of(g->conn), "SELECT sum(x) FROM t"), 8);
    assert_false(g->conn->broken);
}

PAWL_TEST(a_constraint_is_a_store_error_and_undone)
{
    sqlite_fixture *g = sqlite_fixture_with(two_inserts, NULL);
    pawl_error err = PAWL_ERROR_INIT;

    exec(handle_of(g->conn), "CREATE UNIQUE INDEX u ON t (x)");
    assert_status(PAWL_E_STORE, run_inserts(g, 1, PAWL_OK, &err), &err);
    assert_int_equal(err.native_code, SQLITE_CONSTRAINT_UNIQUE);
    assert_int_equal(rows_in_t(g), 0);
    assert_int_equal(sqlite3_get_autocommit(handle_of(g->conn)), 1);
}

PAWL_TEST(a_full_database_is_reported_and_rolled_back)
{
    sqlite_fixture *g = sqlite_fixture_with("INSERT INTO t VALUES (1, 1);"
                                            "INSERT INTO t VALUES (zeroblob(:p), 1)",
                                            NULL);
    pawl_error err = PAWL_ERROR_INIT;

    exec(handle_of(g->conn), "PRAGMA max_page_count = 100");
    assert_status(PAWL_E_FULL, run_inserts(g, 1000000, PAWL_OK, &err), &err);
    assert_int_equal(rows_in_t(g), 0);
    assert_ok(run_inserts(g, 10, PAWL_OK, &err), &err);
    assert_int_equal(rows_in_t(g), 2);
}

/* ---- a disk that fails to sync the log ---- */

static bool sync_fails;
static sqlite3_vfs failing_vfs;
static const sqlite3_io_methods *real_methods;

static int failing_sync(sqlite3_file *file, int flags)
{
    return sync_fails ? SQLITE_IOERR_FSYNC : real_methods->xSync(file, flags);
}

static int failing_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                        int *ret_flags)
{
    static sqlite3_io_methods methods;
    sqlite3_vfs *real = vfs->pAppData;
    int code = real->xOpen(real, name, file, flags, ret_flags);

    if (code == SQLITE_OK && (flags & SQLITE_OPEN_WAL)) {
        real_methods = file->pMethods;
        methods = *real_methods;
        methods.xSync = failing_sync;
        file->pMethods = &methods;
    }
    return code;
}

static void mend_disk(void *unused)
{
    (void)unused;
    sync_fails = false;
    sqlite3_vfs_unregister(&failing_vfs);
}

PAWL_TEST(a_commit_whose_sync_fails_is_in_doubt_and_breaks_the_connection)
{
    sqlite_fixture *g = sqlite_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;

    failing_vfs = *sqlite3_vfs_find(NULL);
    failing_vfs.pAppData = sqlite3_vfs_find(NULL);
    failing_vfs.zName = "failing";
    failing_vfs.xOpen = failing_open;
    test_defer(mend_disk, NULL);
    assert_int_equal(sqlite3_vfs_register(&failing_vfs, 1), SQLITE_OK);
    g->settings.durability = PAWL_DURABILITY_FULL;
    g->texts[SCRIPT].text = two_inserts;
    g->conn = sqlite_fixture_open(g);
    sqlite_fixture_deploy(g, g->conn);
    exec(handle_of(g->conn), "CREATE TABLE t (x, y)");
    sync_fails = true;
    assert_status(PAWL_E_IN_DOUBT, run_inserts(g, 1, PAWL_OK, &err), &err);
    assert_int_equal(err.native_code, SQLITE_IOERR_FSYNC);
    assert_true(g->conn->broken);
    assert_int_equal(sqlite3_get_autocommit(handle_of(g->conn)), 1);
    /* The same over several ops. */
    sync_fails = false;
    pawli_conn *second = sqlite_fixture_open(g);
    g->conn = second;
    assert_ok(pawli_driver_sqlite->begin(second, soon(), &err), &err);
    assert_ok(run_inserts(g, 2, PAWL_OK, &err), &err);
    sync_fails = true;
    assert_status(PAWL_E_IN_DOUBT, pawli_driver_sqlite->commit(second, soon(), &err), &err);
    assert_true(second->broken);
}

static int refuse_commit(void *context)
{
    (void)context;
    return 1;
}

PAWL_TEST(a_commit_that_was_refused_is_not_in_doubt)
{
    sqlite_fixture *g = sqlite_fixture_with(two_inserts, NULL);
    pawl_error err = PAWL_ERROR_INIT;

    sqlite3_commit_hook(handle_of(g->conn), refuse_commit, NULL);
    assert_status(PAWL_E_STORE, run_inserts(g, 1, PAWL_OK, &err), &err);
    sqlite3_commit_hook(handle_of(g->conn), NULL, NULL);
    assert_false(g->conn->broken);
    assert_int_equal(rows_in_t(g), 0);
    assert_ok(run_inserts(g, 1, PAWL_OK, &err), &err);
}

static pawl_status interrupt_now(void *context, const pawli_row *row, pawl_error *err)
{
    (void)row;
    (void)err;
    pawli_driver_sqlite->interrupt(context);
    return PAWL_OK;
}

/* Interrupting a writing statement rolls back SQLite's whole transaction. */
PAWL_TEST(a_transaction_that_sqlite_rolled_back_must_be_restarted)
{
    sqlite_fixture *g =
        sqlite_fixture_with(two_inserts, "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                                         "SELECT i + 1 FROM n) SELECT i, i FROM n");
    const pawli_driver *driver = pawli_driver_sqlite;
    pawl_error err = PAWL_ERROR_INIT;
    pawli_op op = op_of(OTHER, true, NULL);

    assert_ok(driver->begin(g->conn, soon(), &err), &err);
    assert_ok(run_inserts(g, 1, PAWL_OK, &err), &err);
    assert_status(PAWL_E_TIMEOUT,
                  driver->run(g->conn, &op, pawli_mono_after(pawli_mono_now(), 20000), &err), &err);
    assert_int_equal(sqlite3_get_autocommit(handle_of(g->conn)), 1);
    assert_status(PAWL_E_TX_RESTART, run_inserts(g, 2, PAWL_OK, &err), &err);
    assert_status(PAWL_E_TX_RESTART, driver->commit(g->conn, soon(), &err), &err);
    driver->rollback(g->conn);
    assert_int_equal(rows_in_t(g), 0);
    assert_ok(run_inserts(g, 3, PAWL_OK, &err), &err);
    assert_int_equal(rows_in_t(g), 2);
}

PAWL_TEST(an_interrupt_before_the_commit_undoes_the_op)
{
    sqlite_fixture *g = sqlite_fixture_with("INSERT INTO t VALUES (1, 1); SELECT 1;", NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawli_op op = {.sql = SCRIPT, .writes = true, .on_row = interrupt_now, .context = g->conn};

    assert_status(PAWL_E_INTERRUPTED, run(g->conn, &op, &err), &err);
    atomic_store(&g->conn->stop, false);
    assert_int_equal(rows_in_t(g), 0);
    op.on_row = NULL;
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(rows_in_t(g), 1);
}
#endif
