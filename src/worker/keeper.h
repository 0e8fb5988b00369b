/*
 * src/worker/keeper.h - the lease renewer: renews the leases of tasks in flight, and cancels
 * handlers whose lease is lost.
 *
 * A lease is renewed when a third of it has passed. It is lost when the store says that the message
 * has another owner (or was cancelled), at the local deadline, or after three consecutive failed
 * renewals; then the handler is cancelled, and its result will be discarded.
 */
#ifndef PAWLI_KEEPER_H
#define PAWLI_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>

#include "task.h"

typedef struct pawli_keeper {
    pthread_t thread;
    int fd; /* an eventfd: check again */
    atomic_bool leave;
    pawl_task **due;  /* the tasks being renewed */
    pawl_held *items; /* their receipts */
    size_t room;
} pawli_keeper;

pawl_status pawli_keeper_init(pawli_keeper *keeper, pawl_error *err);
void pawli_keeper_done(pawli_keeper *keeper);
pawl_status pawli_keeper_start(pawl_worker *worker, pawl_error *err);
void pawli_keeper_end(pawl_worker *worker);

/* Single-step mode: reads the store's clock and renews what is due. */
pawl_status pawli_keeper_step(pawl_worker *worker, pawl_error *err);

#endif
