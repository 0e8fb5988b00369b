/*
 * tests/soak/soak_send_helper.c - a process that sends one kind of message at a steady rate.
 *
 * soak_send_helper URL SCHEMA PREFIX KIND RATE BATCH [DESTINATION]: numbers from 0 on, up to BATCH
 * of them per call; the message id follows from kind and number, so that what is in doubt is sent
 * again with the same id. It says "sent NEXT": all numbers below NEXT are stored. Kinds:
 *
 *     single, batch      topic soak.KIND
 *     flaky              its handler fails the first attempts
 *     dead               its handler always fails: a dead letter
 *     timer              due in 0.2 to 2 s; every tenth is cancelled at once
 *     topic              every message has a topic of its own, brief.NUMBER
 *     cross              for DESTINATION
 *     url                every message has a destination of its own, DESTINATION?NUMBER
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper.h"
#include "pace.h"

#define BATCH_MAX 500
#define AGAIN_MS 20
#define CANCEL_EVERY 10

typedef struct sender {
    pawl_store *store;
    pawl_scheduler *scheduler;
    const char *kind;
    const char *destination;
    long next;
    pawl_message_spec messages[BATCH_MAX];
    char payloads[BATCH_MAX][24];
    char topics[BATCH_MAX][40];
    char destinations[BATCH_MAX][256];
} sender;

static bool is(const sender *s, const char *kind)
{
    return strcmp(s->kind, kind) == 0;
}

static pawl_uuid id_of(const sender *s, long number)
{
    pawl_uuid id = {{0x50}};

    memcpy(id.bytes + 1, s->kind, strnlen(s->kind, 5));
    id.bytes[6] = 0x40;
    id.bytes[8] = 0x80;
    for (int i = 0; i < 6; i++)
        id.bytes[15 - i] = (uint8_t)(number >> 8 * i);
    return id;
}

static void name_topic(const sender *s, size_t at, long number, char *ret_topic, size_t size)
{
    (void)at;
    if (is(s, "topic"))
        snprintf(ret_topic, size, "brief.%ld", number);
    else
        snprintf(ret_topic, size, "soak.%s", s->kind);
}

static void fill_message(sender *s, size_t at)
{
    long number = s->next + (long)at;
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    int size = snprintf(s->payloads[at], sizeof s->payloads[at], "%ld", number);

    name_topic(s, at, number, s->topics[at], sizeof s->topics[at]);
    message.topic = s->topics[at];
    message.payload = s->payloads[at];
    message.payload_size = (size_t)size;
    message.id = id_of(s, number);
    message.max_attempts = is(s, "dead") ? 2 : 1000;
    message.backoff = (pawl_backoff){50, 400, 50};
    if (is(s, "timer"))
        message.delay_ms = 200 + number * 37 % 1800;
    if (is(s, "url")) {
        snprintf(s->destinations[at], sizeof s->destinations[at], "%.200s?%ld", s->destination,
                 number);
        message.destination = s->destinations[at];
    } else if (s->destination) {
        message.destination = s->destination;
    }
    s->messages[at] = message;
}

static pawl_status cancel_some(sender *s, size_t count, pawl_error *err)
{
    pawl_uuid ids[BATCH_MAX];
    size_t chosen = 0;

    for (size_t i = 0; i < count; i++)
        if ((s->next + (long)i) % CANCEL_EVERY == 0)
            ids[chosen++] = s->messages[i].id;
    return pawl_timer_cancel(s->scheduler, ids, chosen, NULL, err);
}

static pawl_status send_once(sender *s, size_t count, pawl_error *err)
{
    if (is(s, "timer"))
        return pawl_timer_schedule_batch(s->scheduler, s->messages, count, NULL, err);
    if (count == 1)
        return pawl_outbox_enqueue(s->store, s->messages, NULL, err);
    return pawl_outbox_enqueue_batch(s->store, s->messages, count, NULL, err);
}

/* Until it has succeeded; false: it never will. */
static bool repeat(sender *s, size_t count, pawl_status (*call)(sender *, size_t, pawl_error *))
{
    pawl_error err = PAWL_ERROR_INIT;

    while (call(s, count, &err) != PAWL_OK) {
        if (!err.retryable && err.status != PAWL_E_IN_DOUBT)
            return helper_complain("send", &err) == 0;
        poll(NULL, 0, AGAIN_MS);
    }
    return true;
}

/* What was stored is not sent again because of its cancellation: it may have run and be removed. */
static int send_until_stored(sender *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fill_message(s, i);
    if (!repeat(s, count, send_once) || (is(s, "timer") && !repeat(s, count, cancel_some)))
        return 1;
    s->next += (long)count;
    helper_say("sent %ld", s->next);
    return 0;
}

int main(int argc, char **argv)
{
    static sender s;
    pawl_error err = PAWL_ERROR_INIT;
    size_t count, most;
    int failed = 0;
    pace p;

    if (argc < 7) {
        fprintf(stderr,
                "usage: soak_send_helper URL SCHEMA PREFIX KIND RATE BATCH [DESTINATION]\n");
        return 64;
    }
    s.kind = argv[4];
    s.destination = argc > 7 ? argv[7] : NULL;
    most = strtoul(argv[6], NULL, 10);
    s.store = helper_open(argv);
    if (!s.store || most < 1 || most > BATCH_MAX)
        return 1;
    if (pawl_scheduler_new_on_store(s.store, &s.scheduler, &err) != PAWL_OK)
        return helper_complain("scheduler", &err);
    pace_init(&p, strtod(argv[5], NULL));
    while (!failed && (count = pace_wait(&p, most)) > 0)
        failed = send_until_stored(&s, count);
    pawl_scheduler_free(s.scheduler);
    pawl_store_close(s.store);
    return failed;
}
