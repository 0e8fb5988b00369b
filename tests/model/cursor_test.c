/*
 * tests/model/cursor_test.c - the claim cursor against thousands of random histories.
 *
 * PAWL_MODEL_SEED sets the first seed, PAWL_MODEL_HISTORIES how many seeds each test tries.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "postgres/cursor_postgres.h"
#include "history.h"
#include "test.h"

#define LONG_US 10000

static const model_world quiet = {0};
static const model_world busy = {.long_writers = true, .long_us = LONG_US};
static const model_world shared = {.long_writers = true, .one_store = true, .long_us = LONG_US};
static const model_world stepping = {
    .long_writers = true, .clock = CLOCK_STEPS_SEEN, .long_us = LONG_US};
static const model_world sweeping = {
    .long_writers = true, .clock = CLOCK_STEPS_UNSEEN, .sweeps = true, .long_us = LONG_US};
static const model_world failing = {.long_writers = true, .fail_overs = true, .long_us = LONG_US};
static const model_world crowded = {
    .long_writers = true, .one_store = true, .crowded = true, .long_us = LONG_US};
static const model_world everything = {.long_writers = true,
                                       .clock = CLOCK_STEPS,
                                       .fail_overs = true,
                                       .sweeps = true,
                                       .long_us = LONG_US};

typedef struct total {
    uint64_t histories;
    uint64_t losing; /* histories in which a message was missed */
    uint64_t missed;
    uint64_t taken;
    int64_t max_wait_us;
} total;

/* The chosen rule keeps its promise in each history. */
static void expect_promise_kept(const model_world *world, bool never_misses, uint64_t histories)
{
    uint64_t first = test_setting("PAWL_MODEL_SEED", 1);
    total sum = {.histories = test_setting("PAWL_MODEL_HISTORIES", histories)};

    for (uint64_t seed = first; seed < first + sum.histories; seed++) {
        outcome o = history_run(seed, RULE_CHOSEN, world);
        if (never_misses && o.missed > 0)
            test_fail("PAWL_MODEL_SEED=%" PRIu64 ": %d messages were passed over", seed, o.missed);
        if (o.too_long_us > 0)
            test_fail("PAWL_MODEL_SEED=%" PRIu64 ": a message was passed over for %" PRId64
                      " us, %" PRId64 " us longer than promised",
                      seed, o.max_wait_us, o.too_long_us);
        if (o.still_running > 0)
            test_fail("PAWL_MODEL_SEED=%" PRIu64 ": %d transactions were taken for ended", seed,
                      o.still_running);
        if (o.left > 0)
            test_fail("PAWL_MODEL_SEED=%" PRIu64 ": %d messages were never taken", seed, o.left);
        sum.missed += (uint64_t)o.missed;
        sum.taken += (uint64_t)o.taken;
        if (o.max_wait_us > sum.max_wait_us)
            sum.max_wait_us = o.max_wait_us;
    }
    print_message("# %" PRIu64 " histories, %" PRIu64 " taken, %" PRIu64
                  " passed over, longest %" PRId64 " us\n",
                  sum.histories, sum.taken, sum.missed, sum.max_wait_us);
    assert_true(sum.taken > 20 * sum.histories);
}

/* A rule that must lose messages: otherwise the histories would prove nothing. */
static void lose(model_rule rule, const model_world *world)
{
    uint64_t first = test_setting("PAWL_MODEL_SEED", 1);
    total sum = {.histories = test_setting("PAWL_MODEL_HISTORIES", 60)};

    for (uint64_t seed = first; seed < first + sum.histories; seed++) {
        outcome o = history_run(seed, rule, world);
        sum.losing += o.missed > 0 && (!world->long_us || o.too_long_us > 0 || o.left > 0);
    }
    print_message("# lost messages in %" PRIu64 " of %" PRIu64 " histories\n", sum.losing,
                  sum.histories);
    assert_true(sum.losing > 0);
}

PAWL_TEST(no_message_is_skipped_while_every_transaction_is_waited_for)
{
    expect_promise_kept(&quiet, true, 400);
}

PAWL_TEST(messages_of_long_transactions_are_found_when_they_commit)
{
    expect_promise_kept(&busy, false, 400);
}

PAWL_TEST(threads_that_share_a_cursor_keep_the_promise)
{
    expect_promise_kept(&shared, false, 1800); /* rare meetings of threads matter here */
}

PAWL_TEST(a_clock_that_is_seen_to_step_back_hides_nothing)
{
    expect_promise_kept(&stepping, false, 400);
}

PAWL_TEST(messages_hidden_by_a_clock_step_are_found_by_the_sweep)
{
    expect_promise_kept(&sweeping, false, 400);
}

PAWL_TEST(no_message_is_skipped_after_a_failover)
{
    expect_promise_kept(&failing, false, 400);
}

PAWL_TEST(more_transactions_than_a_scan_lists_hide_nothing)
{
    assert_true(history_run(1, RULE_CHOSEN, &crowded).most_running > PAWLI_CURSOR_RUNNING);
    expect_promise_kept(&crowded, false, 200);
}

PAWL_TEST(everything_at_once_keeps_the_promise)
{
    expect_promise_kept(&everything, false, 400);
}

PAWL_TEST(starting_at_the_last_run_at_taken_loses)
{
    lose(RULE_LAST_TAKEN, &quiet);
}

PAWL_TEST(stamping_a_past_due_time_loses)
{
    lose(RULE_PAST_DUE, &quiet);
}

PAWL_TEST(an_epoch_from_the_snapshots_next_id_loses)
{
    lose(RULE_EPOCH_OF_XMAX, &quiet);
}

PAWL_TEST(not_counting_locked_rows_loses)
{
    lose(RULE_SKIP_LOCKED, &quiet);
}

PAWL_TEST(learning_before_the_commit_loses)
{
    lose(RULE_UNCOMMITTED, &quiet);
}

PAWL_TEST(a_fixed_lag_loses)
{
    lose(RULE_FIXED_LAG, &quiet);
}

PAWL_TEST(reading_the_clock_before_taking_an_id_loses)
{
    lose(RULE_CLOCK_FIRST, &quiet);
}

PAWL_TEST(becoming_ready_with_the_old_stamp_loses)
{
    lose(RULE_NO_STAMP, &quiet);
}

PAWL_TEST(keeping_positions_across_connections_loses)
{
    lose(RULE_KEEP_ALL, &failing);
}

PAWL_TEST(not_scanning_again_after_a_long_transaction_loses)
{
    lose(RULE_NO_AGAIN, &busy);
}

PAWL_TEST(an_unseen_step_of_the_clock_without_sweeps_loses)
{
    model_world without = sweeping;

    without.sweeps = false;
    lose(RULE_CHOSEN, &without);
}

PAWL_TEST(not_noticing_a_lower_clock_loses)
{
    lose(RULE_CLOCK_BLIND, &stepping);
}

/* What it loses by that is found at the next ending of another transaction, which is never far in
 * a history; the mistake itself is what must be seen. */
PAWL_TEST(taking_unlisted_ids_for_ended_is_seen)
{
    uint64_t first = test_setting("PAWL_MODEL_SEED", 1), histories = 60, wrong = 0;

    for (uint64_t seed = first; seed < first + histories; seed++)
        wrong += history_run(seed, RULE_UNLISTED, &shared).still_running > 0;
    print_message("# took running transactions for ended in %" PRIu64 " of %" PRIu64 " histories\n",
                  wrong, histories);
    assert_true(wrong > 0);
}
