/*
 * tests/upgrade/upgrade_test.c - a store of the previous schema is migrated while processes of the
 * previous library use it; and what that library then says of the schema.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "activity.h"
#include "child_process.h"
#include "load.h"
#include "queue_fixture.h"

#define OLD 3
#define ROUNDS 150 /* of every process, before and after the migration */

static const fixture_options empty = {.no_schema = true, .real_clock = true};
static child processes[LOAD_PROCESSES];

static void end_processes(void *unused)
{
    (void)unused;
    for (int i = 0; i < LOAD_PROCESSES; i++)
        child_end(&processes[i]);
}

static void run_helper(fixture *f, const char *name, const char *verb)
{
    const char *arguments[] = {verb, NULL};
    child helper = {0};

    child_start_on(&helper, name, f, arguments);
    child_expect_success(&helper, name);
    child_end(&helper);
}

static void keep_line(void *context, const char *line)
{
    *(const char **)context = test_note("%s", line);
}

/* What the previous library prints. */
static const char *previous_says(fixture *f, const char *verb)
{
    const char *arguments[] = {verb, NULL}, *said = "";
    child helper = {0};

    child_start_on(&helper, "previous_inspect_helper", f, arguments);
    child_listen_to_the_end(&helper, keep_line, &said);
    child_expect_success(&helper, "previous_inspect_helper");
    child_end(&helper);
    return said;
}

/* A store as the previous library has made it. */
static fixture *previous_store(void)
{
    fixture *f = fixture_open(&empty);

    run_helper(f, "previous_inspect_helper", "deploy");
    return f;
}

static void migrate(fixture *f)
{
    run_helper(f, "migrate_helper", NULL);
}

/* ---- what the previous library says ---- */

PAWL_TEST(the_new_library_refuses_the_previous_schema_until_it_is_migrated)
{
    fixture *f = previous_store();
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    assert_string_equal("1 1 1 0", previous_says(f, "inspect"));
    assert_status(PAWL_E_NO_SCHEMA,
                  pawl_store_open(fixture_url(f), fixture_store_options(f), &store, &err), &err);
    assert_says(&err, "run `pawl migrate`");
    migrate(f);
    fixture_reopen(f);
    fixture_send(f, "t", "x");
}

PAWL_TEST(the_previous_library_opens_the_new_schema_and_leaves_it_alone)
{
    fixture *f = previous_store();

    migrate(f);
    assert_string_equal("2 1 1 0", previous_says(f, "inspect"));
    assert_string_equal("PAWL_OK", previous_says(f, "open"));
    const char *digest = fixture_text(f, "SELECT code_digest FROM {meta}");
    assert_string_equal("", previous_says(f, "deploy"));
    assert_string_equal(digest, fixture_text(f, "SELECT code_digest FROM {meta}"));
    assert_int_equal(2, fixture_count(f, "SELECT version FROM {meta}"));
}

PAWL_TEST(the_previous_library_refuses_a_schema_that_is_not_for_it)
{
    fixture *f = previous_store();

    migrate(f);
    fixture_exec(f, "UPDATE {meta} SET compatible_from = 2");
    assert_string_equal("PAWL_E_INCOMPATIBLE", previous_says(f, "open"));
}

PAWL_TEST(messages_of_the_previous_schema_have_no_keys)
{
    fixture *f = previous_store();

    fixture_exec(f, fixture_is_postgres(f)
                        ? "SELECT {enqueue}('t', 'x')"
                        : "INSERT INTO {body} (message_id, topic, priority, type, created_at,"
                          " due_at, max_attempts, payload)"
                          " VALUES (randomblob(16), 't', 0, 0, 1, 1, 1, x'78')");
    migrate(f);
    fixture_reopen(f);
    const pawl_message *m = queue_get(f, (pawl_work_id){1});
    assert_string_equal("x", queue_payload(m));
    assert_null(pawl_message_ordering_key(m));
    assert_null(pawl_message_unique_key(m));
    assert_int_equal(0, pawl_message_tag_count(m));
}

/* ---- under load ---- */

static void start_load(fixture *f, const char *name, int number, const char *memory)
{
    const char *arguments[] = {test_note("%d", number), memory, NULL};

    child_start_on(&processes[number], name, f, arguments);
}

static long long fewest_rounds(struct load *load, int first, int count)
{
    long long fewest = atomic_load(&load->rounds[first]);

    for (int i = first + 1; i < first + count; i++) {
        long long rounds = atomic_load(&load->rounds[i]);
        fewest = rounds < fewest ? rounds : fewest;
    }
    return fewest;
}

/* A process that has ended says why on its standard error. */
static bool any_ended(int count)
{
    int status;

    for (int i = 0; i < count; i++)
        if (processes[i].pid > 0 && child_ended(&processes[i], &status))
            return true;
    return false;
}

static void await_rounds(struct load *load, int first, int count, long long more)
{
    long long enough = fewest_rounds(load, first, count) + more;
    bool ended;

    until((ended = any_ended(first + count)) || fewest_rounds(load, first, count) >= enough);
    if (ended)
        test_fail("a process was refused a call");
}

