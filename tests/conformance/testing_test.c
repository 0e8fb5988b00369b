/* tests/conformance/testing_test.c - temporary stores for an application's own tests. */
#include <pawl/testing.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handle.h"
#include "queue_fixture.h"

static bool is_postgres(void)
{
    const char *engine = getenv("PAWL_TEST_ENGINE");

    return engine && strcmp(engine, "postgres") == 0;
}

static const char *location(void)
{
    return is_postgres() ? getenv("PAWL_TEST_POSTGRES") : NULL;
}

static void free_testing(void *testing)
{
    pawl_testing_free(testing);
}

static pawl_testing *make_testing(const char *url, bool virtual_clock)
{
    pawl_testing_options opts = PAWL_TESTING_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_testing *testing = NULL;

    opts.virtual_clock = virtual_clock;
    assert_ok(pawl_testing_new(url, &opts, &testing, &err), &err);
    test_defer(free_testing, testing);
    return testing;
}

static void end_testing(pawl_testing *testing)
{
    test_defer_cancel(testing);
    pawl_testing_free(testing);
}

/* A query of the application; the result is valid until the test ends. */
static const char *ask_database(const char *url, const char *sql)
{
    const handle_engine *engine = is_postgres() ? handle_engine_postgres : handle_engine_sqlite;
    char message[512];
    char *value = NULL;
    handle *h = engine->open(is_postgres() ? url : url + strlen("sqlite:"), message);

    if (!h || !engine->run(h, sql, &value, message))
        test_fail("%s: %s", sql, message);
    engine->close(h);
    const char *kept = test_note("%s", value ? value : "");
    free(value);
    return kept;
}

static bool schema_exists(const char *schema)
{
    return strcmp("1", ask_database(location(), test_note("SELECT count(*) FROM pg_namespace"
                                                          " WHERE nspname = '%s'",
                                                          schema))) == 0;
}

static int files_in(const char *path)
{
    DIR *directory = path ? opendir(path) : NULL;
    int count = 0;

    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* Lists the temporary stores, where this engine creates them. */
static int left_behind(void)
{
    return files_in(getenv("TMPDIR"));
}

static void put_back(void *before)
{
    if (before)
        (void)setenv("TMPDIR", before, 1);
    else
        (void)unsetenv("TMPDIR");
    free(before);
}

/* This test has its own folder for temporary directories. */
static void use_directory(const char *path)
{
    assert_int_equal(0, setenv("TMPDIR", path, 1));
}

static const char *use_own_directory(void)
{
    const char *before = getenv("TMPDIR");
    const char *own = test_directory();

    test_defer(put_back, before ? strdup(before) : NULL);
    use_directory(own);
    return own;
}

static void send_delayed(pawl_testing *testing, const char *topic, int64_t delay_ms)
{
    pawl_message_spec message = queue_message(topic, "x");
    pawl_error err = PAWL_ERROR_INIT;

    message.delay_ms = delay_ms;
    assert_ok(pawl_outbox_enqueue(pawl_testing_store(testing), &message, NULL, &err), &err);
}

static size_t count_messages(pawl_testing *testing)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    assert_ok(pawl_outbox_list(pawl_testing_store(testing), &filter, &list, NULL, &err), &err);
    size_t count = pawl_messages_count(list);
    pawl_messages_free(list);
    return count;
}

static void advance(pawl_testing *testing, int64_t ms)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_testing_advance(testing, ms, &err), &err);
}

PAWL_TEST(nothing_remains_of_a_temporary_store)
{
    use_own_directory();
    pawl_testing *testing = make_testing(location(), false);
    const char *schema = test_note("%s", pawl_testing_schema(testing));
    struct stat about;

    send_delayed(testing, "a", 0);
    assert_int_equal(1, count_messages(testing));
    ask_database(pawl_testing_url(testing),
                 test_note("CREATE TABLE %s.orders (n integer)", schema));
    if (is_postgres()) {
        assert_true(schema_exists(schema));
    } else {
        assert_int_equal(1, left_behind());
        char *directory = strdup(pawl_testing_url(testing) + strlen("sqlite:"));
        *strrchr(directory, '/') = '\0';
        assert_int_equal(0, stat(directory, &about));
        free(directory);
        assert_int_equal(0700, about.st_mode & 0777);
    }
    end_testing(testing);
    assert_int_equal(0, left_behind());
    assert_false(is_postgres() && schema_exists(schema));
}

PAWL_TEST(two_temporary_stores_do_not_see_each_other)
{
    pawl_testing *one = make_testing(location(), true);
    pawl_testing *two = make_testing(location(), true);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now;

    send_delayed(one, "a", 0);
    advance(one, HOUR_MS);
    assert_int_equal(1, count_messages(one));
    assert_int_equal(0, count_messages(two));
    assert_ok(pawl_store_now(pawl_testing_store(two), &now, &err), &err);
    assert_int_equal(PAWL_TESTING_START.us, now.us);
    end_testing(one);
    assert_int_equal(0, count_messages(two));
}

