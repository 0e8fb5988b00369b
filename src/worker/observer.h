/* src/worker/observer.h - reporting the results of messages to the application's observer. */
#ifndef PAWLI_OBSERVER_H
#define PAWLI_OBSERVER_H

#include "task.h"

/*
 * All are called by the claim loop's thread, with no lock held, while the tasks are still in
 * flight.
 */

/* The store has the result; or, if it is `lost`, this worker no longer owned the message. */
void pawli_observe_stored(pawl_worker *worker, const pawl_task *task, bool lost);
/* The result of this task is not stored, or was rejected. */
void pawli_observe_dropped(pawl_worker *worker, const pawl_task *task);
/* The store has failed; NULL: it responds again. */
void pawli_observe_store(pawl_worker *worker, const pawl_error *err);

#endif
