/*
 * tests/concurrency/process_helper.c - one of several processes that use the same queue.
 *
 * process_helper URL SCHEMA PREFIX VERB NUMBER: waits until its standard input ends, so that all
 * begin together, then claims and acknowledges everything, or sends, or deploys. Prints the work
 * ids it saw, one a line. Exit status 0: all went well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helper.h"

#define SHARED_IDS 200

static int claim_all(pawl_store *store)
{
    pawl_owner owner = pawl_owner_new();
    size_t count;

    do {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_messages *list = NULL;
        pawl_receipt receipt[20];
        size_t changed = 0;

        if (pawl_queue_claim(store, owner, 3600000, 20, NULL, &list, &err) != PAWL_OK)
            return helper_complain("claim", &err);
        count = pawl_messages_count(list);
        for (size_t i = 0; i < count; i++) {
            const pawl_message *message = pawl_messages_at(list, i);

            receipt[i] = (pawl_receipt){pawl_message_work_id(message), pawl_message_fence(message)};
            helper_say("%lld", (long long)receipt[i].id.value);
        }
        pawl_messages_free(list);
        if (pawl_queue_ack(store, owner, receipt, count, &changed, &err) != PAWL_OK)
            return helper_complain("ack", &err);
        if (changed != count)
            return helper_complain("a message was lost to another owner", &err);
    } while (count > 0);
    return 0;
}

/* Every process sends the same ids, each in another order; prints those it was first with. */
static int send_shared(pawl_store *store, int number)
{
    for (int i = 0; i < SHARED_IDS; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
        pawl_enqueued sent;
        int shared = (number % 2 ? SHARED_IDS - 1 - i : i + number * 17) % SHARED_IDS;

        message.topic = "shared";
        message.payload = "x";
        message.payload_size = 1;
        message.id.bytes[0] = 1;
        message.id.bytes[15] = (uint8_t)shared;
        if (pawl_outbox_enqueue(store, &message, &sent, &err) != PAWL_OK)
            return helper_complain("send", &err);
        if (!sent.existed)
            helper_say("%lld", (long long)sent.work_id.value);
    }
    return 0;
}

static void wait_for_start(void)
{
    char byte;

    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
}

int main(int argc, char **argv)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_store *store;
    int failed;

    if (argc != 6) {
        fprintf(stderr, "usage: process_helper URL SCHEMA PREFIX VERB NUMBER\n");
        return 64;
    }
    opts.durability = PAWL_DURABILITY_NORMAL;
    opts.timeout_ms = 60000;
    opts.deploy_schema = strcmp(argv[4], "deploy") == 0;
    if (opts.deploy_schema)
        wait_for_start();
    store = helper_open_with(argv, opts);
    if (!store)
        return 1;
    if (!opts.deploy_schema)
        wait_for_start();
    failed = strcmp(argv[4], "claim") == 0  ? claim_all(store)
             : strcmp(argv[4], "send") == 0 ? send_shared(store, (int)strtol(argv[5], NULL, 10))
                                            : 0;
    pawl_store_close(store);
    return failed;
}
