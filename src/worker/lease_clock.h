/* src/worker/lease_clock.h - how long a lease lasts by the local clock. */
#ifndef PAWLI_LEASE_CLOCK_H
#define PAWLI_LEASE_CLOCK_H

#include "task.h"

/*
 * The store reports when a lease expires by its own clock, and a message may have its own lease
 * time. The worker needs the duration by the local clock. Usually it follows from the known offset
 * between the clocks; if that does not fit, the store's clock is read.
 */
typedef struct pawli_lease_clock {
    bool known;
    int64_t ahead_us; /* the store's clock minus the local clock */
} pawli_lease_clock;

/* Fills in the leases of tasks that were claimed at `asked_at`. At most one round trip. */
void pawli_lease_measure(pawl_worker *worker, pawl_task *tasks, size_t count, pawl_mono asked_at);

/*
 * Starts a lease of `task->lease_us` at `from`. With the lock of pawli_inflight held, or before the
 * task is published.
 */
void pawli_lease_start(pawl_task *task, pawl_mono from);

#endif
