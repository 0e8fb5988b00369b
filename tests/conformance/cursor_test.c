/*
 * tests/conformance/cursor_test.c - messages that become visible late are found, although claims
 * have advanced.
 *
 * The store remembers where its claims may start (docs/internals/claim-cursor.md). Every test first
 * makes it move on, then lets something appear behind that place.
 */
#include "queue_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "postgres/scanner_postgres.h"
#include "store_private.h"

#define PATIENCE 1000

static const char *claim_all(fixture *f)
{
    return queue_payloads(fixture_claim(f, queue_owner(9), DAY_MS, 100));
}

/* Claims that find something and claims that do not, until the store starts after them. */
static void move_on(fixture *f, const char *topic)
{
    for (int i = 0; i < 3; i++) {
        fixture_advance(f, SECOND_MS);
        fixture_send(f, topic, "step");
        assert_string_equal("step", claim_all(f));
        assert_string_equal("", claim_all(f));
    }
    fixture_advance(f, SECOND_MS);
}

static void tx_send(pawl_tx *tx, const char *topic, const char *payload)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message(topic, payload);

    assert_ok(pawl_tx_enqueue(tx, &message, NULL, &err), &err);
}

PAWL_TEST_ON(postgres, messages_that_commit_late_are_found)
{
    fixture *f = fixture_open(NULL);

    for (int i = 0; i < 3; i++) {
        tx_send(fixture_tx_begin(f, 0), "t", "late");
        move_on(f, "t");
        fixture_tx_commit(f, 0);
        assert_string_equal("late", claim_all(f));
    }
    queue_check(f);
}

PAWL_TEST_ON(postgres, several_late_commits_are_found_one_by_one)
{
    fixture *f = fixture_open(NULL);

    move_on(f, "t");
    for (int i = 0; i < 3; i++) {
        tx_send(fixture_tx_begin(f, i), "t", test_note("late %d", i));
        move_on(f, "t");
    }
    fixture_tx_exec(f, 3, "BEGIN; SELECT pg_current_xact_id()"); /* has nothing to do with it */
    move_on(f, "t");
    for (int i = 2; i >= 0; i--) {
        fixture_tx_commit(f, i);
        assert_string_equal(test_note("late %d", i), claim_all(f));
        move_on(f, "t");
    }
    fixture_tx_exec(f, 3, "COMMIT");
    assert_string_equal("", claim_all(f));
}

PAWL_TEST_ON(postgres, a_late_commit_of_more_than_one_claim_takes_is_found_whole)
{
    fixture *f = fixture_open(NULL);
    pawl_tx *tx;
    int late = 0;

    move_on(f, "t");
    tx = fixture_tx_begin(f, 0);
    for (int i = 0; i < 10; i++)
        tx_send(tx, "t", "late");
    move_on(f, "t");
    fixture_tx_commit(f, 0);
    fixture_send(f, "t", "new");
    for (int i = 0; i < 11; i++)
        late += strcmp("late", queue_payloads(fixture_claim(f, queue_owner(1), DAY_MS, 1))) == 0;
    assert_int_equal(10, late);
    assert_string_equal("", claim_all(f));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {queue} WHERE fence = 0"));
}

PAWL_TEST_ON(postgres, a_late_rollback_leaves_nothing_and_hides_nothing)
{
    fixture *f = fixture_open(NULL);

    tx_send(fixture_tx_begin(f, 0), "t", "never");
    move_on(f, "t");
    fixture_tx_rollback(f, 0);
    fixture_send(f, "t", "x");
    assert_string_equal("x", claim_all(f));
    move_on(f, "t");
}

PAWL_TEST_ON(postgres, messages_locked_by_a_rolled_back_claim_are_found)
{
    fixture *f = fixture_open(NULL);

    move_on(f, "t");
    fixture_send(f, "t", "locked");
    fixture_tx_exec(f, 0, "BEGIN; SELECT count(*) FROM {claim}('%s', '1 h', 10)",
                    "00000000-0000-4000-8000-000000000001");
    move_on(f, "t");
    fixture_tx_exec(f, 0, "ROLLBACK");
    assert_string_equal("locked", claim_all(f));
}

PAWL_TEST(messages_that_become_ready_again_are_found)
{
    fixture *f = fixture_open(NULL);
    pawl_messages *released, *abandoned;
    pawl_work_id dead;

    fixture_send(f, "t", "released");
    released = fixture_claim(f, queue_owner(1), DAY_MS, 1);
    fixture_send(f, "t", "abandoned");
    abandoned = fixture_claim(f, queue_owner(1), DAY_MS, 1);
    fixture_send(f, "t", "reaped");
    fixture_claim(f, queue_owner(1), MINUTE_MS, 1);
    dead = queue_make(f, "t", "retried_by_user", PAWL_STATE_FAILED);
    move_on(f, "t");
    queue_release(f, queue_owner(1), released);
    assert_string_equal("released", claim_all(f));
    move_on(f, "t");
    queue_abandon(f, queue_owner(1), abandoned, NULL, 5 * SECOND_MS);
    assert_string_equal("", claim_all(f));
    fixture_advance(f, 5 * SECOND_MS);
    assert_string_equal("abandoned", claim_all(f));
    move_on(f, "t");
    fixture_advance(f, MINUTE_MS);
    assert_int_equal(1, queue_reap(f));
    assert_string_equal("reaped", claim_all(f));
    move_on(f, "t");
    queue_retry(f, dead);
    assert_string_equal("retried_by_user", claim_all(f));
    queue_check(f);
}

