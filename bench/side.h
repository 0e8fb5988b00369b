/*
 * bench/side.h - the two programs that are compared: pawl, and one written by hand on the same
 * engine.
 *
 * All functions end the program when something fails. A worker is used by one thread at a time;
 * different workers of one program at the same time.
 */
#ifndef BENCH_SIDE_H
#define BENCH_SIDE_H

#include <stddef.h>

#include "database.h"

typedef struct side {
    const char *name; /* "pawl" or "raw" */
    /* Start on `db`, which was reset before; `workers` threads will use it. */
    void *(*open)(database *db, int workers);
    void (*close)(void *program);
    void *(*worker_new)(void *program);
    void (*worker_free)(void *worker);
    /* Send `count` messages (up to BATCH_MAX) in one transaction. */
    void (*enqueue)(void *worker, size_t count);
    /* Take up to `limit` messages whole, in one transaction; the worker keeps what proves it. */
    size_t (*claim)(void *worker, size_t limit);
    /* Finish what was claimed last, in one transaction. */
    void (*ack)(void *worker);
    /* Both in one transaction: finish what was claimed last, take the next. */
    size_t (*ack_and_claim)(void *worker, size_t limit);
    /* Send one message inside the open transaction of a libpq connection. NULL: not on this engine.
     */
    void (*enqueue_inside)(void *worker, struct pg_conn *connection);
    /* Receive a message that is new and write a row of the application's own: two transactions. */
    void (*receive)(void *worker);
} side;

extern const side side_pawl;
extern const side side_raw_sqlite;
extern const side side_raw_postgres;
/* These only receive. */
extern const side side_receive_pawl;
extern const side side_receive_sqlite;
extern const side side_receive_postgres;

#endif
