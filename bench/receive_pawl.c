/* bench/receive_pawl.c - receiving with pawl's inbox: a row of the application's own, once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "side.h"

typedef struct program {
    database *db;
    pawl_store *store;
} program;

typedef struct worker {
    program *of;
    uint64_t name; /* of the ids that it receives */
    uint64_t number;
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

    self->db = db;
    db->engine->make_effects(db);
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
    uint8_t id[MESSAGE_ID_SIZE];

    self->of = context;
    message_id_make(wall_us_now(), id);
    memcpy(&self->name, id + 8, sizeof self->name);
    return self;
}

static void receive(void *context)
{
    worker *self = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = NULL;
    char id[64];

    snprintf(id, sizeof id, "%016llx-%llu", (unsigned long long)self->name,
             (unsigned long long)self->number++);
    expect(pawl_inbox_begin(self->of->store, "bench", id, NULL, NULL, &arrival, &err), &err);
    if (pawl_inbox_task_result(arrival) != PAWL_INBOX_NEW)
        die("pawl: a new message was answered with '%s'",
            pawl_inbox_result_name(pawl_inbox_task_result(arrival)));
    self->of->db->engine->write_effect(self->of->db, pawl_inbox_task_tx(arrival));
    expect(pawl_inbox_task_done(arrival, bench_payload, bench_payload_size, &err), &err);
    pawl_inbox_task_free(arrival);
}

static void nothing(void *context)
{
    (void)context;
}

const side side_receive_pawl = {
    .name = "pawl",
    .open = open_pawl,
    .close = close_pawl,
    .worker_new = worker_new,
    .worker_free = free,
    .ack = nothing,
    .receive = receive,
};
