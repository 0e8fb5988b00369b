/* tests/conformance/schema_test.c - making, finding and refusing pawl's tables. */
#include "queue_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const fixture_options empty = {.no_schema = true};

static pawl_schema_info inspect(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_schema_info info = PAWL_SCHEMA_INFO_INIT;

    info.version = -1;
    assert_ok(pawl_schema_inspect(fixture_url(f), fixture_store_options(f), &info, &err), &err);
    return info;
}

/* The store must refuse to open. */
static pawl_error schema_refused(fixture *f, pawl_status expected)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    assert_status(expected, pawl_store_open(fixture_url(f), fixture_store_options(f), &store, &err),
                  &err);
    assert_null(store);
    return err;
}

PAWL_TEST(opening_never_creates_the_schema_unless_asked)
{
    fixture *f = fixture_open(&empty);
    pawl_error err;

    fixture_exec(f, "CREATE TABLE %s (n integer)",
                 fixture_is_postgres(f) ? "pg_temp.theirs" : "theirs");
    err = schema_refused(f, PAWL_E_NO_SCHEMA);
    assert_says(&err, "pawl init");
    assert_false(err.retryable);
    assert_int_equal(0, inspect(f).version);
}

PAWL_TEST(deploy_creates_the_schema_and_may_be_repeated)
{
    fixture *f = fixture_open(&empty);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_schema_info before = PAWL_SCHEMA_INFO_INIT, again = PAWL_SCHEMA_INFO_INIT;
    const pawl_store_options *opts = fixture_store_options(f);

    before.version = again.version = -1;
    assert_ok(pawl_schema_deploy(fixture_url(f), opts, &before, &err), &err);
    assert_int_equal(0, before.version);
    assert_true(before.library_version > 0);
    assert_int_equal(before.library_version, inspect(f).version);
    fixture_reopen(f);
    fixture_send(f, "t", "x");
    assert_ok(pawl_schema_deploy(fixture_url(f), opts, &again, &err), &err);
    assert_ok(pawl_schema_deploy(fixture_url(f), opts, NULL, &err), &err);
    assert_int_equal(before.library_version, again.version);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {meta}"));
}

PAWL_TEST(opening_with_deploy_schema_creates_missing_objects)
{
    fixture *f = fixture_open(&empty);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store_options opts = *fixture_store_options(f);

    opts.deploy_schema = true;
    for (int i = 0; i < 2; i++) {
        pawl_store *store = NULL;
        pawl_message_spec message = queue_message("t", "x");

        assert_ok(pawl_store_open(fixture_url(f), &opts, &store, &err), &err);
        assert_ok(pawl_outbox_enqueue(store, &message, NULL, &err), &err);
        pawl_store_close(store);
    }
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {body}"));
}

PAWL_TEST(inspecting_changes_nothing)
{
    fixture *f = fixture_open(&empty);
    pawl_schema_info info = inspect(f);

    assert_int_equal(0, info.version);
    assert_true(info.library_version > 0);
    if (!fixture_is_postgres(f))
        assert_int_equal(-1, access(fixture_url(f) + strlen("sqlite:"), F_OK));
    fixture_deploy(f);
    info = inspect(f);
    assert_int_equal(info.library_version, info.version);
    assert_true(info.compatible_from >= 1);
    assert_true(info.compatible_from <= info.version);
}

PAWL_TEST(a_schema_that_needs_a_newer_library_is_refused)
{
    fixture *f = fixture_open(&empty);
    pawl_error err;

    fixture_deploy(f);
    fixture_exec(f, "UPDATE {meta} SET version = 999, compatible_from = 999");
    err = schema_refused(f, PAWL_E_INCOMPATIBLE);
    assert_says(&err, "999");
    assert_int_equal(999, inspect(f).version);
    assert_status(PAWL_E_INCOMPATIBLE,
                  pawl_schema_deploy(fixture_url(f), fixture_store_options(f), NULL, &err), &err);
    assert_int_equal(999, inspect(f).compatible_from);
}

PAWL_TEST(a_compatible_newer_schema_is_used_unchanged)
{
    fixture *f = fixture_open(&empty);
    pawl_error err = PAWL_ERROR_INIT;

    fixture_deploy(f);
    fixture_exec(f, "UPDATE {meta} SET version = 999");
    fixture_reopen(f);
    fixture_send(f, "t", "x");
    assert_ok(pawl_schema_deploy(fixture_url(f), fixture_store_options(f), NULL, &err), &err);
    assert_int_equal(999, inspect(f).version);
}

