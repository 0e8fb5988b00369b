/* src/worker/answers.h - results of handlers on their way to the store. */
#ifndef PAWLI_ANSWERS_H
#define PAWLI_ANSWERS_H

#include "task.h"

/* Zero-initialize it. Used by the claim loop's thread. */
typedef struct pawli_answers {
    pawl_task *list;  /* not stored yet */
    pawl_held *items; /* scratch */
    size_t room;
} pawli_answers;

void pawli_answers_done(pawli_answers *answers);
/* Collects the finished tasks; results that are no longer needed are discarded. */
void pawli_answers_gather(pawl_worker *worker);
bool pawli_answers_empty(const pawli_answers *answers);
/*
 * Stores all results except acknowledgements, grouped by equal results. A result that the store
 * rejects because of its content is discarded and logged, so that it does not block the others.
 */
pawl_status pawli_answers_tell_others(pawl_worker *worker, pawl_error *err);
/* The tasks to acknowledge, borrowed until the next call; these may be sent with a claim. */
pawl_status pawli_answers_acks(pawl_worker *worker, const pawl_held **ret_items, size_t *ret_count,
                               pawl_error *err);
/* They were acknowledged: `acked` of them were still owned. Or the call failed with `st`. */
void pawli_answers_acked(pawl_worker *worker, pawl_status st, size_t count, size_t acked);
/*
 * Stores the acknowledgements alone, after the claim that carried them was rejected, possibly
 * because of one of them.
 */
pawl_status pawli_answers_tell_acks(pawl_worker *worker, pawl_error *err);
/* Stores all results, without claiming. */
pawl_status pawli_answers_tell(pawl_worker *worker, pawl_error *err);
/* Postpones the remaining results; their leases are kept. */
void pawli_answers_put_off(pawl_worker *worker);

#endif
