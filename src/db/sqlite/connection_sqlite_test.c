/* src/db/sqlite/connection_sqlite_test.c - opening files of all kinds, and reading the schema.
 */
#include "test.h"

#if PAWL_TEST_SQLITE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture_sqlite_test.h"

#define NOBODY 65534

/* Expects opening to fail like this. */
static void expect_refusal(sqlite_fixture *g, bool reader, pawl_status expected, const char *words)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *conn = NULL;

    assert_status(expected, pawli_driver_sqlite->open(&g->settings, reader, soon(), &conn, &err),
                  &err);
    assert_null(conn);
    if (!strstr(err.message, words) || !strstr(err.message, g->settings.target))
        test_fail("the message should name the path and '%s': %s", words, err.message);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

PAWL_TEST(a_missing_file_is_not_created_unless_asked)
{
    sqlite_fixture *g = sqlite_fixture_new();

    g->settings.create = false;
    expect_refusal(g, false, PAWL_E_NOT_FOUND, "pawl init");
    assert_int_equal(access(g->settings.target, F_OK), -1);
    g->settings.create = true;
    expect_refusal(g, true, PAWL_E_NOT_FOUND, "pawl init"); /* a reader never creates a file */
    assert_int_equal(access(g->settings.target, F_OK), -1);
    sqlite_fixture_open(g);
    assert_int_equal(access(g->settings.target, F_OK), 0);
}

PAWL_TEST(paths_that_cannot_be_a_database_are_explained)
{
    sqlite_fixture *g = sqlite_fixture_new();
    const char *directory = test_directory();

    g->settings.target = directory;
    expect_refusal(g, false, PAWL_E_INVALID, "directory");
    expect_refusal(g, true, PAWL_E_INVALID, "directory");
    g->settings.target = test_note("%s/not/there.db", directory);
    expect_refusal(g, false, PAWL_E_NOT_FOUND, "directory");
    g->settings.create = false;
    expect_refusal(g, false, PAWL_E_NOT_FOUND, "directory");
    g->settings.create = true;
    g->settings.target = test_note("%s/pipe", directory);
    assert_int_equal(mkfifo(g->settings.target, 0600), 0);
    expect_refusal(g, false, PAWL_E_INVALID, "regular");
    g->settings.target = "";
    expect_refusal(g, false, PAWL_E_INVALID, "empty");
    g->settings.target = "file:x.db?mode=memory";
    expect_refusal(g, false, PAWL_E_INVALID, "URI");
}

PAWL_TEST(a_file_that_is_no_database_is_rejected)
{
    sqlite_fixture *g = sqlite_fixture_new();
    char text[5000];

    memset(text, 'x', sizeof text);
    write_file(g->settings.target, text, sizeof text);
    expect_refusal(g, false, PAWL_E_NOT_OURS, "not a SQLite database");
    expect_refusal(g, true, PAWL_E_NOT_OURS, "not a SQLite database");
    write_file(g->settings.target, "hello", 5);
    expect_refusal(g, false, PAWL_E_NOT_OURS, "not a SQLite database");
}

PAWL_TEST(a_corrupt_database_is_reported)
{
    sqlite_fixture *g = sqlite_fixture_ready();
    char zeros[3000] = "";

    pawli_driver_sqlite->close(g->conn);
    test_defer_cancel(g->conn);
    int fd = open(g->settings.target, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, 100), sizeof zeros); /* the schema's page */
    close(fd);
    expect_refusal(g, false, PAWL_E_CORRUPT, "damaged");
    expect_refusal(g, true, PAWL_E_CORRUPT, "damaged");
}

/* Permissions do not bind root, so these tests run as another user. */
static void become_root(void *unused)
{
    (void)unused;
    if (geteuid() != getuid() && seteuid(getuid()) != 0)
        abort();
}

static void become_unprivileged(void)
{
    test_defer(become_root, NULL);
    if (geteuid() == 0)
        assert_int_equal(seteuid(NOBODY), 0);
}

PAWL_TEST(a_file_without_permission_is_read_only_or_denied)
{
    sqlite_fixture *g = sqlite_fixture_ready();
    const char *target = g->settings.target;
    const char *directory = test_note("%.*s", (int)(strrchr(target, '/') - target), target);

    pawli_driver_sqlite->close(g->conn);
    test_defer_cancel(g->conn);
    assert_int_equal(chmod(directory, 0777), 0);
    assert_int_equal(chmod(g->settings.target, 0444), 0);
    become_unprivileged();
    expect_refusal(g, false, PAWL_E_READ_ONLY, "permission to write");
    become_root(NULL);
    assert_int_equal(chmod(g->settings.target, 0000), 0);
    become_unprivileged();
    expect_refusal(g, false, PAWL_E_DENIED, "permission");
    expect_refusal(g, true, PAWL_E_DENIED, "permission");
    become_root(NULL);
    assert_int_equal(chmod(g->settings.target, 0666), 0);
    assert_int_equal(chmod(directory, 0555), 0);
    become_unprivileged();
    expect_refusal(g, false, PAWL_E_READ_ONLY, "permission"); /* the -wal file cannot be created */
    become_root(NULL);
    assert_int_equal(chmod(directory, 0700), 0);
}

