/*
 * bench/raw_sqlite.c - the work done by hand on SQLite: prepared statements on one connection.
 *
 * It writes the rows that pawl writes, and leaves out what pawl does for safety: no look for
 * duplicates but the unique index, no savepoints, no lock against other processes. One worker
 * writes for itself; several have one writer, which commits for all who wait.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "lite.h"
#include "side.h"
#include "writer.h"

#define OWNER_SIZE 16
#define OWNER_NAME "raw:10000"
#define PASSIVE_BYTES ((int64_t)16 * 1024 * 1024) /* as pawl: beyond this a passive checkpoint */

typedef enum statement {
    BEGIN,
    COMMIT,
    NEXT_FENCE,
    SELECT_DUE,
    TAKE,
    INSERT_CLAIM,
    COUNT_HELD,
    SET_TIME,
    INSERT_OUTCOME,
    DELETE_QUEUE,
    COUNT_DONE,
    STATEMENTS
} statement;

static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [NEXT_FENCE] =
        "UPDATE pawl_meta SET fence = fence + 1, latest_time = ?1 WHERE id = 1 RETURNING fence",
    [SELECT_DUE] = "SELECT q.id, q.retries, q.last_error, q.expires_at, b.message_id, b.type,"
                   " b.destination, b.headers, b.correlation_id, b.created_at, b.due_at,"
                   " b.max_attempts, b.payload"
                   " FROM pawl_queue q INDEXED BY pawl_queue_due"
                   " CROSS JOIN pawl_body b ON b.id = q.id"
                   " WHERE q.lane_id = ?1 AND q.fence = 0 AND q.run_at <= ?2"
                   " AND (q.expires_at IS NULL OR q.expires_at > ?2) ORDER BY q.run_at LIMIT ?3",
    [TAKE] = "UPDATE OR FAIL pawl_queue SET owner = ?2, lease_until = ?3, fence = ?4 WHERE id = ?1",
    [INSERT_CLAIM] = "INSERT OR FAIL INTO pawl_claim (fence, owner, owner_name, check_at, ids)"
                     " VALUES (?1, ?2, '" OWNER_NAME "', ?3, ?4)",
    [COUNT_HELD] = "UPDATE OR FAIL pawl_lane_stats SET running = running + ?2, last_claim_fence = "
                   "?3 WHERE lane_id = ?1",
    [SET_TIME] = "UPDATE pawl_meta SET latest_time = ?1 WHERE id = 1",
    [INSERT_OUTCOME] = "INSERT OR FAIL INTO pawl_outcome (id, state, finished_at, retries,"
                       " processed_by) VALUES (?1, 2, ?2, ?3, '" OWNER_NAME "')",
    [DELETE_QUEUE] = "DELETE FROM pawl_queue WHERE id = ?1 AND fence = ?2",
    [COUNT_DONE] = "UPDATE OR FAIL pawl_lane_stats SET running = running - ?2, done = done + ?2 "
                   "WHERE lane_id = ?1",
};

typedef struct program {
    sqlite3 *handle;
    sqlite3_stmt *statements[STATEMENTS];
    lite_sender sender;
    int page_size;
    int topics;
    unsigned turn; /* which lane a claim looks at first */
    sqlite3_int64 lanes[TOPICS_MAX];
    writer *writer; /* NULL: there is one worker, which writes for itself */
} program;

/* A message as it was taken; the texts are in the worker's buffer. */
typedef struct message {
    sqlite3_int64 id, retries, expires_at, type, created_at, due_at, max_attempts;
    int lane; /* its place in program.lanes */
    uint8_t message_id[MESSAGE_ID_SIZE];
    size_t last_error, destination, headers, correlation_id, payload; /* offsets */
    size_t payload_size;
} message;

typedef struct worker {
    writer_request request; /* first: a request is its worker */
    program *of;
    bool wants_enqueue, wants_ack, wants_claim;
    size_t wanted; /* messages to send or to claim */
    unsigned turn; /* which topic is next */
    uint8_t owner[OWNER_SIZE];
    sqlite3_int64 fence;
    size_t held_count;
    message held[BATCH_MAX];
    char *buffer;
    size_t used, size;
    char ids[BATCH_MAX * 21 + 3];
} worker;

/* ---- the work; inside a transaction ---- */

