/*
 * tests/soak/soak_hoard_helper.c - a worker that dies with many claims.
 *
 * soak_hoard_helper URL SCHEMA PREFIX FIRST COUNT LEASE_MS NAME: sends messages numbered from FIRST
 * on and claims them one at a time, each claim with a row of its own, until it has COUNT of them or
 * half a lease has passed; then it renews them all, so that their leases end at one time. It says
 * "sent NEXT" when all messages below NEXT are stored, then "holding", and waits to be killed. The
 * other workers want these messages, too, so it sends more of them than it gets.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "helper.h"

#define TOPIC "soak.hoard"
#define COUNT_MAX 2000
#define THREADS 8 /* they share commits on SQLite, and so do not wait for the others' writes */

typedef struct hoard {
    pawl_store *store;
    pawl_owner owner;
    const char *name;
    int64_t lease_ms;
    int64_t end_ms;
    size_t wanted;
    pthread_mutex_t lock; /* guards the rest */
    long next;
    bool failed;
    size_t count;
    pawl_receipt items[COUNT_MAX];
} hoard;

static pawl_status send_one(hoard *h, long number, pawl_error *err)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    char payload[24];

    message.topic = TOPIC;
    message.payload = payload;
    message.payload_size = (size_t)snprintf(payload, sizeof payload, "%ld", number);
    message.max_attempts = 1000;
    return pawl_outbox_enqueue(h->store, &message, NULL, err);
}

/* One more of them, if there is one. */
static pawl_status claim_one(hoard *h, pawl_error *err)
{
    static const char *const topics[] = {TOPIC};
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_messages *list = NULL;

    options.topics = topics;
    options.topic_count = 1;
    options.owner_name = h->name;
    pawl_status st = pawl_queue_claim(h->store, h->owner, h->lease_ms, 1, &options, &list, err);
    if (st != PAWL_OK)
        return st;
    const pawl_message *message = pawl_messages_at(list, 0);
    pthread_mutex_lock(&h->lock);
    if (message && h->count < COUNT_MAX)
        h->items[h->count++] =
            (pawl_receipt){pawl_message_work_id(message), pawl_message_fence(message)};
    pthread_mutex_unlock(&h->lock);
    pawl_messages_free(list);
    return PAWL_OK;
}

/* The number of the next message; -1: it has enough. */
static long next_number(hoard *h)
{
    pthread_mutex_lock(&h->lock);
    bool enough = h->failed || h->count >= h->wanted || helper_clock_ms() >= h->end_ms;
    long number = enough ? -1 : h->next++;
    pthread_mutex_unlock(&h->lock);
    return number;
}

static void *take_leases(void *context)
{
    hoard *h = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st = PAWL_OK;

    for (long number = next_number(h); st == PAWL_OK && number >= 0; number = next_number(h)) {
        st = send_one(h, number, &err);
        if (st == PAWL_OK)
            st = claim_one(h, &err);
        if (st != PAWL_OK)
            break;
    }
    if (st != PAWL_OK) {
        helper_complain("hoard", &err);
        pthread_mutex_lock(&h->lock);
        h->failed = true;
        pthread_mutex_unlock(&h->lock);
    }
    return NULL;
}

static int take_all(hoard *h)
{
    pawl_error err = PAWL_ERROR_INIT;
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, take_leases, h) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (h->failed)
        return 1;
    helper_say("sent %ld", h->next);
    if (pawl_queue_renew(h->store, h->owner, h->items, h->count, h->lease_ms, NULL, &err) !=
        PAWL_OK)
        return helper_complain("renew", &err);
    return 0;
}

int main(int argc, char **argv)
{
    static hoard h = {.lock = PTHREAD_MUTEX_INITIALIZER};

    if (argc != 8 || strtoul(argv[5], NULL, 10) > COUNT_MAX) {
        fprintf(stderr, "usage: soak_hoard_helper URL SCHEMA PREFIX FIRST COUNT LEASE_MS NAME\n");
        return 64;
    }
    h.next = strtol(argv[4], NULL, 10);
    h.wanted = strtoul(argv[5], NULL, 10);
    h.lease_ms = strtol(argv[6], NULL, 10);
    h.name = argv[7];
    h.end_ms = helper_clock_ms() + h.lease_ms / 2;
    h.owner = pawl_owner_new();
    h.store = helper_open(argv);
    if (!h.store || take_all(&h) != 0)
        return 1;
    helper_say("holding");
    for (;;)
        pause();
}
