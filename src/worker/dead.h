/*
 * src/worker/dead.h - dead letters: calling handlers for messages that failed or expired.
 *
 * Dead letters are claimed separately and periodically, and are then tasks like any other: the
 * handler pool calls their handlers, the lease renewer renews their leases, and their results go to
 * the store.
 */
#ifndef PAWLI_DEAD_H
#define PAWLI_DEAD_H

#include <stdatomic.h>

#include "task.h"

/* Zero-initialize it. Used by the claim loop's thread. */
typedef struct pawli_dead {
    atomic_bool announced; /* the store records dead letters for these handlers */
    pawl_mono due;         /* when to claim next */
    const char **topics;   /* of the handlers; NULL: all */
    size_t topic_count;
} pawli_dead;

void pawli_dead_done(pawli_dead *dead);
/* Resets the state: claim at once. */
void pawli_dead_reset(pawli_dead *dead);
/*
 * Tells the store to record dead letters for the registered handlers; without this nothing is
 * recorded. Done once, before this worker can end any message; repeated after a failure.
 */
pawl_status pawli_dead_announce(pawl_worker *worker, pawl_error *err);
/* Whether that is done. Any thread. */
bool pawli_dead_is_announced(const pawl_worker *worker);
/* Makes the next pawli_dead_look() claim, regardless of when the last one did. */
void pawli_dead_hurry(pawli_dead *dead);
/* When pawli_dead_look() is due next; never without a handler. */
pawl_mono pawli_dead_due(const pawl_worker *worker);
/*
 * Claims dead letters if it is due and there is room; *ret_found: how many. A failure counts for
 * this maintenance task only: it is recorded, and the next claim is made at its usual time.
 */
pawl_status pawli_dead_look(pawl_worker *worker, size_t *ret_found, pawl_error *err);
/* Stores the results of handlers, which are all equal to that of `sample`. */
pawl_status pawli_dead_tell(pawl_worker *worker, const pawl_task *sample, const pawl_held *items,
                            size_t count, size_t *ret_changed, pawl_error *err);

#endif
