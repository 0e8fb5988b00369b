/*
 * bench/courier.h - a way for one message to reach whoever works on it: pawl's worker, or the
 * shortest one that can be written by hand on the engine.
 *
 * A program is opened by the sender and by the receiver, each in its own process; if both are
 * threads of one process they share it. All functions end the process when something fails.
 */
#ifndef BENCH_COURIER_H
#define BENCH_COURIER_H

#include "database.h"
#include "timeline.h"

typedef struct courier {
    /* Before each round: the table that it needs, empty. May be NULL. */
    void (*prepare)(database *db);
    void *(*open)(const database *db, timeline *t);
    void (*close)(void *program);
    /* Returns when message `number` is committed. */
    void (*send)(void *program, int number);
    /* After that, outside the database: tell the receiver. NULL: it hears of commits by itself. */
    void (*ring)(void *program);
    /* Say so when it is ready, then take every message of the timeline, and note when. */
    void (*receive)(void *program);
} courier;

extern const courier courier_pawl;
extern const courier courier_sqlite;
extern const courier courier_postgres;

#endif
