/* bench/latency.h - how long a message that is sent into an idle system waits for its handler. */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include "child.h"
#include "compare.h"

void latency_measure(row *r, grounds *g, const options *opts);

/* The receivers of both sides. */
extern const child_job latency_pawl_job, latency_raw_job;

#endif
