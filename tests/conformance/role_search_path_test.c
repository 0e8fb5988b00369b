/*
 * tests/conformance/role_search_path_test.c - PostgreSQL: functions, operators, types and views
 * with the names that pawl's functions use, put where the session's search_path finds them first.
 * None of them may run: pawl's functions have the rights of the schema's owner.
 *
 * Planted code draws from a sequence and fails. The sequence remembers it, whatever is rolled back
 * or caught. (A cast cannot be planted: that takes the ownership of a type.)
 */
#include "queue_fixture.h"

#include <string.h>

#define SCHEMA "(SELECT m.relnamespace FROM pg_class m WHERE m.oid = '{meta}'::regclass)"
#define OWNER "'00000000-0000-0000-0000-000000000001'"

/* The schema of the planted things; goes with the fixture's. */
static const char *traps(fixture *f)
{
    return test_note("%s_traps", fixture_store_options(f)->schema);
}

/* Run `sql`, in which TRAPS stands for that schema. */
static void plant(fixture *f, const char *sql)
{
    const char *done = "";

    for (const char *at; (at = strstr(sql, "TRAPS")) != NULL; sql = at + strlen("TRAPS"))
        done = test_note("%s%.*s%s", done, (int)(at - sql), sql, traps(f));
    fixture_exec(f, "%s%s", done, sql);
}

#define BODY                                                                                       \
    " LANGUAGE plpgsql AS $b$BEGIN PERFORM pg_catalog.nextval('TRAPS.hits');"                      \
    " RAISE EXCEPTION 'planted'; END$b$"

/* Every function of the server whose name some function of pawl's uses, with the same arguments. */
static const char functions[] =
    "DO $do$ DECLARE one record; BEGIN"
    " FOR one IN SELECT p.proname, p.proretset, format_type(p.prorettype, NULL) AS result,"
    " pg_get_function_identity_arguments(p.oid) AS arguments FROM pg_proc p"
    " WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind IN ('f', 'a')"
    " AND p.proname IN (SELECT m.word[1] FROM pg_proc s, regexp_matches(s.prosrc,"
    "   '([a-z_0-9]+)\\s*\\(', 'g') AS m(word) WHERE s.pronamespace = " SCHEMA ")"
    " AND NOT EXISTS (SELECT FROM unnest(p.proargtypes || p.prorettype) AS a(type)"
    "   JOIN pg_type t ON t.oid = a.type WHERE t.typname = 'any' OR (t.typtype = 'p'"
    "   AND t.typname NOT LIKE 'any%' AND t.typname NOT IN ('void', 'record')))"
    " LOOP BEGIN EXECUTE format('CREATE FUNCTION TRAPS.%I(%s) RETURNS %s %s %s', one.proname,"
    "   one.arguments, CASE WHEN one.proretset THEN 'SETOF' ELSE '' END, one.result, $f$" BODY
    "$f$);"
    " EXCEPTION WHEN duplicate_function OR invalid_function_definition THEN NULL; END;"
    " END LOOP; END $do$";

/* Every operator of the server between types that pawl has. */
static const char operators[] =
    "DO $do$ DECLARE one record; BEGIN"
    " FOR one IN SELECT o.oid, o.oprname AS name, o.oprleft::regtype AS l, o.oprright::regtype AS "
    "r,"
    " o.oprresult::regtype AS result FROM pg_operator o"
    " WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprkind = 'b'"
    " AND ARRAY[o.oprleft, o.oprright]::regtype[] <@ ARRAY['bigint', 'integer', 'smallint',"
    "   'text', 'boolean', 'timestamptz', 'interval', 'uuid', 'float8', 'numeric', 'bytea', 'xid8',"
    "   'anyarray', 'anycompatiblearray', 'anycompatible', 'name']::regtype[]"
    " LOOP BEGIN EXECUTE format('CREATE FUNCTION TRAPS.op_%s(%s, %s) RETURNS %s %s', one.oid, "
    "one.l,"
    "   one.r, one.result, $f$" BODY "$f$);"
    " EXECUTE format('CREATE OPERATOR TRAPS.%s (LEFTARG = %s, RIGHTARG = %s,"
    "   FUNCTION = TRAPS.op_%s)', one.name, one.l, one.r, one.oid);"
    " EXCEPTION WHEN invalid_function_definition THEN NULL; END;"
    " END LOOP; END $do$";

