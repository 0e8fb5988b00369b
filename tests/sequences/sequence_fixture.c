/* tests/sequences/sequence_fixture.c - the database that sequences are played in, emptied for each.
 */
#include "sequence_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif

#include "failing.h"
#if PAWL_TEST_POSTGRES
#include "postgres/scanner_postgres.h"
#endif
#include "store_private.h"
#include "test.h"

/* Not UTC, and with a change of the clocks in spring and autumn: nothing may depend on it. */
#define ZONE "America/New_York"

static void run_sql(sequence_fixture *p, const char *sql)
{
    char message[512];

    if (!p->engine->run(p->own, sql, NULL, message))
        test_fail("%s\nwas refused: %s", sql, message);
}

static void close_sequence_fixture(void *argument)
{
    sequence_fixture *p = argument;

    (void)failing_disarm();
    for (int i = 0; i < MODEL_HANDLES; i++) {
        pawl_tx_free(p->txs[i]);
        if (p->handles[i])
            p->engine->close(p->handles[i]);
    }
    for (int i = 0; i < MODEL_STORES; i++)
        pawl_store_close(p->stores[i]);
    if (p->own)
        p->engine->close(p->own);
    free(p);
}

static handle *open_handle(sequence_fixture *p)
{
    const char *url = fixture_url(p->f);
    char message[512];
    handle *h = p->engine->open(p->postgres ? url : url + strlen("sqlite:"), message);

    if (!h)
        test_fail("cannot open %s: %s", url, message);
    return h;
}

