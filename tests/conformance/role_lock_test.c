/*
 * tests/conformance/role_lock_test.c - PostgreSQL: a user without any right of pawl's takes every
 * advisory lock that it can compute or read from pg_locks, and blocks nothing with them.
 *
 * Advisory locks belong to the database: any user may take any number.
 */
#include "queue_fixture.h"

#include <string.h>

#define STRANGER 0 /* the handle that takes the locks */
#define WORKER 1

/* Only a call that is blocked after all waits this long. */
#define PATIENCE "BEGIN; SET LOCAL lock_timeout = '5s'"

/* A transaction, for a pooler's sake; of a role that has nothing to do with pawl. */
static void begin_stranger(fixture *f)
{
    fixture_tx_exec(f, STRANGER, "BEGIN; SET LOCAL ROLE pg_signal_backend");
}

/* Two numbers that everyone can see: a relation's, and a small one. */
static void take_keys_of_relations(fixture *f)
{
    fixture_tx_exec(f, STRANGER,
                    "SELECT pg_advisory_xact_lock(c.oid::integer, n)"
                    " FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace,"
                    " generate_series(0, 2) n WHERE c.relkind = 'r' AND s.nspname = '%s'",
                    fixture_store_options(f)->schema);
}

/* A hash of what the stranger knows of a message, and of the relations' numbers. */
static void take_keys_of_message(fixture *f, const char *source, const char *id)
{
    fixture_tx_exec(f, STRANGER,
                    "SELECT pg_advisory_xact_lock(hashtextextended('%s', hashtextextended('%s', "
                    "x.seed))) FROM (SELECT c.oid::bigint FROM pg_class c"
                    " WHERE c.relname = 'inbox_record' UNION ALL SELECT 0) AS x(seed)",
                    id, source);
}

/* Locks that others have now go to the foreign session as soon as they are released. */
static void note_keys_in_use(fixture *f)
{
    fixture_tx_exec(f, STRANGER,
                    "SELECT set_config('harness.keys', coalesce(string_agg("
                    "((l.classid::bigint << 32) | l.objid::bigint)::text, ','), ''), true)"
                    " FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 1"
                    " AND l.database = (SELECT oid FROM pg_database WHERE datname ="
                    " current_database())");
}

static void take_noted_keys(fixture *f)
{
    fixture_tx_exec(f, STRANGER,
                    "SELECT pg_try_advisory_xact_lock(k::bigint) FROM"
                    " string_to_table(current_setting('harness.keys'), ',') AS k");
}

PAWL_TEST_ON(postgres, maintenance_moves_totals_while_another_session_has_every_advisory_lock)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    begin_stranger(f);
    take_keys_of_relations(f);
    assert_true(fixture_count(f, "SELECT {compact_stats}()") > 0);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {topic_stats_delta}"));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {lane} WHERE paused IS NULL"));
}

PAWL_TEST_ON(postgres,
             maintenance_examines_idle_lanes_while_another_session_has_every_advisory_lock)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    assert_true(fixture_count(f, "SELECT {compact_stats}()") > 0);
    fixture_advance(f, HOUR_MS);
    begin_stranger(f);
    take_keys_of_relations(f);
    assert_int_equal(1, fixture_count(f, "SELECT {lane_clean}(100)"));
}

PAWL_TEST_ON(postgres, a_topic_is_paused_and_resumed_while_another_session_has_every_advisory_lock)
{
    fixture *f = fixture_open(NULL);

    fixture_send(f, "t", "x");
    begin_stranger(f);
    take_keys_of_relations(f);
    fixture_tx_exec(f, WORKER, PATIENCE);
    assert_int_equal(1, fixture_tx_count(f, WORKER, "SELECT {topic_pause}('t')"));
    fixture_tx_exec(f, WORKER, "COMMIT");
    assert_int_equal(0, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
    fixture_tx_exec(f, WORKER, PATIENCE);
    assert_int_equal(1, fixture_tx_count(f, WORKER, "SELECT {topic_resume}('t')"));
    fixture_tx_exec(f, WORKER, "COMMIT");
    assert_int_equal(1, pawl_messages_count(fixture_claim(f, queue_owner(1), MINUTE_MS, 1)));
}

PAWL_TEST_ON(postgres, a_delivery_is_received_while_another_session_has_its_advisory_lock)
{
    fixture *f = fixture_open(NULL);

    begin_stranger(f);
    take_keys_of_relations(f);
    take_keys_of_message(f, "shop", "17");
    assert_string_equal("new", fixture_text(f, "SELECT answer FROM {inbox_begin}('shop', '17')"));
}

PAWL_TEST_ON(postgres,
             a_message_is_attempted_again_while_a_stranger_has_the_locks_of_its_first_attempt)
{
    fixture *f = fixture_open(NULL);

    begin_stranger(f);
    fixture_tx_exec(f, WORKER, "BEGIN");
    fixture_tx_exec(f, WORKER, "SELECT * FROM {inbox_begin}('shop', '17')");
    note_keys_in_use(f);
    fixture_tx_exec(f, WORKER, "COMMIT");
    take_noted_keys(f);
    take_keys_of_message(f, "shop", "17");
    fixture_advance(f, MINUTE_MS);
    assert_string_equal("new", fixture_text(f, "SELECT answer FROM {inbox_begin}('shop', '17')"));
}

/* Pausing and maintenance still exclude each other, and maintenance never waits. */
PAWL_TEST_ON(postgres, maintenance_does_not_wait_for_itself_or_for_a_topic_that_is_being_paused)
{
    fixture *f = fixture_open(NULL);

    queue_make(f, "t", "x", PAWL_STATE_DONE);
    fixture_tx_exec(f, WORKER, "BEGIN");
    assert_int_equal(1, fixture_tx_count(f, WORKER, "SELECT {topic_pause}('other')"));
    fixture_tx_exec(f, 2, PATIENCE);
    assert_true(fixture_tx_count(f, 2, "SELECT {compact_stats}()") > 0);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {lane} WHERE paused IS NULL"));
    queue_make(f, "t", "y", PAWL_STATE_DONE);
    assert_int_equal(0, fixture_count(f, "SELECT {compact_stats}()"));
    fixture_tx_exec(f, 2, "COMMIT");
    fixture_tx_exec(f, WORKER, "COMMIT");
    assert_true(fixture_count(f, "SELECT {compact_stats}()") > 0);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {lane} WHERE paused IS NULL"));
}