/* Calls with named arguments, what matches better than VARIADIC "any", types, relations. */
static const char *const others[] = {
    ("CREATE FUNCTION TRAPS.make_interval(secs float8) RETURNS interval" BODY),
    ("CREATE FUNCTION TRAPS.format(text, text) RETURNS text" BODY),
    ("CREATE FUNCTION TRAPS.format(text, text, text) RETURNS text" BODY),
    ("CREATE FUNCTION TRAPS.clock() RETURNS timestamptz" BODY),
    ("CREATE FUNCTION TRAPS.spring() RETURNS integer" BODY),
    ("CREATE FUNCTION TRAPS.spring(anyelement) RETURNS boolean" BODY),
    ("DO $do$ DECLARE one name; BEGIN FOREACH one IN ARRAY ARRAY['text', 'uuid', 'bytea', 'json',"
     " 'jsonb', 'xid8', 'regclass']::name[] LOOP EXECUTE format('CREATE DOMAIN TRAPS.%1$I AS"
     " pg_catalog.%1$I CHECK (TRAPS.spring(VALUE))', one); END LOOP; END $do$"),
    ("DO $do$ DECLARE one record; BEGIN FOR one IN SELECT c.relname FROM pg_class c"
     " WHERE c.relnamespace = " SCHEMA " AND c.relkind IN ('r', 'v') LOOP"
     " EXECUTE format('CREATE VIEW TRAPS.%I AS SELECT TRAPS.spring() AS id', one.relname);"
     " END LOOP; END $do$"),
};

static void drop_traps(void *argument)
{
    fixture *f = argument;

    fixture_exec(f, "DROP SCHEMA %s CASCADE", traps(f));
}

static fixture *open_with_traps(void)
{
    fixture *f = fixture_open(NULL);

    fixture_exec(f, "CREATE SCHEMA %s", traps(f));
    test_defer(drop_traps, f);
    fixture_exec(f, "CREATE SEQUENCE %s.hits", traps(f));
    plant(f, functions);
    plant(f, operators);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        plant(f, others[i]);
    fixture_exec(f, "GRANT USAGE ON SCHEMA %s TO PUBLIC", traps(f));
    fixture_exec(f, "GRANT USAGE ON SEQUENCE %s.hits TO PUBLIC", traps(f));
    return f;
}

static int64_t hits(fixture *f)
{
    return fixture_count(f, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM %s.hits",
                         traps(f));
}

/*
 * Run the calls as an administrator whose session finds the traps first, in pg_temp too. `each` is
 * what to do with one. Nothing in the second block may use what was planted: no operator, no type's
 * name without its schema.
 */
static void run_calls(fixture *f, const char *calls, const char *each)
{
    fixture_tx_exec(
        f, 0,
        "BEGIN; SELECT set_config('harness.calls', $calls$%s$calls$, true);"
        "DO $do$ DECLARE one record; BEGIN"
        " FOR one IN SELECT c.relname FROM pg_class c WHERE c.relnamespace = " SCHEMA
        "   AND c.relkind IN ('r', 'v') LOOP"
        "   EXECUTE format('CREATE TEMP VIEW %%I AS SELECT %s.spring() AS id', one.relname);"
        " END LOOP; END $do$;"
        "SET LOCAL ROLE pawl_admin;"
        "DO $do$ DECLARE call pg_catalog.text; calls CONSTANT pg_catalog._text :="
        " string_to_array(current_setting('harness.calls'), E'\\n'); BEGIN"
        " PERFORM set_config('search_path', 'pg_temp, %s, pg_catalog', true);"
        " FOREACH call IN ARRAY calls LOOP %s END LOOP; END $do$;"
        "RESET ROLE; SET LOCAL search_path = pg_catalog; DISCARD TEMP; COMMIT",
        calls, traps(f), traps(f), each);
}

#define MUST_SUCCEED                                                                               \
    "BEGIN EXECUTE call; EXCEPTION WHEN OTHERS THEN"                                               \
    " RAISE WARNING '%: %', call, SQLERRM; RAISE; END;"
#define MAY_FAIL "BEGIN EXECUTE call; EXCEPTION WHEN OTHERS THEN NULL; END;"

