/* src/worker/result_batch.h - results of handlers on their way to the store. */
#ifndef PAWLI_RESULT_BATCH_H
#define PAWLI_RESULT_BATCH_H

#include "task.h"

/* Zero-initialize it. Used by the claim loop's thread. */
typedef struct pawli_result_batch {
    pawl_task *list;     /* not stored yet */
    pawl_receipt *items; /* scratch: of the results that one call stores */
    bool *changed;       /* scratch: which of them were stored */
    size_t room;
} pawli_result_batch;

void pawli_result_batch_done(pawli_result_batch *results);
/* Collects the finished tasks; results that are no longer needed are discarded. */
void pawli_result_batch_gather(pawl_worker *worker);
bool pawli_result_batch_empty(const pawli_result_batch *results);
/*
 * Stores all results except acknowledgements, grouped by equal results. A result that the store
 * rejects because of its content is discarded and logged, so that it does not block the others.
 */
pawl_status pawli_result_batch_store_others(pawl_worker *worker, pawl_error *err);
/*
 * The tasks to acknowledge, borrowed until the next call; these may be sent with a claim, which
 * fills in (*ret_acked)[i].
 */
pawl_status pawli_result_batch_acks(pawl_worker *worker, const pawl_receipt **ret_items,
                                    bool **ret_acked, size_t *ret_count, pawl_error *err);
/* Those `count` were sent with a claim: the result is filled in, or the call failed with `st`. */
void pawli_result_batch_acked(pawl_worker *worker, pawl_status st, size_t count);
/*
 * Stores the acknowledgements alone, after the claim that carried them was rejected, possibly
 * because of one of them.
 */
pawl_status pawli_result_batch_store_acks(pawl_worker *worker, pawl_error *err);
/* Stores all results, without claiming. */
pawl_status pawli_result_batch_store(pawl_worker *worker, pawl_error *err);
/* Postpones the remaining results; their leases are kept. */
void pawli_result_batch_postpone(pawl_worker *worker);

#endif
