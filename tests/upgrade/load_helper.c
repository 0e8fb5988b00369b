/*
 * tests/upgrade/load_helper.c - sends, claims and acknowledges without a pause, until it is told to
 * stop; then until nothing is left. A call that fails ends it with a message and exit status 1.
 *
 * load_helper URL SCHEMA PREFIX NUMBER MEMORY: MEMORY is a struct load.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper.h"
#include "load.h"

#define BATCH 8
#define LEASE_MS 600000

struct loader {
    pawl_store *store;
    struct load *load;
    pawl_owner owner;
    int number;
    long long round;
    pawl_error err;
    const char *call; /* that failed */
};

static bool succeeded(struct loader *l, const char *call, pawl_status st)
{
    if (st != PAWL_OK)
        l->call = call;
    return st == PAWL_OK;
}

/* A message of this process; the payload says which. */
static pawl_message_spec next_message(struct loader *l, char payload[32])
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;

    snprintf(payload, 32, "%d %lld", l->number, atomic_fetch_add(&l->load->sent[l->number], 1));
    message.topic = "load";
    message.payload = payload;
    message.payload_size = strlen(payload);
    return message;
}

static bool send_batch(struct loader *l)
{
    pawl_message_spec messages[BATCH];
    char payloads[BATCH][32];
    size_t count = (size_t)(l->round % BATCH) + 1;

    for (size_t i = 0; i < count; i++) {
        messages[i] = next_message(l, payloads[i]);
        if (l->round % 3 == 1)
            messages[i].headers = "{\"a\": 1}";
        if (l->round % 3 == 2)
            messages[i].id = pawl_uuid_new(); /* an id that may exist */
    }
    return succeeded(l, "enqueue",
                     pawl_outbox_enqueue_batch(l->store, messages, count, NULL, &l->err));
}

static bool note_done(struct loader *l, const pawl_messages *list)
{
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const char *payload = pawl_message_payload(pawl_messages_at(list, i), NULL);
        char *rest;
        long process = strtol(payload, &rest, 10), number = strtol(rest, NULL, 10);

        if (process < 0 || process >= LOAD_PROCESSES || number < 0 || number >= LOAD_MESSAGES) {
            fprintf(stderr, "a message has the payload '%s'\n", payload);
            return false;
        }
        atomic_fetch_add(&l->load->done[process][number], 1);
    }
    return true;
}

static void take_receipts(const pawl_messages *list, pawl_receipt receipts[BATCH])
{
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *m = pawl_messages_at(list, i);
        receipts[i] = (pawl_receipt){pawl_message_work_id(m), pawl_message_fence(m)};
    }
}

/* Ends what was claimed: every process would find it gone if another one had it, too. */
static bool end_claimed(struct loader *l, const pawl_messages *list)
{
    pawl_receipt receipts[BATCH];
    size_t count = pawl_messages_count(list), changed = 0;

    take_receipts(list, receipts);
    bool stopping = atomic_load(&l->load->stop);
    if (!stopping && l->round % 5 == 0)
        return succeeded(
            l, "release",
            pawl_queue_release(l->store, l->owner, receipts, count, &changed, &l->err));
    if (!stopping && l->round % 5 == 1)
        return succeeded(
            l, "abandon",
            pawl_queue_abandon(l->store, l->owner, receipts, count, "again", 1, &changed, &l->err));
    if (!succeeded(
            l, "renew",
            pawl_queue_renew(l->store, l->owner, receipts, count, LEASE_MS, &changed, &l->err)) ||
        !succeeded(l, "ack",
                   pawl_queue_ack(l->store, l->owner, receipts, count, &changed, &l->err)))
        return false;
    if (changed != count)
        fprintf(stderr, "%zu of %zu messages were lost to another owner\n", count - changed, count);
    return changed == count && note_done(l, list);
}