/* One call of each function that a role may call, with values of the right types. */
static const char *every_call(fixture *f, const char *condition)
{
    return fixture_text(
        f,
        "SELECT string_agg(format('SELECT %%s(%%s)', p.oid::regproc, (SELECT string_agg("
        " format('%%s => %%L::pg_catalog.%%I', a.name, CASE t.typname WHEN 'uuid' THEN " OWNER
        "   WHEN 'text' THEN 'x' WHEN 'bytea' THEN 'x' WHEN 'bool' THEN 'false'"
        "   WHEN 'interval' THEN '1 second' WHEN 'timestamptz' THEN '2026-01-01'"
        "   WHEN 'json' THEN '{}' WHEN '_int8' THEN '{1}' ELSE CASE WHEN t.typname LIKE E'\\\\_%%'"
        "   THEN '{}' ELSE '1' END END, t.typname), ', ')"
        " FROM unnest(p.proargnames, p.proargtypes::oid[]) WITH ORDINALITY AS a(name, type, place)"
        " JOIN pg_type t ON t.oid = a.type"
        " WHERE a.place <= p.pronargs - p.pronargdefaults)), E'\\n' ORDER BY p.proname)"
        " FROM pg_proc p JOIN {access}() c ON c.function_name = p.proname"
        " WHERE p.pronamespace = " SCHEMA " AND c.caller LIKE 'pawl%%' AND %s",
        condition);
}

/* The whole life of messages, in the words of psql. */
static const char *life(void)
{
    static const char *const calls[] = {
        "SELECT {enqueue}('t', 'a'::pg_catalog.text)",
        "SELECT {enqueue}('t', 'b'::pg_catalog.text, delay => '1 second')",
        "SELECT {schedule}('t', 'c'::pg_catalog.text, '2026-01-01T01:00:00Z'::timestamptz)",
        "SELECT {claim}(" OWNER ", max_rows => 10)",
        "SELECT {renew}(" OWNER ", '{1}', '{1}')",
        "SELECT {progress}(" OWNER ", '{1}', '{1}', 'half')",
        "SELECT {abandon}(" OWNER ", '{1}', '{1}', 'no', '0')",
        "SELECT {claim}(" OWNER ", max_rows => 10)",
        "SELECT {release}(" OWNER ", '{1}', '{2}')",
        "SELECT {claim}(" OWNER ", max_rows => 10)",
        "SELECT {fail}(" OWNER ", '{1}', '{3}', 'no')",
        "SELECT {retry}('{1}')",
        "SELECT {ack_and_claim}(" OWNER ", '{}', '{}')",
        "SELECT {ack}(" OWNER ", '{1}', '{4}')",
        "SELECT {cancel}('{2}')",
        "SELECT {reap}()",
        "SELECT {expire}()",
        "SELECT {compact_stats}()",
        "SELECT {prune}('1 hour')",
        "SELECT {purge}('{2}')",
        "SELECT {topic_dead}('t')",
        "SELECT {topic_pause}('t')",
        "SELECT {topic_list}()",
        "SELECT {topic_resume}('t')",
        "SELECT {stats}()",
        "SELECT {inbox_begin}('shop', '1')",
        "SELECT {inbox_done}('shop', '1', response => 'yes')",
        "SELECT {inbox_begin}('shop', '1')",
        "SELECT {lease_acquire}('l', " OWNER ")",
        "SELECT {lease_list}()",
        "SELECT {lease_force}('l')",
        "SELECT {job_put}('j', '@daily', 't', 'x'::pg_catalog.text)",
        "SELECT {job_trigger}('j')",
        "SELECT {job_delete}('j')",
        "SELECT FROM {message}",
        "SELECT FROM {outbox}",
        "SELECT FROM {timer}",
        "SELECT FROM {inbox}",
        "SELECT FROM {jobs}",
        "SELECT FROM {job_runs}",
    };
    const char *text = "SELECT {now}()";

    for (size_t i = 0; i < COUNT_OF(calls); i++)
        text = test_note("%s\n%s", text, calls[i]);
    return text;
}

PAWL_TEST_ON(postgres, no_planted_code_runs_in_the_lifecycle_of_a_message)
{
    fixture *f = open_with_traps();

    run_calls(f, life(), MUST_SUCCEED);
    assert_int_equal(0, hits(f));
    /* It was a life: every step did what it says. */
    assert_int_equal(PAWL_STATE_DONE, fixture_state(f, (pawl_work_id){1}));
    assert_int_equal(3, fixture_count(f, "SELECT count(*) FROM {body}")); /* c, and the job's */
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {inbox} WHERE duplicates = 1"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {jobs}"));
    queue_check(f);
}

