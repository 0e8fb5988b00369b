/*
 * tests/process/send_helper.c - a process that sends numbers, and knows which of them are stored.
 *
 * send_helper URL SCHEMA PREFIX NUMBER [break=unsent]: for every byte of its standard input it
 * sends that many messages, each with the next number from NUMBER on as payload and an id that
 * follows from the number. Failed or in-doubt sends are repeated with the same ids until
 * it is done, and says
 *
 *     refused STATUS, doubt      for every result that is not "done"
 *     stored NEXT                all numbers below NEXT are stored
 *
 * It ends with its input. break=unsent is deliberately wrong: its third number is never sent.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helper.h"

#define BATCH_MAX 16
#define PAUSE_MS 20 /* before the same is sent again */

typedef struct batch {
    size_t count;
    char payloads[BATCH_MAX][24];
    pawl_message_spec messages[BATCH_MAX];
} batch;

static pawl_uuid id_of(long number)
{
    pawl_uuid id = {{0xaa}};

    id.bytes[6] = 0x40;
    id.bytes[8] = 0x80;
    for (int i = 0; i < 4; i++)
        id.bytes[15 - i] = (uint8_t)(number >> 8 * i);
    return id;
}

static void fill_batch(batch *b, long first, size_t count)
{
    b->count = count;
    for (size_t i = 0; i < count; i++) {
        pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
        int size = snprintf(b->payloads[i], sizeof b->payloads[i], "%ld", first + (long)i);

        message.topic = HELPER_TOPIC;
        message.payload = b->payloads[i];
        message.payload_size = (size_t)size;
        message.id = id_of(first + (long)i);
        message.max_attempts = 1000;
        b->messages[i] = message;
    }
}

static pawl_status send_batch(pawl_store *store, const batch *b, pawl_error *err)
{
    if (b->count == 1)
        return pawl_outbox_enqueue(store, b->messages, NULL, err);
    return pawl_outbox_enqueue_batch(store, b->messages, b->count, NULL, err);
}

/* Until it is done, or refused for good. */
static int send_until_done(pawl_store *store, const batch *b)
{
    pawl_error err = PAWL_ERROR_INIT;

    while (send_batch(store, b, &err) != PAWL_OK) {
        if (!err.retryable)
            return helper_complain("send", &err);
        if (err.status == PAWL_E_IN_DOUBT)
            helper_say("doubt");
        else
            helper_say("refused %s", pawl_status_name(err.status));
        poll(NULL, 0, PAUSE_MS);
    }
    return 0;
}

int main(int argc, char **argv)
{
    pawl_store *store;
    unsigned char count;
    int failed = 0;
    batch b;

    if (argc < 5) {
        fprintf(stderr, "usage: send_helper URL SCHEMA PREFIX NUMBER [break=unsent]\n");
        return 64;
    }
    long next = strtol(argv[4], NULL, 10);
    long unsent = argc > 5 && strcmp(argv[5], "break=unsent") == 0 ? next + 2 : -1;
    store = helper_open(argv);
    if (!store)
        return 1;
    while (!failed && read(STDIN_FILENO, &count, 1) == 1) {
        if (count == 0 || count > BATCH_MAX)
            return 64;
        fill_batch(&b, next, count);
        if (unsent < next || unsent >= next + count)
            failed = send_until_done(store, &b);
        next += count;
        if (!failed)
            helper_say("stored %ld", next);
    }
    pawl_store_close(store);
    return failed;
}
