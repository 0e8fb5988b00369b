/*
 * tests/fault/fault_worker.h - a worker, one of whose calls below fails.
 *
 * Whatever fails, the end is the same: every message is handled as often as it should be, the row
 * of the one that is done with an effect is there once, and no time has to pass for it. The virtual
 * clock stands still while the worker works, so that no forgotten lease expires.
 */
#ifndef PAWL_FAULT_WORKER_H
#define PAWL_FAULT_WORKER_H

#include "failing.h"
#include "worker_fixture.h"

/* Totals over all runs. */
typedef struct worker_points {
    long failed;
    long in_doubt; /* of those, how many steps returned PAWL_E_IN_DOUBT */
} worker_points;

/* Step by step, with the `nth` call of `kind` failing. Whether that call was reached. */
bool fault_worker_step(fixture *f, failing_kind kind, long nth, int how, worker_points *points);
/* With threads, the `nth` allocation of whichever of them failing. */
bool fault_worker_run(fixture *f, long nth);
/* With threads, stopped at the very moment when the `nth` call of the claiming one fails. */
bool fault_worker_stop(fixture *f, long nth, int how);

#endif
