/* src/core/enqueue.c - storing messages, alone or inside the application's transaction. */
#include <pawl/outbox.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "codes.h"
#include "fail.h"
#include "log.h"
#include "message_spec.h"
#include "store_private.h"
#include "tx_private.h"
#include "platform.h"

/* The state of one enqueue call, from the caller's structs to the results. */
struct sending {
    pawl_store *store;
    pawl_tx *tx; /* NULL: use an owned transaction */
    size_t count;
    pawl_message_spec *messages;
    bool *made_id;       /* the id was generated here, so the message cannot exist yet */
    bool fresh;          /* all ids were generated here */
    bool plain;          /* and the messages differ only in id and payload, and have no options */
    size_t *first;       /* by position: the first message of the call with the same id */
    pawli_value *values; /* one row per distinct id, sorted by id */
    size_t row_count;
    pawl_enqueued *results; /* by position; work id 0: no result yet */
    size_t result_count;
    pawli_arena memory;
};

static size_t position_of(const pawli_value *row)
{
    return (size_t)row[0].as.number;
}

static int by_message_id(const void *a, const void *b)
{
    const pawli_value *row_a = a, *row_b = b;
    int order =
        memcmp(row_a[SPEC_MESSAGE_ID].as.bytes.data, row_b[SPEC_MESSAGE_ID].as.bytes.data, 16);

    if (order != 0)
        return order;
    return position_of(row_a) < position_of(row_b) ? -1 : 1;
}

/*
 * Sorts by id, so that two concurrent batches cannot deadlock. Ids generated here are sorted
 * already.
 */
static void sort_rows(struct sending *sending)
{
    const pawli_value *values = sending->values;
    size_t i = 1;

    while (i < sending->count &&
           by_message_id(&values[(i - 1) * SPEC_COLUMNS], &values[i * SPEC_COLUMNS]) < 0)
        i++;
    if (i < sending->count)
        qsort(sending->values, sending->count, SPEC_COLUMNS * sizeof *sending->values,
              by_message_id);
}

static bool same_id(const pawli_value *a, const pawli_value *b)
{
    return memcmp(a[SPEC_MESSAGE_ID].as.bytes.data, b[SPEC_MESSAGE_ID].as.bytes.data, 16) == 0;
}

/* Sends each id to the database once. */
static pawl_status enqueue_drop_repeated(struct sending *sending, pawl_error *err)
{
    size_t row_size = SPEC_COLUMNS * sizeof *sending->values;
    pawli_value *kept = sending->values;

    sending->first[position_of(kept)] = position_of(kept);
    for (size_t i = 1; i < sending->count; i++) {
        const pawli_value *row = &sending->values[i * SPEC_COLUMNS];
        size_t position = position_of(row), before = position_of(kept);

        sending->first[position] = position;
        if (!same_id(row, kept)) {
            kept += SPEC_COLUMNS;
            if (kept != row)
                memcpy(kept, row, row_size);
        } else if (pawli_message_spec_same(&sending->messages[position],
                                           &sending->messages[before])) {
            sending->first[position] = before;
        } else {
            return pawli_message_spec_conflict(&sending->messages[position], err);
        }
    }
    sending->row_count = (size_t)(kept - sending->values) / SPEC_COLUMNS + 1;
    return PAWL_OK;
}

