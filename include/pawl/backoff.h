/* include/pawl/backoff.h - when to try again: min(base * 2^n, max) + random(0, jitter). */
#ifndef PAWL_BACKOFF_H
#define PAWL_BACKOFF_H

#include <stdint.h>

#include <pawl/export.h>

PAWL_BEGIN_DECLS

typedef struct pawl_backoff {
    int64_t base_ms;
    int64_t max_ms;
    int64_t jitter_ms;
} pawl_backoff;

/* For messages handled by a local handler: 1 s, 2 s, 4 s ... 60 s. */
#define PAWL_BACKOFF_LOCAL                                                                         \
    {                                                                                              \
        1000, 60000, 0                                                                             \
    }
#define PAWL_MAX_ATTEMPTS_LOCAL 10
/* For messages with a destination: 2 s, 4 s ... 5 min, up to half a second of jitter. */
#define PAWL_BACKOFF_REMOTE                                                                        \
    {                                                                                              \
        2000, 300000, 500                                                                          \
    }
#define PAWL_MAX_ATTEMPTS_REMOTE 6

/*
 * The delay before the next attempt after `retries` earlier ones, in milliseconds. `random` is a
 * number the caller drew (any value; 0 means no jitter), so that the function stays pure.
 */
PAWL_API int64_t pawl_backoff_delay_ms(const pawl_backoff *policy, int retries, uint64_t random);

PAWL_END_DECLS

#endif
