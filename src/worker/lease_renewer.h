/*
 * src/worker/lease_renewer.h - the lease renewer: renews the leases of tasks in flight, and cancels
 * handlers whose lease is lost.
 *
 * A lease is renewed when a third of it has passed. It is lost when the store says that the message
 * has another owner (or was cancelled), at the local deadline, or after three consecutive failed
 * renewals; then the handler is cancelled, and its result will be discarded.
 */
#ifndef PAWLI_LEASE_RENEWER_H
#define PAWLI_LEASE_RENEWER_H

#include <pthread.h>
#include <stdatomic.h>

#include "task.h"

typedef struct pawli_lease_renewer {
    pthread_t thread;
    int fd; /* an eventfd: check again */
    atomic_bool leave;
    pawl_task **due;     /* the tasks being renewed */
    pawl_receipt *items; /* their receipts */
    bool *renewed;       /* whether the store has renewed them */
    size_t room;
} pawli_lease_renewer;

pawl_status pawli_lease_renewer_init(pawli_lease_renewer *renewer, pawl_error *err);
void pawli_lease_renewer_done(pawli_lease_renewer *renewer);
pawl_status pawli_lease_renewer_start(pawl_worker *worker, pawl_error *err);
void pawli_lease_renewer_end(pawl_worker *worker);

/* Single-step mode: reads the store's clock and renews what is due. */
pawl_status pawli_lease_renewer_step(pawl_worker *worker, pawl_error *err);

#endif