PAWL_TEST(tables_of_another_program_are_not_used)
{
    fixture *f = fixture_open(&empty);
    pawl_error err;

    if (fixture_is_postgres(f))
        fixture_exec(f, "CREATE SCHEMA %s", fixture_store_options(f)->schema);
    fixture_exec(f, "CREATE TABLE {meta} (key text, value text)");
    schema_refused(f, PAWL_E_NOT_OURS);
    assert_status(PAWL_E_NOT_OURS,
                  pawl_schema_deploy(fixture_url(f), fixture_store_options(f), NULL, &err), &err);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {meta}"));
}

PAWL_TEST(two_sets_of_tables_live_side_by_side)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store_options opts = *fixture_store_options(f);
    pawl_message_spec message = queue_message("t", "theirs");
    pawl_messages *list = NULL;
    pawl_store *store = NULL;

    opts.schema = test_note("%s_b", opts.schema ? opts.schema : "x");
    opts.table_prefix = "other_";
    opts.deploy_schema = true;
    assert_ok(pawl_store_open(fixture_url(f), &opts, &store, &err), &err);
    assert_ok(pawl_outbox_enqueue(store, &message, NULL, &err), &err);
    fixture_send(f, "t", "ours");
    assert_ok(pawl_queue_claim(store, queue_owner(1), MINUTE_MS, 10, NULL, &list, &err), &err);
    queue_keep(list);
    pawl_store_close(store);
    if (fixture_is_postgres(f))
        fixture_exec(f, "DROP SCHEMA %s CASCADE", opts.schema);
    assert_string_equal("theirs", queue_payloads(list));
    assert_string_equal("ours", queue_payloads(fixture_claim(f, queue_owner(1), MINUTE_MS, 10)));
}

PAWL_TEST(a_prefix_of_ones_own_works_everywhere)
{
    const fixture_options opts = {.table_prefix = "my_queue_9_"};
    fixture *f = fixture_open(&opts);

    for (int state = 0; state < PAWL_STATE_COUNT; state++)
        queue_make(f, test_note("%d", state), "x", (pawl_state)state);
    assert_int_equal(0, queue_reap(f));
    assert_int_equal(2, queue_prune(f, 0));
    queue_check(f);
}

PAWL_TEST(the_printed_schema_makes_the_same_tables)
{
    fixture *f = fixture_open(&empty);
    pawl_error err = PAWL_ERROR_INIT;
    char *sql = NULL;
    pawl_store *store = NULL;
    pawl_message_spec message = queue_message("t", "x");

    assert_ok(pawl_schema_sql(fixture_is_postgres(f) ? "postgres" : "sqlite", 0,
                              fixture_store_options(f), &sql, &err),
              &err);
    test_defer(free, sql);
    fixture_exec(f, "%s", sql);
    assert_int_equal(inspect(f).library_version, inspect(f).version);
    assert_ok(pawl_store_open(fixture_url(f), fixture_store_options(f), &store, &err), &err);
    assert_ok(pawl_outbox_enqueue(store, &message, NULL, &err), &err);
    pawl_store_close(store);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {queue}"));
}

PAWL_TEST(the_printed_schema_of_the_present_version_changes_nothing)
{
    pawl_error err = PAWL_ERROR_INIT;
    char *sql = NULL;

    assert_ok(pawl_schema_sql("sqlite", 999, NULL, &sql, &err), &err);
    assert_null(strstr(sql, "CREATE"));
    free(sql);
    assert_status(PAWL_E_INVALID, pawl_schema_sql("oracle", 0, NULL, &sql, &err), &err);
    assert_says(&err, "sqlite");
    assert_status(PAWL_E_INVALID, pawl_schema_sql(NULL, 0, NULL, &sql, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_schema_sql("sqlite", -1, NULL, &sql, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_schema_sql("sqlite", 0, NULL, NULL, &err), &err);
}

PAWL_TEST(the_store_says_its_engine)
{
    fixture *f = fixture_open(NULL);

    assert_string_equal(fixture_is_postgres(f) ? "postgres" : "sqlite",
                        pawl_store_engine(fixture_store(f)));
    assert_string_equal(pawl_store_engine(fixture_store(f)), pawl_engine_of_url(fixture_url(f)));
}

PAWL_TEST(the_library_lists_its_engines)
{
    fixture *f = fixture_open(NULL);
    int found = 0;

    for (size_t i = 0; pawl_engine_built_in(i); i++)
        found += strcmp(pawl_engine_built_in(i), pawl_store_engine(fixture_store(f))) == 0;
    assert_int_equal(1, found);
    assert_null(pawl_engine_built_in(SIZE_MAX));
    assert_string_equal("sqlite", pawl_engine_of_url("sqlite:app.db"));
    assert_string_equal("postgres", pawl_engine_of_url("postgresql://host/app"));
    assert_null(pawl_engine_of_url("mysql://host/app"));
    assert_null(pawl_engine_of_url(NULL));
}

PAWL_TEST(constraints_agree_with_the_library)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "x");
    queue_make(f, "u", "x", PAWL_STATE_DONE);
    assert_true(fixture_refuses(f, "UPDATE {lane} SET topic = ''"));
    assert_true(fixture_refuses(f, "UPDATE {lane} SET priority = 10"));
    assert_true(fixture_refuses(f, "UPDATE {body} SET type = 4"));
    assert_true(fixture_refuses(f, "UPDATE {body} SET max_attempts = 0"));
    assert_true(fixture_refuses(f, "UPDATE {body} SET correlation_id = ''"));
    assert_true(fixture_refuses(f, "UPDATE {body} SET headers = '[1]'"));
    assert_true(fixture_refuses(f, "UPDATE {body} SET payload = NULL"));
    assert_true(fixture_refuses(f, "UPDATE {outcome} SET state = 1"));
    assert_true(fixture_refuses(f, "UPDATE {outcome} SET state = 6"));
    assert_true(fixture_refuses(f, "UPDATE {meta} SET product = 'other'"));
}

