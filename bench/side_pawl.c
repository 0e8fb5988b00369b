/* bench/side_pawl.c - the side that uses pawl, on any engine. */
#include "side.h"

#include <stdlib.h>

#include "basics.h"

typedef struct program {
    pawl_store *store;
    int topics;
} program;

typedef struct worker {
    program *of;
    pawl_owner owner;
    unsigned turn; /* which topic is next */
    size_t held_count;
    pawl_receipt held[BATCH_MAX];
    pawl_message_spec outgoing[BATCH_MAX];
} worker;

static void expect(pawl_status status, const pawl_error *err)
{
    if (status != PAWL_OK)
        die("pawl: %s: %s", pawl_status_name(status), err->message);
}

static void *open_pawl(database *db, int workers)
{
    pawl_store_options options = database_options(db, workers);
    pawl_error err = PAWL_ERROR_INIT;
    program *self = allocate(1, sizeof *self);

    self->topics = db->topics;
    expect(pawl_store_open(db->url, &options, &self->store, &err), &err);
    return self;
}

static void close_pawl(void *context)
{
    program *self = context;

    pawl_store_close(self->store);
    free(self);
}

static void *worker_new(void *context)
{
    worker *self = allocate(1, sizeof *self);

    self->of = context;
    self->owner = pawl_owner_new();
    return self;
}

static void enqueue(void *context, size_t count)
{
    worker *self = context;
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < count; i++) {
        pawl_message_spec *message = &self->outgoing[i];

        *message = (pawl_message_spec)PAWL_MESSAGE_SPEC_INIT;
        message->topic = topic_name((int)(self->turn++ % (unsigned)self->of->topics));
        message->payload = bench_payload;
        message->payload_size = bench_payload_size;
    }
    if (count == 1) {
        pawl_enqueued answer;
        expect(pawl_outbox_enqueue(self->of->store, self->outgoing, &answer, &err), &err);
    } else {
        expect(pawl_outbox_enqueue_batch(self->of->store, self->outgoing, count, NULL, &err), &err);
    }
}

static size_t keep(worker *self, pawl_messages *list)
{
    self->held_count = pawl_messages_count(list);
    for (size_t i = 0; i < self->held_count; i++) {
        const pawl_message *message = pawl_messages_at(list, i);

        self->held[i] = (pawl_receipt){pawl_message_work_id(message), pawl_message_fence(message)};
    }
    pawl_messages_free(list);
    return self->held_count;
}

static size_t claim(void *context, size_t limit)
{
    worker *self = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    expect(pawl_queue_claim(self->of->store, self->owner, LEASE_MS, (int)limit, NULL, &list, &err),
           &err);
    return keep(self, list);
}

static void check_acked(worker *self, size_t acked)
{
    if (acked != self->held_count)
        die("pawl: %zu of %zu messages were acknowledged", acked, self->held_count);
    self->held_count = 0;
}

static void ack(void *context)
{
    worker *self = context;
    pawl_error err = PAWL_ERROR_INIT;
    size_t acked = 0;

    if (self->held_count == 0)
        return;
    expect(pawl_queue_ack(self->of->store, self->owner, self->held, self->held_count, &acked, &err),
           &err);
    check_acked(self, acked);
}

static size_t ack_and_claim(void *context, size_t limit)
{
    worker *self = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    size_t acked = 0;

    expect(pawl_queue_ack_and_claim(self->of->store, self->owner, self->held, self->held_count,
                                    LEASE_MS, (int)limit, NULL, &acked, &list, &err),
           &err);
    check_acked(self, acked);
    return keep(self, list);
}

static void enqueue_inside(void *context, struct pg_conn *connection)
{
    worker *self = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_tx *tx = NULL;

    message.topic = topic_name(0);
    message.payload = bench_payload;
    message.payload_size = bench_payload_size;
    expect(pawl_tx_foreign_postgres(self->of->store, connection, &tx, &err), &err);
    expect(pawl_tx_enqueue(tx, &message, NULL, &err), &err);
    pawl_tx_free(tx);
}

const side side_pawl = {
    .name = "pawl",
    .open = open_pawl,
    .close = close_pawl,
    .worker_new = worker_new,
    .worker_free = free,
    .enqueue = enqueue,
    .claim = claim,
    .ack = ack,
    .enqueue_inside = enqueue_inside,
    .ack_and_claim = ack_and_claim,
};
