/* tests/conformance/bounds_test.c - values beyond all bounds: refused by name, and harmless where
 * stored. */
#include "queue_fixture.h"

#include <string.h>

/*
 * Every span that a function of the schema takes, found in the catalogue: each is given values that
 * are too long, too short, and one that compares as nearly nothing but leaves the range of times
 * when it is added to one. The other arguments keep their defaults, or get something harmless of
 * their type.
 */
#define TRY_EVERY_SPAN                                                                             \
    "DO $do$ DECLARE one record; found text := ''; said text; code text; BEGIN"                    \
    " FOR one IN SELECT p.proname || ': ' || a.name AS argument, v.value,"                         \
    "   format('SELECT %%s(%%s)', p.oid::regproc, (SELECT string_agg(format('%%I => %%L::%%s', "   \
    "b.name,"                                                                                      \
    "     CASE WHEN b.place = a.place THEN v.value ELSE CASE b.type::regtype::text"                \
    "       WHEN 'uuid' THEN '00000000-0000-0000-0000-000000000001' WHEN 'text' THEN 'x'"          \
    "       WHEN 'bytea' THEN 'x' WHEN 'boolean' THEN 'false' WHEN 'interval' THEN '1 second'"     \
    "       WHEN 'bigint[]' THEN '{1}' ELSE CASE WHEN right(b.type::regtype::text, 2) = '[]' "     \
    "THEN '{}' ELSE '1' END "                                                                      \
    "END END,"                                                                                     \
    "     b.type::regtype), ', ')"                                                                 \
    "     FROM unnest(p.proargnames, p.proargtypes::oid[]) WITH ORDINALITY AS b(name, type, "      \
    "place)"                                                                                       \
    "     WHERE b.type IS NOT NULL"                                                                \
    "       AND (b.place = a.place OR b.place <= p.pronargs - p.pronargdefaults))) AS call"        \
    " FROM pg_proc p JOIN {access}() c ON c.function_name = p.proname"                             \
    " CROSS JOIN LATERAL unnest(p.proargnames, p.proargtypes::oid[]) WITH ORDINALITY"              \
    "   AS a(name, type, place)"                                                                   \
    " CROSS JOIN (VALUES ('178000000 years'), ('-178000000 years'), ('300000 years'), ('-1 "       \
    "second'),"                                                                                    \
    "   ('101 years')) AS v(value)"                                                                \
    " WHERE p.pronamespace = (SELECT m.relnamespace FROM pg_class m WHERE m.oid = "                \
    "'{meta}'::regclass)"                                                                          \
    "   AND c.caller LIKE 'pawl%%' AND a.type = 'interval'::regtype"                               \
    " LOOP BEGIN EXECUTE one.call; code := 'accepted'; said := '';"                                \
    " EXCEPTION WHEN OTHERS THEN code := SQLSTATE; said := SQLERRM; END;"                          \
    " IF code <> '22023' OR strpos(said, split_part(one.argument, ': ', 2)) = 0 THEN"              \
    " found := found || format(E'%%s = %%s: %%s %%s\\n', one.argument, one.value, code, said);"    \
    " END IF; END LOOP; PERFORM set_config('harness.found', found, true); END $do$;"               \
    " SELECT nullif(current_setting('harness.found'), '')"

PAWL_TEST_ON(postgres, every_span_of_every_sql_function_has_bounds)
{
    fixture *f = fixture_open(NULL);
    const char *found;

    found = fixture_text(f, TRY_EVERY_SPAN);
    if (found)
        test_fail("spans that were not refused by name:\n%s", found);
    queue_check(f);
}

/* By every comparison this is 12 hours; added to a time of our day it is beyond the last one there
 * is. */