PAWL_TEST(the_indexes_for_claiming_are_there)
{
    fixture *f = fixture_open(NULL);

    if (fixture_is_postgres(f))
        assert_int_equal(2, fixture_count(f,
                                          "SELECT count(*) FROM pg_indexes WHERE schemaname = '%s'"
                                          " AND indexname IN ('queue_due', 'claim_check')",
                                          fixture_store_options(f)->schema));
    else
        assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM sqlite_schema WHERE type ="
                                             " 'index' AND name IN ('pawl_queue_due',"
                                             " 'pawl_claim_check')"));
}

/* SQLite has no functions; its statements are compiled into the library. */
PAWL_TEST_ON(postgres, postgres_has_a_function_for_every_operation)
{
    static const char *const functions[] = {"claim", "ack",   "abandon", "fail",
                                            "reap",  "renew", "release"};
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(functions); i++)
        assert_true(fixture_count(f,
                                  "SELECT count(*) FROM pg_proc p JOIN pg_namespace n"
                                  " ON n.oid = p.pronamespace WHERE n.nspname = '%s'"
                                  " AND p.proname LIKE '%s%%'",
                                  fixture_store_options(f)->schema, functions[i]) > 0);
}

PAWL_TEST_ON(postgres, postgres_grants_nothing_to_public)
{
    fixture *f = fixture_open(NULL);

    /* Roles are the whole server's, and this program may run twice at once. */
    const char *no_owner = test_note("pawl_test_nobody_%ld", (long)getpid());
    fixture_exec(f, "CREATE ROLE %s", no_owner);
    assert_int_equal(0, fixture_count(f,
                                      "SELECT count(*) FROM pg_proc p JOIN pg_namespace n"
                                      " ON n.oid = p.pronamespace WHERE n.nspname = '%s'"
                                      " AND has_function_privilege('%s', p.oid,"
                                      " 'EXECUTE')",
                                      fixture_store_options(f)->schema, no_owner));
    assert_int_equal(0, fixture_count(f,
                                      "SELECT count(*) FROM pg_class c JOIN pg_namespace n"
                                      " ON n.oid = c.relnamespace WHERE n.nspname = '%s'"
                                      " AND c.relkind IN ('r', 'v') AND"
                                      " has_table_privilege('%s', c.oid, 'SELECT')",
                                      fixture_store_options(f)->schema, no_owner));
    fixture_exec(f, "DROP ROLE %s", no_owner);
}

PAWL_TEST(a_result_struct_of_another_version_is_filled_as_far_as_both_have_it)
{
    fixture *f = fixture_open(NULL);
    const pawl_store_options *opts = fixture_store_options(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_schema_info older = PAWL_SCHEMA_INFO_INIT, unset = {0};
    struct {
        pawl_schema_info info;
        int64_t added;
    } newer = {PAWL_SCHEMA_INFO_INIT, 7};

    older.size = offsetof(pawl_schema_info, library_version);
    older.library_version = -7;
    assert_ok(pawl_schema_inspect(fixture_url(f), opts, &older, &err), &err);
    assert_true(older.version > 0);
    assert_int_equal(-7, older.library_version);
    assert_int_equal(offsetof(pawl_schema_info, library_version), older.size);
    newer.info.size = sizeof newer;
    assert_ok(pawl_schema_inspect(fixture_url(f), opts, &newer.info, &err), &err);
    assert_true(newer.info.library_version > 0);
    assert_int_equal(7, newer.added);
    assert_int_equal(sizeof newer, newer.info.size);
    assert_status(PAWL_E_INVALID, pawl_schema_inspect(fixture_url(f), opts, &unset, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_schema_deploy(fixture_url(f), opts, &unset, &err), &err);
    assert_says(&err, "_INIT");
}
