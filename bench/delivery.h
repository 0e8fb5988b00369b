/* bench/delivery.h - how fast messages get from one database to an effect in another. */
#ifndef BENCH_DELIVERY_H
#define BENCH_DELIVERY_H

#include "compare.h"

/* Beside posts without any database. */
void delivery_measure(row *r, grounds *g, const options *opts);
/* Eight destinations beside a slow and a dead one, against the same eight beside two good ones. */
void delivery_measure_ten(row *r, grounds *g, const options *opts);
/* Its rounds are longer and fewer, so that the dead one's breaker opens and tries again in them. */
options delivery_ten_options(const options *opts);

#endif
