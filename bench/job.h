/* bench/job.h - how long a scheduler's look takes, with ten jobs due among few and among many. */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include "compare.h"

#define JOB_DUE 10 /* each time */

/* By hand: filling the table, making jobs due, and the same durable work as a look. */
typedef struct job_hands {
    void *(*open)(database *db);
    void (*close)(void *hands);
    /* Jobs of which none is due for a long time. */
    void (*add)(void *hands, int64_t count);
    /* JOB_DUE of them, from this id on, have an occurrence at this time. Not measured. */
    void (*make_due)(void *hands, int64_t first_id, int64_t at_us);
    /* Find them by the index, move them on, add a run and a message for each: one commit. */
    void (*look)(void *hands);
} job_hands;

extern const job_hands job_hands_sqlite, job_hands_postgres;

/* How many jobs there are in a row. */
int64_t job_count(const row *r, const options *opts);
void job_measure(row *r, grounds *g, const options *opts);

#endif
