/* bench/timeline.h - when each message was sent, and when it arrived, for two processes to see. */
#ifndef BENCH_TIMELINE_H
#define BENCH_TIMELINE_H

#include <stdatomic.h>

#define TIMELINE_MAX 1200

/* All times are CLOCK_MONOTONIC, which is one clock for all processes of a machine. */
typedef struct timeline {
    int count;                    /* messages that will be sent, numbered from 0 */
    int bell;                     /* an eventfd for those who have nothing better */
    atomic_int ready;             /* the receiver listens */
    atomic_int received;          /* messages */
    double sent[TIMELINE_MAX];    /* the sender had the answer that it is committed */
    double woken[TIMELINE_MAX];   /* the receiver was woken for it; 0: it came with another one, or
                                     nobody looked */
    double started[TIMELINE_MAX]; /* the message was the receiver's, and its work could begin */
} timeline;

/* How a set of durations is spread, in milliseconds. */
typedef struct spread {
    double p50, p90, p99, max;
    int count; /* 0: nothing was measured */
} spread;

/* Durations that are gathered over several rounds. */
typedef struct durations {
    double *values;
    int count, room;
} durations;
/* Those of the messages from `first` on: from `sent` to `end`. */
void durations_add(durations *self, const timeline *t, const double *end, int first);
spread durations_spread(durations *self);
void durations_free(durations *self);

/* The receiver has message `number`; true: that was the last. */
int timeline_note(timeline *self, int number, double woken, double started);

#endif