PAWL_TEST(a_connection_is_set_up_as_asked)
{
    sqlite_fixture *g = sqlite_fixture_ready();
    sqlite3 *writer = handle_of(g->conn);
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *reader = NULL;
    answers a = {0};
    pawli_op op = op_of(PAWLI_SQL_NOW, false, &a);

    assert_int_equal(number(writer, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    assert_int_equal(number(writer, "PRAGMA synchronous"), 1);
    assert_int_equal(number(writer, "PRAGMA foreign_keys"), 1);
    assert_int_equal(number(writer, "PRAGMA temp_store"), 2);
    assert_int_equal(number(writer, "PRAGMA cache_size"), -8000);
    g->settings.durability = PAWL_DURABILITY_FULL;
    assert_int_equal(number(handle_of(sqlite_fixture_open(g)), "PRAGMA synchronous"), 2);
    assert_ok(pawli_driver_sqlite->open(&g->settings, true, soon(), &reader, &err), &err);
    test_defer(close_conn, reader);
    assert_true(reader->read_only);
    assert_int_equal(number(handle_of(reader), "PRAGMA query_only"), 1);
    assert_ok(run(reader, &op, &err), &err);
    assert_true(a.first[0] > INT64_C(1600000000000000));
    op = op_of(PAWLI_SQL_REAP, true, NULL);
    pawli_param params[] = {{"limit", pawli_int(1)}};
    op.params = params;
    op.param_count = 1;
    assert_status(PAWL_E_READ_ONLY, run(reader, &op, &err), &err);
    assert_true(pawli_driver_sqlite->alive(reader));
}

PAWL_TEST(checking_another_programs_file_keeps_its_journal_mode)
{
    sqlite_fixture *g = sqlite_fixture_new();
    sqlite3 *handle = sqlite_fixture_handle(g);
    const char *mode = "SELECT journal_mode = 'delete' FROM pragma_journal_mode";

    exec(handle, "CREATE TABLE customer (name)");
    g->settings.create = false;
    sqlite_fixture_open(g);
    assert_int_equal(number(handle, mode), 1);
    g->settings.create = true; /* pawl's tables are about to be created */
    sqlite_fixture_open(g);
    assert_int_equal(number(handle, mode), 0);
}

PAWL_TEST(a_database_in_memory_needs_no_file)
{
    sqlite_fixture *g = sqlite_fixture_new();
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_op op = op_of(PAWLI_SQL_NOW, false, &a);

    g->settings.target = ":memory:";
    g->settings.create = false;
    g->conn = sqlite_fixture_open(g);
    sqlite_fixture_deploy(g, g->conn);
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(a.rows, 1);
    assert_int_equal(access(":memory:", F_OK), -1);
}

/* ---- the schema ---- */

static void expect_schema(sqlite_fixture *g, pawl_status expected, int version, int compatible_from)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_installed seen = {.version = -1, .compatible_from = -1};

    assert_status(expected,
                  pawli_driver_sqlite->schema(g->conn, g->settings.names, soon(), &seen, &err),
                  &err);
    assert_int_equal(seen.version, version);
    assert_int_equal(seen.compatible_from, compatible_from);
    if (expected == PAWL_E_NOT_OURS)
        assert_non_null(strstr(err.message, "mine_meta"));
}

PAWL_TEST(the_schema_is_recognised_or_refused)
{
    sqlite_fixture *g = sqlite_fixture_new();

    g->settings.names = "mine_";
    g->conn = sqlite_fixture_open(g);
    sqlite3 *handle = handle_of(g->conn);
    expect_schema(g, PAWL_OK, 0, 0);
    exec(handle, "CREATE TABLE mine_meta (product, version)");
    expect_schema(g, PAWL_E_NOT_OURS, -1, -1);
    exec(handle, "ALTER TABLE mine_meta ADD compatible_from");
    exec(handle, "ALTER TABLE mine_meta ADD code_release");
    exec(handle, "ALTER TABLE mine_meta ADD code_digest");
    expect_schema(g, PAWL_E_NOT_OURS, -1, -1); /* no row */
    exec(handle, "INSERT INTO mine_meta VALUES ('other', 3, 2, 0, '')");
    expect_schema(g, PAWL_E_NOT_OURS, -1, -1);
    exec(handle, "UPDATE mine_meta SET product = 'pawl', version = 'three'");
    expect_schema(g, PAWL_E_NOT_OURS, -1, -1);
    exec(handle, "UPDATE mine_meta SET version = 3");
    expect_schema(g, PAWL_OK, 3, 2);
    exec(handle, "DROP TABLE mine_meta");
    sqlite_fixture_deploy(g, g->conn);
    expect_schema(g, PAWL_OK, (int)pawli_sql_sqlite.migration_count, 1);
}

PAWL_TEST(a_schema_script_that_fails_can_be_rolled_back)
{
    sqlite_fixture *g = sqlite_fixture_new();
    const pawli_driver *driver = pawli_driver_sqlite;
    pawl_error err = PAWL_ERROR_INIT;

    g->conn = sqlite_fixture_open(g);
    assert_ok(driver->begin(g->conn, soon(), &err), &err);
    assert_ok(driver->schema_lock(g->conn, "pawl_", soon(), &err), &err);
    assert_ok(driver->script(g->conn, " -- nothing\n", soon(), &err), &err);
    assert_status(
        PAWL_E_STORE,
        driver->script(g->conn, "CREATE TABLE a (x); -- ;\nCREATE TABEL b;", soon(), &err), &err);
    driver->rollback(g->conn);
    assert_int_equal(number(handle_of(g->conn), "SELECT count(*) FROM sqlite_schema"), 0);
}
#endif