static pawl_store *open_store(sequence_fixture *p, int which)
{
    pawl_store_options options = *fixture_store_options(p->f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    options.backoff_remote.jitter_ms = 0; /* the model does not predict dice */
    options.prepare = which == 1;
    options.log.level = PAWL_LOG_ERROR;
    assert_ok(pawl_store_open(fixture_url(p->f), &options, &store, &err), &err);
    return store;
}

/* Every topic at every priority, local and for the destination, so that two transactions do not
 * make the same lane twice. */
static const char *all_lanes(sequence_fixture *p)
{
    const char *sql = test_note("INSERT INTO {lane} (topic, priority, destination) VALUES ");

    for (int i = 0; i < 2 * MODEL_TOPICS; i++) {
        const char *topic = model_topics[i / 2], *destination = i % 2 ? "there" : "";

        sql = test_note("%s%s('%s', 0, '%s'), ('%s', 5, '%s'), ('%s', 9, '%s')", sql,
                        i > 0 ? ", " : "", topic, destination, topic, destination, topic,
                        destination);
    }
    return fixture_expand(p->f, sql);
}

/* All tables except those with one permanent row. */
static const char *reset_sql(sequence_fixture *p)
{
    if (p->postgres)
        return fixture_text(p->f,
                            "SELECT 'TRUNCATE ' || string_agg(schemaname || '.' || tablename, ', ')"
                            " || ' RESTART IDENTITY' FROM pg_tables WHERE schemaname = '%s'"
                            " AND tablename NOT IN ('meta', 'mutex', 'test_clock')",
                            fixture_store_options(p->f)->schema);
    return fixture_text(
        p->f,
        "SELECT group_concat('DELETE FROM ' || name || ';', ' ')"
        " || 'UPDATE {meta} SET latest_time = 0, boot_id = '''', clock_resets = clock_resets + 1'"
        " FROM sqlite_master"
        " WHERE type = 'table' AND name GLOB 'pawl_*'"
        " AND name NOT IN ('{meta}', '{test_clock}')");
}

/* A message is in the queue or has an outcome, never both nor neither, and has a body. */
static const char *rule_sql(sequence_fixture *p)
{
    return fixture_expand(
        p->f, "SELECT (SELECT count(*) FROM {body} b WHERE"
              " (SELECT count(*) FROM {queue} q WHERE q.id = b.id)"
              " + (SELECT count(*) FROM {outcome} o WHERE o.id = b.id) <> 1)"
              " + (SELECT count(*) FROM {queue} WHERE id NOT IN (SELECT id FROM {body}))"
              " + (SELECT count(*) FROM {outcome} WHERE id NOT IN (SELECT id FROM {body}))"
              " + (SELECT count(*) FROM {claim} WHERE fence NOT IN (SELECT fence FROM {queue}))");
}

sequence_fixture *sequences_open(void)
{
    const fixture_options options = {.no_schema = true};
    sequence_fixture *p = calloc(1, sizeof *p);

    if (!p)
        test_fail("out of memory");
    setenv("PGTZ", ZONE, 1);
    p->f = fixture_open(&options);
    p->postgres = fixture_is_postgres(p->f);
    p->engine = p->postgres ? handle_engine_postgres : handle_engine_sqlite;
    test_defer(close_sequence_fixture, p);
    fixture_deploy(p->f);
    p->own = open_handle(p);
    for (int i = 0; i < MODEL_HANDLES; i++)
        p->handles[i] = open_handle(p);
    for (int i = 0; i < MODEL_STORES; i++)
        p->stores[i] = open_store(p, i);
    p->reset_sql = reset_sql(p);
    p->rule_sql = rule_sql(p);
    p->lanes_sql = all_lanes(p);
    p->clock_name = fixture_expand(p->f, "{test_clock}");
    return p;
}

#if PAWL_TEST_POSTGRES
static void forget_positions(pawl_store *store)
{
    pawli_scanner *scanner = pawli_db_scanner(store->db);

    if (!scanner)
        return;
    pawli_cursor_drop(&scanner->claim);
    pawli_cursor_drop(&scanner->claim_remote);
    pawli_cursor_drop(&scanner->reap);
    atomic_store(&scanner->claimed_lane, 0);
}

static void make_sweeps_due(pawl_store *store)
{
    pawli_scanner *scanner = pawli_db_scanner(store->db);

    if (!scanner)
        return;
    pawli_cursor *cursors[] = {&scanner->claim, &scanner->claim_remote, &scanner->reap};
    for (size_t c = 0; c < 3; c++)
        for (size_t lane = 0; lane < cursors[c]->lane_count; lane++)
            cursors[c]->lanes[lane].sweep_after = (pawl_mono){0};
}
#else
static void forget_positions(pawl_store *store)
{
    (void)store;
}

static void make_sweeps_due(pawl_store *store)
{
    (void)store;
}
#endif

void sequences_reset(sequence_fixture *p, int64_t start_us, bool with_lanes)
{
    for (int i = 0; i < MODEL_HANDLES; i++)
        sequences_tx_end(p, i, false);
    run_sql(p, p->reset_sql);
    if (with_lanes)
        run_sql(p, p->lanes_sql);
    sequences_set_clock(p, start_us);
    for (int i = 0; i < MODEL_STORES; i++) {
        forget_positions(p->stores[i]);
        pawli_store_changed(p->stores[i]);
    }
    fixture_log_clear(p->f);
}

void sequences_set_clock(sequence_fixture *p, int64_t now_us)
{
    char sql[256];

    snprintf(sql, sizeof sql,
             p->postgres ? "UPDATE %s SET now = to_timestamp(0) + %lld * interval '1 microsecond'"
                         : "UPDATE %s SET now = %lld",
             p->clock_name, (long long)now_us);
    run_sql(p, sql);
}

void sequences_reopen(sequence_fixture *p, int store)
{
    pawl_store_close(p->stores[store]);
    p->stores[store] = NULL;
    p->stores[store] = open_store(p, store);
}

void sequences_make_sweeps_due(sequence_fixture *p)
{
    for (int i = 0; i < MODEL_STORES; i++)
        make_sweeps_due(p->stores[i]);
}

pawl_tx *sequences_tx(sequence_fixture *p, int which, int store, finding *wrong)
{
    pawl_error err = PAWL_ERROR_INIT;

    if (p->txs[which])
        return p->txs[which];
    char message[512];
    if (!p->engine->run(p->handles[which], p->engine->begin, NULL, message))
        finding_say(wrong, "the application cannot begin: %s", message);
    else if (p->engine->foreign_tx(p->handles[which], p->stores[store], &p->txs[which], &err) !=
             PAWL_OK)
        finding_say(wrong, "the application's transaction cannot be joined: %s", err.message);
    return p->txs[which];
}

void sequences_tx_end(sequence_fixture *p, int which, bool commit)
{
    char message[512];

    if (!p->txs[which])
        return;
    if (!p->engine->run(p->handles[which], commit ? "COMMIT" : "ROLLBACK", NULL, message))
        test_fail("the application's transaction cannot end: %s", message);
    if (commit)
        pawl_tx_committed(p->txs[which]);
    pawl_tx_free(p->txs[which]);
    p->txs[which] = NULL;
}

void sequences_arm(sequence_fixture *p, int nth)
{
    int how = FAILING_CUTS;

#if PAWL_TEST_SQLITE
    if (!p->postgres)
        how = SQLITE_IOERR;
#endif
    failing_arm(FAILING_SQL, nth, how);
}

static long long ask_number(sequence_fixture *p, const char *sql)
{
    char message[512];
    char *value = NULL;
    long long number;

    if (!p->engine->run(p->own, sql, &value, message))
        test_fail("%s\nwas refused: %s", sql, message);
    number = value ? strtoll(value, NULL, 10) : 0;
    free(value);
    return number;
}

/* Requests that reached the server before the cut are still executed; read the tables only then. */
bool sequences_disarm(sequence_fixture *p)
{
    bool failed = failing_disarm();

    if (failed && p->postgres)
        fixture_await_backend_end(p->f, failing_cut_backend());
    return failed;
}

long long sequences_rule_breaches(sequence_fixture *p)
{
    return ask_number(p, p->rule_sql);
}

void sequences_break(sequence_fixture *p, const broken *how)
{
    broken_store_init(&p->broken, p->f, "queue", how);
}