static bool same_destination(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The database looks up a lane only where it differs from the previous row's. Also finds out
 * whether all rows are plain. */
static void compare_rows(struct sending *sending)
{
    const pawl_message_spec *before = NULL;

    sending->plain = sending->fresh;
    for (size_t i = 0; i < sending->row_count; i++) {
        pawli_value *row = &sending->values[i * SPEC_COLUMNS];
        const pawl_message_spec *message = &sending->messages[position_of(row)];
        bool same = before && before->priority == message->priority &&
                    strcmp(before->topic, message->topic) == 0 &&
                    same_destination(before->destination, message->destination);

        row[SPEC_OTHER_LANE] = pawli_bool(!same);
        sending->plain = sending->plain && pawli_message_spec_is_plain(message) &&
                         (!before || (same && before->type == message->type &&
                                      before->max_attempts == message->max_attempts));
        before = message;
    }
}

static pawl_status read_messages(struct sending *sending, const pawl_message_spec *given,
                                 pawl_error *err)
{
    size_t most = pawli_db_driver(sending->store->db)->max_payload_bytes;
    size_t stride = given->size; /* the caller's struct may have another version's size */
    size_t bytes = 0;

    sending->fresh = true;
    for (size_t i = 0; i < sending->count; i++) {
        const void *message = (const char *)given + i * stride;
        pawl_status st = pawli_message_spec_read(message, most, &sending->messages[i],
                                                 &sending->made_id[i], err);
        if (st != PAWL_OK)
            return st;
        sending->fresh = sending->fresh && sending->made_id[i];
        bytes += sending->messages[i].payload_size;
        st = pawli_message_spec_check_batch(sending->count, bytes, err);
        if (st != PAWL_OK)
            return st;
        pawli_message_spec_lay_out(&sending->messages[i], i, sending->values + i * SPEC_COLUMNS);
    }
    sort_rows(sending);
    pawl_status st = enqueue_drop_repeated(sending, err);
    if (st == PAWL_OK)
        compare_rows(sending);
    return st;
}

static pawl_status enqueue_prepare(struct sending *sending, const pawl_message_spec *given,
                                   pawl_error *err)
{
    size_t count = sending->count;

    if (!given || count < 1 || count > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "pass 1 to %d messages, not NULL", PAWL_BATCH_MAX);
    sending->messages = pawli_arena_alloc(&sending->memory, count * sizeof *sending->messages);
    sending->made_id = pawli_arena_alloc(&sending->memory, count * sizeof *sending->made_id);
    sending->first = pawli_arena_alloc(&sending->memory, count * sizeof *sending->first);
    sending->results = pawli_arena_alloc(&sending->memory, count * sizeof *sending->results);
    sending->values =
        pawli_arena_alloc(&sending->memory, count * SPEC_COLUMNS * sizeof *sending->values);
    if (!sending->messages || !sending->made_id || !sending->first || !sending->results ||
        !sending->values)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu messages", count);
    return read_messages(sending, given, err);
}

static void enqueue_on_start(void *context)
{
    struct sending *sending = context;

    sending->result_count = 0;
    memset(sending->results, 0, sending->count * sizeof *sending->results);
}

static pawl_status enqueue_in_flight(const pawl_message_spec *message, pawl_error *err)
{
    char id[PAWL_UUID_TEXT_SIZE];

    pawl_uuid_format(message->id, id);
    return pawli_fail(err, PAWL_E_BUSY,
                      "message id %s is being sent by another open transaction: nothing was "
                      "stored, retry when that transaction has ended",
                      id);
}

static void note_answer(struct sending *sending, size_t position, int64_t work_id, bool existed,
                        pawl_wall due_at)
{
    sending->results[position] = (pawl_enqueued){
        .work_id = {work_id},
        .message_id = sending->messages[position].id,
        .existed = existed && !sending->made_id[position],
        .due_at = due_at,
    };
    sending->result_count++;
}

/* A single result row covers all messages: they were stored in row order at one time. */
static pawl_status note_all(struct sending *sending, int64_t first, pawl_wall now)
{
    for (size_t i = 0; i < sending->row_count; i++) {
        size_t position = position_of(&sending->values[i * SPEC_COLUMNS]);

        note_answer(sending, position, first + (int64_t)i, false,
                    pawli_message_spec_due(&sending->messages[position], now));
    }
    return PAWL_OK;
}

static pawl_status enqueue_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    struct sending *sending = context;

    if (pawli_row_is_null(row, 0))
        return note_all(sending, pawli_row_int(row, 1), pawli_row_time(row, 3));
    size_t position = (size_t)pawli_row_int(row, 0);
    int64_t result = pawli_row_int(row, 2);
    if (position >= sending->count)
        return pawli_fail(err, PAWL_E_STORE,
                          "the database returned a result for a message that was not sent");
    if (result == PAWLI_ENQUEUE_CONFLICT)
        return pawli_message_spec_conflict(&sending->messages[position], err);
    if (result == PAWLI_ENQUEUE_BUSY)
        return enqueue_in_flight(&sending->messages[position], err);
    if (sending->results[position].work_id.value != 0)
        return PAWL_OK; /* the first result counts */
    note_answer(sending, position, pawli_row_int(row, 1), result == PAWLI_ENQUEUE_EXISTED,
                pawli_row_time(row, 3));
    return PAWL_OK;
}

/* New ids cannot conflict with another transaction's. A commit in doubt is resolved by asking by
 * id, and an open rival transaction is waited for: pawli_db_run(). */
static pawl_status enqueue_run(struct sending *sending, pawl_error *err)
{
    pawli_rows rows = {sending->row_count, SPEC_COLUMNS, pawli_message_spec_names,
                       pawli_message_spec_types, sending->values};
    pawli_op op = {
        .sql = !sending->fresh  ? PAWLI_SQL_ENQUEUE
               : sending->plain ? PAWLI_SQL_ENQUEUE_PLAIN
                                : PAWLI_SQL_ENQUEUE_FRESH,
        .writes = true,
        .merges = sending->fresh,
        .resolves = true,
        .resolve_sql = PAWLI_SQL_ENQUEUE,
        .rows = &rows,
        .on_row = enqueue_on_row,
        .on_start = enqueue_on_start,
        .context = sending,
    };

    if (sending->tx)
        return pawli_tx_run(sending->tx, &op, err);
    return pawli_store_write(sending->store, &op, err);
}

