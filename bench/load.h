/* bench/load.h - work that is done for a while by some threads, and how fast it went. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "side.h"

typedef enum load_kind {
    LOAD_ENQUEUE,
    LOAD_CLAIM_ACK, /* two transactions */
    LOAD_ACK_CLAIM, /* the ack of one batch and the claim of the next in one transaction */
    LOAD_RECEIVE,   /* new messages, each with a row of the application's */
} load_kind;

typedef struct load {
    load_kind kind;
    int callers;
    size_t batch;
} load;

/* A side at work on its database. */
typedef struct runner {
    const side *side;
    database *db;
    void *program;
    void **workers;
    int worker_count;
    double best_rate; /* messages per second, the highest yet: how much to put into the backlog */
} runner;

/* Begin on `db`, which was reset, with `load->callers` workers. */
void runner_open(runner *self, const side *which, database *db, const load *what);
void runner_close(runner *self);

/* One round: fill the backlog, tidy up, then measure. Returns messages per second. */
double runner_round(runner *self, const load *what, double duration);

#define ROUNDS_MAX 99
double median_of(double *values, int count); /* sorts them */

#endif
