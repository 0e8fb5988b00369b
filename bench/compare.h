/* bench/compare.h - two programs in turn, round by round. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "options.h"
#include "row.h"

/* The databases of a run. */
typedef struct grounds {
    database pawl, raw, ballast;
    bool ballast_loaded;
} grounds;

void grounds_init(grounds *self, const options *opts, const target *t);
/* Another durability of the same engine: the files may stay. */
void grounds_change(grounds *self, const target *t);
void grounds_drop(grounds *self);
/* Once: the messages that no worker wants, into the database that has them. */
void grounds_load_ballast(grounds *self, const options *opts);

/* One of two that take turns: a round of about that many seconds; the rate that it reached. */
typedef struct contestant {
    double (*round)(void *context, double duration); /* NULL: left out, its rate is 0 */
    void *context;
} contestant;

/* As such: a runner that is open, with its load. */
typedef struct contestant_load {
    runner *runner;
    const load *what;
} contestant_load;
double contestant_run_load(void *context, double duration);

/*
 * Rounds of both, in turn, after a short one of each that does not count. The disk's speed changes
 * by the second, so a round of one is compared with the round of the other beside it, and who goes
 * first changes; the median of those ratios is answered, and the medians of the rates.
 */
double take_turns(const contestant *first, const contestant *second, const options *opts,
                  double *ret_first, double *ret_second);

void compare_with_raw(row *r, grounds *g, const options *opts);
void compare_with_ballast(row *r, grounds *g, const options *opts);

#endif
