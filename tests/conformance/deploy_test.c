/*
 * tests/conformance/deploy_test.c - how a deployment handles functions, views and triggers that
 * are there already.
 */
#include "queue_fixture.h"

#include <stdlib.h>
#include <string.h>

static const fixture_options empty = {.no_schema = true};

static fixture *deployed(void)
{
    fixture *f = fixture_open(&empty);

    fixture_deploy(f);
    return f;
}

static pawl_schema_info inspect(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_schema_info info = PAWL_SCHEMA_INFO_INIT;

    info.version = -1;
    assert_ok(pawl_schema_inspect(fixture_url(f), fixture_store_options(f), &info, &err), &err);
    return info;
}

static pawl_schema_info deploy(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_schema_info before = PAWL_SCHEMA_INFO_INIT;

    before.version = -1;
    assert_ok(pawl_schema_deploy(fixture_url(f), fixture_store_options(f), &before, &err), &err);
    return before;
}

/* As an older release had them: what the outbox is counted with does not work. */
static void deploy_spoil(fixture *f)
{
    if (fixture_is_postgres(f))
        fixture_exec(f, "CREATE OR REPLACE FUNCTION {stats}(cap bigint DEFAULT 10000)"
                        " RETURNS TABLE (topic text, ready bigint, running bigint,"
                        " at_least boolean, estimate bigint, done bigint, failed bigint,"
                        " expired bigint, cancelled bigint, oldest_due_at timestamptz)"
                        " LANGUAGE sql AS 'SELECT NULL::text, 7, 7, true, 7, 7, 7, 7, 7, now()'");
    else
        fixture_exec(f, "DROP VIEW {outbox}");
}

static bool is_spoilt(fixture *f)
{
    if (fixture_is_postgres(f))
        return fixture_count(f, "SELECT count(*) FROM {stats}() s WHERE s.done = 7") > 0;
    return fixture_count(f, "SELECT count(*) FROM sqlite_schema WHERE name = 'pawl_outbox'") == 0;
}

/* Changes with every write of the catalog and of the meta table. */
static const char *traces(fixture *f)
{
    if (!fixture_is_postgres(f))
        return fixture_text(f, "PRAGMA data_version");
    return fixture_text(f,
                        "SELECT (SELECT concat(ctid, xmin) FROM {meta}) || md5(string_agg("
                        "concat(p.oid, p.xmin), ' ' ORDER BY p.oid)) FROM pg_proc p"
                        " WHERE p.pronamespace = '%s'::regnamespace",
                        fixture_store_options(f)->schema);
}

PAWL_TEST(a_deployment_replaces_the_functions_and_views_of_an_older_release)
{
    fixture *f = deployed();

    assert_false(inspect(f).code_outdated);
    fixture_exec(f, "UPDATE {meta} SET code_release = 0, code_digest = 'older'");
    deploy_spoil(f);
    assert_true(is_spoilt(f));
    assert_true(inspect(f).code_outdated);
    assert_int_equal(inspect(f).library_version, deploy(f).version);
    assert_false(is_spoilt(f));
    assert_false(inspect(f).code_outdated);
    fixture_reopen(f);
    fixture_send(f, "t", "x");
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {outbox}"));
}

PAWL_TEST(other_functions_of_the_same_release_are_replaced_too)
{
    fixture *f = deployed();

    fixture_exec(f, "UPDATE {meta} SET code_digest = 'of a build on the way to this release'");
    deploy_spoil(f);
    assert_true(deploy(f).code_outdated);
    assert_false(is_spoilt(f));
}

PAWL_TEST(functions_and_views_of_a_newer_release_are_kept)
{
    fixture *f = deployed();

    fixture_exec(f, "UPDATE {meta} SET code_release = code_release + 1, code_digest = 'newer'");
    deploy_spoil(f);
    assert_false(inspect(f).code_outdated);
    assert_false(deploy(f).code_outdated);
    assert_true(is_spoilt(f));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {meta}"
                                         " WHERE code_digest = 'newer'"));
}

