/*
 * bench/raw_postgres.c - the work done by hand on PostgreSQL: one connection per worker, one
 * prepared statement per transaction, binary parameters, arrays for batches.
 *
 * It writes the rows that pawl writes, and leaves out what pawl does for safety: no look for
 * duplicates but the unique index, no cursor, no answer to the question what was stored.
 */
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "pg.h"
#include "side.h"

#define OWNER_SIZE 16
#define OWNER_NAME "raw:10000"
#define LANES_PER_CLAIM 16 /* enough to fill a batch; the next claim starts at the next lane */

/* What pawl's functions fix for themselves, here for the whole connection. */
static const char settings[] =
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = "
    "off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

static const char enqueue_one[] =
    "WITH sent AS (INSERT INTO body (message_id, topic, priority, type, max_attempts, created_at,"
    " due_at, payload) VALUES ($1::uuid, 'bench.0', 0, 0, 10, now(), now(), $3::bytea)"
    " RETURNING id)"
    " INSERT INTO queue (id, lane_id, run_at) SELECT id, $2::int4, now() FROM sent RETURNING id";

static const char enqueue_many[] =
    "WITH made AS MATERIALIZED (SELECT nextval(pg_get_serial_sequence('body', 'id')) AS id, m.*"
    " FROM unnest($1::uuid[], $2::int4[], $3::bytea[]) AS m(message_id, lane_id, payload)),"
    " sent AS (INSERT INTO body (id, message_id, topic, priority, type, max_attempts, created_at,"
    " due_at, payload) SELECT m.id, m.message_id, 'bench.0', 0, 0, 10, now(), now(), m.payload"
    " FROM made m)"
    " INSERT INTO queue (id, lane_id, run_at) SELECT id, lane_id, now() FROM made RETURNING id";

/* $1 lanes, $2 the owner; `limit` how many */
#define CLAIM_PARTS(limit)                                                                         \
    "token AS MATERIALIZED (SELECT nextval('fence') AS fence),"                                    \
    " taken AS (UPDATE queue q SET owner = $2::uuid, fence = token.fence,"                         \
    " lease_until = now() + interval '600 seconds'"                                                \
    " FROM token WHERE q.id = ANY (ARRAY(SELECT r.id FROM unnest($1::int4[]) AS lane(id)"          \
    " CROSS JOIN LATERAL (SELECT c.id FROM queue c WHERE c.lane_id = lane.id AND c.run_at <= "     \
    "now() AND c.fence = 0 AND (c.expires_at IS NULL OR c.expires_at > now())"                     \
    " ORDER BY c.run_at, c.id LIMIT $3::int8 FOR UPDATE SKIP LOCKED) r LIMIT " limit "))"          \
    " RETURNING q.id, q.fence, q.retries, q.last_error, q.expires_at, q.lease_until, q.lane_id),"  \
    " noted AS (INSERT INTO claim (fence, owner, owner_name, check_at, lease, ids)"                \
    " SELECT t.fence, $2::uuid, '" OWNER_NAME "', now() + interval '600 seconds',"                 \
    " interval '600 seconds', array_agg(t.id)"                                                     \
    " FROM taken t GROUP BY t.fence)"                                                              \
    " SELECT t.id, t.fence, t.retries, t.last_error, t.expires_at, t.lease_until, b.message_id,"   \
    " t.lane_id::int4, b.type, b.destination, b.headers, b.correlation_id, b.created_at, "         \
    "b.due_at,"                                                                                    \
    " b.max_attempts, b.payload FROM taken t JOIN body b ON b.id = t.id"
#define LANE_COLUMN 7

#define ACK_PARTS(ids, fence)                                                                      \
    "gone AS (DELETE FROM queue q WHERE q.id = ANY (" ids "::int8[]) AND q.fence = " fence         \
    "::int8 RETURNING q.id, q.lane_id, q.retries),"                                                \
    " ended AS (INSERT INTO outcome (id, state, finished_at, retries, processed_by)"               \
    " SELECT g.id, 2, now(), g.retries, '" OWNER_NAME "' FROM gone g),"                            \
    " counted AS (INSERT INTO topic_stats_delta (lane_id, state, n)"                               \
    " SELECT g.lane_id, 2, count(*) FROM gone g GROUP BY g.lane_id)"

