/*
 * tests/plans/cursor_test.c - the cost of a claim while index entries of finished rows cannot be
 * removed.
 *
 * The positions are those that the store has learned by claiming through the library.
 */
#include "queue_fixture.h"

#if PAWL_TEST_POSTGRES
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "postgres/scanner_postgres.h"
#include "store_private.h"

#define DEAD 20000
#define SEND_BATCH 5000
#define MANY_PAGES 300 /* a walk over the dead entries touches more */
#define FEW_PAGES 250  /* a claim of a few rows does not */

static pawli_scanner *scanner_of(fixture *f)
{
    return pawli_db_scanner(fixture_store(f)->db);
}

static int64_t number_after(const char *json, const char *key)
{
    const char *at = strstr(json, key);

    return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

/* The pages that a call touches, with everything the function does. Nothing of it stays. */
static int64_t pages(fixture *f, const char *call)
{
    const char *json = NULL;

    for (int i = 0; i < 2; i++) { /* the first call also reads the catalogue and plans */
        fixture_exec(f, "BEGIN");
        json = fixture_text(f, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) %s", call);
        fixture_exec(f, "ROLLBACK");
    }
    assert_non_null(json);
    return number_after(json, "\"Shared Hit Blocks\": ") +
           number_after(json, "\"Shared Read Blocks\": ");
}

/* A call with the cursor's positions; `from_beginning`: with none. */
static const char *call_from(fixture *f, const char *function, pawli_cursor *cursor,
                             bool from_beginning)
{
    long long lane = 0, since = 0;

    if (cursor->lane_count > 0) {
        lane = (long long)cursor->lanes[0].id;
        since = (long long)cursor->lanes[0].start.us;
    }
    const char *times = from_beginning
                            ? "'{}'::timestamptz[]"
                            : test_note("ARRAY[to_timestamp(0) + %lld * interval '1 us']", since);

    if (strcmp(function, "reap") == 0)
        return fixture_expand(f, test_note("SELECT * FROM {reap_batch}(100, %s)", times));
    return fixture_expand(
        f, test_note("SELECT * FROM {claim_batch}('00000000-0000-0000-0000-000000000001', '1 s', "
                     "10, NULL, 'x', 0, %lld, %s, true)",
                     lane, times));
}

static void send_many(fixture *f, int count)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec *messages = test_malloc((size_t)count * sizeof *messages);

    for (int i = 0; i < count; i++)
        messages[i] = queue_message("t", "x");
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, (size_t)count, NULL, &err),
              &err);
    test_free(messages);
}

static fixture *open_with_dead_rows(const char *hold)
{
    const fixture_options opts = {.real_clock = true};
    fixture *f = fixture_open(&opts);

    fixture_tx_exec(f, 0, "%s", hold);
    for (int i = 0; i < DEAD; i += SEND_BATCH) {
        send_many(f, SEND_BATCH);
        queue_ack(f, queue_owner(1), fixture_claim(f, queue_owner(1), MINUTE_MS, SEND_BATCH));
    }
    return f;
}

static void check_claim(fixture *f)
{
    pawli_cursor *cursor = &scanner_of(f)->claim;

    send_many(f, 10);
    fixture_claim(f, queue_owner(2), MINUTE_MS, 1);
    assert_int_equal(1, cursor->lane_count);
    assert_true(pages(f, call_from(f, "claim", cursor, true)) > MANY_PAGES);
    assert_in_range(pages(f, call_from(f, "claim", cursor, false)), 1, FEW_PAGES);
    assert_int_equal(9, pawl_messages_count(fixture_claim(f, queue_owner(2), MINUTE_MS, 10)));
}

PAWL_TEST_ON(postgres, a_claim_does_not_scan_rows_that_an_old_snapshot_keeps)
{
    fixture *f = open_with_dead_rows("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");

    scanner_of(f)->claim.limits.long_us = 0; /* nor for transactions of others here */
    check_claim(f);
}

PAWL_TEST_ON(postgres, a_claim_does_not_scan_rows_that_an_open_writer_keeps)
{
    fixture *f = open_with_dead_rows("BEGIN; SELECT pg_current_xact_id()");

    /* As if more time had passed: the writer is one that is no longer waited for. */
    scanner_of(f)->claim.limits.long_us = 0;
    check_claim(f);
}

/* SQLite has no dead index entries. */
PAWL_TEST_ON(postgres, a_reap_does_not_scan_rows_that_an_old_snapshot_keeps)
{
    const fixture_options opts = {.real_clock = true};
    fixture *f = fixture_open(&opts);
    pawli_cursor *cursor = &scanner_of(f)->reap;

    fixture_tx_exec(f, 0, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    fixture_exec(f,
                 "INSERT INTO {claim} (fence, owner, owner_name, check_at, lease, ids) "
                 "SELECT -n, gen_random_uuid(), 'x', "
                 "clock_timestamp() - interval '1 h' + n * interval '1 ms', '1 s', '{}' "
                 "FROM generate_series(1, %d) n; DELETE FROM {claim}",
                 DEAD);
    cursor->limits.long_us = 0; /* nor for transactions of others on this server */
    for (int i = 0; i < 3; i++)
        queue_reap(f);
    assert_int_equal(1, cursor->lane_count);
    assert_true(pages(f, call_from(f, "reap", cursor, true)) > MANY_PAGES);
    assert_in_range(pages(f, call_from(f, "reap", cursor, false)), 1, FEW_PAGES);
}
#endif
