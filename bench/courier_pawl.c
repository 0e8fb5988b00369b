/* bench/courier_pawl.c - messages that pawl's worker brings to a handler. */
#include "courier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "shift.h"

#define NUMBER_SIZE 8 /* digits before the payload */

typedef struct program {
    pawl_store *store;
    pawl_worker *worker; /* while receiving */
    timeline *timeline;
} program;

static void expect(pawl_status status, const pawl_error *err)
{
    if (status != PAWL_OK)
        die("pawl: %s: %s", pawl_status_name(status), err->message);
}

static void *open_pawl(const database *db, timeline *t)
{
    program *self = allocate(1, sizeof *self);

    self->store = shift_open(db);
    self->timeline = t;
    return self;
}

static void close_pawl(void *context)
{
    program *self = context;

    pawl_store_close(self->store);
    free(self);
}

static void send_message(void *context, int number)
{
    program *self = context;
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    char payload[128];

    message.topic = topic_name(0);
    message.payload_size =
        (size_t)snprintf(payload, sizeof payload, "%0*d%s", NUMBER_SIZE, number, bench_payload);
    message.payload = payload;
    expect(pawl_outbox_enqueue(self->store, &message, NULL, &err), &err);
}

static pawl_result note(pawl_task *task, void *context)
{
    double started = seconds_now();
    program *self = context;
    char digits[NUMBER_SIZE + 1] = "";
    size_t size = 0;
    const void *payload = pawl_message_payload(pawl_task_message(task), &size);

    memcpy(digits, payload, size < NUMBER_SIZE ? size : NUMBER_SIZE);
    if (timeline_note(self->timeline, (int)strtol(digits, NULL, 10), 0, started))
        pawl_worker_request_stop(self->worker);
    return PAWL_DONE;
}

static void receive(void *context)
{
    program *self = context;
    pawl_error err = PAWL_ERROR_INIT;

    expect(pawl_worker_new(self->store, NULL, &self->worker, &err), &err);
    expect(pawl_worker_handle(self->worker, topic_name(0), note, self, NULL, &err), &err);
    atomic_store(&self->timeline->ready, 1);
    expect(pawl_worker_run(self->worker, &err), &err);
    pawl_worker_free(self->worker);
}

const courier courier_pawl = {
    .open = open_pawl, .close = close_pawl, .send = send_message, .receive = receive};
