/* bench/held.h - a steady load while somebody keeps a transaction open. */
#ifndef BENCH_HELD_H
#define BENCH_HELD_H

#include "compare.h"

/* The undisturbed runs, made once and used by every row. */
typedef struct held_runs {
    double pawl[WINDOWS], raw[WINDOWS]; /* messages per second; 0: not made yet */
} held_runs;

void held_measure(row *r, grounds *g, held_runs *runs, const options *opts);

#endif
