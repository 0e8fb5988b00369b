/* tests/soak/pace.h - so many a second, as the driver says on the standard input. */
#ifndef PAWL_SOAK_PACE_H
#define PAWL_SOAK_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lines "RATE" come in at the standard input, per second; its end means: stop. */
typedef struct pace {
    double rate;
    double owed; /* what is due and was not done yet */
    int64_t last_us;
    char line[32];
    size_t length;
} pace;

void pace_init(pace *p, double rate);
/*
 * Wait until something is due: how many, at most `most`; 0: it is time to end. What a machine that
 * is too slow did not do within a second is dropped, not done later.
 */
size_t pace_wait(pace *p, size_t most);

#endif
