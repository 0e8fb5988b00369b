/* bench/lite.h - SQLite's calls as the bench uses them: they end the program when they fail. */
#ifndef BENCH_LITE_H
#define BENCH_LITE_H

#include <sqlite3.h>

#include "database.h"

/* A connection with the settings that pawl gives its own, but for checkpoints. */
sqlite3 *lite_open(const database *db);
void lite_exec(sqlite3 *handle, const char *sql);
sqlite3_stmt *lite_prepare(sqlite3 *handle, const char *sql);
/* Run a statement that answers no row, and make it ready for the next time. */
void lite_run(sqlite3_stmt *statement);
/* The next row; false: there is none, and the statement is ready for the next time. */
int lite_next(sqlite3_stmt *statement);

/* Add the lanes "bench.0" and so on, or read their ids. */
void lite_add_lanes(sqlite3 *handle, int count);
void lite_read_lanes(sqlite3 *handle, int count, sqlite3_int64 *ret_ids);

/* A group of rows in one statement: AUTOINCREMENT's book-keeping is paid per statement. */
#define LITE_GROUP 50

/* What it takes to add messages. */
typedef struct lite_sender {
    sqlite3 *handle;
    sqlite3_stmt *body_one, *queue_one, *body_group, *queue_group;
} lite_sender;

/* What is different from message to message. */
typedef struct lite_message {
    uint8_t message_id[16];
    sqlite3_int64 lane;
    const char *topic; /* the lane's */
    sqlite3_int64 created_at;
    sqlite3_int64 due_at;
} lite_message;

lite_sender lite_sender_new(sqlite3 *handle);
void lite_sender_done(lite_sender *self);
/*
 * Add the rows of up to LITE_GROUP messages, inside an open transaction; into the body table alone
 * if `queue` is false. Returns the id of the first, the others follow it.
 */
sqlite3_int64 lite_send(const lite_sender *self, const lite_message *messages, int count,
                        int queue);

#endif
