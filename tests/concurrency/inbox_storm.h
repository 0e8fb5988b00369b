/*
 * tests/concurrency/inbox_storm.h - state shared by the receivers of a storm of deliveries: a file
 * that each of them maps, so that it outlives those who are killed.
 */
#ifndef PAWL_TEST_INBOX_STORM_H
#define PAWL_TEST_INBOX_STORM_H

#include <stdatomic.h>
#include <stdbool.h>

#define STORM_MESSAGES_MAX 10000
#define STORM_TIMES 10 /* each message is delivered */
#define STORM_SOURCE "shop"

typedef struct storm {
    bool call_out; /* else atomic */
    long messages;
    long die_every;                         /* at each of three points, once in this many times */
    atomic_long next;                       /* the next delivery */
    atomic_long duplicates;                 /* answered with the cached response */
    atomic_long in_progress;                /* to be tried again later */
    atomic_long failed;                     /* calls that the database did not answer well */
    atomic_long wrong;                      /* results that are never allowed */
    atomic_int calls[STORM_MESSAGES_MAX];   /* of the application, call-out */
    atomic_int effects[STORM_MESSAGES_MAX]; /* that it had, since it knows the key */
} storm;

/*
 * Which message delivery `k` is of: every second one together with its duplicates, so that several
 * receivers have them at once, the others far apart.
 */
static inline long storm_message(const storm *s, long k)
{
    long j = k / 2;

    return k % 2 ? j * 7919 % s->messages : j / (STORM_TIMES / 2);
}

/* Every hundredth part of all deliveries. */
static inline long storm_milestone(const storm *s)
{
    return s->messages * STORM_TIMES / 100;
}

#endif
