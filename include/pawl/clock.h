/* include/pawl/clock.h - wall time and monotonic time, as separate types. */
#ifndef PAWL_CLOCK_H
#define PAWL_CLOCK_H

#include <stdint.h>

#include <pawl/export.h>

PAWL_BEGIN_DECLS

/* Wall time: microseconds since 1970-01-01 UTC. All stored times use the database's wall clock. The
 * struct is fixed: it will not get further members. */
typedef struct pawl_wall {
    int64_t us;
} pawl_wall;

/* No time, for optional times. Zero, so that a zeroed option struct has it. */
#define PAWL_TIME_UNSET ((pawl_wall){0})

/* Monotonic time: microseconds of CLOCK_BOOTTIME. Used for deadlines and local waits. The struct is
 * fixed: it will not get further members. */
typedef struct pawl_mono {
    int64_t us;
} pawl_mono;

PAWL_END_DECLS

#endif