static bool all_end_well(int count)
{
    bool well = true;

    for (int i = 0; i < count; i++) {
        int status = processes[i].pid > 0 ? child_await_end(&processes[i]) : -1;
        well = well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return well;
}

/* What was abandoned just before the last process ended, and is not due before the next
 * millisecond. */
static void take_the_rest(fixture *f, struct load *load)
{
    while (fixture_count(f, "SELECT count(*) FROM {queue}") > 0) {
        pawl_messages *list = fixture_claim(f, queue_owner(1), MINUTE_MS, 100);
        for (size_t i = 0; i < pawl_messages_count(list); i++) {
            char *rest;
            long process = strtol(queue_payload(pawl_messages_at(list, i)), &rest, 10);
            atomic_fetch_add(&load->done[process][strtol(rest, NULL, 10)], 1);
        }
        if (pawl_messages_count(list) > 0)
            assert_int_equal(pawl_messages_count(list), queue_ack(f, queue_owner(1), list));
    }
}

static void each_is_done_once(fixture *f, struct load *load, int count)
{
    long long sent = 0;

    for (int i = 0; i < count; i++) {
        long long of_process = atomic_load(&load->sent[i]);
        for (long long n = 0; n < of_process; n++)
            if (atomic_load(&load->done[i][n]) != 1)
                test_fail("message %lld of process %d was acknowledged %d times", n, i,
                          atomic_load(&load->done[i][n]));
        sent += of_process;
    }
    assert_int_equal(sent, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_int_equal(sent, fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 2"));
    printf("# %lld messages\n", sent);
}

/* The previous library's processes, and after the migration the new one's beside them. */
PAWL_TEST(a_store_is_migrated_under_load)
{
    const char *memory;
    struct load *load = child_shared_memory(sizeof *load, &memory);
    fixture *f = previous_store();

    test_defer(end_processes, NULL);
    for (int i = 0; i < OLD; i++)
        start_load(f, "previous_load_helper", i, memory);
    await_rounds(load, 0, OLD, ROUNDS);
    migrate(f);
    await_rounds(load, 0, OLD, ROUNDS);
    for (int i = OLD; i < LOAD_PROCESSES; i++)
        start_load(f, "load_helper", i, memory);
    await_rounds(load, OLD, LOAD_PROCESSES - OLD, ROUNDS);
    atomic_store(&load->stop, true);
    if (!all_end_well(LOAD_PROCESSES))
        test_fail("a process was refused a call");
    fixture_reopen(f);
    take_the_rest(f, load);
    each_is_done_once(f, load, LOAD_PROCESSES);
    queue_check(f);
}

static void end_migration(void *migration)
{
    child_end(migration);
}

/* As long as an application's transaction keeps the migration waiting, other calls do not wait for
 * both. */
PAWL_TEST_ON(postgres, a_migration_gives_way_to_other_calls)
{
    static child migration;
    fixture *f = previous_store();

    test_defer(end_migration, &migration);
    fixture_exec(f, "SELECT {enqueue}('t', 'x')");
    fixture_tx_exec(f, 0, "BEGIN");
    assert_int_equal(1, fixture_tx_count(f, 0, "SELECT count(*) FROM {outbox}"));
    child_start_on(&migration, "migrate_helper", f, NULL);
    until(fixture_count(f, "SELECT count(*) FROM pg_locks WHERE NOT granted"
                           " AND relation = '{body}'::regclass") > 0);
    fixture_tx_exec(f, 1, "SELECT {enqueue}('t', 'x')");
    assert_int_equal(2, fixture_tx_count(f, 1, "SELECT count(*) FROM {outbox}"));
    assert_int_equal(1, fixture_count(f, "SELECT version FROM {meta}"));
    fixture_tx_exec(f, 0, "SELECT {enqueue}('t', 'x')"); /* and neither is chosen in a deadlock */
    fixture_tx_exec(f, 0, "COMMIT");
    child_expect_success(&migration, "migrate_helper");
    assert_int_equal(2, fixture_count(f, "SELECT version FROM {meta}"));
    assert_int_equal(3, fixture_count(f, "SELECT count(*) FROM {outbox}"));
}

/* The load above would notice a migration that is not additive. */
PAWL_TEST(a_migration_that_drops_a_column_is_detected)
{
    const char *memory;
    struct load *load = child_shared_memory(sizeof *load, &memory);
    fixture *f = previous_store();

    test_defer(end_processes, NULL);
    for (int i = 0; i < OLD; i++)
        start_load(f, "previous_load_helper", i, memory);
    await_rounds(load, 0, OLD, ROUNDS / 5);
    migrate(f);
    fixture_exec(
        f, fixture_is_postgres(f)
               ? "DO $$ BEGIN LOOP BEGIN ALTER TABLE {body} DROP COLUMN headers CASCADE; EXIT; "
                 "EXCEPTION WHEN deadlock_detected THEN NULL; END; END LOOP; END $$"
               : "ALTER TABLE {body} RENAME COLUMN headers TO gone");
    until(any_ended(OLD));
    atomic_store(&load->stop, true);
    assert_false(all_end_well(OLD));
}
