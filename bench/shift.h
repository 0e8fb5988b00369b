/* bench/shift.h - a pawl worker at work in this process, with a handler that does nothing. */
#ifndef BENCH_SHIFT_H
#define BENCH_SHIFT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "database.h"

typedef struct shift {
    pawl_worker *worker;
    pthread_t thread;
    int64_t expected; /* messages */
    atomic_llong handled;
    double first; /* when the first handler was called */
    sem_t all_handled;
} shift;

#define SHIFT_BATCH 50 /* the worker's default */

/* Open the database as pawl does. */
pawl_store *shift_open(const database *db);
/* Begin to take messages, of which `expected` are there or will come. */
void shift_begin(shift *self, pawl_store *store, int batch, int64_t expected);
/* Until all are acknowledged: seconds from the first call of a handler to the last commit. */
double shift_await(shift *self);
void shift_end(shift *self);

#endif
