/* tests/conformance/database_test.c - databases that are missing, locked, read-only or damaged. */
#include "queue_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pawl_error refuse_open(const char *url, const pawl_store_options *opts)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    pawl_status st = pawl_store_open(url, opts, &store, &err);

    if (st == PAWL_OK)
        pawl_store_close(store);
    assert_true(st != PAWL_OK);
    assert_int_equal(st, err.status);
    assert_true(strlen(err.message) > 10);
    assert_null(store);
    return err;
}

PAWL_TEST(a_url_is_of_a_known_kind)
{
    static const char *const bad[] = {
        NULL, "", "oracle:x", "sqlite:", "http://x/y", "plain", "SQLITE:x"};

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        pawl_error err = refuse_open(bad[i], NULL);
        pawl_schema_info info = PAWL_SCHEMA_INFO_INIT;

        assert_int_equal(PAWL_E_INVALID, err.status);
        assert_says(&err, "sqlite:");
        assert_status(PAWL_E_INVALID, pawl_schema_inspect(bad[i], NULL, &info, &err), &err);
        assert_status(PAWL_E_INVALID, pawl_schema_deploy(bad[i], NULL, NULL, &err), &err);
    }
}

static void refuse_option(fixture *f, const pawl_store_options *opts, const char *says)
{
    pawl_error err = refuse_open(fixture_url(f), opts);

    assert_int_equal(PAWL_E_INVALID, err.status);
    assert_says(&err, says);
}

PAWL_TEST(the_options_of_a_store_are_in_range)
{
    fixture *f = fixture_open(NULL);
    pawl_store_options good = *fixture_store_options(f), opts = good;

    opts.timeout_ms = 0;
    refuse_option(f, &opts, "timeout_ms");
    opts.timeout_ms = 3600001;
    refuse_option(f, &opts, "timeout_ms");
    opts = good;
    opts.pool_size = 0;
    refuse_option(f, &opts, "pool_size");
    opts.pool_size = 1001;
    refuse_option(f, &opts, "pool_size");
    opts = good;
    opts.durability = (pawl_durability)7;
    refuse_option(f, &opts, "durability");
    opts = good;
    opts.backoff_local.base_ms = 0;
    refuse_option(f, &opts, "backoff_local");
    opts = good;
    opts.backoff_remote.max_ms = 1;
    refuse_option(f, &opts, "backoff_remote");
}

PAWL_TEST(names_of_schemas_and_prefixes_are_plain)
{
    static const char *const bad[] = {
        "",       "1abc",     "Abc",
        "a-b",    "a b",      "a\"b",
        "a;drop", "\xC3\xBC", "a23456789b23456789c23456789d23456789e2345"};
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        pawl_store_options opts = *fixture_store_options(f);

        opts.schema = opts.table_prefix = bad[i];
        refuse_option(f, &opts, "a-z");
    }
}

PAWL_TEST(store_options_may_be_shorter_and_unknown_options_are_refused)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    struct {
        pawl_store_options known;
        int64_t unknown;
    } longer = {*fixture_store_options(f), 0};
    pawl_store_options shorter = *fixture_store_options(f);

    longer.known.size = sizeof longer;
    assert_ok(pawl_store_open(fixture_url(f), &longer.known, &store, &err), &err);
    pawl_store_close(store);
    longer.unknown = 1;
    err = refuse_open(fixture_url(f), &longer.known);
    assert_int_equal(PAWL_E_INVALID, err.status);
    shorter.size = offsetof(pawl_store_options, timeout_ms);
    shorter.timeout_ms = -5;
    assert_ok(pawl_store_open(fixture_url(f), &shorter, &store, &err), &err);
    pawl_store_close(store);
    assert_status(PAWL_E_INVALID, pawl_store_open(fixture_url(f), NULL, NULL, &err), &err);
    pawl_store_close(NULL);
}

PAWL_TEST_ON(sqlite, a_missing_sqlite_file_is_not_found_and_not_created)
{
    const char *path = test_note("%s/none.db", test_directory());
    pawl_error err;

    err = refuse_open(test_note("sqlite:%s", path), NULL);
    assert_int_equal(PAWL_E_NOT_FOUND, err.status);
    assert_says(&err, "none.db");
    assert_int_equal(-1, access(path, F_OK));
    err = refuse_open(test_note("sqlite:%s/no/such/directory/x.db", test_directory()), NULL);
    assert_int_equal(PAWL_E_NOT_FOUND, err.status);
}

PAWL_TEST_ON(sqlite, a_directory_is_no_database)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;

    refuse_open(test_note("sqlite:%s", test_directory()), NULL);
    opts.deploy_schema = true;
    refuse_open(test_note("sqlite:%s", test_directory()), &opts);
}

static void write_at(const char *path, long offset, const char *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);

    assert_true(fd >= 0);
    assert_int_equal((ssize_t)size, pwrite(fd, text, size, offset));
    close(fd);
}

PAWL_TEST_ON(sqlite, a_file_that_is_no_database_is_rejected_and_not_changed)
{
    const char *path = test_note("%s/letter.txt", test_directory());
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    char text[4096], after[4096];
    pawl_error err;
    int fd;

    memset(text, 'a', sizeof text);
    write_at(path, 0, text, sizeof text);
    err = refuse_open(test_note("sqlite:%s", path), NULL);
    assert_int_equal(PAWL_E_NOT_OURS, err.status);
    opts.deploy_schema = true;
    err = refuse_open(test_note("sqlite:%s", path), &opts);
    assert_int_equal(PAWL_E_NOT_OURS, err.status);
    fd = open(path, O_RDONLY);
    assert_int_equal((ssize_t)sizeof after, read(fd, after, sizeof after));
    close(fd);
    assert_memory_equal(text, after, sizeof text);
}