static void send_all(program *self, worker *w, int64_t now)
{
    lite_message group[LITE_GROUP];

    for (size_t left = w->wanted; left > 0;) {
        int size = 0;

        for (; size < LITE_GROUP && left > 0; size++, left--) {
            group[size] = (lite_message){.created_at = now, .due_at = now};
            group[size].topic = topic_name((int)(w->turn % (unsigned)self->topics));
            group[size].lane = self->lanes[w->turn++ % (unsigned)self->topics];
            message_id_make(now, group[size].message_id);
        }
        lite_send(&self->sender, group, size, true);
    }
}

/* Keep a column's bytes, followed by a zero; returns where they are. */
static size_t keep(worker *w, sqlite3_stmt *row, int column)
{
    const void *data = sqlite3_column_blob(row, column);
    size_t size = (size_t)sqlite3_column_bytes(row, column);
    size_t offset = w->used;

    if (w->used + size + 1 > w->size) {
        w->size = 2 * (w->used + size + 1);
        w->buffer = realloc(w->buffer, w->size);
        if (!w->buffer)
            die("out of memory");
    }
    if (data)
        memcpy(w->buffer + offset, data, size);
    w->buffer[offset + size] = '\0';
    w->used += size + 1;
    return offset;
}

static void keep_message(worker *w, sqlite3_stmt *row, int lane)
{
    message *m = &w->held[w->held_count++];

    m->lane = lane;
    m->id = sqlite3_column_int64(row, 0);
    m->retries = sqlite3_column_int64(row, 1);
    m->last_error = keep(w, row, 2);
    m->expires_at = sqlite3_column_int64(row, 3);
    memcpy(m->message_id, sqlite3_column_blob(row, 4), MESSAGE_ID_SIZE);
    m->type = sqlite3_column_int64(row, 5);
    m->destination = keep(w, row, 6);
    m->headers = keep(w, row, 7);
    m->correlation_id = keep(w, row, 8);
    m->created_at = sqlite3_column_int64(row, 9);
    m->due_at = sqlite3_column_int64(row, 10);
    m->max_attempts = sqlite3_column_int64(row, 11);
    m->payload_size = (size_t)sqlite3_column_bytes(row, 12);
    m->payload = keep(w, row, 12);
}

/* Add `n` per lane to a counter; neighbours of one lane are counted together. */
static void count_lanes(program *self, const worker *w, sqlite3_stmt *counter)
{
    for (size_t i = 0, end; i < w->held_count; i = end) {
        for (end = i; end < w->held_count && w->held[end].lane == w->held[i].lane;)
            end++;
        sqlite3_bind_int64(counter, 1, self->lanes[w->held[i].lane]);
        sqlite3_bind_int64(counter, 2, (sqlite3_int64)(end - i));
        lite_run(counter);
    }
}

static void find_due(program *self, worker *w, int64_t now)
{
    sqlite3_stmt *due = self->statements[SELECT_DUE];

    w->held_count = w->used = 0;
    for (int i = 0; i < self->topics && w->held_count < w->wanted; i++) {
        int lane = (int)(self->turn++ % (unsigned)self->topics);

        sqlite3_bind_int64(due, 1, self->lanes[lane]);
        sqlite3_bind_int64(due, 2, now);
        sqlite3_bind_int64(due, 3, (sqlite3_int64)(w->wanted - w->held_count));
        while (lite_next(due))
            keep_message(w, due, lane);
    }
}

static void claim_all(program *self, worker *w, int64_t now)
{
    sqlite3_stmt *fence = self->statements[NEXT_FENCE], *take = self->statements[TAKE];
    sqlite3_stmt *claim = self->statements[INSERT_CLAIM];
    int length = 0;

    find_due(self, w, now);
    if (w->held_count == 0)
        return;
    sqlite3_bind_int64(fence, 1, now);
    while (lite_next(fence))
        w->fence = sqlite3_column_int64(fence, 0);
    sqlite3_bind_blob(take, 2, w->owner, OWNER_SIZE, SQLITE_STATIC);
    sqlite3_bind_int64(take, 3, now + INT64_C(1000) * LEASE_MS);
    sqlite3_bind_int64(take, 4, w->fence);
    for (size_t i = 0; i < w->held_count; i++) {
        sqlite3_bind_int64(take, 1, w->held[i].id);
        lite_run(take);
        length += snprintf(w->ids + length, sizeof w->ids - (size_t)length, "%c%lld",
                           i == 0 ? '[' : ',', (long long)w->held[i].id);
    }
    w->ids[length++] = ']';
    sqlite3_bind_int64(claim, 1, w->fence);
    sqlite3_bind_blob(claim, 2, w->owner, OWNER_SIZE, SQLITE_STATIC);
    sqlite3_bind_int64(claim, 3, now + INT64_C(1000) * LEASE_MS);
    sqlite3_bind_text(claim, 4, w->ids, length, SQLITE_STATIC);
    lite_run(claim);
    sqlite3_bind_int64(self->statements[COUNT_HELD], 3, w->fence);
    count_lanes(self, w, self->statements[COUNT_HELD]);
}

