/*
 * tests/plans/lane_test.c - the pages that a claim reads do not depend on the topics and
 * destinations that were used long ago.
 */
#include "lane_fixture.h"

#if PAWL_TEST_POSTGRES
#include <stdlib.h>
#include <string.h>

#define MANY 2000
#define BATCH 200
#define FEW_PAGES 100 /* a claim that finds nothing among a few lanes */

static int64_t number_after(const char *json, const char *key)
{
    const char *at = strstr(json, key);

    return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

/* The pages that a call touches; the first one also reads the catalogue and plans. */
static int64_t pages(fixture *f, const char *call)
{
    const char *json = NULL;

    for (int i = 0; i < 2; i++)
        json =
            fixture_text(f, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) %s", fixture_expand(f, call));
    assert_non_null(json);
    return number_after(json, "\"Shared Hit Blocks\": ") +
           number_after(json, "\"Shared Read Blocks\": ");
}

static const char *const calls[] = {
    "SELECT * FROM {claim}('00000000-0000-0000-0000-000000000001')",
    "SELECT * FROM {next_due}()",
    "SELECT * FROM {next_due}(NULL, ARRAY[]::text[], true)",
    "SELECT * FROM {destinations}()",
    "SELECT * FROM {timer_count}()",
};

static void send_many(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[BATCH];

    for (int sent = 0; sent < MANY; sent += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            messages[i] = queue_message(test_note("t%d", sent + i), "x");
            messages[i].destination = i % 2 ? test_note("d%d", sent + i) : NULL;
        }
        assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, BATCH, NULL, &err), &err);
    }
    /* As if all had been sent and handled. */
    fixture_exec(f, "WITH gone AS (DELETE FROM {queue} RETURNING id) INSERT INTO {outcome}"
                    " (id, state, finished_at, retries) SELECT id, 2, now(), 0 FROM gone");
    fixture_exec(f, "VACUUM {queue}");
}

/* PostgreSQL shows it; in SQLite there is no other index to walk. */
PAWL_TEST_ON(postgres, a_claim_does_not_read_lanes_unused_for_long)
{
    fixture *f = fixture_open(NULL);

    send_many(f);
    for (size_t i = 0; i < COUNT_OF(calls); i++) /* the control */
        assert_true(pages(f, calls[i]) > MANY / 2);
    lanes_clean(f);
    assert_int_equal(0, lane_count(f));
    fixture_exec(f, "VACUUM {lane}");
    fixture_exec(f, "VACUUM {lane_use}");
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        int64_t touched = pages(f, calls[i]);
        if (touched > FEW_PAGES)
            test_fail("%s touches %lld pages", calls[i], (long long)touched);
    }
}
#endif
