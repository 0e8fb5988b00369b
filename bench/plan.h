/* bench/plan.h - the list of everything that is measured. */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H

#include <stddef.h>

#include "options.h"
#include "row.h"

typedef struct plan {
    row *rows; /* grouped by target, then by kind */
    size_t count;
} plan;

/* The rows that are wanted and possible here. */
plan plan_make(const options *opts);
void plan_free(plan *self);

/* About how long it takes, in seconds. */
double plan_duration(const plan *self, const options *opts);

#endif
