/* bench/job_sqlite.c - a scheduler's look by hand on SQLite: the rows that pawl writes, one commit.
 */
#include <stdlib.h>

#include "basics.h"
#include "job.h"
#include "lite.h"

#define AT_ONCE 100
#define YEAR_US INT64_C(31536000000000)

typedef enum statement {
    BEGIN,
    COMMIT,
    FIND,
    MOVE,
    BODY,
    QUEUE,
    RUN,
    MAKE_DUE,
    STATEMENTS
} statement;

static const char *const texts[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [FIND] = "SELECT id, next_occurrence_at FROM pawl_job INDEXED BY pawl_job_next_check"
             " WHERE next_check_at <= ?1 ORDER BY next_check_at LIMIT 100",
    [MOVE] = "UPDATE pawl_job SET last_occurrence_at = next_occurrence_at, next_occurrence_at = "
             "?2, next_due_at = ?2,"
             " next_check_at = ?2, version = version + 1 WHERE id = ?1",
    [BODY] = "INSERT INTO pawl_body (message_id, topic, priority, type, created_at, due_at, "
             "max_attempts,"
             " lease, heartbeat, run_id, headers, payload)"
             " SELECT ?1, ?2, 0, 0, ?3, ?4, 10, lease, heartbeat, ?5, '{\"pawl-job\":\"bench\"}',"
             " payload FROM pawl_job WHERE id = ?6",
    [QUEUE] = "INSERT INTO pawl_queue (id, lane_id, run_at, lease, run_id)"
              " VALUES (?1, ?2, ?3, 120000000, ?4)",
    [RUN] =
        "INSERT INTO pawl_job_run (id, job_id, state, scheduled_at, last_occurrence_at, created_at,"
        " work_id, message_id) VALUES (?1, ?2, 0, ?3, ?3, ?4, ?5, ?6)",
    [MAKE_DUE] = "UPDATE pawl_job SET next_check_at = 0, next_occurrence_at = ?2, next_due_at = ?2"
                 " WHERE id >= ?1 AND id < ?1 + ?3",
};

typedef struct hands {
    sqlite3 *handle;
    sqlite3_stmt *statements[STATEMENTS];
    sqlite3_int64 lane, runs;
} hands;

static void *open_hands(database *db)
{
    hands *self = allocate(1, sizeof *self);

    self->handle = lite_open(db);
    lite_read_lanes(self->handle, 1, &self->lane);
    for (int i = 0; i < STATEMENTS; i++)
        self->statements[i] = lite_prepare(self->handle, texts[i]);
    return self;
}

static void close_hands(void *context)
{
    hands *self = context;

    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(self->statements[i]);
    sqlite3_close(self->handle);
    free(self);
}

static void add(void *context, int64_t count)
{
    hands *self = context;
    int64_t now = wall_us_now();
    sqlite3_stmt *insert = lite_prepare(
        self->handle,
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1)"
        " INSERT INTO pawl_job (name, schedule, topic, payload, overlap, created_at, updated_at,"
        " anchor, since, next_occurrence_at, next_due_at, next_check_at)"
        " SELECT printf('job %06d', n), '0 0 1 1 *', 'bench.0', ?2, 'allow', ?3, ?3, ?3, ?3,"
        " ?4 + n, ?4 + n, ?4 + n FROM n");

    sqlite3_bind_int64(insert, 1, count);
    sqlite3_bind_blob(insert, 2, bench_payload, (int)bench_payload_size, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 3, now);
    sqlite3_bind_int64(insert, 4, now + YEAR_US);
    lite_run(insert);
    sqlite3_finalize(insert);
}

static void make_due(void *context, int64_t first_id, int64_t at_us)
{
    hands *self = context;
    sqlite3_stmt *prepared = self->statements[MAKE_DUE];

    sqlite3_bind_int64(prepared, 1, first_id);
    sqlite3_bind_int64(prepared, 2, at_us);
    sqlite3_bind_int64(prepared, 3, JOB_DUE);
    lite_run(prepared);
}

/* A message and a run of it. */
static void make_run(hands *self, sqlite3_int64 job, sqlite3_int64 occurrence, sqlite3_int64 now)
{
    sqlite3_stmt *body = self->statements[BODY], *queue = self->statements[QUEUE],
                 *run = self->statements[RUN];
    sqlite3_int64 run_id = ++self->runs;
    uint8_t message_id[MESSAGE_ID_SIZE];

    message_id_make(now, message_id);
    sqlite3_bind_blob(body, 1, message_id, sizeof message_id, SQLITE_STATIC);
    sqlite3_bind_text(body, 2, topic_name(0), -1, SQLITE_STATIC);
    sqlite3_bind_int64(body, 3, now);
    sqlite3_bind_int64(body, 4, occurrence);
    sqlite3_bind_int64(body, 5, run_id);
    sqlite3_bind_int64(body, 6, job);
    lite_run(body);
    sqlite3_int64 work = sqlite3_last_insert_rowid(self->handle);
    sqlite3_bind_int64(queue, 1, work);
    sqlite3_bind_int64(queue, 2, self->lane);
    sqlite3_bind_int64(queue, 3, now);
    sqlite3_bind_int64(queue, 4, run_id);
    lite_run(queue);
    sqlite3_bind_int64(run, 1, run_id);
    sqlite3_bind_int64(run, 2, job);
    sqlite3_bind_int64(run, 3, occurrence);
    sqlite3_bind_int64(run, 4, now);
    sqlite3_bind_int64(run, 5, work);
    sqlite3_bind_blob(run, 6, message_id, sizeof message_id, SQLITE_STATIC);
    lite_run(run);
}

static void look(void *context)
{
    hands *self = context;
    sqlite3_stmt *find = self->statements[FIND], *move = self->statements[MOVE];
    sqlite3_int64 now = wall_us_now(), ids[AT_ONCE], occurrences[AT_ONCE];
    int count = 0;

    lite_run(self->statements[BEGIN]);
    sqlite3_bind_int64(find, 1, now);
    while (lite_next(find)) {
        ids[count] = sqlite3_column_int64(find, 0);
        occurrences[count++] = sqlite3_column_int64(find, 1);
    }
    for (int i = 0; i < count; i++) {
        sqlite3_bind_int64(move, 1, ids[i]);
        sqlite3_bind_int64(move, 2, now + YEAR_US);
        lite_run(move);
        make_run(self, ids[i], occurrences[i], now);
    }
    lite_run(self->statements[COMMIT]);
    if (count != JOB_DUE)
        die("a look by hand found %d jobs", count);
}

const job_hands job_hands_sqlite = {open_hands, close_hands, add, make_due, look};