static const char claim_text[] = "WITH " CLAIM_PARTS("$3::int8");
static const char ack_text[] = "WITH " ACK_PARTS("$1", "$2") " SELECT count(*) FROM gone";
/*
 * The limit counts what is gone, so that the ack comes first. A claim that meets rows which another
 * worker has just taken keeps them locked; acking after that, two workers would wait for each
 * other.
 */
static const char ack_and_claim_text[] =
    "WITH " ACK_PARTS("$4", "$5") ", " CLAIM_PARTS("$3::int8 + 0 * (SELECT count(*) FROM gone)");

typedef struct program {
    database *db;
    int32_t lanes[TOPICS_MAX];
    unsigned turn; /* where the next worker begins; claims start at its own counter from there */
} program;

typedef struct worker {
    program *of;
    PGconn *connection;
    unsigned turn;
    uint8_t owner[OWNER_SIZE];
    PGresult *held; /* the messages, as they came */
    pg_array first, second, third;
} worker;

static size_t held_count(const worker *self)
{
    return self->held ? (size_t)PQntuples(self->held) : 0;
}

static void send_one(worker *self)
{
    pg_params params = {0};
    uint8_t message_id[MESSAGE_ID_SIZE];
    pg_wire32 lane = pg_wire32_of(self->of->lanes[self->turn++ % (unsigned)self->of->db->topics]);

    message_id_make(wall_us_now(), message_id);
    pg_add(&params, message_id, sizeof message_id);
    pg_add(&params, lane.bytes, sizeof lane.bytes);
    pg_add(&params, bench_payload, bench_payload_size);
    PQclear(pg_run(self->connection, "enqueue_one", &params));
}

static void enqueue(void *context, size_t count)
{
    worker *self = context;
    pg_params params = {0};
    int64_t now = wall_us_now();
    uint8_t message_id[MESSAGE_ID_SIZE];

    if (count == 1) {
        send_one(self);
        return;
    }
    pg_array_begin(&self->first, PG_OID_UUID, count);
    pg_array_begin(&self->second, PG_OID_INT4, count);
    pg_array_begin(&self->third, PG_OID_BYTEA, count);
    for (size_t i = 0; i < count; i++) {
        pg_wire32 lane =
            pg_wire32_of(self->of->lanes[self->turn++ % (unsigned)self->of->db->topics]);

        message_id_make(now, message_id);
        pg_array_put(&self->first, message_id, sizeof message_id);
        pg_array_put(&self->second, lane.bytes, sizeof lane.bytes);
        pg_array_put(&self->third, bench_payload, bench_payload_size);
    }
    pg_add(&params, self->first.data, self->first.size);
    pg_add(&params, self->second.data, self->second.size);
    pg_add(&params, self->third.data, self->third.size);
    PQclear(pg_run(self->connection, "enqueue_many", &params));
}

/* The lanes that a claim looks at, beginning with the one whose turn it is. */
static void add_lanes(worker *self, pg_params *params)
{
    size_t topics = (size_t)self->of->db->topics;
    size_t count = topics < LANES_PER_CLAIM ? topics : LANES_PER_CLAIM;

    pg_array_begin(&self->first, PG_OID_INT4, count);
    for (size_t i = 0; i < count; i++) {
        pg_wire32 lane = pg_wire32_of(self->of->lanes[(self->turn + i) % topics]);
        pg_array_put(&self->first, lane.bytes, sizeof lane.bytes);
    }
    pg_add(params, self->first.data, self->first.size);
}

/* Which of the lanes of its claim a message is from. */
static unsigned lane_place(const worker *self, int number)
{
    unsigned topics = (unsigned)self->of->db->topics, place = 0;
    const char *lane = PQgetvalue(self->held, number, LANE_COLUMN);

    for (; place < LANES_PER_CLAIM; place++) {
        pg_wire32 wire = pg_wire32_of(self->of->lanes[(self->turn + place) % topics]);
        if (memcmp(lane, wire.bytes, sizeof wire.bytes) == 0)
            break;
    }
    return place;
}

/* The next claim begins behind the last lane that this one took something from. */
static void turn_lanes(worker *self)
{
    unsigned reached = 0;

    for (size_t i = 0; i < held_count(self); i++) {
        unsigned place = lane_place(self, (int)i);
        reached = place > reached ? place : reached;
    }
    self->turn += reached + 1;
}

