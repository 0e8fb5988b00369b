/*
 * tests/conformance/role_objects_test.c - every function, table, view and sequence of the schema,
 * as PostgreSQL's catalogue lists them: each role calls, reads, writes and locks what is not
 * granted.
 *
 * role_attack_test.c has the attempts that no list can make.
 */
#include "queue_fixture.h"

#include <stdlib.h>
#include <string.h>

#define SCHEMA "(SELECT m.relnamespace FROM pg_class m WHERE m.oid = '{meta}'::regclass)"
/* Of the server itself, and without any of pawl's roles: what PUBLIC may. */
#define STRANGER "pg_signal_backend"

static const char *const roles[] = {"pawl_send", "pawl_work", "pawl_admin", STRANGER};

/*
 * `attempts` selects statements and what is expected: 'denied' for want of a right, 'refused' for
 * any reason, or 'allowed', which may fail for any other reason. Each runs as `role` and is rolled
 * back.
 */
static int run_all(fixture *f, const char *role, const char *attempts)
{
    const char *found = fixture_text(
        f,
        "DO $do$ DECLARE one record; state text; n integer := 0; found text := ''; BEGIN"
        " FOR one IN SELECT a.* FROM (%s) AS a(sql, expected) LOOP"
        " state := '00000'; n := n + 1;"
        " BEGIN SET LOCAL ROLE %s; EXECUTE one.sql;"
        " RAISE EXCEPTION USING ERRCODE = '00P01', MESSAGE = 'roll back';"
        " EXCEPTION WHEN SQLSTATE '00P01' THEN NULL;"
        " WHEN OTHERS THEN state := SQLSTATE; END;"
        " IF NOT (CASE one.expected WHEN 'denied' THEN state = '42501'"
        " WHEN 'refused' THEN state <> '00000' ELSE state <> '42501' END)"
        " THEN found := concat(found, E'\\n', state, ' ', one.expected, ': ', one.sql); END IF;"
        " END LOOP;"
        " PERFORM set_config('harness.found', n || found, true); END $do$;"
        " SELECT current_setting('harness.found')",
        attempts, role);

    if (strchr(found, '\n'))
        test_fail("as %s, not as expected:%s", role, strchr(found, '\n'));
    return (int)strtol(found, NULL, 10);
}

static fixture *open_postgres(void)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    /* The schema is not what keeps it out. */
    fixture_exec(f, "GRANT USAGE ON SCHEMA %s TO " STRANGER, fixture_store_options(f)->schema);
    return f;
}

PAWL_TEST_ON(postgres, each_role_calls_every_function)
{
    fixture *f = open_postgres();

    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        const char *attempts = test_note(
            "SELECT format('SELECT %%s(%%s)', p.oid::regproc,"
            " (SELECT string_agg(format('NULL::%%s', t.type::regtype), ', ' ORDER BY t.place)"
            " FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t(type, place))),"
            " CASE WHEN array_position(r.names, a.caller) <= array_position(r.names, '%s')"
            " THEN 'allowed' ELSE 'denied' END"
            " FROM pg_proc p JOIN {access}() a ON a.function_name = p.proname,"
            " (VALUES (ARRAY['pawl_send', 'pawl_work', 'pawl_admin'])) AS r(names)"
            " WHERE p.pronamespace = " SCHEMA,
            roles[i]);

        assert_in_range(run_all(f, roles[i], attempts), 100, 1000);
    }
    queue_check(f);
}

