/* src/worker/lease.h - how long a lease lasts by our own clock. */
#ifndef PAWLI_LEASE_H
#define PAWLI_LEASE_H

#include "task.h"

/*
 * The store says until when a lease lasts by its clock, and a message may bring a lease of its own.
 * What is needed here is how long it lasts by ours. Usually that follows from what is known of the
 * difference between the clocks; when it does not fit, the store is asked for the time.
 */
typedef struct pawli_lease_clock {
    bool known;
    int64_t ahead_us; /* the store's clock before ours */
} pawli_lease_clock;

/* Fill in the leases of tasks that were asked for at `asked_at`. One round trip at most. */
void pawli_lease_measure(pawl_worker *worker, pawl_task *tasks, size_t count, pawl_mono asked_at);

/* The lease lasts `task->lease_us` from `from` on. With the hand's lock held, or before it is
 * known. */
void pawli_lease_start(pawl_task *task, pawl_mono from);

#endif