PAWL_TEST(a_second_store_reaches_the_same_database)
{
    pawl_testing *testing = make_testing(location(), true);
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    pawl_store *second = NULL;
    pawl_wall now;

    send_delayed(testing, "a", HOUR_MS);
    advance(testing, HOUR_MS);
    opts.schema = pawl_testing_schema(testing);
    assert_ok(pawl_store_open(pawl_testing_url(testing), &opts, &second, &err), &err);
    assert_ok(pawl_store_now(second, &now, &err), &err);
    assert_int_equal(PAWL_TESTING_START.us + HOUR_MS * 1000, now.us);
    assert_ok(pawl_queue_claim(second, queue_owner(1), MINUTE_MS, 1, NULL, &list, &err), &err);
    assert_int_equal(1, pawl_messages_count(list));
    pawl_messages_free(list);
    pawl_store_close(second);
}

struct hourly {
    int calls;
    int64_t fence;
};

/* Comes again every hour, eight times. */
static pawl_result hourly_handle(pawl_task *task, void *context)
{
    struct hourly *hourly = context;

    assert_int_equal(++hourly->calls, pawl_task_attempt(task));
    pawl_task_set_retry_delay(task, HOUR_MS);
    return hourly->calls < 8 ? PAWL_RETRY : PAWL_DONE;
}

static void work_through_hours(pawl_testing *testing)
{
    struct hourly hourly = {0};
    pawl_worker_stats stats = PAWL_WORKER_STATS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_worker *worker = NULL;

    assert_ok(pawl_worker_new(pawl_testing_store(testing), NULL, &worker, &err), &err);
    assert_ok(pawl_worker_handle(worker, "hourly", hourly_handle, &hourly, NULL, &err), &err);
    send_delayed(testing, "hourly", HOUR_MS);
    for (int hour = 0; hour <= 8; hour++) {
        assert_int_equal(hour, hourly.calls);
        assert_ok(pawl_worker_until_idle(worker, &err), &err);
        assert_int_equal(hour, hourly.calls);
        advance(testing, HOUR_MS - 1);
        assert_ok(pawl_worker_until_idle(worker, &err), &err);
        assert_int_equal(hour, hourly.calls);
        advance(testing, 1);
        if (hour < 8)
            assert_ok(pawl_worker_until_idle(worker, &err), &err);
    }
    pawl_worker_get_stats(worker, &stats);
    assert_int_equal(1, stats.done);
    assert_int_equal(7, stats.retried);
    pawl_worker_free(worker);
}

PAWL_TEST(a_worker_steps_through_hours_of_virtual_time)
{
    work_through_hours(make_testing(location(), true));
}

PAWL_TEST_ON(sqlite, sqlite_in_memory_will_do)
{
    use_own_directory();
    pawl_testing *testing = make_testing("sqlite::memory:", true);

    assert_int_equal(0, left_behind());
    assert_string_equal("main", pawl_testing_schema(testing));
    work_through_hours(testing);
}

PAWL_TEST(the_clock_goes_forwards_and_only_where_there_is_one)
{
    pawl_testing *testing = make_testing(location(), true);
    pawl_testing *other = make_testing(location(), false);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall later = {PAWL_TESTING_START.us + 5}, now;

    assert_ok(pawl_testing_set(testing, later, &err), &err);
    assert_ok(pawl_store_now(pawl_testing_store(testing), &now, &err), &err);
    assert_int_equal(later.us, now.us);
    assert_int_equal(PAWL_E_INVALID, pawl_testing_set(testing, PAWL_TESTING_START, &err));
    assert_says(&err, "forward");
    assert_int_equal(PAWL_E_INVALID, pawl_testing_advance(testing, -1, &err));
    assert_int_equal(PAWL_E_INVALID, pawl_testing_advance(testing, INT64_MAX, &err));
    assert_ok(pawl_store_now(pawl_testing_store(testing), &now, &err), &err);
    assert_int_equal(later.us, now.us);
    assert_int_equal(PAWL_E_MISUSE, pawl_testing_advance(other, 1, &err));
    assert_says(&err, "virtual_clock");
    assert_ok(pawl_store_now(pawl_testing_store(other), &now, &err), &err);
    assert_true(now.us > PAWL_TESTING_START.us);
}

static void testing_refuse(const char *url, const pawl_store_options *store, pawl_status expected,
                           const char *text)
{
    pawl_testing_options opts = PAWL_TESTING_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_testing *testing = NULL;

    opts.store = store;
    assert_int_equal(expected, pawl_testing_new(url, &opts, &testing, &err));
    assert_null(testing);
    assert_says(&err, text);
}

