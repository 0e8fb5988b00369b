/* src/core/batch_update.c - ops that change listed items and answer how many. */
#include "batch_update.h"

#include <stdlib.h>

#include "fail.h"
#include "scope.h"
#include "store_private.h"

void pawli_count_on_start(void *context)
{
    *(size_t *)context = 0;
}

pawl_status pawli_count_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    (void)err;
    *(size_t *)context += (size_t)pawli_row_int(row, 0);
    return PAWL_OK;
}

static pawl_status update_run(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                              size_t param_count, const pawli_rows *rows, size_t *ret_changed,
                              pawl_error *err)
{
    size_t changed = 0;
    pawli_op op = {
        .sql = sql,
        .writes = true,
        .urgent = sql == PAWLI_SQL_RENEW, /* a lease may be about to end */
        .params = params,
        .param_count = param_count,
        .rows = rows,
        .on_row = pawli_count_on_row,
        .on_start = pawli_count_on_start,
        .context = &changed,
    };
    pawl_status st = pawli_store_write(store, &op, err);

    if (st == PAWL_OK && ret_changed)
        *ret_changed = changed;
    return st;
}

static pawl_status check_list(const void *items, size_t count, pawl_error *err)
{
    if (!items)
        return pawli_fail(err, PAWL_E_INVALID, "the list of items must not be NULL");
    if (count > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the list has %zu items: at most %d at a time",
                          count, PAWL_BATCH_MAX);
    return PAWL_OK;
}

/* By id, then by fence. */
static int update_by_item(const void *a, const void *b)
{
    const pawli_value *x = a, *y = b;

    if (x[0].as.number != y[0].as.number)
        return x[0].as.number < y[0].as.number ? -1 : 1;
    if (x[1].as.number != y[1].as.number)
        return x[1].as.number < y[1].as.number ? -1 : 1;
    return 0;
}

/* Usually they come as they were claimed, which is in order. */
static void sort_items(pawli_value *values, size_t count)
{
    size_t i = 1;

    while (i < count && update_by_item(&values[2 * (i - 1)], &values[2 * i]) < 0)
        i++;
    if (i < count)
        qsort(values, count, 2 * sizeof *values, update_by_item);
}

static size_t update_drop_repeated(pawli_value *values, size_t count)
{
    size_t kept = count > 0 ? 1 : 0;

    for (size_t i = 1; i < count; i++) {
        if (update_by_item(&values[2 * (kept - 1)], &values[2 * i]) == 0)
            continue;
        values[2 * kept] = values[2 * i];
        values[2 * kept + 1] = values[2 * i + 1];
        kept++;
    }
    return kept;
}

pawl_status pawli_receipt_rows_fill(pawli_receipt_rows *receipt, const pawl_receipt *items,
                                    size_t count, pawl_error *err)
{
    static const char *const names[] = {"id", "fence"};
    static const pawli_type types[] = {PAWLI_INT, PAWLI_INT};
    pawli_value *values = receipt->few;
    pawl_status st = check_list(items, count, err);

    receipt->many = NULL;
    if (st != PAWL_OK)
        return st;
    if (count > PAWLI_RECEIPTS_FEW) {
        values = receipt->many = malloc(count * 2 * sizeof *values);
        if (!values)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu items", count);
    }
    for (size_t i = 0; i < count; i++) {
        values[2 * i] = pawli_int(items[i].id.value);
        values[2 * i + 1] = pawli_int(items[i].fence);
    }
    sort_items(values, count);
    receipt->rows = (pawli_rows){update_drop_repeated(values, count), 2, names, types, values};
    return PAWL_OK;
}

void pawli_receipt_rows_done(pawli_receipt_rows *receipt)
{
    free(receipt->many);
}

pawl_status pawli_batch_update_receipts(pawl_store *store, enum pawli_sql sql,
                                        const pawli_param *params, size_t param_count,
                                        const pawl_receipt *items, size_t count,
                                        size_t *ret_changed, pawl_error *err)
{
    pawli_receipt_rows receipt;
    pawl_status st = pawli_receipt_rows_fill(&receipt, items, count, err);

    if (st == PAWL_OK && count > 0)
        st = update_run(store, sql, params, param_count, &receipt.rows, ret_changed, err);
    else if (st == PAWL_OK && ret_changed)
        *ret_changed = 0;
    pawli_receipt_rows_done(&receipt);
    return st;
}

pawl_status pawli_batch_update_ids(pawl_store *store, enum pawli_sql sql, const pawl_work_id *ids,
                                   size_t count, size_t *ret_changed, pawl_error *err)
{
    static const char *const names[] = {"id"};
    static const pawli_type types[] = {PAWLI_INT};
    PAWLI_AUTO_FREE pawli_value *values = NULL;
    pawl_status st = check_list(ids, count, err);

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    if (st != PAWL_OK)
        return st;
    if (count == 0) {
        if (ret_changed)
            *ret_changed = 0;
        return PAWL_OK;
    }
    values = malloc(count * sizeof *values);
    if (!values)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu items", count);
    for (size_t i = 0; i < count; i++)
        values[i] = pawli_int(ids[i].value);
    pawli_rows rows = {count, 1, names, types, values};
    return update_run(store, sql, NULL, 0, &rows, ret_changed, err);
}

pawl_status pawli_batch_update_messages(pawl_store *store, enum pawli_sql sql, const pawl_uuid *ids,
                                        size_t count, size_t *ret_changed, pawl_error *err)
{
    static const char *const names[] = {"message_id"};
    static const pawli_type types[] = {PAWLI_UUID};
    PAWLI_AUTO_FREE pawli_value *values = malloc(count * sizeof *values);

    if (!values)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu items", count);
    for (size_t i = 0; i < count; i++)
        values[i] = pawli_uuid(ids[i].bytes);
    pawli_rows rows = {count, 1, names, types, values};
    return update_run(store, sql, NULL, 0, &rows, ret_changed, err);
}

pawl_status pawli_batch_update_found(pawl_store *store, enum pawli_sql sql,
                                     const pawli_param *params, size_t param_count,
                                     size_t *ret_changed, pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    return update_run(store, sql, params, param_count, NULL, ret_changed, err);
}

pawl_status pawli_batch_update_scanned(pawl_store *store, enum pawli_sql sql,
                                       const pawli_param *params, size_t param_count, size_t limit,
                                       size_t *ret_changed, pawl_scan *ret_scan, pawl_error *err)
{
    size_t changed = 0;
    pawl_status st = pawli_batch_update_found(store, sql, params, param_count, &changed, err);

    if (st != PAWL_OK)
        return st;
    if (ret_changed)
        *ret_changed = changed;
    if (ret_scan)
        *ret_scan = (pawl_scan){changed, changed >= limit};
    return PAWL_OK;
}

void pawli_scanned_on_start(void *context)
{
    *(pawli_scanned *)context = (pawli_scanned){0, 0};
}

pawl_status pawli_scanned_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    pawli_scanned *scanned = context;

    (void)err;
    scanned->changed += (size_t)pawli_row_int(row, 0);
    scanned->rows += (size_t)pawli_row_int(row, 1);
    return PAWL_OK;
}
