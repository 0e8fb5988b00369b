/*
 * tests/conformance/role_hostile_test.c - PostgreSQL: arguments that the library never passes, from
 * a role that may call the function. Each call is refused or changes nothing, and leaves no row.
 */
#include "queue_fixture.h"

#include <string.h>

#define SCHEMA "(SELECT m.relnamespace FROM pg_class m WHERE m.oid = '{meta}'::regclass)"
#define ME "'00000000-0000-4000-8000-000000000001'::uuid"
#define HUGE_ARRAY "array_fill(2::bigint, ARRAY[200000])"

/* Messages 1 and 2 (claimed by ME under fence 1), 3 (ready) and 4 (a dead letter). */
static fixture *open_postgres(void)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "held", "1");
    fixture_send(f, "held", "2");
    assert_int_equal(2, fixture_count(f, "SELECT count(*) FROM {claim}(" ME ", '1 hour', 9)"));
    fixture_send(f, "t", "3");
    fixture_send(f, "dead", "4");
    fixture_exec(f, "SELECT {topic_dead}('dead')");
    fixture_exec(f, "SELECT {fail}(" ME ", '{4}', ARRAY[(SELECT c.fence FROM {claim}(" ME
                    ", topics => ARRAY['dead']) c)])");
    assert_int_equal(PAWL_STATE_FAILED, fixture_state(f, (pawl_work_id){4}));
    return f;
}

/* Every row of every table, but for the clock that reap() has seen. */
static const char *everything(fixture *f)
{
    return fixture_text(
        f,
        "DO $do$ DECLARE one record; rows text; seen text := ''; BEGIN"
        " FOR one IN SELECT c.oid::regclass AS name FROM pg_class c WHERE c.relnamespace = " SCHEMA
        " AND c.relkind = 'r' AND c.relname <> 'clock_watch' ORDER BY c.oid LOOP"
        " EXECUTE format($q$SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, ','"
        " ORDER BY t::text)), '') FROM %%s t$q$, one.name) INTO rows;"
        " seen := concat(seen, one.name, ' ', rows, E'\\n'); END LOOP;"
        " PERFORM set_config('harness.seen', seen, true); END $do$;"
        " SELECT current_setting('harness.seen')");
}

/* As the role, committed: NULL when it was refused as it should, or answered 0 or no row. */
static const char *run_as(fixture *f, const char *role, const char *call)
{
    return fixture_text(
        f,
        "DO $do$ DECLARE said text; BEGIN"
        " BEGIN SET LOCAL ROLE %s; EXECUTE $call$%s$call$ INTO said; RESET ROLE;"
        " said := nullif(said, '0');"
        " EXCEPTION WHEN OTHERS THEN said := CASE WHEN SQLSTATE IN ('22023', '23505')"
        "   THEN NULL ELSE SQLSTATE || ' ' || SQLERRM END; END;"
        " PERFORM set_config('harness.said', coalesce(said, ''), true); END $do$;"
        " SELECT nullif(current_setting('harness.said'), '')",
        role, call);
}

static void assert_harmless(fixture *f, const char *role, const char *call)
{
    const char *before = everything(f);
    const char *said = run_as(f, role, call);

    if (said)
        test_fail("%s\nanswered: %s", call, said);
    if (strcmp(before, everything(f)) != 0)
        test_fail("%s\nchanged\n%sto\n%s", call, before, everything(f));
}

PAWL_TEST_ON(postgres, results_with_bad_arrays_or_another_owner_change_nothing)
{
    static const char *const functions[][2] = {
        {"ack", ""},
        {"fail", ""},
        {"fail", ", NULL"},
        {"abandon", ""},
        {"defer", ""},
        {"renew", ""},
        {"release", ""},
        {"progress", ", 'x'"},
        {"progress", ", NULL"},
        {"ack_output", ", ARRAY['x'::bytea]"},
        {"ack_output", ", NULL"},
        {"dead_done", ""},
        {"dead_abandon", ""},
        {"dead_renew", ""},
    };
    static const char *const arguments[] = {
        ME ", NULL, NULL",
        ME ", '{}', '{}'",
        ME ", '{1}', NULL",
        ME ", NULL, '{1}'",
        ME ", '{1}', '{}'",
        ME ", '{}', '{1}'",
        ME ", '{NULL}', '{NULL}'",
        ME ", '{1}', '{NULL}'",
        ME ", '{NULL}', '{1}'",
        ME ", '{-1}', '{1}'",
        ME ", '{1}', '{-1}'",
        ME ", '{1}', '{0}'",
        ME ", '{3}', '{0}'",
        ME ", '{4}', '{0}'",
        ME ", '{1,1}', '{8,9}'",
        ME ", '{9,1}', '{1}'",
        ME ", '{9223372036854775807}', '{9223372036854775807}'",
        ME ", '{-9223372036854775808}', '{-9223372036854775808}'",
        ME ", " HUGE_ARRAY ", " HUGE_ARRAY,
        ME ", '{1}', " HUGE_ARRAY,
        ME ", '{{3},{3}}', '{{1},{1}}'",
        "NULL, '{1,2}', '{1,1}'",
        "'00000000-0000-0000-0000-000000000000', '{1,2}', '{1,1}'",
        "'00000000-0000-0000-0000-000000000000', '{3}', '{0}'",
        "'00000000-0000-0000-0000-000000000000', '{4}', '{0}'",
        "'00000000-0000-4000-8000-000000000002', '{1,2}', '{1,1}'",
        "'00000000-0000-4000-8000-000000000002', '{4}', '{1}'",
    };
    fixture *f = open_postgres();

    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        for (size_t j = 0; j < COUNT_OF(arguments); j++)
            assert_harmless(
                f, "pawl_work",
                test_note("SELECT {%s}(%s%s)", functions[i][0], arguments[j], functions[i][1]));
    }
    queue_check(f);
}