static void answer_repeated(struct sending *sending)
{
    for (size_t i = 0; i < sending->count; i++) {
        if (sending->first[i] == i)
            continue;
        sending->results[i] = sending->results[sending->first[i]];
        sending->results[i].existed = true;
    }
}

/* Returns the ids, with which the caller can safely send the messages again. */
static void note_ids(const struct sending *sending, pawl_enqueued *enqueued)
{
    for (size_t i = 0; i < sending->count; i++)
        enqueued[i].message_id = sending->messages[i].id;
}

static void log_sent(const struct sending *sending)
{
    const pawl_log_sink *log = &sending->store->log;
    char pattern[128];

    if (!pawli_log_enabled(log, PAWL_LOG_INFO))
        return;
    for (size_t i = 0; i < sending->count; i++) {
        const pawl_message_spec *message = &sending->messages[i];
        pawli_log_fields fields = {0};
        pawli_log_id(&fields, "message_id", message->id);
        pawli_log_text(&fields, "topic", message->topic);
        pawli_log_text(&fields, "destination", message->destination);
        pawli_log_text(&fields, "correlation_id", message->correlation_id);
        snprintf(pattern, sizeof pattern,
                 "message {message_id} %s: topic {topic}, destination %s, correlation id %s",
                 sending->results[i].existed ? "existed" : "enqueued",
                 message->destination ? "{destination}" : "-",
                 message->correlation_id ? "{correlation_id}" : "-");
        pawli_log_record(log, PAWL_LOG_INFO, "outbox", &fields, pattern);
    }
}

static pawl_status enqueue_send_all(pawl_store *store, pawl_tx *tx,
                                    const pawl_message_spec *messages, size_t count,
                                    pawl_enqueued *ret_enqueued, pawl_error *err)
{
    struct sending sending = {.store = store, .tx = tx, .count = count};

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    pawl_status st = enqueue_prepare(&sending, messages, err);

    if (st == PAWL_OK) {
        st = enqueue_run(&sending, err);
        if (st == PAWL_E_IN_DOUBT && ret_enqueued)
            note_ids(&sending, ret_enqueued);
    }
    if (st == PAWL_OK && sending.result_count != sending.row_count)
        st = pawli_fail(err, PAWL_E_STORE, "the database returned %zu results for %zu messages",
                        sending.result_count, sending.row_count);
    if (st == PAWL_OK) {
        answer_repeated(&sending);
        if (ret_enqueued)
            memcpy(ret_enqueued, sending.results, count * sizeof *ret_enqueued);
        log_sent(&sending);
        if (!tx)
            pawli_wake_signal(pawli_db_wake(store->db));
    }
    pawli_arena_done(&sending.memory);
    return st;
}

pawl_status pawl_outbox_enqueue_batch(pawl_store *store, const pawl_message_spec *messages,
                                      size_t count, pawl_enqueued *ret_enqueued, pawl_error *err)
{
    return enqueue_send_all(store, NULL, messages, count, ret_enqueued, err);
}

pawl_status pawl_outbox_enqueue(pawl_store *store, const pawl_message_spec *message,
                                pawl_enqueued *ret_enqueued, pawl_error *err)
{
    return enqueue_send_all(store, NULL, message, 1, ret_enqueued, err);
}

pawl_status pawl_send(pawl_store *store, const char *topic, const void *payload, size_t size,
                      pawl_error *err)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;

    message.topic = topic;
    message.payload = payload || size > 0 ? payload : "";
    message.payload_size = size;
    return enqueue_send_all(store, NULL, &message, 1, NULL, err);
}

pawl_status pawl_tx_enqueue_batch(pawl_tx *tx, const pawl_message_spec *messages, size_t count,
                                  pawl_enqueued *ret_enqueued, pawl_error *err)
{
    if (!tx)
        return pawli_fail(err, PAWL_E_INVALID, "the transaction must not be NULL");
    return enqueue_send_all(tx->store, tx, messages, count, ret_enqueued, err);
}

pawl_status pawl_tx_enqueue(pawl_tx *tx, const pawl_message_spec *message,
                            pawl_enqueued *ret_enqueued, pawl_error *err)
{
    return pawl_tx_enqueue_batch(tx, message, 1, ret_enqueued, err);
}
