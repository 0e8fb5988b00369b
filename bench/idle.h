/* bench/idle.h - what a worker costs that has nothing to do. */
#ifndef BENCH_IDLE_H
#define BENCH_IDLE_H

#include "child.h"
#include "compare.h"

void idle_measure(row *r, grounds *g, const options *opts);

extern const child_job idle_job;

#endif
