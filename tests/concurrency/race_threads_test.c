/*
 * tests/concurrency/race_threads_test.c - claim, answer, reap and cancel at the same time.
 *
 * Leases are short on a clock that one thread moves, so results are often too late. The test checks
 * what must be true afterwards for any interleaving.
 */
#include "queue_fixture.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8
#define CLAIMERS 5
#define MESSAGES 400
#define ROUNDS 60
#define FENCES_MAX (CLAIMERS * ROUNDS)

struct race {
    fixture *f;
    pawl_store *store;
    pawl_work_id ids[MESSAGES];
    atomic_size_t done, failed, cancelled, retried_by_user;
    int64_t fences[FENCES_MAX];
    atomic_size_t fence_count;
};

/* A small generator of its own per thread, so that runs differ only in timing. */
static unsigned next_random(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return *state >> 16;
}

static const char *claim_and_answer(struct race *race, size_t index)
{
    pawl_owner owner = queue_owner((int)index);
    unsigned random = (unsigned)index + 1;

    for (int round = 0; round < ROUNDS; round++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_messages *list = NULL;
        pawl_receipt receipt[12];
        size_t count, changed = 0;
        unsigned choice = next_random(&random) % 8;
        pawl_status st =
            pawl_queue_claim(race->store, owner, 50 + (int64_t)choice * 20, 12, NULL, &list, &err);

        if (st != PAWL_OK)
            return test_note("claim: %s", err.message);
        count = pawl_messages_count(list);
        for (size_t i = 0; i < count; i++)
            receipt[i] = fixture_receipt(list, i);
        if (count > 0)
            race->fences[atomic_fetch_add(&race->fence_count, 1)] = receipt[0].fence;
        pawl_messages_free(list);
        if (choice < 4) {
            st = pawl_queue_ack(race->store, owner, receipt, count, &changed, &err);
            atomic_fetch_add(&race->done, changed);
        } else if (choice == 4) {
            st = pawl_queue_abandon(race->store, owner, receipt, count, "race", 1, &changed, &err);
        } else if (choice == 5) {
            st = pawl_queue_fail(race->store, owner, receipt, count, "race", &changed, &err);
            atomic_fetch_add(&race->failed, changed);
        } else if (choice == 6) {
            st = pawl_queue_release(race->store, owner, receipt, count, &changed, &err);
        } /* 7: die with the messages in hand */
        if (st != PAWL_OK)
            return test_note("answer %u: %s", choice, err.message);
    }
    return NULL;
}

static const char *reap_all_the_time(struct race *race)
{
    for (int round = 0; round < ROUNDS * 2; round++) {
        pawl_error err = PAWL_ERROR_INIT;

        if (pawl_queue_reap(race->store, NULL, NULL, &err) != PAWL_OK)
            return test_note("reap: %s", err.message);
    }
    return NULL;
}

static const char *cancel_and_redrive(struct race *race)
{
    unsigned random = 99;

    for (int round = 0; round < ROUNDS; round++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_work_id ids[5];
        size_t changed = 0;

        for (int i = 0; i < 5; i++)
            ids[i] = race->ids[next_random(&random) % MESSAGES];
        if (pawl_outbox_cancel(race->store, ids, 5, &changed, &err) != PAWL_OK)
            return test_note("cancel: %s", err.message);
        atomic_fetch_add(&race->cancelled, changed);
        if (pawl_outbox_retry(race->store, ids, 5, &changed, &err) != PAWL_OK)
            return test_note("redrive: %s", err.message);
        atomic_fetch_add(&race->retried_by_user, changed);
    }
    return NULL;
}

/* The fixture's own connection belongs to this thread while the others run. */
static const char *move_the_clock(struct race *race)
{
    for (int round = 0; round < ROUNDS; round++)
        fixture_advance(race->f, 30);
    return NULL;
}

static const char *take_part(void *context, size_t index)
{
    struct race *race = context;

    switch (index) {
    case 0:
        return move_the_clock(race);
    case 1:
        return reap_all_the_time(race);
    case 2:
        return cancel_and_redrive(race);
    default:
        return claim_and_answer(race, index);
    }
}

static int by_value(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static void check_fences(struct race *race)
{
    size_t count = atomic_load(&race->fence_count);

    assert_true(count > 0);
    qsort(race->fences, count, sizeof race->fences[0], by_value);
    for (size_t i = 1; i < count; i++)
        if (race->fences[i] == race->fences[i - 1])
            test_fail("two claims got the fence %lld", (long long)race->fences[i]);
}

static int64_t total(fixture *f, pawl_state state)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;
    const pawl_topic_stats *topic;
    int64_t n;

    assert_ok(pawl_outbox_get_stats(fixture_store(f), &stats, &err), &err);
    topic = pawl_outbox_stats_at(stats, 0);
    n = state == PAWL_STATE_DONE ? topic->total_done : topic->total_cancelled;
    pawl_outbox_stats_free(stats);
    return n;
}

static void check_counts(fixture *f, struct race *race)
{
    /* Acknowledged messages stay done: nothing is retried_by_user from there, nothing done twice.
     */
    assert_int_equal(atomic_load(&race->done),
                     fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 2"));
    assert_int_equal(MESSAGES, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_int_equal(MESSAGES, fixture_count(f, "SELECT (SELECT count(*) FROM {queue}) +"
                                                " (SELECT count(*) FROM {outcome})"));
    fixture_reopen(f);
    assert_int_equal(atomic_load(&race->done), total(f, PAWL_STATE_DONE));
    assert_int_equal(atomic_load(&race->cancelled), total(f, PAWL_STATE_CANCELLED));
    queue_check(f);
}

static void drain(fixture *f)
{
    while (fixture_count(f, "SELECT count(*) FROM {queue}") > 0) {
        fixture_advance(f, MINUTE_MS);
        while (queue_reap(f) > 0)
            continue;
        queue_ack(f, queue_owner(200), fixture_claim(f, queue_owner(200), SECOND_MS, 1000));
    }
}

static void send_all(fixture *f, struct race *race)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec messages[MESSAGES];
    pawl_enqueued sent[MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        messages[i] = queue_message("t", "x");
        messages[i].priority = i % 3;
        messages[i].max_attempts = 50;
    }
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, MESSAGES, sent, &err), &err);
    for (int i = 0; i < MESSAGES; i++)
        race->ids[i] = sent[i].work_id;
}

PAWL_TEST(claims_results_reaps_and_cancels_race_and_the_totals_agree)
{
    pawl_store_options store = PAWL_STORE_OPTIONS_INIT;
    const fixture_options opts = {.store = &store};
    static struct race race;
    fixture *f;

    store.durability = PAWL_DURABILITY_NORMAL;
    store.timeout_ms = 60000;
    f = fixture_open(&opts);
    memset(&race, 0, sizeof race);
    race.f = f;
    race.store = fixture_store(f);
    send_all(f, &race);
    test_threads(THREADS, take_part, &race);
    queue_check(f);
    check_fences(&race);
    check_counts(f, &race);
    drain(f);
    assert_int_equal(MESSAGES, fixture_count(f, "SELECT count(*) FROM {outcome}"));
    queue_check(f);
}
