/* tests/concurrency/claim_threads_test.c - eight threads claim from one queue: each message once.
 */
#include "queue_fixture.h"

#include <stdatomic.h>
#include <stdlib.h>

#define THREADS 8
#define MESSAGES 3000

struct crowd {
    pawl_store *stores[THREADS];
    int64_t first_id;
    atomic_int seen[MESSAGES];
};

static void send_all(fixture *f, struct crowd *crowd)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec *messages = calloc(MESSAGES, sizeof *messages);
    pawl_enqueued *sent = calloc(MESSAGES, sizeof *sent);

    if (!messages || !sent)
        abort();
    for (int i = 0; i < MESSAGES; i++) {
        messages[i] = queue_message(i % 3 ? "common" : "rare", "x");
        messages[i].priority = i % 2;
    }
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, MESSAGES, sent, &err), &err);
    crowd->first_id = sent[0].work_id.value;
    free(messages);
    free(sent);
}

/* Claim and answer until nothing is left; every message seen is counted. */
static const char *claim_all(pawl_store *store, pawl_owner owner, struct crowd *crowd)
{
    pawl_error err = PAWL_ERROR_INIT;

    while (true) {
        pawl_receipt receipt[25];
        pawl_messages *list = NULL;
        size_t count, changed = 0;

        if (pawl_queue_claim(store, owner, HOUR_MS, 25, NULL, &list, &err) != PAWL_OK)
            return test_note("claim: %s", err.message);
        count = pawl_messages_count(list);
        for (size_t i = 0; i < count; i++) {
            receipt[i] = fixture_receipt(list, i);
            atomic_fetch_add(&crowd->seen[receipt[i].id.value - crowd->first_id], 1);
        }
        pawl_messages_free(list);
        if (count == 0)
            return NULL;
        if (pawl_queue_ack(store, owner, receipt, count, &changed, &err) != PAWL_OK)
            return test_note("ack: %s", err.message);
        if (changed != count)
            return test_note("%zu of %zu messages were acknowledged", changed, count);
    }
}

static const char *claim_body(void *context, size_t index)
{
    struct crowd *crowd = context;

    return claim_all(crowd->stores[index], queue_owner((int)index + 1), crowd);
}

static void check_each_once(fixture *f, struct crowd *crowd)
{
    const char *wrong = claim_all(fixture_store(f), queue_owner(100), crowd);

    if (wrong)
        test_fail("%s", wrong);
    for (int i = 0; i < MESSAGES; i++)
        if (atomic_load(&crowd->seen[i]) != 1)
            test_fail("message %d was claimed %d times", i, atomic_load(&crowd->seen[i]));
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {queue}"));
    assert_int_equal(MESSAGES, fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 2"));
    queue_check(f);
}

static fixture *open_fast(void)
{
    static pawl_store_options store = PAWL_STORE_OPTIONS_INIT;
    static fixture_options opts = {.store = &store};

    store.durability = PAWL_DURABILITY_NORMAL;
    store.timeout_ms = 60000;
    return fixture_open(&opts);
}

PAWL_TEST(eight_threads_with_a_store_each_claim_every_message_once)
{
    fixture *f = open_fast();
    static struct crowd crowd;

    crowd = (struct crowd){.first_id = 0};
    send_all(f, &crowd);
    for (int i = 0; i < THREADS; i++)
        crowd.stores[i] = fixture_another_store(f);
    test_threads(THREADS, claim_body, &crowd);
    check_each_once(f, &crowd);
}

PAWL_TEST(eight_threads_sharing_a_store_claim_every_message_once)
{
    fixture *f = open_fast();
    static struct crowd crowd;

    crowd = (struct crowd){.first_id = 0};
    send_all(f, &crowd);
    for (int i = 0; i < THREADS; i++)
        crowd.stores[i] = fixture_store(f);
    test_threads(THREADS, claim_body, &crowd);
    check_each_once(f, &crowd);
}

static const char *claimant_body(void *context, size_t index)
{
    struct crowd *crowd = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_claimant *claimant = NULL;
    const char *wrong = NULL;
    size_t count = 1;

    if (pawl_claimant_new(crowd->stores[index], queue_owner(7), NULL, &claimant, &err) != PAWL_OK)
        return test_note("claimant: %s", err.message);
    while (count > 0 && !wrong) {
        pawl_messages *list = NULL;
        pawl_work_id ids[25];
        size_t changed = 0;

        if (pawl_claimant_claim(claimant, HOUR_MS, 25, &list, &err) != PAWL_OK)
            wrong = test_note("claim: %s", err.message);
        count = pawl_messages_count(list);
        for (size_t i = 0; i < count; i++) {
            ids[i] = pawl_message_work_id(pawl_messages_at(list, i));
            atomic_fetch_add(&crowd->seen[ids[i].value - crowd->first_id], 1);
        }
        pawl_messages_free(list);
        if (!wrong && pawl_claimant_ack(claimant, ids, count, &changed, &err) != PAWL_OK)
            wrong = test_note("ack: %s", err.message);
        if (!wrong && changed != count)
            wrong = test_note("%zu of %zu messages were acknowledged", changed, count);
    }
    pawl_claimant_free(claimant);
    return wrong;
}

PAWL_TEST(threads_of_one_owner_keep_their_claims_apart)
{
    fixture *f = open_fast();
    static struct crowd crowd;

    crowd = (struct crowd){.first_id = 0};
    send_all(f, &crowd);
    for (int i = 0; i < THREADS; i++)
        crowd.stores[i] = fixture_store(f);
    test_threads(THREADS, claimant_body, &crowd);
    check_each_once(f, &crowd);
}

struct both {
    pawl_store *store;
    atomic_int sending; /* senders that are not through yet */
    atomic_int claimed;
};

#define SENDERS 4
#define EACH 150

static const char *send_body(struct both *both, size_t index)
{
    for (int i = 0; i < EACH; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_message_spec message = queue_message(index % 2 ? "a" : "b", "x");

        if (pawl_outbox_enqueue(both->store, &message, NULL, &err) != PAWL_OK)
            return test_note("send: %s", err.message);
    }
    return NULL;
}

static const char *send_or_claim(void *context, size_t index)
{
    struct both *both = context;
    bool senders_done;

    if (index < SENDERS) {
        const char *wrong = send_body(both, index);

        atomic_fetch_sub(&both->sending, 1);
        return wrong;
    }
    do {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_messages *list = NULL;

        senders_done = atomic_load(&both->sending) == 0;
        if (pawl_queue_claim(both->store, queue_owner((int)index), HOUR_MS, 10, NULL, &list,
                             &err) != PAWL_OK)
            return test_note("claim: %s", err.message);
        atomic_fetch_add(&both->claimed, (int)pawl_messages_count(list));
        pawl_messages_free(list);
    } while (!senders_done);
    return NULL;
}

PAWL_TEST(no_message_is_skipped_while_others_send)
{
    fixture *f = open_fast();
    struct both both = {.store = fixture_store(f)};
    size_t got;

    atomic_init(&both.sending, SENDERS);
    test_threads(THREADS, send_or_claim, &both);
    do {
        got = pawl_messages_count(fixture_claim(f, queue_owner(50), HOUR_MS, 100));
        atomic_fetch_add(&both.claimed, (int)got);
    } while (got > 0);
    assert_int_equal(SENDERS * EACH, atomic_load(&both.claimed));
    assert_int_equal(SENDERS * EACH,
                     fixture_count(f, "SELECT count(*) FROM {queue} WHERE fence > 0"));
    queue_check(f);
}
