/*
 * tests/conformance/role_catalog_test.c - PostgreSQL's catalogue says what pawl's roles may do:
 * call the functions that pawl.access() lists for them, which run with the rights of the schema's
 * owner, and nothing else.
 */
#include "queue_fixture.h"

#define SCHEMA "(SELECT m.relnamespace FROM pg_class m WHERE m.oid = '{meta}'::regclass)"
#define ROLES "(VALUES ('pawl_send'), ('pawl_work'), ('pawl_admin')) AS r(role)"

/* `sql` selects what breaks the rule, one line each. */
static void assert_none(fixture *f, const char *rule, const char *sql)
{
    const char *found =
        fixture_text(f, "SELECT string_agg(x.line, E'\\n') FROM (%s) AS x(line)", sql);

    if (found)
        test_fail("%s:\n%s", rule, found);
}

PAWL_TEST_ON(postgres, every_function_is_listed_with_the_roles_that_may_call_it)
{
    fixture *f = fixture_open(NULL);

    assert_none(
        f,
        "functions that the list in pawl.access() (sql/postgres/functions/roles.sql) "
        "does not name: add each with the lowest role that may call it, 'owner' for none, or "
        "'part' if only other functions call it",
        "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = " SCHEMA
        " AND NOT EXISTS (SELECT FROM {access}() a WHERE a.function_name = p.proname)");
    assert_none(f, "names in pawl.access() that no function has, or that are listed twice",
                "SELECT a.function_name FROM {access}() a"
                " LEFT JOIN pg_proc p ON p.proname = a.function_name AND p.pronamespace = " SCHEMA
                " GROUP BY a.function_name"
                " HAVING count(p.oid) = 0 OR count(DISTINCT a.caller) > 1");
    assert_none(f, "callers in pawl.access() that are no role of pawl",
                "SELECT a.function_name || ' ' || a.caller FROM {access}() a"
                " WHERE a.caller NOT IN ('pawl_send', 'pawl_work', 'pawl_admin', 'owner', 'part')");
}

PAWL_TEST_ON(postgres, a_role_may_call_only_the_functions_listed_for_it)
{
    fixture *f = fixture_open(NULL);

    assert_none(f, "functions with other rights than listed",
                "SELECT r.role || ' ' || p.oid::regprocedure"
                " FROM pg_proc p JOIN {access}() a ON a.function_name = p.proname CROSS JOIN " ROLES
                " WHERE p.pronamespace = " SCHEMA
                " AND has_function_privilege(r.role, p.oid, 'EXECUTE') <>"
                " CASE a.caller WHEN 'pawl_send' THEN true"
                " WHEN 'pawl_work' THEN r.role <> 'pawl_send'"
                " WHEN 'pawl_admin' THEN r.role = 'pawl_admin' ELSE false END");
    assert_none(f, "functions with rights for PUBLIC or with a grant option",
                "SELECT p.oid::regprocedure::text FROM pg_proc p,"
                " aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS g"
                " WHERE p.pronamespace = " SCHEMA
                " AND (g.grantee = 0 OR (g.is_grantable AND g.grantee <> p.proowner))");
}

PAWL_TEST_ON(postgres, granted_functions_run_as_the_schemas_owner_under_a_fixed_search_path)
{
    fixture *f = fixture_open(NULL);

    assert_none(f, "functions that are not SECURITY DEFINER as listed",
                "SELECT p.oid::regprocedure::text FROM pg_proc p"
                " JOIN {access}() a ON a.function_name = p.proname WHERE p.pronamespace = " SCHEMA
                " AND p.prosecdef <> (a.caller LIKE 'pawl%')");
    assert_none(f, "functions without a fixed search_path",
                "SELECT p.oid::regprocedure::text FROM pg_proc p"
                " JOIN {access}() a ON a.function_name = p.proname WHERE p.pronamespace = " SCHEMA
                " AND a.caller <> 'part'"
                " AND 'search_path=pg_catalog, pg_temp' <> ALL (coalesce(p.proconfig, '{}'))");
    assert_none(f, "functions and relations that the schema's owner does not own",
                "SELECT x.name FROM (SELECT p.oid::regprocedure::text, p.pronamespace, p.proowner"
                " FROM pg_proc p UNION ALL SELECT c.oid::regclass::text, c.relnamespace, c.relowner"
                " FROM pg_class c) AS x(name, space, owner)"
                " JOIN pg_namespace n ON n.oid = x.space WHERE n.oid = " SCHEMA
                " AND x.owner <> n.nspowner");
}

PAWL_TEST_ON(postgres, a_role_has_no_right_on_any_table_or_sequence)
{
    fixture *f = fixture_open(NULL);

    assert_none(f, "relations with rights that no role should have",
                "SELECT r.role || ' ' || k.kind || ' on ' || c.oid::regclass"
                " FROM pg_class c CROSS JOIN " ROLES
                " CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) AS k(kind)"
                " WHERE c.relnamespace = " SCHEMA " AND c.relkind IN ('r', 'v', 'm', 'p', 'f')"
                " AND has_any_column_privilege(r.role, c.oid, k.kind)"
                " AND NOT (k.kind = 'SELECT' AND c.relkind = 'v' AND r.role <> 'pawl_send'"
                " AND c.relname IN ('message', 'outbox', 'timer', 'inbox', 'jobs', 'job_runs', "
                "'job_status'))");
    assert_none(f, "tables with rights that no role should have",
                "SELECT r.role || ' ' || k.kind || ' on ' || c.oid::regclass"
                " FROM pg_class c CROSS JOIN " ROLES
                " CROSS JOIN unnest(ARRAY['DELETE', 'TRUNCATE', 'TRIGGER']) AS k(kind)"
                " WHERE c.relnamespace = " SCHEMA " AND c.relkind IN ('r', 'v', 'm', 'p', 'f')"
                " AND has_table_privilege(r.role, c.oid, k.kind)");
    assert_none(f, "sequences with rights",
                "SELECT r.role || ' ' || k.kind || ' on ' || c.oid::regclass"
                " FROM pg_class c CROSS JOIN " ROLES
                " CROSS JOIN unnest(ARRAY['USAGE', 'SELECT', 'UPDATE']) AS k(kind)"
                " WHERE c.relnamespace = " SCHEMA " AND c.relkind = 'S'"
                " AND has_sequence_privilege(r.role, c.oid, k.kind)");
    assert_none(f, "roles that may create something in the schema",
                "SELECT r.role FROM " ROLES " WHERE has_schema_privilege(r.role, " SCHEMA
                ", 'CREATE')");
}