static int schemas_in(const char *database_url)
{
    return (int)strtol(ask_database(database_url, "SELECT count(*) FROM pg_namespace"
                                                  " WHERE nspname LIKE 'pawl\\_test\\_%'"
                                                  " AND pg_has_role(nspowner, 'USAGE')"),
                       NULL, 10);
}

PAWL_TEST(a_store_that_cannot_be_created_reports_why_and_leaves_nothing)
{
    pawl_store_options store = PAWL_STORE_OPTIONS_INIT;

    const char *own = use_own_directory();
    testing_refuse("", NULL, PAWL_E_INVALID, "URL is missing");
    testing_refuse("mysql://host/x", NULL, PAWL_E_INVALID, "no known kind");
    if (is_postgres()) {
        testing_refuse("host=/nowhere/at/all dbname=x", NULL, PAWL_E_UNAVAILABLE, "");
        testing_refuse("postgresql://host:notaport/x", NULL, PAWL_E_INVALID, "");
    } else {
        testing_refuse("sqlite:important.db", NULL, PAWL_E_INVALID, "its own file");
        use_directory("/nowhere/at/all");
        testing_refuse(NULL, NULL, PAWL_E_IO, "TMPDIR");
        use_directory(own);
    }
    store.pool_size = 0;
    testing_refuse(location(), &store, PAWL_E_INVALID, "pool_size");
    assert_int_equal(0, left_behind());
}

PAWL_TEST_ON(postgres, a_store_that_fails_half_way_takes_its_schema_with_it)
{
    pawl_store_options store = PAWL_STORE_OPTIONS_INIT;

    if (strstr(location(), "://"))
        test_fail("PAWL_TEST_POSTGRES must be in the form 'host=... dbname=...'");
    /* A role of its own, so that others' schemas are not counted. */
    const char *role = test_note("half_way_%d", (int)getpid());
    ask_database(location(),
                 test_note("CREATE ROLE %s LOGIN; GRANT CREATE ON DATABASE %s TO %s", role,
                           ask_database(location(), "SELECT quote_ident(current_database())"),
                           role));
    const char *url = test_note("%s user=%s", location(), role);
    store.backoff_local.base_ms = 0; /* found out only when the store is opened */
    testing_refuse(url, &store, PAWL_E_INVALID, "backoff_local");
    assert_int_equal(0, schemas_in(url));
    ask_database(location(), test_note("DROP OWNED BY %s; DROP ROLE %s", role, role));
}

/* In a process of its own, which ends without cleaning up. */
static const char *orphan(void)
{
    char schema[64] = "";
    int pipes[2];

    assert_int_equal(0, pipe(pipes));
    pid_t child = fork();
    if (child == 0) {
        pawl_testing *testing = NULL;
        const char *name = "";
        if (pawl_testing_new(location(), NULL, &testing, NULL) == PAWL_OK)
            name = pawl_testing_schema(testing);
        _exit(write(pipes[1], name, strlen(name)) > 0 ? 0 : 1);
    }
    assert_true(read(pipes[0], schema, sizeof schema - 1) > 0);
    close(pipes[0]);
    close(pipes[1]);
    assert_true(waitpid(child, NULL, 0) == child);
    return test_note("%s", schema);
}

PAWL_TEST(schemas_of_killed_tests_are_swept_by_their_age)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t removed = 7;

    if (!is_postgres()) {
        assert_int_equal(PAWL_E_UNSUPPORTED, pawl_testing_sweep("sqlite::memory:", 0, NULL, &err));
        return;
    }
    const char *old = orphan(), *young = orphan();
    pawl_testing *used = make_testing(location(), false);
    /* Made 400 days ago. */
    ask_database(location(),
                 test_note("DO $$ BEGIN EXECUTE format('COMMENT ON SCHEMA %s IS %%L',"
                           " 'temporary store of a test, made at ' || (extract(epoch FROM"
                           " clock_timestamp() - interval '400 days') * 1000000)::bigint);"
                           " END $$",
                           old));
    assert_int_equal(PAWL_E_INVALID, pawl_testing_sweep(location(), -1, &removed, &err));
    assert_int_equal(7, removed);
    /* How many: the same test may run beside this one, and sweep for both. */
    assert_ok(pawl_testing_sweep(location(), 365 * DAY_MS, &removed, &err), &err);
    assert_in_range(removed, 0, 2);
    assert_false(schema_exists(old));
    assert_true(schema_exists(young));
    assert_int_equal(0, count_messages(used));
    ask_database(location(), test_note("DROP SCHEMA %s CASCADE", young));
}

PAWL_TEST(a_child_process_removes_nothing)
{
    pawl_testing *testing = make_testing(location(), false);
    int status = 1;
    pid_t child = fork();

    if (child == 0) {
        pawl_testing_free(testing);
        _exit(0);
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_int_equal(0, status);
    send_delayed(testing, "a", 0);
    assert_int_equal(1, count_messages(testing));
}
