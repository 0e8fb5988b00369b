/* include/pawl/clock.h - two kinds of time that never mix. */
#ifndef PAWL_CLOCK_H
#define PAWL_CLOCK_H

#include <stdint.h>

#include <pawl/export.h>

PAWL_BEGIN_DECLS

/* Wall time: microseconds since 1970-01-01 UTC. Everything stored uses the database's wall clock.
 */
typedef struct pawl_wall {
    int64_t us;
} pawl_wall;

/* "No such time", for optional instants. Zero, so that a zeroed option struct means it. */
#define PAWL_NEVER ((pawl_wall){0})

/* Monotonic time: microseconds of CLOCK_BOOTTIME. Deadlines and local waits use it. */
typedef struct pawl_mono {
    int64_t us;
} pawl_mono;

PAWL_END_DECLS

#endif
