/* tests/conformance/fixture_test.c - every test gets a database as good as new. */
#include "queue_fixture.h"

#include <string.h>

/* Everything that a fixture comes with. */
static void expect_new(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_grant grant;

    assert_time(FIXTURE_START.us, fixture_now(f));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {message}"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {lane}"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {inbox_record}"));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {meta}"));
    assert_true(fixture_refuses(f, "SELECT count(*) FROM {orders}"));
    assert_true(fixture_refuses(f, "SELECT added FROM {body}"));
    assert_int_equal(1, fixture_send(f, "t", "x").value);
    assert_ok(
        pawl_lease_acquire(fixture_store(f), "name", queue_owner(1), MINUTE_MS, NULL, &grant, &err),
        &err);
    assert_int_equal(1, grant.fence);
}

static void use(fixture *f)
{
    fixture_send(f, "t", "x");
    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    fixture_advance(f, DAY_MS);
    fixture_exec(f, "CREATE TABLE {orders} (n integer)");
}

/* ---- PAWL_TEST_ON: a case for one engine does not exist on the other ---- */

PAWL_TEST_ON(sqlite, a_case_for_sqlite_runs_on_sqlite)
{
    assert_false(fixture_is_postgres(fixture_open(NULL)));
}

PAWL_TEST_ON(postgres, a_case_for_postgres_runs_on_postgres)
{
    assert_true(fixture_is_postgres(fixture_open(NULL)));
}

/* ---- a database as good as new ---- */

PAWL_TEST(messages_of_an_earlier_test_are_removed)
{
    fixture *f = fixture_open(NULL);

    expect_new(f);
    use(f);
    fixture_close(f);
    expect_new(fixture_open(NULL));
}

/* SQLite gets a new file. */
PAWL_TEST_ON(postgres, a_schema_is_used_again_but_not_by_two_at_once)
{
    fixture *f = fixture_open(NULL);

    const char *name = test_note("%s", fixture_store_options(f)->schema);
    use(f);
    fixture_close(f);
    f = fixture_open(NULL);
    assert_string_equal(name, fixture_store_options(f)->schema);
    fixture *other = fixture_open(NULL);
    assert_string_not_equal(name, fixture_store_options(other)->schema);
    expect_new(f);
    expect_new(other);
}

/* One thing of each kind that a test may change, and that emptying would not undo.
 * SQLite gets a new file. */
PAWL_TEST_ON(postgres, a_schema_that_was_changed_is_not_used_again)
{
    static const char *const changes[] = {
        "ALTER TABLE {body} ADD COLUMN added integer",
        "ALTER TABLE {body} ALTER COLUMN type SET DEFAULT 1",
        "ALTER TABLE {queue} SET (autovacuum_enabled = off)",
        "ALTER TABLE {queue} ADD CHECK (fence >= 0)",
        "CREATE INDEX ON {outcome} (state)",
        "CREATE OR REPLACE FUNCTION {clock}() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
        "CREATE VIEW {added} AS SELECT 1",
        "GRANT SELECT ON {body} TO PUBLIC",
        "UPDATE {meta} SET version = version",
        "ANALYZE {meta}",
        "ALTER SEQUENCE {fence} CACHE 20",
    };

    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        fixture *f = fixture_open(NULL);

        const char *name = test_note("%s", fixture_store_options(f)->schema);
        fixture_exec(f, "%s", changes[i]);
        fixture_close(f);
        f = fixture_open(NULL);
        if (strcmp(name, fixture_store_options(f)->schema) == 0)
            test_fail("the schema was used again after: %s", changes[i]);
        expect_new(f);
        fixture_close(f);
    }
}
