/* tests/crash/life_send.c - sending: alone, in a batch, in the application's transaction. */
#include "life.h"

#include <stdio.h>

#include "crash_vfs.h"
#include "operation.h"

#define PAYLOAD_ROOM 16384
#define BATCH_MAX 8

pawl_status life_send_one(life *l, int number, pawl_error *err)
{
    uint8_t payload[PAYLOAD_ROOM];
    pawl_outgoing message = model_outgoing(number, payload, step_now_ms(l->at));
    pawl_enqueued enqueued;
    pawl_status st = pawl_outbox_enqueue(l->store, &message, &enqueued, err);

    if (st == PAWL_OK)
        l->ids[number] = enqueued.work_id;
    return st;
}

/* After a fault the library, or this test, may have asked again for what is there. */
static void check_existed(life *l, const step *s, const pawl_enqueued *enqueued)
{
    bool expected = s->verb == SEND_AGAIN;

    if (enqueued->existed != expected && !crash_vfs_fault_happened())
        life_wrong(l, "answered that the message %s", expected ? "was new" : "existed");
}

static void fill_batch(life *l, const step *s, pawl_outgoing *messages,
                       uint8_t (*payloads)[PAYLOAD_ROOM])
{
    for (int i = 0; i < s->count; i++) {
        messages[i] = model_outgoing(s->first + i, payloads[i], step_now_ms(l->at));
        if (s->verb == SEND_OTHER)
            messages[i].payload_size++;
        if (s->verb == SCHEDULE)
            messages[i].delay_ms = s->ms;
    }
}

pawl_status life_send(life *l, const step *s, pawl_error *err)
{
    pawl_outgoing messages[BATCH_MAX];
    pawl_enqueued enqueued[BATCH_MAX];
    uint8_t payloads[BATCH_MAX][PAYLOAD_ROOM] = {{0}};
    pawl_status st;

    fill_batch(l, s, messages, payloads);
    if (s->verb == SCHEDULE)
        st = operation_schedule(l->store, messages, (size_t)s->count, enqueued, err);
    else if (s->count == 1)
        st = pawl_outbox_enqueue(l->store, &messages[0], &enqueued[0], err);
    else
        st = pawl_outbox_enqueue_batch(l->store, messages, (size_t)s->count, enqueued, err);
    if (s->verb == SEND_OTHER) {
        if (st == PAWL_OK)
            life_wrong(l, "other contents were taken under an id that is there");
        return st == PAWL_E_CONFLICT ? PAWL_OK : st;
    }
    for (int i = 0; i < s->count && st == PAWL_OK; i++) {
        l->ids[s->first + i] = enqueued[i].work_id;
        check_existed(l, s, &enqueued[i]);
    }
    return st;
}

static int application_run(life *l, const char *sql)
{
    return sqlite3_exec(l->application, sql, NULL, NULL, NULL);
}

static pawl_status fill_transaction(life *l, const step *s, pawl_error *err)
{
    pawl_outgoing messages[BATCH_MAX];
    uint8_t payloads[BATCH_MAX][PAYLOAD_ROOM];
    pawl_tx *tx = NULL;
    pawl_status st;

    for (int i = 0; i < s->count; i++) {
        char sql[80];
        snprintf(sql, sizeof sql, "INSERT INTO orders (n) VALUES (%d)", s->first + i);
        if (application_run(l, sql) != SQLITE_OK)
            return PAWL_E_IO;
    }
    fill_batch(l, s, messages, payloads);
    st = pawl_tx_wrap_sqlite(l->store, l->application, &tx, err);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue_batch(tx, messages, (size_t)s->count, NULL, err);
    pawl_tx_free(tx);
    return st;
}

/* As an application should: after a failure its connection is opened anew. */
pawl_status life_send_tx(life *l, const step *s, pawl_error *err)
{
    bool undo = s->verb == SEND_TX_UNDO;
    pawl_status st = PAWL_E_IO;
    int code = SQLITE_OK;

    if (life_application(l) && application_run(l, "BEGIN IMMEDIATE") == SQLITE_OK)
        st = fill_transaction(l, s, err);
    if (st == PAWL_OK)
        code = application_run(l, undo ? "ROLLBACK" : "COMMIT");
    if (st == PAWL_OK && code != SQLITE_OK)
        st = undo || (code & 0xff) == SQLITE_BUSY ? PAWL_E_BUSY : PAWL_E_IN_DOUBT;
    if (st != PAWL_OK) {
        sqlite3_close(l->application);
        l->application = NULL;
    }
    return st;
}