PAWL_TEST_ON(postgres, each_role_reads_writes_and_locks_every_table)
{
    static const char attempts[] =
        "SELECT format(k.form, c.oid::regclass, x.first), 'denied' FROM pg_class c"
        " CROSS JOIN LATERAL (SELECT quote_ident(a.attname) FROM pg_attribute a"
        "   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        "   ORDER BY a.attnum LIMIT 1) AS x(first)"
        " CROSS JOIN (VALUES ('SELECT * FROM %1$s'), ('SELECT %2$s FROM %1$s'),"
        "   ('SELECT count(*) FROM %1$s'), ('SELECT FROM %1$s FOR UPDATE'),"
        "   ('SELECT FROM %1$s FOR KEY SHARE'), ('INSERT INTO %1$s DEFAULT VALUES'),"
        "   ('INSERT INTO %1$s OVERRIDING SYSTEM VALUE SELECT * FROM %1$s'), ('UPDATE %1$s SET "
        "%2$s = DEFAULT'),"
        "   ('DELETE FROM %1$s'), ('TRUNCATE %1$s'), ('TRUNCATE %1$s CASCADE'),"
        "   ('LOCK TABLE %1$s IN ACCESS SHARE MODE'), ('LOCK TABLE %1$s'),"
        "   ('CREATE INDEX ON %1$s (%2$s)'), ('ALTER TABLE %1$s ADD mine integer'),"
        "   ('ALTER TABLE %1$s DISABLE TRIGGER ALL'), ('DROP TABLE %1$s CASCADE'),"
        "   ('CREATE RULE mine AS ON INSERT TO %1$s DO INSTEAD NOTHING'),"
        "   ('GRANT SELECT ON %1$s TO PUBLIC'), ('COMMENT ON TABLE %1$s IS NULL'),"
        "   ('CREATE POLICY mine ON %1$s')) AS k(form)"
        " WHERE c.relnamespace = " SCHEMA " AND c.relkind = 'r'";
    fixture *f = open_postgres();

    for (size_t i = 0; i < COUNT_OF(roles); i++)
        assert_in_range(run_all(f, roles[i], attempts), 300, 3000);
    queue_check(f);
}

PAWL_TEST_ON(postgres, each_role_writes_every_view_and_reads_those_it_may)
{
    fixture *f = open_postgres();

    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        bool reads = strcmp(roles[i], "pawl_work") == 0 || strcmp(roles[i], "pawl_admin") == 0;
        const char *attempts = test_note(
            "SELECT format(k.form, c.oid::regclass, x.first), CASE WHEN k.form NOT LIKE 'SELECT%%'"
            " THEN 'refused' WHEN %s AND c.relname IN ('message', 'outbox', 'timer', 'inbox',"
            " 'jobs', 'job_runs', 'job_status') THEN 'allowed' ELSE 'denied' END"
            " FROM pg_class c"
            " CROSS JOIN LATERAL (SELECT quote_ident(a.attname) FROM pg_attribute a"
            "   WHERE a.attrelid = c.oid AND a.attnum > 0 ORDER BY a.attnum LIMIT 1) AS x(first)"
            " CROSS JOIN (VALUES ('SELECT * FROM %%1$s'), ('SELECT %%2$s FROM %%1$s'),"
            "   ('INSERT INTO %%1$s DEFAULT VALUES'), ('UPDATE %%1$s SET %%2$s = %%2$s'),"
            "   ('DELETE FROM %%1$s'), ('LOCK TABLE %%1$s'), ('DROP VIEW %%1$s CASCADE'),"
            "   ('ALTER VIEW %%1$s SET (security_invoker = true)')) AS k(form)"
            " WHERE c.relnamespace = " SCHEMA " AND c.relkind = 'v'",
            reads ? "true" : "false");

        assert_in_range(run_all(f, roles[i], attempts), 50, 1000);
    }
    queue_check(f);
}

PAWL_TEST_ON(postgres, each_role_draws_reads_and_sets_every_sequence)
{
    static const char attempts[] =
        "SELECT format(k.form, c.oid::regclass), 'denied' FROM pg_class c"
        " CROSS JOIN (VALUES ('SELECT nextval(''%1$s'')'), ('SELECT setval(''%1$s'', 1)'),"
        "   ('SELECT setval(''%1$s'', 1, false)'), ('SELECT currval(''%1$s'')'),"
        "   ('SELECT last_value FROM %1$s'), ('ALTER SEQUENCE %1$s RESTART'),"
        "   ('DROP SEQUENCE %1$s CASCADE')) AS k(form)"
        " WHERE c.relnamespace = " SCHEMA " AND c.relkind = 'S'";
    fixture *f = open_postgres();

    for (size_t i = 0; i < COUNT_OF(roles); i++)
        assert_in_range(run_all(f, roles[i], attempts), 20, 500);
    queue_check(f);
}