PAWL_TEST(a_due_time_in_the_past_is_found)
{
    fixture *f = fixture_open(NULL);
    pawl_message_spec message = queue_message("t", "old");

    move_on(f, "t");
    message.due_at = (pawl_wall){FIXTURE_START.us - DAY_MS * 1000};
    queue_send(f, &message);
    assert_string_equal("old", claim_all(f));
}

PAWL_TEST(scheduled_messages_are_found_when_due)
{
    fixture *f = fixture_open(NULL);

    queue_send_after(f, "t", "timer", 10 * SECOND_MS);
    move_on(f, "t");
    move_on(f, "t");
    assert_string_equal("", claim_all(f));
    fixture_advance(f, 2 * SECOND_MS);
    assert_string_equal("timer", claim_all(f));
}

PAWL_TEST(lanes_that_a_claim_did_not_reach_or_ask_for_keep_their_messages)
{
    fixture *f = fixture_open(NULL);
    static const char *const wanted[] = {"a"};
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;

    opts.topics = wanted;
    opts.topic_count = 1;
    queue_send_priority(f, "b", "low", 0);
    for (int i = 0; i < 5; i++) {
        queue_send_priority(f, "b", "high", 9);
        assert_string_equal("high", queue_payloads(fixture_claim(f, queue_owner(1), DAY_MS, 1)));
        fixture_send(f, "a", "asked");
        assert_string_equal("asked",
                            queue_payloads(queue_claim(f, queue_owner(1), DAY_MS, 10, &opts)));
        fixture_advance(f, SECOND_MS);
    }
    assert_string_equal("low", claim_all(f));
}

/* As if so much time had passed that every lane is due for a sweep. */
static void make_sweep_due(pawl_store *store)
{
    pawli_cursor *cursor = &pawli_db_scanner(store->db)->claim;

    for (size_t i = 0; i < cursor->lane_count; i++)
        cursor->lanes[i].sweep_after = (pawl_mono){0};
}

static bool settled_after(pawl_store *store, int64_t time_us)
{
    const pawli_cursor *cursor = &pawli_db_scanner(store->db)->claim;

    return cursor->lane_count == 1 && cursor->lanes[0].settled.us > time_us &&
           !cursor->lanes[0].again;
}

/* A step back that no claim sees: the clock is ahead again when the next one comes. */
PAWL_TEST_ON(postgres, messages_hidden_by_a_clock_step_are_found_by_the_sweep)
{
    fixture *f = fixture_open(NULL);
    pawl_wall before = {0};

    /* Only rows below the safe time can be hidden. A transaction of the server itself
     * (autovacuum) keeps that back until it ends; no other test uses this server. */
    for (int i = 0; i < PATIENCE; i++) {
        move_on(f, "t");
        before = fixture_now(f);
        if (settled_after(fixture_store(f), before.us - 3000000))
            break;
    }
    assert_true(settled_after(fixture_store(f), before.us - 3000000));
    fixture_set(f, (pawl_wall){before.us - 3000000});
    fixture_send(f, "t", "hidden");
    fixture_set(f, before);
    assert_string_equal("", claim_all(f));
    make_sweep_due(fixture_store(f));
    assert_string_equal("hidden", claim_all(f));
}

/*
 * What a server that lost the last commits has: a row that was claimed is ready as it was. A pooler
 * hides that the server's connection is a new one; there the sweep finds the row.
 */
PAWL_TEST_ON(postgres_direct, statements_lost_by_a_server_are_prepared_again_on_a_new_connection)
{
    fixture *f = fixture_open(NULL);
    const char *schema = fixture_store_options(f)->schema;

    fixture_send(f, "t", "forgotten");
    assert_string_equal("forgotten", claim_all(f));
    move_on(f, "t");
    fixture_exec(f, "UPDATE {queue} SET fence = 0 "
                    "WHERE id = (SELECT min(id) FROM {queue})");
    assert_true(fixture_count(f,
                              "SELECT count(pg_terminate_backend(pid, 10000)) "
                              "FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                              "AND query LIKE '%%%s%%.claim_notes%%'",
                              schema) > 0);
    assert_string_equal("forgotten", claim_all(f));
}

PAWL_TEST_ON(postgres, two_stores_share_a_queue_without_leaving_anything)
{
    fixture *f = fixture_open(NULL);
    pawl_store *second = fixture_another_store(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    for (int i = 0; i < 6; i++) {
        tx_send(fixture_tx_begin(f, 0), "t", "late");
        move_on(f, "t");
        assert_ok(pawl_queue_claim(second, queue_owner(2), DAY_MS, 10, NULL, &list, &err), &err);
        assert_string_equal("", queue_payloads(queue_keep(list)));
        fixture_tx_commit(f, 0);
        if (i % 2 == 0) {
            assert_string_equal("late", claim_all(f));
            continue;
        }
        assert_ok(pawl_queue_claim(second, queue_owner(2), DAY_MS, 10, NULL, &list, &err), &err);
        assert_string_equal("late", queue_payloads(queue_keep(list)));
    }
}
