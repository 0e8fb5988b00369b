/* src/worker/auto_stop.h - automatic stop: when a worker ends because a limit in its options is
 * reached.
 */
#ifndef PAWLI_AUTO_STOP_H
#define PAWLI_AUTO_STOP_H

#include <stddef.h>

#include <pawl/worker.h>

/* How many messages this run may still claim. The claim loop's thread. */
size_t pawli_auto_stop_left(const pawl_worker *worker);
/*
 * Whether a limit is reached, after a claim that returned `found` messages; may call the store.
 * Nothing is in flight then. The claim loop's thread.
 */
bool pawli_auto_stop_reached(pawl_worker *worker, size_t found);

#endif
