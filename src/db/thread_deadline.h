/* src/db/thread_deadline.h - a thread-local deadline for all calls that this thread makes on any
 * store. */
#ifndef PAWLI_THREAD_DEADLINE_H
#define PAWLI_THREAD_DEADLINE_H

#include <pawl/clock.h>

/*
 * From now on the calls of this thread end by `deadline`, if the store's own timeout does not end
 * them earlier: for work of lower importance, or that is useless after a lease has expired.
 */
void pawli_thread_deadline_begin(pawl_mono deadline);
void pawli_thread_deadline_end(void);
/* The earlier of the two. */
pawl_mono pawli_thread_deadline_apply(pawl_mono deadline);

#endif