PAWL_TEST(functions_and_views_of_a_newer_schema_are_kept)
{
    fixture *f = deployed();

    fixture_exec(f, "UPDATE {meta} SET version = 999, code_release = 0, code_digest = ''");
    deploy_spoil(f);
    assert_false(deploy(f).code_outdated);
    assert_true(is_spoilt(f));
}

PAWL_TEST(a_deployment_that_has_nothing_to_do_writes_nothing)
{
    fixture *f = deployed();
    const char *before = traces(f);

    deploy(f);
    assert_string_equal(before, traces(f));
    fixture_exec(f, "UPDATE {meta} SET code_digest = 'another'");
    before = traces(f);
    deploy(f);
    assert_true(strcmp(before, traces(f)) != 0); /* this test would see it */
}

PAWL_TEST(views_that_users_have_made_of_pawls_survive)
{
    fixture *f = deployed();

    fixture_exec(f, "CREATE VIEW {theirs} AS SELECT id, topic FROM {outbox}");
    fixture_exec(f, "UPDATE {meta} SET code_digest = 'another'");
    deploy(f);
    fixture_reopen(f);
    fixture_send(f, "t", "x");
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {theirs}"));
}

PAWL_TEST(a_virtual_clock_survives)
{
    fixture *f = deployed();

    fixture_reopen(f);
    fixture_advance(f, 5000);
    fixture_exec(f, "UPDATE {meta} SET code_digest = 'another'");
    deploy(f);
    assert_int_equal(FIXTURE_START.us + 5000000, fixture_now(f).us);
}

PAWL_TEST_ON(postgres, a_function_with_other_arguments_is_dropped_and_one_of_users_is_not)
{
    fixture *f = deployed();

    fixture_exec(f, "CREATE FUNCTION {release}(owner uuid, ids bigint[]) RETURNS bigint"
                    " LANGUAGE sql AS 'SELECT 1::bigint'");
    fixture_exec(f, "CREATE FUNCTION {theirs}() RETURNS bigint"
                    " LANGUAGE sql AS 'SELECT 1::bigint'");
    fixture_exec(f, "UPDATE {meta} SET code_digest = 'another'");
    deploy(f);
    assert_int_equal(1, fixture_count(f,
                                      "SELECT count(*) FROM pg_proc WHERE proname = 'release'"
                                      " AND pronamespace = '%s'::regnamespace",
                                      fixture_store_options(f)->schema));
    assert_int_equal(1, fixture_count(f, "SELECT {theirs}()"));
}

PAWL_TEST_ON(postgres, a_row_type_with_other_columns_is_replaced)
{
    fixture *f = deployed();

    fixture_exec(f, "ALTER VIEW {claimed} RENAME COLUMN lane TO kind");
    fixture_exec(f, "UPDATE {meta} SET code_digest = 'another'");
    deploy(f);
    fixture_reopen(f);
    fixture_send(f, "t", "x");
    assert_int_equal(1, (int64_t)pawl_messages_count(fixture_claim(f, queue_owner(1), 60000, 1)));
}

PAWL_TEST_ON(postgres, views_that_have_not_changed_are_not_locked)
{
    fixture *f = deployed();

    fixture_reopen(f);
    fixture_exec(f, "UPDATE {meta} SET code_digest = 'another'");
    fixture_tx_begin(f, 0);
    assert_int_equal(0, fixture_tx_count(f, 0, "SELECT count(*) FROM {outbox}"));
    deploy(f);
    assert_int_equal(0, fixture_tx_count(f, 0, "SELECT count(*) FROM {outbox}"));
    fixture_tx_rollback(f, 0);
}

