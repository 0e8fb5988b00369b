/* bench/database_postgres.c - a PostgreSQL schema that one side works on. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "courier.h"
#include "job.h"
#include "pg.h"
#include "side.h"

static void drop(database *db)
{
    char sql[128];

    if (!db->handle)
        return;
    snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS %s CASCADE", db->schema);
    pg_exec(db->handle, sql);
    PQfinish(db->handle);
    db->handle = NULL;
    db->ready = 0;
}

/* The first time everything is made; later all tables but pawl's own record are emptied. */
static void reset(database *db)
{
    const char *topics;
    char number[16];

    if (!db->handle) {
        snprintf(db->url, sizeof db->url, "%s", db->target);
        db->handle = pg_open(db);
        drop(db);
        db->handle = pg_open(db);
        database_deploy(db);
    } else {
        pg_exec(db->handle,
                "DO $$ BEGIN EXECUTE (SELECT 'TRUNCATE '"
                " || string_agg(format('%I', tablename), ', ') FROM pg_tables"
                " WHERE schemaname = current_schema() AND tablename <> 'meta'); END $$");
    }
    snprintf(number, sizeof number, "%d", db->topics);
    topics = number;
    pg_exec_params(db->handle,
                   "INSERT INTO lane (topic, priority)"
                   " SELECT 'bench.' || i, 0 FROM generate_series(0, $1::integer - 1) AS i",
                   1, &topics);
    db->ready = 0;
}

static void tidy(database *db)
{
    pg_exec(db->handle, "VACUUM queue, claim, topic_stats_delta");
}

/*
 * $1 messages, spread over all lanes, sent $3 ago and due $4 after they were sent. $2 tells this
 * call's message ids apart. Ready ones are stamped with the present time, as pawl's rule wants.
 */
#define ADD_BODIES                                                                                 \
    "WITH lanes AS MATERIALIZED (SELECT array_agg(id ORDER BY id) AS ids,"                         \
    " array_agg(topic ORDER BY id) AS topics FROM lane),"                                          \
    " sent AS (INSERT INTO body (message_id, topic, priority, type, max_attempts, created_at,"     \
    " due_at, payload)"                                                                            \
    " SELECT (lpad(to_hex((extract(epoch FROM m.at) * 1000)::bigint), 12, '0') || '7000'"          \
    " || lpad(to_hex($2::bigint + i), 16, '8'))::uuid,"                                            \
    " l.topics[1 + i % cardinality(l.ids)], 0, 0, 10, m.at, m.at + $4::interval, convert_to($5, "  \
    "'UTF8')"                                                                                      \
    " FROM lanes l, generate_series(1, $1::integer) AS i,"                                         \
    " LATERAL (SELECT clock_timestamp() - $3::interval AS at, i AS number) m"                      \
    " RETURNING id, topic, created_at, due_at)"

static void add(const database *db, const char *sql, int64_t count, const char *age,
                const char *delay)
{
    static int64_t serial = INT64_C(1) << 60;
    char number[24], first[24];
    const char *values[] = {number, first, age, delay, bench_payload};

    snprintf(number, sizeof number, "%" PRId64, count);
    snprintf(first, sizeof first, "%" PRId64, serial);
    serial += count;
    pg_exec_params(db->handle, sql, 5, values);
}

#define INTO_QUEUE                                                                                 \
    ADD_BODIES " INSERT INTO queue (id, lane_id, run_at) SELECT s.id, l.id, s.due_at"              \
               " FROM sent s JOIN lane l ON l.topic = s.topic"

static void fill(database *db, int64_t count)
{
    if (count == 0)
        return;
    add(db, INTO_QUEUE, count, "0", "0");
    db->ready += count;
}

static void clear_ready(database *db)
{
    pg_exec(db->handle, "WITH gone AS (DELETE FROM queue WHERE run_at <= now() RETURNING id)"
                        " DELETE FROM body USING gone WHERE body.id = gone.id");
    pg_exec(db->handle, "VACUUM body, queue");
    db->ready = 0;
}

static void add_ballast(database *db, int64_t finished, int64_t future)
{
    add(db,
        ADD_BODIES " INSERT INTO outcome (id, finished_at, retries, state, processed_by)"
                   " SELECT id, created_at, 0, 2, 'bench' FROM sent",
        finished, "2 hours", "0");
    add(db, INTO_QUEUE, future, "1 hour", "1 day");
    pg_exec(db->handle, "VACUUM ANALYZE body, queue, outcome, claim, lane");
}

/* Nanoseconds on a processor, as the kernel counts them; 0: it is not to be seen. */
static double process_cpu(const char *pid)
{
    char path[64], line[128] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%s/schedstat", pid);
    file = fopen(path, "r");
    if (file && !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    return strtod(line, NULL);
}

/* Over a socket of the file system, the server's processes are those of this machine. */
static double sessions_cpu(const database *db, const char *application)
{
    const char *host = PQhost(db->handle);
    double total = 0;
    PGresult *result;

    if (!host || host[0] != '/')
        return 0;
    result = pg_check(db->handle,
                      PQexecParams(db->handle,
                                   "SELECT pid FROM pg_stat_activity WHERE application_name = $1",
                                   1, NULL, &application, NULL, NULL, 0));
    for (int i = 0; i < PQntuples(result); i++)
        total += process_cpu(PQgetvalue(result, i, 0)) / 1e9;
    PQclear(result);
    return total;
}

static void make_effects(database *db)
{
    pg_exec(db->handle, "CREATE TABLE IF NOT EXISTS effect (n bigint)");
}

static void write_effect(database *db, pawl_tx *tx)
{
    char sql[128];

    snprintf(sql, sizeof sql, "INSERT INTO %s.effect VALUES (1)", db->schema);
    pg_exec(pawl_tx_postgres(tx), sql);
}

static int64_t count_effects(database *db)
{
    PGresult *result = pg_check(db->handle, PQexec(db->handle, "SELECT count(*) FROM effect"));
    int64_t count = strtoll(PQgetvalue(result, 0, 0), NULL, 10);

    PQclear(result);
    return count;
}

static const engine postgres_engine = {
    .name = "postgres",
    .raw = &side_raw_postgres,
    .courier = &courier_postgres,
    .raw_receive = &side_receive_postgres,
    .jobs = &job_hands_postgres,
    .make_effects = make_effects,
    .write_effect = write_effect,
    .count_effects = count_effects,
    .reset = reset,
    .fill = fill,
    .add_ballast = add_ballast,
    .clear_ready = clear_ready,
    .tidy = tidy,
    .sessions_cpu = sessions_cpu,
    .drop = drop,
};
const engine *const engine_postgres = &postgres_engine;
