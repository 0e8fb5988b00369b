/* src/core/change.h - ops that change listed items and return how many changed. */
#ifndef PAWLI_CHANGE_H
#define PAWLI_CHANGE_H

#include <stddef.h>

#include <pawl/id.h>
#include <pawl/queue.h>
#include <pawl/store.h>

#include "op.h"

/* Receipts as an op's row table (:id, :fence): sorted by id, without duplicates. */
#define PAWLI_HELD_FEW 64 /* most calls have few items and need no allocation */
typedef struct pawli_held_rows {
    pawli_rows rows;
    pawli_value few[PAWLI_HELD_FEW * 2];
    pawli_value *many;
} pawli_held_rows;
/* PAWL_E_INVALID if `items` is NULL or there are too many. Call _done in either case. */
pawl_status pawli_held_rows_fill(pawli_held_rows *held, const pawl_held *items, size_t count,
                                 pawl_error *err);
void pawli_held_rows_done(pawli_held_rows *held);

/*
 * Runs `sql` over the items; NULL is PAWL_E_INVALID, none a no-op. *ret_changed (may be NULL) is
 * the sum of the results.
 */
pawl_status pawli_change_held(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                              size_t param_count, const pawl_held *items, size_t count,
                              size_t *ret_changed, pawl_error *err);
pawl_status pawli_change_ids(pawl_store *store, enum pawli_sql sql, const pawl_work_id *ids,
                             size_t count, size_t *ret_changed, pawl_error *err);
/* By message id; there is at least one. */
pawl_status pawli_change_messages(pawl_store *store, enum pawli_sql sql, const pawl_message_id *ids,
                                  size_t count, size_t *ret_changed, pawl_error *err);
/* The same for an op that finds its items itself. */
pawl_status pawli_change_found(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                               size_t param_count, size_t *ret_changed, pawl_error *err);

/*
 * The same for maintenance, which stops at `limit`. It changes every row that it reads, so there
 * may be more if it changed as many as the limit. *ret_scan may be NULL.
 */
pawl_status pawli_change_scanned(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                                 size_t param_count, size_t limit, size_t *ret_changed,
                                 pawl_scan *ret_scan, pawl_error *err);

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
