/*
 * src/worker/dead_letters.h - dead letters: calling handlers for messages that failed or expired.
 *
 * Dead letters are claimed separately and periodically, and are then tasks like any other: the
 * handler pool calls their handlers, the lease renewer renews their leases, and their results go to
 * the store.
 */
#ifndef PAWLI_DEAD_LETTERS_H
#define PAWLI_DEAD_LETTERS_H

#include <stdatomic.h>

#include "receipt_update.h"
#include "task.h"

/* Zero-initialize it. Used by the claim loop's thread. */
typedef struct pawli_dead_letters {
    atomic_bool announced; /* the store records dead letters for these handlers */
    pawl_mono due;         /* when to claim next */
    const char **topics;   /* of the handlers; NULL: all */
    size_t topic_count;
} pawli_dead_letters;

void pawli_dead_letters_done(pawli_dead_letters *dead);
/* Resets the state: claim at once. */
void pawli_dead_letters_reset(pawli_dead_letters *dead);
/*
 * Makes the store record dead letters for the registered handlers; without this nothing is
 * recorded. Done once, before this worker can end any message; repeated after a failure.
 */
pawl_status pawli_dead_letters_announce(pawl_worker *worker, pawl_error *err);
/* Whether that is done. Any thread. */
bool pawli_dead_letters_is_announced(const pawl_worker *worker);
/* Makes the next pawli_dead_letters_claim() claim, regardless of when the last one did. */
void pawli_dead_letters_claim_soon(pawli_dead_letters *dead);
/* When pawli_dead_letters_claim() is due next; never without a handler. */
pawl_mono pawli_dead_letters_due(const pawl_worker *worker);
/*
 * Claims dead letters if it is due and there is room; *ret_found: how many. A failure counts for
 * this maintenance task only: it is recorded, and the next claim is made at its usual time.
 */
pawl_status pawli_dead_letters_claim(pawl_worker *worker, size_t *ret_found, pawl_error *err);
/* Stores the results of handlers, which are all equal to that of `sample`. */
pawl_status pawli_dead_letters_store(pawl_worker *worker, const pawl_task *sample,
                                     const pawl_receipt *items, size_t count, pawli_changed ret,
                                     pawl_error *err);

#endif
