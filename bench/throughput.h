/* bench/throughput.h - how fast the worker empties a backlog with a handler that does nothing. */
#ifndef BENCH_THROUGHPUT_H
#define BENCH_THROUGHPUT_H

#include "compare.h"

void throughput_measure(row *r, grounds *g, const options *opts);

#endif