/* In a transaction: the acknowledgement, and one more message. */
static bool end_in_transaction(struct loader *l, const pawl_messages *list)
{
    pawl_receipt receipts[BATCH];
    char payload[32];
    pawl_message_spec message = next_message(l, payload);
    pawl_tx *tx = NULL;
    bool ok;

    take_receipts(list, receipts);
    ok = succeeded(l, "begin", pawl_tx_begin_for(l->store, l->owner, receipts[0], &tx, &l->err)) &&
         succeeded(l, "enqueue in a transaction", pawl_tx_enqueue(tx, &message, NULL, &l->err)) &&
         succeeded(l, "commit", pawl_tx_commit_with_ack(tx, &l->err));
    pawl_tx_free(tx);
    return ok && note_done(l, list);
}

static bool claim_and_end(struct loader *l, size_t *ret_count)
{
    bool stopping = atomic_load(&l->load->stop);
    bool in_tx = !stopping && l->round % 4 == 3;
    pawl_messages *list = NULL;

    if (!succeeded(l, "claim",
                   pawl_queue_claim(l->store, l->owner, LEASE_MS, in_tx ? 1 : BATCH, NULL, &list,
                                    &l->err)))
        return false;
    *ret_count = pawl_messages_count(list);
    bool ok = *ret_count == 0 || (in_tx ? end_in_transaction(l, list) : end_claimed(l, list));
    pawl_messages_free(list);
    return ok;
}

/* What else a fleet does. */
static bool look_around(struct loader *l)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_outbox_stats *stats = NULL;
    pawl_messages *list = NULL;
    size_t changed;

    filter.limit = 5;
    bool ok = succeeded(l, "list", pawl_outbox_list(l->store, &filter, &list, NULL, &l->err));
    for (size_t i = 0; ok && i < pawl_messages_count(list); i++) {
        pawl_messages *one = NULL;
        pawl_work_id id = pawl_message_work_id(pawl_messages_at(list, i));
        ok = succeeded(l, "get", pawl_outbox_get(l->store, id, &one, &l->err));
        pawl_messages_free(one);
    }
    pawl_messages_free(list);
    ok = ok && succeeded(l, "stats", pawl_outbox_get_stats(l->store, &stats, &l->err));
    pawl_outbox_stats_free(stats);
    return ok && succeeded(l, "reap", pawl_queue_reap(l->store, &changed, NULL, &l->err)) &&
           succeeded(l, "expire", pawl_queue_expire(l->store, &changed, NULL, &l->err)) &&
           succeeded(l, "prune",
                     pawl_queue_prune(l->store, PAWL_RETENTION_MS, &changed, NULL, &l->err)) &&
           succeeded(l, "compact", pawl_queue_compact_stats(l->store, &changed, NULL, &l->err));
}

static bool run_load(struct loader *l)
{
    size_t count = 1;

    for (; !atomic_load(&l->load->stop) || count > 0; l->round++) {
        bool sends = !atomic_load(&l->load->stop) &&
                     atomic_load(&l->load->sent[l->number]) < LOAD_MESSAGES - 2 * BATCH;
        if ((sends && !send_batch(l)) || !claim_and_end(l, &count) ||
            (l->round % 10 == 7 && !look_around(l)))
            return false;
        atomic_fetch_add(&l->load->rounds[l->number], 1);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct loader l = {.err = PAWL_ERROR_INIT};

    if (argc != 6) {
        fprintf(stderr, "usage: load_helper URL SCHEMA PREFIX NUMBER MEMORY\n");
        return 64;
    }
    l.number = (int)strtol(argv[4], NULL, 10);
    l.load = helper_map(argv[5], sizeof *l.load);
    l.owner = pawl_owner_new();
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    opts.durability = PAWL_DURABILITY_NORMAL;
    opts.timeout_ms = 20000;
    l.store = l.load ? helper_open_with(argv, opts) : NULL;
    if (!l.store)
        return 1;
    bool ok = run_load(&l);
    if (l.call)
        fprintf(stderr, "round %lld: %s: %s %s: %s\n", l.round, l.call,
                pawl_status_name(l.err.status), l.err.sqlstate, l.err.message);
    pawl_store_close(l.store);
    return ok ? 0 : 1;
}