PAWL_TEST_ON(postgres, no_planted_code_runs_in_any_function)
{
    fixture *f = open_with_traps();

    run_calls(f, every_call(f, "true"), MAY_FAIL);
    assert_int_equal(0, hits(f));
}

/* Static: it outlives a failing test, for what is deferred. */
static pawl_store *guest;

static void leave(void *argument)
{
    pawl_store_close(guest);
    guest = NULL;
    (void)argument;
}

/* The library's own statements run under the search_path of the session. */
PAWL_TEST_ON(postgres, no_planted_code_runs_in_the_library)
{
    fixture *f = open_with_traps();
    const char *name = test_note("%s_guest", fixture_store_options(f)->schema);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_messages *list = NULL;
    pawl_outbox_stats *stats = NULL;
    pawl_lease_grant grant;
    pawl_enqueued sent;

    fixture_exec(f, "CREATE ROLE %s LOGIN IN ROLE pawl_admin", name);
    fixture_exec(f, "ALTER ROLE %s SET search_path = %s", name, traps(f));
    assert_ok(pawl_store_open(test_note("%s user=%s", fixture_url(f), name),
                              fixture_store_options(f), &guest, &err),
              &err);
    test_defer(leave, &guest);
    assert_ok(pawl_outbox_enqueue(guest, &message, &sent, &err), &err);
    message.id = queue_id(1);
    assert_ok(pawl_outbox_enqueue(guest, &message, &sent, &err), &err);
    assert_ok(pawl_queue_claim(guest, queue_owner(1), MINUTE_MS, 10, NULL, &list, &err), &err);
    queue_keep(list);
    assert_int_equal(2, pawl_messages_count(list));
    const pawl_receipt *receipt = queue_receipts(list);
    assert_ok(pawl_queue_renew(guest, queue_owner(1), receipt, 2, MINUTE_MS, NULL, &err), &err);
    assert_ok(pawl_queue_abandon(guest, queue_owner(1), receipt, 1, "no", 1, NULL, &err), &err);
    assert_ok(pawl_queue_ack(guest, queue_owner(1), receipt + 1, 1, NULL, &err), &err);
    assert_ok(pawl_queue_reap(guest, NULL, NULL, &err), &err);
    assert_ok(pawl_queue_expire(guest, NULL, NULL, &err), &err);
    assert_ok(pawl_queue_compact_stats(guest, NULL, NULL, &err), &err);
    assert_ok(pawl_queue_prune(guest, DAY_MS, NULL, NULL, &err), &err);
    assert_ok(pawl_outbox_list(guest, NULL, &list, NULL, &err), &err);
    queue_keep(list);
    assert_ok(pawl_outbox_get_stats(guest, &stats, &err), &err);
    pawl_outbox_stats_free(stats);
    assert_ok(pawl_topic_pause(guest, "t", NULL, &err), &err);
    assert_ok(pawl_topic_resume(guest, "t", NULL, &err), &err);
    assert_ok(pawl_lease_acquire(guest, "l", queue_owner(1), MINUTE_MS, NULL, &grant, &err), &err);
    assert_ok(pawl_lease_force_release(guest, "l", NULL, NULL, &err), &err);
    assert_ok(pawl_outbox_cancel(guest, &sent.work_id, 1, NULL, &err), &err);
    leave(NULL);
    test_defer_cancel(&guest);
    fixture_exec(f, "DROP ROLE %s", name);
    assert_int_equal(0, hits(f));
}

/* The control: each of these would have been caught. */
PAWL_TEST_ON(postgres, a_function_without_a_fixed_search_path_runs_planted_code)
{
    static const char *const names[] = {"claim_batch", "inbox_begin", "expire", "lease_acquire",
                                        "enqueue_plain"};
    fixture *f = open_with_traps();

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *call = every_call(f, test_note("p.proname = '%s'", names[i]));
        int64_t before = hits(f);

        fixture_exec(f, "ALTER FUNCTION {%s} RESET search_path", names[i]);
        run_calls(f, call, MAY_FAIL);
        if (hits(f) == before)
            test_fail("%s without a search_path of its own runs nothing planted: %s", names[i],
                      call);
    }
}
