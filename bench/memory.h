/* bench/memory.h - the memory of a worker that empties a large backlog, in a process of its own. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include "child.h"
#include "compare.h"

void memory_measure(row *r, grounds *g, const options *opts);

extern const child_job memory_job;

#endif
