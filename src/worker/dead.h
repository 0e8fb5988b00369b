/*
 * src/worker/dead.h - dead letters: calling handlers for what failed or expired.
 *
 * They come by a claim of their own, now and then, and are then tasks like others: the crew calls
 * their handlers, the keeper keeps their leases, their answers go to the store.
 */
#ifndef PAWLI_DEAD_H
#define PAWLI_DEAD_H

#include <stdatomic.h>

#include "task.h"

/* Zero-initialise it. The intake's. */
typedef struct pawli_dead {
    atomic_bool announced; /* the store records dead letters for our handlers */
    pawl_mono due;         /* when to look for some */
    const char **topics;   /* of the handlers; NULL: all */
    size_t topic_count;
} pawli_dead;

void pawli_dead_done(pawli_dead *dead);
/* Begin anew: look at once. */
void pawli_dead_reset(pawli_dead *dead);
/*
 * Nothing is recorded for those who do not ask, so our handlers ask, before anything that this
 * worker does can end a message. Once; after a failure again.
 */
pawl_status pawli_dead_announce(pawl_worker *worker, pawl_error *err);
/* Whether there is nothing left to ask for. Any thread. */
bool pawli_dead_is_announced(const pawl_worker *worker);
/* The next pawli_dead_look() looks, whenever the last one was. */
void pawli_dead_hurry(pawli_dead *dead);
/* When pawli_dead_look() has something to do; never without a handler. */
pawl_mono pawli_dead_due(const pawl_worker *worker);
/*
 * Claim some if it is time and there is room; *ret_found: how many came. A failure is the chore's
 * own: it is noted, and the next look comes in its time.
 */
pawl_status pawli_dead_look(pawl_worker *worker, size_t *ret_found, pawl_error *err);
/* Tell the store what handlers answered, all the same: like `sample`. */
pawl_status pawli_dead_tell(pawl_worker *worker, const pawl_task *sample, const pawl_held *items,
                            size_t count, size_t *ret_changed, pawl_error *err);

#endif