/* The rest of the deployment is taken back as well. */
PAWL_TEST_ON(postgres, objects_that_depend_on_a_row_type_are_not_dropped_with_it)
{
    fixture *f = deployed();
    pawl_error err = PAWL_ERROR_INIT;

    fixture_exec(f, "CREATE VIEW {theirs} AS SELECT c.lane FROM {claimed} c");
    fixture_exec(f, "ALTER VIEW {claimed} RENAME COLUMN lane TO kind");
    fixture_exec(f, "UPDATE {meta} SET code_digest = 'another'");
    deploy_spoil(f);
    assert_status(PAWL_E_STORE,
                  pawl_schema_deploy(fixture_url(f), fixture_store_options(f), NULL, &err), &err);
    assert_says(&err, "other objects depend on it");
    assert_true(is_spoilt(f));
    assert_true(inspect(f).code_outdated);
}

/* Settings, owner and privileges of every function and view, a line each. */
#define RIGHTS                                                                                     \
    "SELECT concat_ws(' ', p.oid::regprocedure, p.prosecdef, p.proowner, p.proconfig,"             \
    " ARRAY(SELECT a::text FROM unnest(p.proacl) AS a ORDER BY 1)) AS line"                        \
    " FROM pg_proc p WHERE p.pronamespace = '%s'::regnamespace"                                    \
    " UNION ALL SELECT concat_ws(' ', c.oid::regclass, c.relowner,"                                \
    " ARRAY(SELECT a::text FROM unnest(c.relacl) AS a ORDER BY 1))"                                \
    " FROM pg_class c WHERE c.relkind = 'v' AND c.relnamespace = '%s'::regnamespace"

PAWL_TEST_ON(postgres, replaced_functions_keep_their_settings_and_privileges)
{
    fixture *f = deployed();
    const char *schema = fixture_store_options(f)->schema;
    const char *changed = test_note("SELECT string_agg(x.line, E'\\n') FROM ((" RIGHTS
                                    ") EXCEPT SELECT line FROM {before}) AS x",
                                    schema, schema);

    fixture_exec(f, "CREATE TABLE {before} AS " RIGHTS, schema, schema);
    fixture_exec(f, "UPDATE {meta} SET code_digest = 'another'");
    fixture_exec(f, "ALTER FUNCTION {ack}(uuid, bigint[], bigint[]) RESET ALL");
    fixture_exec(f, "GRANT EXECUTE ON FUNCTION {purge}(bigint[]) TO PUBLIC");
    assert_non_null(fixture_text(f, "%s", changed));
    deploy(f);
    const char *found = fixture_text(f, "%s", changed);
    if (found)
        test_fail("a deployment changed:\n%s", found);
}

/* Static: it outlives a failing test, for what is deferred. */
static pawl_store *worker_store;

static void close_worker_store(void *argument)
{
    (void)argument;
    pawl_store_close(worker_store);
    worker_store = NULL;
}

PAWL_TEST_ON(postgres, a_user_without_the_right_to_replace_functions_uses_the_existing_ones)
{
    fixture *f = deployed();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store_options opts = *fixture_store_options(f);
    pawl_message_spec message = queue_message("t", "x");
    const char *user = test_note("pawl_test_deployer_%s", opts.schema);

    opts.deploy_schema = true;
    fixture_exec(f, "CREATE ROLE %s LOGIN", user);
    fixture_exec(f, "GRANT pawl_work TO %s", user);
    fixture_exec(f, "UPDATE {meta} SET code_digest = 'another'");
    test_defer(close_worker_store, NULL);
    assert_ok(
        pawl_store_open(test_note("%s user=%s", fixture_url(f), user), &opts, &worker_store, &err),
        &err);
    assert_ok(pawl_outbox_enqueue(worker_store, &message, NULL, &err), &err);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "run `pawl migrate` as the owner"));
    assert_true(inspect(f).code_outdated);
    close_worker_store(NULL);
    fixture_exec(f, "DROP ROLE %s", user);
}
