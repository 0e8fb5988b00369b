/*
 * bench/receive_postgres.c - receiving by hand on PostgreSQL: the rows that pawl's inbox writes, in
 * the same two commits, with prepared statements on a connection per worker.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "pg.h"
#include "side.h"

static const char count_attempt[] =
    "INSERT INTO inbox_record (source, id, state, attempts, max_attempts, fence, lease_until,"
    " first_seen, last_seen, expires_at) VALUES ('bench', $1::text, 1, 1, 10, nextval('fence'),"
    " now() + interval '3 seconds', now(), now(), now() + interval '24 hours') RETURNING fence";

static const char effect[] = "INSERT INTO effect VALUES (1)";

static const char done[] =
    "UPDATE inbox_record SET state = 2, lease_until = 'epoch', processed_at = now(), last_seen = "
    "now(), expires_at = now() + interval '24 hours', response = $3::bytea"
    " WHERE source = 'bench' AND id = $1::text AND state = 1 AND fence = $2::int8";

typedef struct program {
    database *db;
    uint64_t workers;
} program;

typedef struct worker {
    PGconn *connection;
    uint64_t name, number;
} worker;

static void *open_raw(database *db, int workers)
{
    program *self = allocate(1, sizeof *self);

    (void)workers; /* each opens its own connection */
    db->engine->make_effects(db);
    self->db = db;
    return self;
}

static void *worker_new(void *context)
{
    program *of = context;
    worker *self = allocate(1, sizeof *self);

    self->name = of->workers++;
    self->connection = pg_open(of->db);
    pg_exec(self->connection, "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
                              " SET enable_bitmapscan = off; SET jit = off");
    pg_prepare(self->connection, "count_attempt", count_attempt);
    pg_prepare(self->connection, "effect", effect);
    pg_prepare(self->connection, "done", done);
    return self;
}

static void worker_free(void *context)
{
    worker *self = context;

    PQfinish(self->connection);
    free(self);
}

static void receive(void *context)
{
    worker *self = context;
    pg_params first = {0}, second = {0}, last = {0};
    char id[64];

    snprintf(id, sizeof id, "%016llx-%llu", (unsigned long long)self->name,
             (unsigned long long)self->number++);
    pg_add(&first, id, strlen(id));
    PGresult *counted = pg_run(self->connection, "count_attempt", &first);
    pg_exec(self->connection, "BEGIN");
    PQclear(pg_run(self->connection, "effect", &second));
    pg_add(&last, id, strlen(id));
    pg_add(&last, PQgetvalue(counted, 0, 0), 8);
    pg_add(&last, bench_payload, bench_payload_size);
    PQclear(pg_run(self->connection, "done", &last));
    pg_exec(self->connection, "COMMIT");
    PQclear(counted);
}

static void nothing(void *context)
{
    (void)context;
}

const side side_receive_postgres = {
    .name = "raw",
    .open = open_raw,
    .close = free,
    .worker_new = worker_new,
    .worker_free = worker_free,
    .ack = nothing,
    .receive = receive,
};
