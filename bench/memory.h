/* bench/memory.h - the memory of a worker that empties a large backlog, in a process of its own. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include "compare.h"

void memory_measure(row *r, grounds *g, const options *opts);

/* The process of its own is this program, started in this way. */
bool memory_is_child(int argc, char **argv);
int memory_child(char **argv);

#endif
