/* include/pawl/backoff.h - retry delays: min(base * 2^n, max) + random(0, jitter); and which sends
 * count as attempts.
 */
#ifndef PAWL_BACKOFF_H
#define PAWL_BACKOFF_H

#include <stdint.h>

#include <pawl/export.h>

PAWL_BEGIN_DECLS

/* A backoff policy. The struct is fixed: it will not get further members. */
typedef struct pawl_backoff {
    int64_t base_ms;
    int64_t max_ms;
    int64_t jitter_ms; /* or PAWL_JITTER_TENTH */
} pawl_backoff;

/* Jitter of up to a tenth of the delay. */
#define PAWL_JITTER_TENTH (-1)

/* For messages handled by a local handler: 1 s, 2 s, 4 s ... 60 s. */
#define PAWL_BACKOFF_LOCAL                                                                         \
    {                                                                                              \
        1000, 60000, 0                                                                             \
    }
#define PAWL_MAX_ATTEMPTS_LOCAL 10
/* For messages with a destination: 2 s, 4 s ... 1 h, until the message expires. */
#define PAWL_BACKOFF_REMOTE                                                                        \
    {                                                                                              \
        2000, 3600000, PAWL_JITTER_TENTH                                                           \
    }
#define PAWL_MAX_ATTEMPTS_REMOTE 0

/*
 * Which sends of a message are attempts and so count against max_attempts. A failed send that does
 * not count is deferred: its error and the time of the next send are stored.
 */
typedef enum pawl_count {
    PAWL_COUNT_DEFAULT = 0, /* message: the service's; service: PAWL_COUNT_ANSWERED */
    /* Sends that began while the destination's circuit breaker was closed and that either got a
     * response other than 408, 409, 425, 429, 502, 503, 504 and without Retry-After; or were sent
     * completely and got no response although the destination has responded to another message
     * since. */
    PAWL_COUNT_ANSWERED = 1,
    /* All sends, whatever the result, except those that this side cancelled or could not make
     * because of its configuration. max_attempts is then 6 and the backoff PAWL_BACKOFF_ALL, unless
     * set otherwise. */
    PAWL_COUNT_ALL = 2
} pawl_count;
/* 2 s, 4 s ... 5 min, up to half a second of jitter. */
#define PAWL_BACKOFF_ALL                                                                           \
    {                                                                                              \
        2000, 300000, 500                                                                          \
    }
#define PAWL_MAX_ATTEMPTS_ALL 6

/*
 * Returns the delay in milliseconds before the next attempt after `retries` earlier ones. `random`
 * is a random number drawn by the caller (any value; 0 means no jitter), which keeps the function
 * pure.
 */
PAWL_API int64_t pawl_backoff_delay_ms(const pawl_backoff *policy, int retries, uint64_t random);

PAWL_END_DECLS

#endif
