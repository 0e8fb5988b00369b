/*
 * tests/conformance/role_attack_test.c - users with pawl's roles on PostgreSQL try what they were
 * not granted. role_objects_test.c tries every function and relation that there is.
 *
 * SET ROLE inside a DO block gives the rights of the role and no others. Every attempt runs in a
 * subtransaction, so that one that succeeds leaves nothing behind for the next.
 */
#include "queue_fixture.h"

#include <string.h>

/* The SQLSTATE of `sql` when `role` runs it; 00000: it succeeded, and was rolled back. */
static const char *attempt(fixture *f, const char *role, const char *sql)
{
    return fixture_text(f,
                        "DO $do$ DECLARE state text := '00000'; BEGIN"
                        " BEGIN SET LOCAL ROLE %s; EXECUTE $sql$%s$sql$;"
                        " RAISE EXCEPTION USING ERRCODE = '00P01', MESSAGE = 'roll back';"
                        " EXCEPTION WHEN SQLSTATE '00P01' THEN NULL;"
                        " WHEN OTHERS THEN state := SQLSTATE; END;"
                        " PERFORM set_config('harness.state', state, true); END $do$;"
                        " SELECT current_setting('harness.state')",
                        role, sql);
}

static void assert_denied(fixture *f, const char *role, const char *sql)
{
    const char *state = attempt(f, role, fixture_expand(f, sql));

    if (strcmp(state, "42501") != 0)
        test_fail("%s was not denied (%s): %s", role, state, sql);
}

PAWL_TEST_ON(postgres, a_sender_reads_nothing_and_writes_only_through_enqueue)
{
    static const char *const attacks[] = {
        /* payloads */
        "SELECT payload FROM {body}",
        "SELECT count(*) FROM {message}",
        "SELECT payload FROM {outbox}",
        "SELECT payload FROM {timer}",
        "SELECT * FROM {get}(1)",
        "SELECT * FROM {find}('00000000-0000-0000-0000-000000000001')",
        "SELECT * FROM {list_any}(with_payload => true)",
        /* a finished message runs again, or one that never existed */
        "INSERT INTO {queue} (id, lane_id, run_at) VALUES (1, 1, now())",
        ("INSERT INTO {body} (id, message_id, topic, priority, type, max_attempts, created_at,"
         " due_at, payload) VALUES (-1, gen_random_uuid(), 't', 0, 0, 1, now(), now(), '')"),
        /* claims and reap that fail */
        "INSERT INTO {queue} (id, lane_id, run_at, lease) VALUES (77, 1, now(), '290000 years')",
        "INSERT INTO {lane} (topic, priority) VALUES ('t', 0)",
        ("SELECT {enqueue_rows}(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,"
         " NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,"
         " NULL)"),
        ("INSERT INTO {claim} (fence, owner, owner_name, check_at, lease, ids)"
         " VALUES (9223372036854775807, gen_random_uuid(), '', now(), '1 s', '{}')"),
        "INSERT INTO {idle_worker} VALUES (gen_random_uuid(), 'infinity')",
        /* ids */
        "SELECT nextval('{body_id_seq}')",
        "SELECT setval('{body_id_seq}', 1)",
        "SELECT nextval('{fence}')",
        "SELECT currval('{fence}')",
        "SELECT last_value FROM {body_id_seq}",
        /* locks */
        "LOCK TABLE {queue} IN ACCESS SHARE MODE",
        "SELECT FROM {lane} FOR UPDATE",
        "SELECT FROM {lane}",
        "SELECT FROM {idle_worker}",
        "SELECT FROM {meta}",
        /* other roles' work */
        "SELECT {reap}()",
        "SELECT {prune}('0')",
        "SELECT {cancel}('{1}')",
        "SELECT {wake}()",
        "SELECT {topic_pause}('t')",
        "SELECT {lease_acquire}('l', gen_random_uuid())",
        "SELECT {inbox_begin}('s', 'i')",
        "SELECT {job_put}('j', '@daily', 't', 'x'::text)",
    };
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    for (size_t i = 0; i < COUNT_OF(attacks); i++)
        assert_denied(f, "pawl_send", attacks[i]);
    queue_check(f);
}

PAWL_TEST_ON(postgres, no_role_changes_the_schema)
{
    static const char *const roles[] = {"pawl_send", "pawl_work", "pawl_admin"};
    static const char *const attacks[] = {
        "CREATE TABLE {mine} (n integer)",
        "CREATE VIEW {mine} AS SELECT 1",
        "CREATE TYPE {mine} AS (n integer)",
        "CREATE SEQUENCE {mine}",
        "CREATE FUNCTION {mine}() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE FUNCTION {clock}() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
        "CREATE TRIGGER mine BEFORE INSERT ON {queue} EXECUTE FUNCTION {queue_run_ended}()",
        "CREATE STATISTICS {mine} ON id, fence FROM {queue}",
        "CREATE SCHEMA mine",
        "ALTER FUNCTION {clock}() OWNER TO CURRENT_USER",
        "ALTER FUNCTION {reap} RESET search_path",
        "ALTER FUNCTION {reap} SECURITY INVOKER",
        "DROP FUNCTION {reap}",
        "ALTER TABLE {queue} OWNER TO CURRENT_USER",
        "GRANT EXECUTE ON FUNCTION {clock} TO PUBLIC",
        "GRANT pawl_admin TO pawl_send",
        "GRANT pawl_work TO pawl_send",
        "ALTER ROLE pawl_send SUPERUSER",
        "SET session_replication_role = replica", /* no triggers */
        "CREATE EVENT TRIGGER mine ON ddl_command_end EXECUTE FUNCTION {queue_run_ended}()",
        "REINDEX TABLE {queue}",
    };
    fixture *f = fixture_open(NULL);

    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        for (size_t j = 0; j < COUNT_OF(attacks); j++)
            assert_denied(f, roles[i], attacks[j]);
    }
    queue_check(f);
}

PAWL_TEST_ON(postgres, a_worker_does_not_do_an_administrators_work)
{
    static const char *const attacks[] = {
        "SELECT * FROM {get}(1)",
        "SELECT * FROM {list_any}(with_payload => true)",
        "SELECT * FROM {list_dead}()",
        "SELECT * FROM {stats}()",
        "SELECT {cancel}('{1}')",
        "SELECT {retry}('{1}')",
        "SELECT {purge}('{1}')",
        "SELECT {lease_force}('l')",
        "SELECT {inbox_retry}('s')",
        "SELECT {inbox_purge}('s')",
        "SELECT {clock_reset}()",
        "UPDATE {inbox} SET attempts = 0",
        "DELETE FROM {inbox}",
        "SELECT lock_secret FROM {meta}",
        "SELECT FROM {mutex} FOR UPDATE",
    };
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    for (size_t i = 0; i < COUNT_OF(attacks); i++)
        assert_denied(f, "pawl_work", attacks[i]);
    queue_check(f);
}