PAWL_TEST_ON(sqlite, a_damaged_sqlite_file_is_reported_as_damaged)
{
    const char *path = test_note("%s/damaged.db", test_directory());
    const char *url = test_note("sqlite:%s", path);
    pawl_error err = PAWL_ERROR_INIT;
    char junk[3000];

    assert_ok(pawl_schema_deploy(url, NULL, NULL, &err), &err);
    memset(junk, 0xA5, sizeof junk);
    write_at(path, 100, junk, sizeof junk); /* keeps the header, breaks the first page */
    err = refuse_open(url, NULL);
    assert_int_equal(PAWL_E_CORRUPT, err.status);
    assert_false(err.retryable);
    assert_true(err.native_code != 0);
}

/* Root may write everywhere, so the call is made as another user. */
static pawl_status try_to_send(const char *url, pawl_error *err)
{
    pawl_message_spec message = queue_message("t", "x");
    pawl_store *store = NULL;
    bool root = geteuid() == 0;
    pawl_status st;

    if (root && seteuid(65534) != 0)
        test_fail("cannot switch to the user nobody");
    st = pawl_store_open(url, NULL, &store, err);
    if (st == PAWL_OK)
        st = pawl_outbox_enqueue(store, &message, NULL, err);
    pawl_store_close(store);
    if (root && seteuid(0) != 0)
        abort();
    return st;
}

PAWL_TEST_ON(sqlite, a_read_only_sqlite_file_is_read_only)
{
    const char *directory = test_directory();
    const char *url = test_note("sqlite:%s/fixed.db", directory);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    assert_ok(pawl_schema_deploy(url, NULL, NULL, &err), &err);
    assert_int_equal(0, chmod(test_note("%s/fixed.db", directory), 0444));
    assert_int_equal(0, chmod(directory, 0555));
    st = try_to_send(url, &err);
    chmod(directory, 0755);
    assert_status(PAWL_E_READ_ONLY, st, &err);
    assert_false(err.retryable);
}

PAWL_TEST_ON(sqlite, an_unreadable_sqlite_file_is_denied)
{
    const char *directory = test_directory();
    const char *url = test_note("sqlite:%s/secret.db", directory);
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_schema_deploy(url, NULL, NULL, &err), &err);
    assert_int_equal(0, chmod(directory, 0755));
    assert_int_equal(0, chmod(test_note("%s/secret.db", directory), 0));
    assert_status(PAWL_E_DENIED, try_to_send(url, &err), &err);
}

/* PgBouncer takes no options at the start of a session. */
PAWL_TEST_ON(postgres_direct, a_read_only_postgres_server_is_read_only)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_store *store = NULL;
    pawl_status st;

    assert_ok(pawl_store_open(
                  test_note("%s options='-c default_transaction_read_only=on'", fixture_url(f)),
                  fixture_store_options(f), &store, &err),
              &err);
    st = pawl_outbox_enqueue(store, &message, NULL, &err);
    pawl_store_close(store);
    assert_status(PAWL_E_READ_ONLY, st, &err);
    assert_string_equal("25006", err.sqlstate);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}

PAWL_TEST_ON(postgres, a_postgres_server_or_database_that_is_not_there)
{
    fixture *f = fixture_open(NULL);
    pawl_error err;

    err = refuse_open("host=/nonexistent dbname=x password=s3cr3t", NULL);
    assert_int_equal(PAWL_E_UNAVAILABLE, err.status);
    assert_true(err.retryable);
    assert_null(strstr(err.message, "s3cr3t"));
    err = refuse_open(test_note("%s dbname=no_such_database", fixture_url(f)), NULL);
    assert_true(err.status == PAWL_E_NOT_FOUND || err.status == PAWL_E_UNAVAILABLE);
    assert_says(&err, "no_such_database");
    err = refuse_open("host= nonsense = = x", NULL);
    assert_int_equal(PAWL_E_INVALID, err.status);
}

PAWL_TEST_ON(postgres, a_postgres_role_without_rights_is_denied)
{
    fixture *f = fixture_open(NULL);
    pawl_error err;

    /* Roles are the whole server's, and this program may run twice at once. */
    fixture_exec(f, "DROP ROLE IF EXISTS pawl_test_guest_%ld", (long)getpid());
    fixture_exec(f, "CREATE ROLE pawl_test_guest_%ld LOGIN", (long)getpid());
    err = refuse_open(test_note("%s user=pawl_test_guest_%ld", fixture_url(f), (long)getpid()),
                      fixture_store_options(f));
    fixture_exec(f, "DROP ROLE pawl_test_guest_%ld", (long)getpid());
    assert_int_equal(PAWL_E_DENIED, err.status);
    assert_string_equal("42501", err.sqlstate);
}

PAWL_TEST(a_database_in_memory_is_a_whole_store)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_messages *list = NULL;
    pawl_store *store = NULL;

    opts.deploy_schema = true;
    assert_ok(pawl_store_open("sqlite::memory:", &opts, &store, &err), &err);
    assert_ok(pawl_outbox_enqueue(store, &message, NULL, &err), &err);
    assert_ok(pawl_queue_claim(store, queue_owner(1), MINUTE_MS, 1, NULL, &list, &err), &err);
    assert_string_equal("x", queue_payloads(queue_keep(list)));
    pawl_store_close(store);
}
