/* src/worker/observe.h - telling the application's observer what becomes of messages. */
#ifndef PAWLI_OBSERVE_H
#define PAWLI_OBSERVE_H

#include "task.h"

/* All by the intake's thread, with no lock held, while the tasks are still in hand. */

/* The store took this list of `count` equal answers, linked by `line`; `lost` of them changed
 * nothing. */
void pawli_observe_told(pawl_worker *worker, const pawl_task *list, size_t count, size_t lost);
/* The result of this one is not told, or was not taken. */
void pawli_observe_dropped(pawl_worker *worker, const pawl_task *task);
/* The store has failed; NULL: it answers again. */
void pawli_observe_store(pawl_worker *worker, const pawl_error *err);

#endif