/* The ids of what is held, and their fence. */
static void add_held(worker *self, pg_params *params)
{
    pg_array_begin(&self->second, PG_OID_INT8, held_count(self));
    for (size_t i = 0; i < held_count(self); i++)
        pg_array_put(&self->second, PQgetvalue(self->held, (int)i, 0), 8);
    pg_add(params, self->second.data, self->second.size);
    pg_add(params, PQgetvalue(self->held, 0, 1), 8);
}

static size_t keep(worker *self, PGresult *result)
{
    PQclear(self->held);
    self->held = result;
    if (result && self->of->db->topics > 1)
        turn_lanes(self);
    return held_count(self);
}

static size_t claim(void *context, size_t limit)
{
    worker *self = context;
    pg_wire64 wanted = pg_wire64_of((int64_t)limit);
    pg_params params = {0};

    add_lanes(self, &params);
    pg_add(&params, self->owner, OWNER_SIZE);
    pg_add(&params, wanted.bytes, sizeof wanted.bytes);
    return keep(self, pg_run(self->connection, "claim", &params));
}

static void ack(void *context)
{
    worker *self = context;
    pg_params params = {0};

    if (held_count(self) == 0)
        return;
    add_held(self, &params);
    PQclear(pg_run(self->connection, "ack", &params));
    keep(self, NULL);
}

static size_t ack_and_claim(void *context, size_t limit)
{
    worker *self = context;
    pg_wire64 wanted = pg_wire64_of((int64_t)limit);
    pg_params params = {0};

    if (held_count(self) == 0)
        return claim(self, limit);
    add_lanes(self, &params);
    pg_add(&params, self->owner, OWNER_SIZE);
    pg_add(&params, wanted.bytes, sizeof wanted.bytes);
    add_held(self, &params);
    return keep(self, pg_run(self->connection, "ack_and_claim", &params));
}

static void enqueue_inside(void *context, struct pg_conn *connection)
{
    worker *self = context;
    PGconn *own = self->connection;

    pg_prepare(connection, "enqueue_one", enqueue_one);
    self->connection = connection;
    send_one(self);
    self->connection = own;
}

static void *open_raw(database *db, int workers)
{
    program *self = allocate(1, sizeof *self);
    PGconn *connection = pg_open(db);
    PGresult *lanes = pg_check(
        connection, PQexec(connection, "SELECT id FROM lane WHERE priority = 0"
                                       " ORDER BY substr(topic, length('bench.') + 1)::integer"));

    (void)workers; /* each opens its own connection */
    if (PQntuples(lanes) != db->topics)
        die("PostgreSQL: %d lanes instead of %d", PQntuples(lanes), db->topics);
    self->db = db;
    for (int i = 0; i < db->topics; i++)
        self->lanes[i] = (int32_t)strtol(PQgetvalue(lanes, i, 0), NULL, 10);
    PQclear(lanes);
    PQfinish(connection);
    return self;
}

static void *worker_new(void *context)
{
    program *program_of = context;
    worker *self = allocate(1, sizeof *self);

    self->of = program_of;
    self->turn = program_of->turn++;
    message_id_make(wall_us_now(), self->owner);
    self->connection = pg_open(program_of->db);
    pg_exec(self->connection, settings);
    pg_prepare(self->connection, "enqueue_one", enqueue_one);
    pg_prepare(self->connection, "enqueue_many", enqueue_many);
    pg_prepare(self->connection, "claim", claim_text);
    pg_prepare(self->connection, "ack", ack_text);
    pg_prepare(self->connection, "ack_and_claim", ack_and_claim_text);
    return self;
}

static void worker_free(void *context)
{
    worker *self = context;

    PQclear(self->held);
    PQfinish(self->connection);
    free(self->first.data);
    free(self->second.data);
    free(self->third.data);
    free(self);
}

const side side_raw_postgres = {
    .name = "raw",
    .open = open_raw,
    .close = free,
    .worker_new = worker_new,
    .worker_free = worker_free,
    .enqueue = enqueue,
    .claim = claim,
    .ack = ack,
    .ack_and_claim = ack_and_claim,
    .enqueue_inside = enqueue_inside,
};
