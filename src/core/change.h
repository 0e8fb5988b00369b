/* src/core/change.h - ops that change listed items and answer how many. */
#ifndef PAWLI_CHANGE_H
#define PAWLI_CHANGE_H

#include <stddef.h>

#include <pawl/id.h>
#include <pawl/queue.h>
#include <pawl/store.h>

#include "op.h"

/* Held items as an op's row table (:id, :fence): in the order of their ids, none twice. */
#define PAWLI_HELD_FEW 64 /* most calls answer a few items, which need no allocation */
typedef struct pawli_held_rows {
    pawli_rows rows;
    pawli_value few[PAWLI_HELD_FEW * 2];
    pawli_value *many;
} pawli_held_rows;
/* PAWL_E_INVALID if `items` is NULL or there are too many. End with _done in either case. */
pawl_status pawli_held_rows_fill(pawli_held_rows *held, const pawl_held *items, size_t count,
                                 pawl_error *err);
void pawli_held_rows_done(pawli_held_rows *held);

/*
 * Run `sql` over the items; NULL is PAWL_E_INVALID, none a no-op. *ret_changed (may be NULL) is
 * the sum of the answers.
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
 * The same for maintenance, which stops at `limit`. What it changed is what it read: then there may
 * be more if that is as much as the limit. *ret_scan may be NULL.
 */
pawl_status pawli_change_scanned(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                                 size_t param_count, size_t limit, size_t *ret_changed,
                                 pawl_scan *ret_scan, pawl_error *err);

/* Rows of what was changed and what was read to find it, added up. */
typedef struct pawli_scanned {
    size_t changed;
    size_t rows;
} pawli_scanned;
/* An op's callbacks that add both up; the context is a pawli_scanned. */
void pawli_scanned_on_start(void *context);
pawl_status pawli_scanned_on_row(void *context, const pawli_row *row, pawl_error *err);

/* An op's callbacks that add the numbers of column 0 up; the context is a size_t. */
void pawli_count_on_start(void *context);
pawl_status pawli_count_on_row(void *context, const pawli_row *row, pawl_error *err);

#endif
