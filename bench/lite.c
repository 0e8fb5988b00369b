/* bench/lite.c - SQLite's calls as the bench uses them: they end the program when they fail. */
#include "lite.h"

#include <stdio.h>
#include <stdlib.h>

#include "basics.h"

static void lite_check(sqlite3 *handle, int code, const char *what)
{
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
        die("SQLite: %s: %s", what, sqlite3_errmsg(handle));
}

sqlite3 *lite_open(const database *db)
{
    sqlite3 *handle = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;

    lite_check(handle, sqlite3_open_v2(db->target, &handle, flags, NULL), db->target);
    sqlite3_busy_timeout(handle, 30000);
    lite_exec(handle, "PRAGMA journal_mode = WAL");
    lite_exec(handle, db->durability == PAWL_DURABILITY_NORMAL ? "PRAGMA synchronous = NORMAL"
                                                               : "PRAGMA synchronous = FULL");
    lite_exec(handle, "PRAGMA cache_size = -8000");
    lite_exec(handle, "PRAGMA temp_store = MEMORY");
    return handle;
}

void lite_exec(sqlite3 *handle, const char *sql)
{
    lite_check(handle, sqlite3_exec(handle, sql, NULL, NULL, NULL), sql);
}

sqlite3_stmt *lite_prepare(sqlite3 *handle, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    lite_check(handle,
               sqlite3_prepare_v3(handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL),
               sql);
    return statement;
}

void lite_run(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);

    if (code != SQLITE_DONE)
        lite_check(sqlite3_db_handle(statement), code == SQLITE_ROW ? SQLITE_ERROR : code,
                   sqlite3_sql(statement));
    sqlite3_reset(statement);
}

int lite_next(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);

    if (code == SQLITE_ROW)
        return 1;
    lite_check(sqlite3_db_handle(statement), code, sqlite3_sql(statement));
    sqlite3_reset(statement);
    return 0;
}

void lite_add_lanes(sqlite3 *handle, int count)
{
    sqlite3_stmt *statement =
        lite_prepare(handle, "INSERT INTO pawl_lane (topic, priority) VALUES (?1, 0)");

    lite_exec(handle, "BEGIN IMMEDIATE");
    for (int i = 0; i < count; i++) {
        sqlite3_bind_text(statement, 1, topic_name(i), -1, SQLITE_STATIC);
        lite_run(statement);
    }
    lite_exec(handle, "COMMIT");
    sqlite3_finalize(statement);
}

void lite_read_lanes(sqlite3 *handle, int count, sqlite3_int64 *ret_ids)
{
    sqlite3_stmt *statement =
        lite_prepare(handle, "SELECT id FROM pawl_lane WHERE topic = ?1 AND priority = 0");

    for (int i = 0; i < count; i++) {
        sqlite3_bind_text(statement, 1, topic_name(i), -1, SQLITE_STATIC);
        if (!lite_next(statement))
            die("SQLite: the topic %s is not there", topic_name(i));
        ret_ids[i] = sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
}

/* ---- adding messages ---- */

#define BODY_PARAMS 5
#define QUEUE_PARAMS 3

/* `head` followed by `rows` times a list of `params` places. */
static sqlite3_stmt *prepare_rows(sqlite3 *handle, const char *head, const char *row, int rows)
{
    sqlite3_str *sql = sqlite3_str_new(handle);
    sqlite3_stmt *statement;
    char *text;

    sqlite3_str_appendall(sql, head);
    for (int i = 0; i < rows; i++)
        sqlite3_str_appendf(sql, "%s%s", i == 0 ? " VALUES " : ",", row);
    text = sqlite3_str_finish(sql);
    if (!text)
        die("out of memory");
    statement = lite_prepare(handle, text);
    sqlite3_free(text);
    return statement;
}

lite_sender lite_sender_new(sqlite3 *handle)
{
    static const char body[] =
        "INSERT OR FAIL INTO pawl_body (message_id, topic, priority, type, created_at, due_at,"
        " max_attempts, payload)";
    static const char body_row[] = "(?, ?, 0, 0, ?, ?, 10, ?)";
    static const char queue[] = "INSERT OR FAIL INTO pawl_queue (id, lane_id, run_at)";
    static const char queue_row[] = "(?, ?, ?)";

    return (lite_sender){handle, prepare_rows(handle, body, body_row, 1),
                         prepare_rows(handle, queue, queue_row, 1),
                         prepare_rows(handle, body, body_row, LITE_GROUP),
                         prepare_rows(handle, queue, queue_row, LITE_GROUP)};
}

void lite_sender_done(lite_sender *self)
{
    sqlite3_finalize(self->body_one);
    sqlite3_finalize(self->queue_one);
    sqlite3_finalize(self->body_group);
    sqlite3_finalize(self->queue_group);
}

static void bind_body(sqlite3_stmt *body, int place, const lite_message *message)
{
    int first = place * BODY_PARAMS;

    sqlite3_bind_blob(body, first + 1, message->message_id, MESSAGE_ID_SIZE, SQLITE_STATIC);
    sqlite3_bind_text(body, first + 2, message->topic, -1, SQLITE_STATIC);
    sqlite3_bind_int64(body, first + 3, message->created_at);
    sqlite3_bind_int64(body, first + 4, message->due_at);
    sqlite3_bind_blob(body, first + 5, bench_payload, (int)bench_payload_size, SQLITE_STATIC);
}

static void bind_queue(sqlite3_stmt *queue, int place, sqlite3_int64 id,
                       const lite_message *message)
{
    int first = place * QUEUE_PARAMS;

    sqlite3_bind_int64(queue, first + 1, id);
    sqlite3_bind_int64(queue, first + 2, message->lane);
    sqlite3_bind_int64(queue, first + 3, message->due_at);
}

/* `count` messages by statements for `rows` at a time. */
static sqlite3_int64 send_by(const lite_sender *self, sqlite3_stmt *body, sqlite3_stmt *queue,
                             int rows, const lite_message *messages, int count)
{
    sqlite3_int64 first = 0;

    for (int done = 0; done < count; done += rows) {
        sqlite3_int64 id;

        for (int i = 0; i < rows; i++)
            bind_body(body, i, &messages[done + i]);
        lite_run(body);
        /* One writer: the ids of one statement follow each other. */
        id = sqlite3_last_insert_rowid(self->handle) - rows + 1;
        first = first ? first : id;
        for (int i = 0; i < rows && queue; i++)
            bind_queue(queue, i, id + i, &messages[done + i]);
        if (queue)
            lite_run(queue);
    }
    return first;
}

sqlite3_int64 lite_send(const lite_sender *self, const lite_message *messages, int count, int queue)
{
    if (count == LITE_GROUP)
        return send_by(self, self->body_group, queue ? self->queue_group : NULL, LITE_GROUP,
                       messages, count);
    return send_by(self, self->body_one, queue ? self->queue_one : NULL, 1, messages, count);
}
