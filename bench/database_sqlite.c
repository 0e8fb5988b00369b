/* bench/database_sqlite.c - a SQLite file that one side works on. */
#include <stdio.h>
#include <unistd.h>

#include "basics.h"
#include "courier.h"
#include "job.h"
#include "lite.h"
#include "side.h"

#define HOUR_US INT64_C(3600000000)

static void remove_file(const database *db)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-turn"};
    char path[sizeof db->target + 8];

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(path, sizeof path, "%s%s", db->target, endings[i]);
        unlink(path);
    }
}

static void drop(database *db)
{
    sqlite3_close(db->handle);
    db->handle = NULL;
    db->ready = 0;
    remove_file(db);
}

static void reset(database *db)
{
    drop(db);
    snprintf(db->url, sizeof db->url, "sqlite:%s", db->target);
    database_deploy(db);
    db->handle = lite_open(db);
    lite_add_lanes(db->handle, db->topics);
}

static void tidy(database *db)
{
    lite_exec(db->handle, "PRAGMA wal_checkpoint(TRUNCATE)");
}

static void make_effects(database *db)
{
    lite_exec(db->handle, "CREATE TABLE IF NOT EXISTS effect (n INTEGER) STRICT");
}

static void write_effect(database *db, pawl_tx *tx)
{
    (void)db;
    lite_exec(pawl_tx_sqlite(tx), "INSERT INTO effect VALUES (1)");
}

static int64_t count_effects(database *db)
{
    sqlite3_stmt *statement = lite_prepare(db->handle, "SELECT count(*) FROM effect");
    int64_t count = lite_next(statement) ? sqlite3_column_int64(statement, 0) : -1;

    sqlite3_finalize(statement);
    return count;
}

/* Where the rows of a filling go. */
typedef enum kind { KIND_READY, KIND_FUTURE, KIND_FINISHED } kind;

static lite_message message_of(kind what, int64_t now, int64_t number, sqlite3_int64 lane,
                               const char *topic)
{
    lite_message message = {.lane = lane, .topic = topic, .created_at = now, .due_at = now};

    /* What is finished or waits for its time was sent long ago. */
    if (what != KIND_READY)
        message.created_at = message.due_at = now - 2 * HOUR_US + number;
    if (what == KIND_FUTURE)
        message.due_at = now + 24 * HOUR_US + number * 1000;
    message_id_make(message.created_at, message.message_id);
    return message;
}

static void add(const database *db, kind what, int64_t count)
{
    lite_sender sender = lite_sender_new(db->handle);
    lite_message group[LITE_GROUP];
    sqlite3_int64 lanes[TOPICS_MAX];
    int64_t now = wall_us_now();
    sqlite3_stmt *outcome =
        lite_prepare(db->handle, "INSERT OR FAIL INTO pawl_outcome (id, state, finished_at,"
                                 " retries, processed_by) VALUES (?1, 2, ?2, 0, 'bench')");

    lite_read_lanes(db->handle, db->topics, lanes);
    lite_exec(db->handle, "BEGIN IMMEDIATE");
    for (int64_t number = 0; number < count;) {
        sqlite3_int64 id;
        int size = 0;

        for (; size < LITE_GROUP && number < count; size++, number++)
            group[size] = message_of(what, now, number, lanes[number % db->topics],
                                     topic_name((int)(number % db->topics)));
        id = lite_send(&sender, group, size, what != KIND_FINISHED);
        for (int i = 0; i < size && what == KIND_FINISHED; i++) {
            sqlite3_bind_int64(outcome, 1, id + i);
            sqlite3_bind_int64(outcome, 2, group[i].created_at);
            lite_run(outcome);
        }
    }
    lite_exec(db->handle, "COMMIT");
    sqlite3_finalize(outcome);
    lite_sender_done(&sender);
}

static void fill(database *db, int64_t count)
{
    add(db, KIND_READY, count);
    db->ready += count;
}

static void clear_ready(database *db)
{
    lite_exec(db->handle, "BEGIN IMMEDIATE;"
                          "DELETE FROM pawl_body WHERE id IN (SELECT q.id FROM pawl_lane l"
                          " CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due ON q.lane_id = l.id"
                          " AND q.fence = 0 AND q.run_at <= (SELECT now FROM pawl_clock));"
                          "DELETE FROM pawl_queue WHERE id IN (SELECT q.id FROM pawl_lane l"
                          " CROSS JOIN pawl_queue q INDEXED BY pawl_queue_due ON q.lane_id = l.id"
                          " AND q.fence = 0 AND q.run_at <= (SELECT now FROM pawl_clock));"
                          "COMMIT");
    db->ready = 0;
}

static void add_ballast(database *db, int64_t finished, int64_t future)
{
    add(db, KIND_FINISHED, finished);
    add(db, KIND_FUTURE, future);
    lite_exec(db->handle, "ANALYZE");
    tidy(db);
}

static const engine sqlite_engine = {
    .name = "sqlite",
    .raw = &side_raw_sqlite,
    .courier = &courier_sqlite,
    .raw_receive = &side_receive_sqlite,
    .jobs = &job_hands_sqlite,
    .make_effects = make_effects,
    .write_effect = write_effect,
    .count_effects = count_effects,
    .reset = reset,
    .fill = fill,
    .add_ballast = add_ballast,
    .clear_ready = clear_ready,
    .tidy = tidy,
    .drop = drop,
};
const engine *const engine_sqlite = &sqlite_engine;
