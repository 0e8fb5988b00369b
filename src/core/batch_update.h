/* src/core/batch_update.h - ops that change listed items and return how many changed. */
#ifndef PAWLI_BATCH_UPDATE_H
#define PAWLI_BATCH_UPDATE_H

#include <stddef.h>

#include <pawl/id.h>
#include <pawl/queue.h>
#include <pawl/store.h>

#include "op.h"

/*
 * Runs `sql` over the items; NULL is PAWL_E_INVALID, none a no-op. *ret_changed (may be NULL) is
 * the sum of the results.
 */
pawl_status pawli_batch_update_ids(pawl_store *store, enum pawli_sql sql, const pawl_work_id *ids,
                                   size_t count, size_t *ret_changed, pawl_error *err);
/* By message id; there is at least one. */
pawl_status pawli_batch_update_messages(pawl_store *store, enum pawli_sql sql, const pawl_uuid *ids,
                                        size_t count, size_t *ret_changed, pawl_error *err);
/* The same for an op that finds its items itself. */
pawl_status pawli_batch_update_found(pawl_store *store, enum pawli_sql sql,
                                     const pawli_param *params, size_t param_count,
                                     size_t *ret_changed, pawl_error *err);

/*
 * The same for maintenance, which stops at `limit`. It changes every row that it reads, so there
 * may be more if it changed as many as the limit. *ret_scan may be NULL.
 */
pawl_status pawli_batch_update_scanned(pawl_store *store, enum pawli_sql sql,
                                       const pawli_param *params, size_t param_count, size_t limit,
                                       size_t *ret_changed, pawl_scan *ret_scan, pawl_error *err);

/* The total number of rows changed, and of rows read to find them. */
typedef struct pawli_scanned {
    size_t changed;
    size_t rows;
} pawli_scanned;
/* Op callbacks that add both up; the context is a pawli_scanned. */
void pawli_scanned_on_start(void *context);
pawl_status pawli_scanned_on_row(void *context, const pawli_row *row, pawl_error *err);

/* Op callbacks that add up the numbers of column 0; the context is a size_t. */
void pawli_count_on_start(void *context);
pawl_status pawli_count_on_row(void *context, const pawli_row *row, pawl_error *err);

#endif
