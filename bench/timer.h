/* bench/timer.h - how long single calls take while many timers are pending. */
#ifndef BENCH_TIMER_H
#define BENCH_TIMER_H

#include "compare.h"

/* Where timers are kept without any database; there is nothing to reset or fill. */
extern const engine *const engine_memory;

/* How many are pending in a row: all that the options allow, or a part of them. */
int64_t timer_pending(const row *r, const options *opts);
void timer_measure(row *r, grounds *g, const options *opts);

#endif
