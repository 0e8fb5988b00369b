/*
 * bench/receive_sqlite.c - receiving by hand on SQLite: the rows that pawl's inbox writes, in the
 * same two commits. Several workers take turns for each of them.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "basics.h"
#include "lite.h"
#include "side.h"

typedef enum statement {
    BEGIN,
    COMMIT,
    COUNT_ATTEMPT,
    NEXT_FENCE,
    EFFECT,
    DONE,
    STATEMENTS
} statement;

static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [COUNT_ATTEMPT] =
        "INSERT INTO pawl_inbox_record (source, id, state, attempts, max_attempts, fence,"
        " lease_until, first_seen, last_seen, expires_at)"
        " VALUES ('bench', ?1, 1, 1, 10, ?2, ?3 + 3000000, ?3, ?3, ?3 + 86400000000)",
    [NEXT_FENCE] =
        "UPDATE pawl_meta SET fence = fence + 1, latest_time = ?1 WHERE id = 1 RETURNING fence",
    [EFFECT] = "INSERT INTO effect VALUES (1)",
    [DONE] = "UPDATE pawl_inbox_record SET state = 2, lease_until = 0, processed_at = ?3,"
             " last_seen = ?3, expires_at = ?3 + 86400000000, response = ?4"
             " WHERE source = 'bench' AND id = ?1 AND state = 1 AND fence = ?2",
};

typedef struct program {
    sqlite3 *handle;
    sqlite3_stmt *statements[STATEMENTS];
    pthread_mutex_t turn;
    uint64_t workers;
} program;

typedef struct worker {
    program *of;
    uint64_t name, number;
} worker;

static void *open_raw(database *db, int workers)
{
    program *self = allocate(1, sizeof *self);

    (void)workers;
    db->engine->make_effects(db);
    self->handle = lite_open(db);
    for (int i = 0; i < STATEMENTS; i++)
        self->statements[i] = lite_prepare(self->handle, texts[i]);
    pthread_mutex_init(&self->turn, NULL);
    return self;
}

static void close_raw(void *context)
{
    program *self = context;

    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(self->statements[i]);
    sqlite3_close(self->handle);
    pthread_mutex_destroy(&self->turn);
    free(self);
}

static void *worker_new(void *context)
{
    worker *self = allocate(1, sizeof *self);

    self->of = context;
    self->name = self->of->workers++;
    return self;
}

static void bind(sqlite3_stmt *prepared, const char *id, sqlite3_int64 fence)
{
    sqlite3_bind_text(prepared, 1, id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(prepared, 2, fence);
    sqlite3_bind_int64(prepared, 3, wall_us_now());
}

static sqlite3_int64 next_fence(program *self)
{
    sqlite3_stmt *prepared = self->statements[NEXT_FENCE];
    sqlite3_int64 fence = 0;

    sqlite3_bind_int64(prepared, 1, wall_us_now());
    while (lite_next(prepared))
        fence = sqlite3_column_int64(prepared, 0);
    return fence;
}

static void receive(void *context)
{
    worker *self = context;
    program *of = self->of;
    sqlite3_int64 fence;
    char id[64];

    snprintf(id, sizeof id, "%016llx-%llu", (unsigned long long)self->name,
             (unsigned long long)self->number++);
    pthread_mutex_lock(&of->turn);
    lite_run(of->statements[BEGIN]);
    fence = next_fence(of);
    bind(of->statements[COUNT_ATTEMPT], id, fence);
    lite_run(of->statements[COUNT_ATTEMPT]);
    lite_run(of->statements[COMMIT]);
    pthread_mutex_unlock(&of->turn);
    pthread_mutex_lock(&of->turn);
    lite_run(of->statements[BEGIN]);
    lite_run(of->statements[EFFECT]);
    bind(of->statements[DONE], id, fence);
    sqlite3_bind_blob(of->statements[DONE], 4, bench_payload, (int)bench_payload_size,
                      SQLITE_STATIC);
    lite_run(of->statements[DONE]);
    lite_run(of->statements[COMMIT]);
    pthread_mutex_unlock(&of->turn);
}

static void nothing(void *context)
{
    (void)context;
}

const side side_receive_sqlite = {
    .name = "raw",
    .open = open_raw,
    .close = close_raw,
    .worker_new = worker_new,
    .worker_free = free,
    .ack = nothing,
    .receive = receive,
};
