/* bench/report_worker.h - the rows of the worker that are no rates: latency and idleness. */
#ifndef BENCH_REPORT_WORKER_H
#define BENCH_REPORT_WORKER_H

#include <stdio.h>

#include "options.h"
#include "row.h"

void report_worker_heading(const row *r, const options *opts);
void report_worker_row(const row *r, const options *opts);
/* Add its fields; those of other rows are left out. */
void report_worker_json(FILE *file, const row *r, const options *opts);
/* Add the goals of a latency row, and how many of them were met. */
void report_worker_bars(const row *r, int *bars, int *met);

#endif
