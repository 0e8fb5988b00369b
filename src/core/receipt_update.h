/* src/core/receipt_update.h - ops that change listed claimed messages, and say which. */
#ifndef PAWLI_RECEIPT_UPDATE_H
#define PAWLI_RECEIPT_UPDATE_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/queue.h>
#include <pawl/store.h>

#include "op.h"

/*
 * Receipts as an op's row table (:id, :fence): sorted by id, without duplicates; and what the op
 * says of them. Its result is one row with the number that changed, and `which` if it is not all: a
 * character per row of the table, '1' if it changed. Or it is one row with 0 or 1 per row of the
 * table.
 */
#define PAWLI_RECEIPTS_FEW 64 /* most calls have few items and need no allocation */
typedef struct pawli_receipt_rows {
    pawli_rows rows;
    size_t changed;
    size_t told; /* entries of `which` that the result has filled */
    char *which;
    pawli_value *many; /* NULL: the following suffice */
    pawli_value few[PAWLI_RECEIPTS_FEW * 2];
    char few_which[PAWLI_RECEIPTS_FEW];
} pawli_receipt_rows;
/* PAWL_E_INVALID if `items` is NULL or there are too many. Call _done in either case. */
pawl_status pawli_receipt_rows_fill(pawli_receipt_rows *receipts, const pawl_receipt *items,
                                    size_t count, pawl_error *err);
void pawli_receipt_rows_done(pawli_receipt_rows *receipts);

/* For an op whose context is a pawli_receipt_rows. */
extern const pawli_columns pawli_changed_columns;
void pawli_receipt_rows_on_start(void *context);
pawl_status pawli_receipt_rows_on_row(void *context, const pawli_row *row, pawl_error *err);

/*
 * Where the result of an operation on listed messages goes; either may be NULL. each[i] is whether
 * the message of item i was changed; items that are listed twice count once. The functions of an
 * older release do not say which of several on PostgreSQL: then all are said to have changed.
 */
typedef struct pawli_changed {
    size_t *count;
    bool *each;
} pawli_changed;
void pawli_receipt_rows_result(const pawli_receipt_rows *receipts, const pawl_receipt *items,
                               size_t count, pawli_changed ret);

/* Runs `sql` over the items; no items is a no-op. Writes `ret` only on success. */
pawl_status pawli_receipt_update(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                                 size_t param_count, const pawl_receipt *items, size_t count,
                                 pawli_changed ret, pawl_error *err);

#endif
