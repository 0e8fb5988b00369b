/* bench/job_postgres.c - a scheduler's look by hand on PostgreSQL: the rows that pawl writes, by
 * one statement. */
#include <stdio.h>
#include <stdlib.h>

#include "basics.h"
#include "job.h"
#include "pg.h"

static const char look_text[] =
    "WITH due AS MATERIALIZED (SELECT id, next_occurrence_at, payload, lease, heartbeat FROM job"
    " WHERE next_check_at <= now() ORDER BY next_check_at LIMIT 100 FOR UPDATE SKIP LOCKED),"
    " moved AS (UPDATE job j SET last_occurrence_at = due.next_occurrence_at, next_occurrence_at = "
    "now() + interval"
    " '1 year', next_due_at = now() + interval '1 year', next_check_at = now() + interval '1 year',"
    " version = j.version + 1 FROM due WHERE j.id = due.id),"
    " made AS MATERIALIZED (SELECT due.*, nextval(pg_get_serial_sequence('body', 'id')) AS work_id,"
    " gen_random_uuid() AS message_id FROM due),"
    " runs AS (INSERT INTO job_run (job_id, scheduled_at, last_occurrence_at, created_at, work_id,"
    " message_id, state) SELECT id, next_occurrence_at, next_occurrence_at, now(), work_id, "
    "message_id, 0"
    " FROM made RETURNING id AS run_id, work_id),"
    " bodies AS (INSERT INTO body (id, message_id, topic, priority, type, max_attempts, "
    "created_at, due_at,"
    " lease, heartbeat, run_id, headers, payload) SELECT made.work_id, message_id, 'bench.0', 0, "
    "0, 10,"
    " now(), next_occurrence_at, lease, heartbeat, run_id, '{\"pawl-job\":\"bench\"}', payload"
    " FROM made JOIN runs USING (work_id))"
    " INSERT INTO queue (id, run_at, lane_id, lease, run_id)"
    " SELECT made.work_id, now(), $1::int4, lease, run_id FROM made JOIN runs USING (work_id)"
    " RETURNING id";

typedef struct hands {
    PGconn *connection;
    int32_t lane;
} hands;

static void *open_hands(database *db)
{
    hands *self = allocate(1, sizeof *self);
    PGresult *lane;

    self->connection = pg_open(db);
    pg_exec(self->connection, "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
                              " SET enable_bitmapscan = off; SET jit = off");
    lane = pg_check(self->connection,
                    PQexec(self->connection, "SELECT id FROM lane WHERE topic = 'bench.0'"));
    self->lane = (int)strtol(PQgetvalue(lane, 0, 0), NULL, 10);
    PQclear(lane);
    pg_prepare(self->connection, "look", look_text);
    return self;
}

static void close_hands(void *context)
{
    hands *self = context;

    PQfinish(self->connection);
    free(self);
}

static void add(void *context, int64_t count)
{
    hands *self = context;
    char sql[1024];

    snprintf(sql, sizeof sql,
             "INSERT INTO job (name, schedule, topic, payload, overlap, created_at, updated_at,"
             " anchor, since, next_occurrence_at, next_due_at, next_check_at)"
             " SELECT 'job ' || n, '0 0 1 1 *', 'bench.0', repeat('x', %zu)::bytea, 'allow', now(),"
             " now(), now(), now(), at, at, at FROM (SELECT n, now() + interval '1 year' +"
             " n * interval '1 microsecond' AS at FROM generate_series(1, %lld) AS n) AS all_jobs",
             bench_payload_size, (long long)count);
    pg_exec(self->connection, "ALTER TABLE job ALTER id RESTART"); /* the tables are used again */
    pg_exec(self->connection, sql);
    pg_exec(self->connection, "ANALYZE job");
}

static void make_due(void *context, int64_t first_id, int64_t at_us)
{
    hands *self = context;
    char sql[512];

    snprintf(
        sql, sizeof sql,
        "UPDATE job SET next_check_at = 'epoch', next_occurrence_at = t, next_due_at = t"
        " FROM (SELECT timestamptz 'epoch' + %lld * interval '1 microsecond' AS t) AS occurrence"
        " WHERE id >= %lld AND id < %lld",
        (long long)at_us, (long long)first_id, (long long)first_id + JOB_DUE);
    pg_exec(self->connection, sql);
}

static void look(void *context)
{
    hands *self = context;
    pg_wire32 lane = pg_wire32_of(self->lane);
    pg_params params = {0};

    pg_add(&params, &lane, sizeof lane);
    PGresult *made = pg_run(self->connection, "look", &params);
    if (PQntuples(made) != JOB_DUE)
        die("a look by hand found %d jobs", PQntuples(made));
    PQclear(made);
}

const job_hands job_hands_postgres = {open_hands, close_hands, add, make_due, look};