PAWL_TEST_ON(postgres, a_span_of_years_less_days_is_kept_as_seconds)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *list;

    fixture_exec(f, "SELECT {enqueue}('t', 'x'::text, lease => '292250 years -106744312 days')");
    fixture_exec(f, "SELECT {enqueue}('t', 'y'::text, lease => '1 minute')");
    fixture_set(f, (pawl_wall){FIXTURE_START.us + 3650 * DAY_MS * 1000});
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 2);
    assert_int_equal(2, pawl_messages_count(list));
    assert_time(fixture_now(f).us + 12 * HOUR_MS * 1000,
                pawl_message_lease_until(pawl_messages_at(list, 0)));
}

PAWL_TEST_ON(postgres, times_of_sql_functions_have_bounds)
{
    static const char *const calls[] = {
        "{enqueue}('t', 'x'::text, due_at => 'infinity')",
        "{enqueue}('t', 'x'::text, due_at => '-infinity')",
        "{enqueue}('t', 'x'::text, due_at => '294000-01-01 UTC')",
        "{enqueue}('t', 'x'::text, due_at => '4000-01-01 BC')",
        "{enqueue}('t', 'x'::text, expires_at => '294000-01-01 UTC')",
        "{enqueue}('t', 'x'::text, expires_at => '1969-12-31 UTC')",
        "{enqueue}('t', 'x'::text, expires_at => 'infinity')",
        "{schedule}('t', 'x'::text, due_at => '294276-12-31 UTC', destination => 'd')",
        "{schedule}('t', 'x'::text, due_at => 'infinity')",
    };
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        const char *code = fixture_text(
            f,
            "DO $do$ DECLARE code text := ''; BEGIN BEGIN PERFORM %s; EXCEPTION WHEN OTHERS THEN"
            " code := SQLSTATE; END; PERFORM set_config('harness.found', code, true); END $do$;"
            " SELECT current_setting('harness.found')",
            calls[i]);

        if (strcmp(code, "22023") != 0)
            test_fail("%s ended with '%s'", calls[i], code);
    }
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}

/* As if someone had written it by hand, or an older version had. */
PAWL_TEST(a_row_with_an_absurd_span_stops_no_other)
{
    fixture *f = fixture_open(NULL);
    bool pg = fixture_is_postgres(f);
    const char *longest = pg ? "interval '178000000 years'" : "9223372036854775807";
    pawl_work_id bad = fixture_send(f, "t", "bad"), good = fixture_send(f, "t", "good");
    pawl_messages *list;

    fixture_exec(f, "UPDATE {body} SET max_attempts = 1000");
    if (!pg) /* the checks are what keeps it out; this is for a file that came without them */
        fixture_exec(f, "PRAGMA ignore_check_constraints = on");
    fixture_exec(f, "UPDATE {queue} SET lease = %s WHERE id = %lld", longest, (long long)bad.value);
    fixture_exec(f,
                 "UPDATE {body} SET lease = %s, retry_base = %s, retry_max = %s, retry_jitter = %s"
                 " WHERE id = %lld",
                 longest, longest, longest, longest, (long long)bad.value);
    fixture_exec(f, "UPDATE {body} SET retry_base = %s, retry_max = %s WHERE id = %lld",
                 pg ? "interval '-178000000 years'" : "-9223372036854775807",
                 pg ? "interval '-178000000 years'" : "-9223372036854775807",
                 (long long)good.value);
    for (int i = 0; i < 40; i++) {
        list = fixture_claim(f, queue_owner(1), MINUTE_MS, 2);
        assert_int_equal(2, pawl_messages_count(list));
        assert_int_equal(2, queue_renew(f, queue_owner(1), list, MINUTE_MS));
        assert_int_equal(2, queue_abandon(f, queue_owner(1), list, "again", PAWL_DELAY_BY_POLICY));
        fixture_advance(f, 61 * DAY_MS);
    }
    list = fixture_claim(f, queue_owner(1), MINUTE_MS, 2);
    assert_int_equal(2, queue_fail(f, queue_owner(1), list, "enough"));
    assert_int_equal(1, queue_retry(f, bad));
    assert_int_equal(1, queue_retry(f, good));
    assert_int_equal(2, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 2)));
    queue_check(f);
}
