/* src/core/batch_update.c - ops that update a list of messages, and the outputs stored with
 * them. */
#include "batch_update.h"

#include <pawl_private/delivery_store.h>

#include <stdlib.h>
#include <string.h>

#include "claim_check.h"
#include "fail.h"
#include "output.h"
#include "scope.h"
#include "store_private.h"

/* ---- ops that update a list and return the number of rows changed ---- */

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
        return pawli_fail(err, PAWL_E_INVALID, "the list has %zu items; the maximum is %d", count,
                          PAWL_BATCH_MAX);
    return PAWL_OK;
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

/* ---- handler outputs, stored together with the message's result ---- */

static pawl_status output_check(const void *data, size_t size, pawl_error *err)
{
    if (!data && size > 0)
        return pawli_fail(err, PAWL_E_INVALID, "the output must not be NULL");
    if (size > PAWL_OUTPUT_MAX)
        return pawli_fail(err, PAWL_E_TOO_LARGE,
                          "the output is %zu bytes; the maximum is %zu: shorten it, or store it "
                          "elsewhere and pass a reference",
                          size, PAWL_OUTPUT_MAX);
    return PAWL_OK;
}

pawl_status pawli_output_copy(const void *data, size_t size, pawli_output *ret_output,
                              pawl_error *err)
{
    void *copy = NULL;
    pawl_status st = output_check(data, size, err);

    if (st != PAWL_OK)
        return st;
    if (data) {
        copy = malloc(size + 1); /* an empty output is not the same as none */
        if (!copy)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the output");
        memcpy(copy, data, size);
    }
    *ret_output = (pawli_output){copy, size};
    return PAWL_OK;
}

void pawli_output_done(pawli_output *output)
{
    free(output->data);
    *output = (pawli_output){NULL, 0};
}

pawli_rows pawli_output_rows(pawl_receipt item, const void *data, size_t size,
                             pawli_value values[PAWLI_OUTPUT_COLUMNS])
{
    static const char *const names[] = {"id", "fence", "output"};
    static const pawli_type types[] = {PAWLI_INT, PAWLI_INT, PAWLI_BYTES};

    values[0] = pawli_int(item.id.value);
    values[1] = pawli_int(item.fence);
    values[2] = data ? pawli_bytes(data, size) : pawli_null(PAWLI_BYTES);
    return (pawli_rows){1, PAWLI_OUTPUT_COLUMNS, names, types, values};
}

pawl_status pawl_queue_ack_output(pawl_store *store, pawl_owner owner, pawl_receipt item,
                                  const void *output, size_t output_size, pawl_error *err)
{
    pawli_param params[] = {{"owner", pawli_uuid(owner.bytes)}};
    pawli_value values[PAWLI_OUTPUT_COLUMNS];
    pawli_rows rows = pawli_output_rows(item, output, output_size, values);
    size_t changed = 0;
    pawli_op op = {
        .sql = PAWLI_SQL_ACK_OUTPUT,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .rows = &rows,
        .on_row = pawli_count_on_row,
        .on_start = pawli_count_on_start,
        .context = &changed,
    };
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st == PAWL_OK)
        st = output_check(output, output_size, err);
    if (st == PAWL_OK)
        st = pawli_store_write(store, &op, err);
    if (st == PAWL_OK && changed != 1)
        st = pawli_fail(err, PAWL_E_LOST,
                        "message %lld is no longer leased under this fence: its lease expired or "
                        "it has already ended",
                        (long long)item.id.value);
    return st;
}

static int output_by_item(const void *a, const void *b)
{
    const pawli_value *row_a = a, *row_b = b;

    for (size_t i = 0; i < 2; i++)
        if (row_a[i].as.number != row_b[i].as.number)
            return row_a[i].as.number < row_b[i].as.number ? -1 : 1;
    return 0;
}

/* Sorts by id and drops duplicates. Returns the number of items left. */
static size_t output_lay_out(const pawl_receipt_output *items, size_t count, pawli_value *values)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        (void)pawli_output_rows(items[i].item, items[i].output, items[i].output_size,
                                &values[i * PAWLI_OUTPUT_COLUMNS]);
    qsort(values, count, PAWLI_OUTPUT_COLUMNS * sizeof *values, output_by_item);
    for (size_t i = 0; i < count; i++) {
        pawli_value *row = &values[i * PAWLI_OUTPUT_COLUMNS];
        if (kept > 0 && output_by_item(&values[(kept - 1) * PAWLI_OUTPUT_COLUMNS], row) == 0)
            continue;
        memmove(&values[kept++ * PAWLI_OUTPUT_COLUMNS], row, PAWLI_OUTPUT_COLUMNS * sizeof *row);
    }
    return kept;
}

static pawl_status check_all(const pawl_receipt_output *items, size_t count, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (size_t i = 0; st == PAWL_OK && i < count; i++)
        st = output_check(items[i].output, items[i].output_size, err);
    return st;
}

static pawl_status write_all(pawl_store *store, pawl_owner owner, const pawl_receipt_output *items,
                             size_t count, size_t *ret_changed, pawl_error *err)
{
    pawli_param params[] = {{"owner", pawli_uuid(owner.bytes)}};
    PAWLI_AUTO_FREE pawli_value *values = calloc(count + 1, PAWLI_OUTPUT_COLUMNS * sizeof *values);

    if (!values)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu outputs", count);
    pawli_rows rows = pawli_output_rows(items[0].item, NULL, 0, values);
    rows.row_count = output_lay_out(items, count, values);
    pawli_op op = {
        .sql = PAWLI_SQL_ACK_OUTPUT,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .rows = &rows,
        .on_row = pawli_count_on_row,
        .on_start = pawli_count_on_start,
        .context = ret_changed,
    };
    return pawli_store_write(store, &op, err);
}

pawl_status pawl_queue_ack_outputs(pawl_store *store, pawl_owner owner,
                                   const pawl_receipt_output *items, size_t count,
                                   size_t *ret_changed, pawl_error *err)
{
    size_t changed = 0;
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st != PAWL_OK)
        return st;
    if (!items || count > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "items must not be NULL, and there may be at most %d", PAWL_BATCH_MAX);
    st = check_all(items, count, err);
    if (st == PAWL_OK && count > 0)
        st = write_all(store, owner, items, count, &changed, err);
    if (st == PAWL_OK && ret_changed)
        *ret_changed = changed;
    return st;
}
