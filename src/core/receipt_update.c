/* src/core/receipt_update.c - ops that change listed claimed messages, and say which. */
#include "receipt_update.h"

#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "fail.h"
#include "store_private.h"

/* ---- receipts as a row table ---- */

/* By id, then by fence. */
static int receipt_by_item(const void *a, const void *b)
{
    const pawli_value *x = a, *y = b;

    if (x[0].as.number != y[0].as.number)
        return x[0].as.number < y[0].as.number ? -1 : 1;
    if (x[1].as.number != y[1].as.number)
        return x[1].as.number < y[1].as.number ? -1 : 1;
    return 0;
}

/* The list usually arrives in the order of the claim, which is already sorted. */
static void receipts_sort(pawli_value *values, size_t count)
{
    size_t i = 1;

    while (i < count && receipt_by_item(&values[2 * (i - 1)], &values[2 * i]) < 0)
        i++;
    if (i < count)
        qsort(values, count, 2 * sizeof *values, receipt_by_item);
}

static size_t receipts_drop_repeated(pawli_value *values, size_t count)
{
    size_t kept = count > 0 ? 1 : 0;

    for (size_t i = 1; i < count; i++) {
        if (receipt_by_item(&values[2 * (kept - 1)], &values[2 * i]) == 0)
            continue;
        values[2 * kept] = values[2 * i];
        values[2 * kept + 1] = values[2 * i + 1];
        kept++;
    }
    return kept;
}

pawl_status pawli_receipt_rows_fill(pawli_receipt_rows *receipts, const pawl_receipt *items,
                                    size_t count, pawl_error *err)
{
    static const char *const names[] = {"id", "fence"};
    static const pawli_type types[] = {PAWLI_INT, PAWLI_INT};
    pawli_value *values = receipts->few;

    receipts->many = NULL;
    receipts->which = receipts->few_which;
    receipts->changed = receipts->told = 0;
    if (!items)
        return pawli_fail(err, PAWL_E_INVALID, "the list of items must not be NULL");
    if (count > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the list has %zu items; the maximum is %d", count,
                          PAWL_BATCH_MAX);
    if (count > PAWLI_RECEIPTS_FEW) {
        values = receipts->many = malloc(count * (2 * sizeof *values + 1));
        if (!values)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu items", count);
        receipts->which = (char *)&values[2 * count];
    }
    for (size_t i = 0; i < count; i++) {
        values[2 * i] = pawli_int(items[i].id.value);
        values[2 * i + 1] = pawli_int(items[i].fence);
    }
    receipts_sort(values, count);
    receipts->rows = (pawli_rows){receipts_drop_repeated(values, count), 2, names, types, values};
    return PAWL_OK;
}

void pawli_receipt_rows_done(pawli_receipt_rows *receipts)
{
    free(receipts->many);
}

/* ---- the result ---- */

#define X(upper, name) COLUMN_##upper,
enum { PAWLI_CHANGED_COLUMNS(X) COLUMN_COUNT };
#undef X
static const char *const changed_column_names[COLUMN_COUNT] = {
    PAWLI_CHANGED_COLUMNS(PAWLI_COLUMN_NAME)};
const pawli_columns pawli_changed_columns = {changed_column_names, COLUMN_COUNT};

void pawli_receipt_rows_on_start(void *context)
{
    pawli_receipt_rows *receipts = context;

    receipts->changed = receipts->told = 0;
}

pawl_status pawli_receipt_rows_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    pawli_receipt_rows *receipts = context;
    size_t changed = (size_t)pawli_row_int(row, COLUMN_CHANGED), size;
    const char *which = pawli_row_bytes(row, COLUMN_WHICH, &size);

    (void)err;
    receipts->changed += changed;
    if (which && size == receipts->rows.row_count) {
        memcpy(receipts->which, which, size);
        receipts->told = size;
    } else if (receipts->told < receipts->rows.row_count) {
        receipts->which[receipts->told++] = changed > 0 ? '1' : '0';
    }
    return PAWL_OK;
}

/* The row of an item; `guess` is where it is if the items are sorted. */
static size_t receipt_row_of(const pawli_receipt_rows *receipts, const pawl_receipt *item,
                             size_t guess)
{
    pawli_value key[] = {pawli_int(item->id.value), pawli_int(item->fence)};
    const pawli_value *values = receipts->rows.values;
    size_t low = 0, high = receipts->rows.row_count;

    if (guess < high && receipt_by_item(&values[2 * guess], key) == 0)
        return guess;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (receipt_by_item(&values[2 * middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pawli_receipt_rows_result(const pawli_receipt_rows *receipts, const pawl_receipt *items,
                               size_t count, pawli_changed ret)
{
    size_t rows = receipts->rows.row_count;
    bool some = receipts->changed > 0 && receipts->changed < rows;

    if (ret.count)
        *ret.count = receipts->changed;
    for (size_t i = 0; ret.each && i < count; i++)
        ret.each[i] = some && receipts->told == rows
                          ? receipts->which[receipt_row_of(receipts, &items[i], i)] == '1'
                          : receipts->changed > 0;
}

pawl_status pawli_receipt_update(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                                 size_t param_count, const pawl_receipt *items, size_t count,
                                 pawli_changed ret, pawl_error *err)
{
    pawli_receipt_rows receipts;
    pawl_status st = pawli_receipt_rows_fill(&receipts, items, count, err);
    pawli_op op = {
        .sql = sql,
        .writes = true,
        .urgent = sql == PAWLI_SQL_RENEW, /* a lease may be about to expire */
        .params = params,
        .param_count = param_count,
        .rows = &receipts.rows,
        .columns = &pawli_changed_columns,
        .on_row = pawli_receipt_rows_on_row,
        .on_start = pawli_receipt_rows_on_start,
        .context = &receipts,
    };

    if (st == PAWL_OK && count > 0)
        st = pawli_store_write(store, &op, err);
    if (st == PAWL_OK)
        pawli_receipt_rows_result(&receipts, items, count, ret);
    pawli_receipt_rows_done(&receipts);
    return st;
}