static void ack_all(program *self, worker *w, int64_t now)
{
    sqlite3_stmt *outcome = self->statements[INSERT_OUTCOME];
    sqlite3_stmt *gone = self->statements[DELETE_QUEUE], *time = self->statements[SET_TIME];

    sqlite3_bind_int64(time, 1, now);
    lite_run(time);
    sqlite3_bind_int64(outcome, 2, now);
    sqlite3_bind_int64(gone, 2, w->fence);
    for (size_t i = 0; i < w->held_count; i++) {
        sqlite3_bind_int64(outcome, 1, w->held[i].id);
        sqlite3_bind_int64(outcome, 3, w->held[i].retries);
        lite_run(outcome);
        sqlite3_bind_int64(gone, 1, w->held[i].id);
        lite_run(gone);
    }
    count_lanes(self, w, self->statements[COUNT_DONE]);
    w->held_count = 0;
}

/* One transaction for all that wait. */
static void commit(void *context, writer_request *first)
{
    program *self = context;

    lite_run(self->statements[BEGIN]);
    for (writer_request *request = first; request; request = request->next) {
        worker *w = (worker *)request;
        int64_t now = wall_us_now();

        if (w->wants_enqueue)
            send_all(self, w, now);
        if (w->wants_ack)
            ack_all(self, w, now);
        if (w->wants_claim)
            claim_all(self, w, now);
    }
    lite_run(self->statements[COMMIT]);
}

/* ---- the side ---- */

static void submit(worker *w, bool wants_enqueue, bool wants_ack, bool wants_claim, size_t wanted)
{
    w->wants_enqueue = wants_enqueue;
    w->wants_ack = wants_ack && w->held_count > 0;
    w->wants_claim = wants_claim;
    w->wanted = wanted;
    if (!w->wants_enqueue && !w->wants_ack && !w->wants_claim)
        return;
    if (w->of->writer)
        writer_submit(w->of->writer, &w->request);
    else
        commit(w->of, &w->request);
}

static void enqueue(void *context, size_t count)
{
    submit(context, true, false, false, count);
}

static size_t claim(void *context, size_t limit)
{
    worker *w = context;

    submit(w, false, false, true, limit);
    return w->held_count;
}

static void ack(void *context)
{
    submit(context, false, true, false, 0);
}

static size_t ack_and_claim(void *context, size_t limit)
{
    worker *w = context;

    submit(w, false, true, true, limit);
    return w->held_count;
}

static int after_commit(void *context, sqlite3 *handle, const char *name, int pages)
{
    const program *self = context;

    if ((int64_t)pages * self->page_size >= PASSIVE_BYTES)
        sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

static void *open_raw(database *db, int workers)
{
    program *self = allocate(1, sizeof *self);
    sqlite3_stmt *page_size;

    self->handle = lite_open(db);
    self->topics = db->topics;
    lite_read_lanes(self->handle, db->topics, self->lanes);
    page_size = lite_prepare(self->handle, "PRAGMA page_size");
    while (lite_next(page_size))
        self->page_size = sqlite3_column_int(page_size, 0);
    sqlite3_finalize(page_size);
    sqlite3_wal_hook(self->handle, after_commit, self);
    for (int i = 0; i < STATEMENTS; i++)
        self->statements[i] = lite_prepare(self->handle, texts[i]);
    self->sender = lite_sender_new(self->handle);
    if (workers > 1)
        self->writer = writer_start(commit, self);
    return self;
}

static void close_raw(void *context)
{
    program *self = context;

    writer_stop(self->writer);
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(self->statements[i]);
    lite_sender_done(&self->sender);
    sqlite3_close(self->handle);
    free(self);
}

static void *worker_new(void *context)
{
    worker *self = allocate(1, sizeof *self);

    self->of = context;
    message_id_make(wall_us_now(), self->owner);
    writer_request_init(&self->request);
    return self;
}

static void worker_free(void *context)
{
    worker *self = context;

    free(self->buffer);
    free(self);
}

const side side_raw_sqlite = {
    .name = "raw",
    .open = open_raw,
    .close = close_raw,
    .worker_new = worker_new,
    .worker_free = worker_free,
    .enqueue = enqueue,
    .claim = claim,
    .ack = ack,
    .ack_and_claim = ack_and_claim,
};
