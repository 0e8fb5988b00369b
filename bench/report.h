/* bench/report.h - the table for people and the list for machines. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stddef.h>

#include "options.h"
#include "plan.h"

/* The first lines: what this is, and how long it will take. */
void report_begin(const plan *p, const options *opts);
/* On a terminal: which row is being measured. */
void report_progress(const plan *p, size_t number);
/* One line of the table, with the headings that it needs. */
void report_row(const plan *p, size_t number, const options *opts);
/* How many bars were met; and the file for machines, if one is wanted. */
void report_end(const plan *p, const options *opts);

#endif
