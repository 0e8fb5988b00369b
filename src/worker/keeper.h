/*
 * src/worker/keeper.h - keeping the leases of what is in hand, and telling handlers when one is
 * lost.
 *
 * A lease is renewed when a third of it has passed. It is lost when the store says that it is
 * somebody else's (also: cancelled), at the local deadline, or after three renewals that failed in
 * a row; then the handler is told, and its result will be dropped.
 */
#ifndef PAWLI_KEEPER_H
#define PAWLI_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>

#include "task.h"

typedef struct pawli_keeper {
    pthread_t thread;
    int fd; /* an eventfd: look again */
    atomic_bool leave;
    pawl_task **due;  /* what is being renewed */
    pawl_held *items; /* the same, for the store */
    size_t room;
} pawli_keeper;

pawl_status pawli_keeper_init(pawli_keeper *keeper, pawl_error *err);
void pawli_keeper_done(pawli_keeper *keeper);
pawl_status pawli_keeper_start(pawl_worker *worker, pawl_error *err);
void pawli_keeper_end(pawl_worker *worker);

/* Step by step: read the store's clock and do what is due. */
pawl_status pawli_keeper_step(pawl_worker *worker, pawl_error *err);

#endif
