/* src/worker/ending.h - when a worker ends by itself, because its options say that it is enough. */
#ifndef PAWLI_ENDING_H
#define PAWLI_ENDING_H

#include <stddef.h>

#include <pawl/worker.h>

/* How many messages this run may still take. The intake's thread. */
size_t pawli_ending_left(const pawl_worker *worker);
/*
 * Whether it is enough, after a claim that brought `found`; may call the store. Nothing is in hand
 * then. The intake's thread.
 */
bool pawli_ending_reached(pawl_worker *worker, size_t found);

#endif