PAWL_TEST_ON(postgres, a_message_that_is_named_twice_has_one_result)
{
    fixture *f = open_postgres();

    assert_int_equal(1, fixture_count(f, "SELECT {renew}(" ME ", '{1,1}', '{1,1}')"));
    assert_int_equal(1, fixture_count(f, "SELECT {ack}(" ME ", '{1,1,1}', '{1,1,1}')"));
    assert_int_equal(1, fixture_count(f, "SELECT {fail}(" ME ", '{2,2,1}', '{1,1,1}')"));
    queue_check(f);
}

PAWL_TEST_ON(postgres, claims_with_bad_arguments_take_nothing)
{
    static const char *const calls[] = {
        "SELECT id FROM {claim}(NULL)",
        "SELECT id FROM {claim}('00000000-0000-0000-0000-000000000000')",
        "SELECT id FROM {claim}(" ME ", NULL)",
        "SELECT id FROM {claim}(" ME ", '0')",
        "SELECT id FROM {claim}(" ME ", '-1 hour')",
        "SELECT id FROM {claim}(" ME ", '290000 years')",
        "SELECT id FROM {claim}(" ME ", '1 hour', NULL)",
        "SELECT id FROM {claim}(" ME ", '1 hour', 0)",
        "SELECT id FROM {claim}(" ME ", '1 hour', -1)",
        "SELECT id FROM {claim}(" ME ", '1 hour', 9223372036854775807)",
        "SELECT id FROM {claim}(" ME ", '1 hour', 1, '{}')",
        "SELECT id FROM {claim}(" ME ", '1 hour', 1, '{NULL}')",
        "SELECT id FROM {claim}(" ME ", '1 hour', 1, ARRAY['no'])",
        "SELECT id FROM {claim}(" ME ", destinations => '{}')",
        "SELECT id FROM {claim}(" ME ", destinations => '{NULL}')",
        "SELECT id FROM {claim}(" ME ", destinations => ARRAY['a'], limits => '{}')",
        "SELECT id FROM {claim}(" ME ", destinations => ARRAY['a'], limits => '{-1}')",
        "SELECT id FROM {claim}(" ME ", destinations => ARRAY['a'], limits => '{NULL}')",
        "SELECT id FROM {ack_and_claim}(NULL, '{1}', '{1}')",
        "SELECT id FROM {ack_and_claim}(" ME ", '{1}', '{1}', '0')",
        "SELECT id FROM {ack_and_claim}(" ME ", " HUGE_ARRAY ", " HUGE_ARRAY
        ", topics => ARRAY['no'])",
        "SELECT id FROM {dead_claim}(NULL)",
        "SELECT id FROM {dead_claim}(" ME ", '0')",
        "SELECT id FROM {dead_claim}(" ME ", max_rows => -1)",
    };
    fixture *f = open_postgres();

    for (size_t i = 0; i < COUNT_OF(calls); i++)
        assert_harmless(f, "pawl_work", calls[i]);
    queue_check(f);
}

#define ID "00000000-0000-4000-8000-00000000000"

PAWL_TEST_ON(postgres, messages_in_bad_arrays_are_not_stored)
{
    /* positions, ids, payloads */
    static const char *const arrays[] = {
        "NULL, NULL, NULL",
        "'{}', '{}', '{}'",
        "'{1}', NULL, ARRAY['x'::bytea]",
        "NULL, '{" ID "1}', ARRAY['x'::bytea]",
        "'{1}', '{" ID "1}', NULL",
        "'{1,2}', '{" ID "1}', ARRAY['x'::bytea]",
        "'{1}', '{" ID "1," ID "2}', ARRAY['x'::bytea]",
        "'{1}', '{" ID "1}', '{x,y}'",
        "'{NULL}', '{" ID "1}', ARRAY['x'::bytea]",
        "'{1}', '{NULL}', ARRAY['x'::bytea]",
        "'{1}', '{" ID "1}', '{NULL}'",
        "'{1,2}', '{" ID "1,NULL}', '{x,y}'",
        "'{1,2}', '{" ID "1," ID "1}', '{x,y}'",
        ("array_fill(1::bigint, ARRAY[200000]), array_fill('" ID "1'::uuid, ARRAY[200000]),"
         " array_fill('x'::bytea, ARRAY[200000])"),
    };
    fixture *f = open_postgres();

    for (size_t i = 0; i < COUNT_OF(arrays); i++) {
        assert_harmless(
            f, "pawl_send",
            test_note("SELECT work_id FROM {enqueue_plain}(%s, 't', 0, 0, 10)", arrays[i]));
        assert_harmless(
            f, "pawl_send",
            test_note(
                "SELECT work_id FROM (SELECT %s) AS a(p, i, l), LATERAL {enqueue_batch}("
                "a.p::bigint[], a.i::uuid[], ARRAY['t'], a.l::bytea[], '{0}', NULL, NULL, NULL,"
                " '{0}', NULL, NULL, NULL, NULL, '{10}', NULL, NULL, NULL, NULL, NULL, NULL)",
                arrays[i]));
    }
    queue_check(f);
}
