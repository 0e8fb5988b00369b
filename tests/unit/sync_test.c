/*
 * tests/unit/sync_test.c - which calls on a SQLite store wait for the disk.
 *
 * This program has a fdatasync() of its own, which SQLite's calls end at: it counts those of the
 * write-ahead log.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pawl/pawl.h>

#include "test.h"

#define MANY 1100 /* more fencing tokens than are set aside at a time */

static atomic_int syncs;

static int count_sync(int fd)
{
    char link[64], path[1024];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size > 4 && memcmp(path + size - 4, "-wal", 4) == 0)
        atomic_fetch_add(&syncs, 1);
    return 0;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): glibc's name is reserved */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
    return count_sync(fd);
}

static int syncs_since_last(void)
{
    return atomic_exchange(&syncs, 0);
}

struct test_store {
    pawl_store *store;
    const char *path;
    pawl_owner owner;
};

static void close_test_store(void *context)
{
    struct test_store *test_store = context;

    pawl_store_close(test_store->store);
    free(test_store);
}

static void open_store(struct test_store *test_store, pawl_durability durability)
{
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    options.deploy_schema = true;
    options.durability = durability;
    assert_ok(pawl_store_open(test_note("sqlite:%s", test_store->path), &options,
                              &test_store->store, &err),
              &err);
}

static struct test_store *open_test_store(pawl_durability durability)
{
    struct test_store *test_store = calloc(1, sizeof *test_store);

    assert_non_null(test_store);
    test_defer(close_test_store, test_store);
    test_store->path = test_note("%s/sync.db", test_directory());
    test_store->owner = pawl_owner_new();
    open_store(test_store, durability);
    syncs_since_last();
    return test_store;
}

static pawl_status send_message(struct test_store *test_store)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;

    message.topic = "mail";
    message.payload = "x";
    message.payload_size = 1;
    return pawl_outbox_enqueue(test_store->store, &message, NULL, NULL);
}

static void send_many(struct test_store *test_store, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(PAWL_OK, send_message(test_store));
}

/* Claims one, acknowledging `done` on the way unless it is NULL. */
static pawl_receipt claim_message(struct test_store *test_store, const pawl_receipt *done)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    pawl_receipt none = {0};
    size_t acked = 0;

    assert_ok(pawl_queue_ack_and_claim(test_store->store, test_store->owner, done ? done : &none,
                                       done ? 1 : 0, 60000, 1, NULL, &acked, &list, &err),
              &err);
    assert_int_equal(1, pawl_messages_count(list));
    const pawl_message *message = pawl_messages_at(list, 0);
    pawl_receipt receipt = {pawl_message_work_id(message), pawl_message_fence(message)};
    pawl_messages_free(list);
    return receipt;
}

PAWL_TEST(a_done_response_is_sent_after_the_sync)
{
    struct test_store *test_store = open_test_store(PAWL_DURABILITY_FULL);
    size_t changed = 0;

    send_many(test_store, 3);
    assert_int_equal(3, syncs_since_last());
    pawl_receipt receipt = claim_message(test_store, NULL);
    assert_int_equal(1, syncs_since_last());
    assert_int_equal(
        PAWL_OK, pawl_queue_ack(test_store->store, test_store->owner, &receipt, 1, &changed, NULL));
    assert_int_equal(1, syncs_since_last());
    receipt = claim_message(test_store, NULL);
    syncs_since_last();
    receipt = claim_message(test_store, &receipt); /* which acknowledges */
    assert_int_equal(1, syncs_since_last());
    assert_int_equal(PAWL_OK, pawl_queue_abandon(test_store->store, test_store->owner, &receipt, 1,
                                                 NULL, PAWL_DELAY_BY_POLICY, &changed, NULL));
    assert_int_equal(1, syncs_since_last());
}

PAWL_TEST(without_full_sync_fencing_tokens_are_reserved_on_disk)
{
    struct test_store *test_store = open_test_store(PAWL_DURABILITY_NORMAL);
    int64_t last = 0;

    send_many(test_store, MANY);
    syncs_since_last();
    for (int i = 0; i < MANY; i++) {
        pawl_receipt receipt = claim_message(test_store, NULL);
        assert_true(receipt.fence > last);
        last = receipt.fence;
    }
    assert_in_range(syncs_since_last(), 2, 20); /* check-points sync, too */

    /* The next process starts behind what may have been given out. */
    pawl_store_close(test_store->store);
    open_store(test_store, PAWL_DURABILITY_NORMAL);
    send_many(test_store, 1);
    syncs_since_last();
    assert_true(claim_message(test_store, NULL).fence >= last + 1000 - MANY % 1000);
    assert_int_equal(1, syncs_since_last());
}
