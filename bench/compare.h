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

void compare_with_raw(row *r, grounds *g, const options *opts);
void compare_with_ballast(row *r, grounds *g, const options *opts);

#endif
