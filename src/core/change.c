/* src/core/change.c - ops that change listed items and answer how many. */
#include "change.h"

#include <stdlib.h>

#include "fail.h"
#include "scope.h"
#include "store_private.h"

/* Most calls answer a few items; they need no allocation. */
#define FEW 64

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

static pawl_status run(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
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

static pawl_status check_list(const pawl_store *store, const void *items, size_t count,
                              pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    if (!items)
        return pawli_fail(err, PAWL_E_INVALID, "the list of items must not be NULL");
    if (count > PAWL_BATCH_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the list has %zu items: at most %d at a time",
                          count, PAWL_BATCH_MAX);
    return PAWL_OK;
}

pawl_status pawli_change_held(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                              size_t param_count, const pawl_held *items, size_t count,
                              size_t *ret_changed, pawl_error *err)
{
    static const char *const names[] = {"id", "fence"};
    static const pawli_type types[] = {PAWLI_INT, PAWLI_INT};
    pawli_value few[FEW * 2];
    PAWLI_AUTO_FREE pawli_value *many = NULL;
    pawli_value *values = few;
    pawl_status st = check_list(store, items, count, err);

    if (st != PAWL_OK)
        return st;
    if (count == 0) {
        if (ret_changed)
            *ret_changed = 0;
        return PAWL_OK;
    }
    if (count > FEW) {
        many = malloc(count * 2 * sizeof *many);
        if (!many)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu items", count);
        values = many;
    }
    for (size_t i = 0; i < count; i++) {
        values[2 * i] = pawli_int(items[i].id.value);
        values[2 * i + 1] = pawli_int(items[i].fence);
    }
    pawli_rows rows = {count, 2, names, types, values};
    return run(store, sql, params, param_count, &rows, ret_changed, err);
}

pawl_status pawli_change_ids(pawl_store *store, enum pawli_sql sql, const pawl_work_id *ids,
                             size_t count, size_t *ret_changed, pawl_error *err)
{
    static const char *const names[] = {"id"};
    static const pawli_type types[] = {PAWLI_INT};
    PAWLI_AUTO_FREE pawli_value *values = NULL;
    pawl_status st = check_list(store, ids, count, err);

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
    return run(store, sql, NULL, 0, &rows, ret_changed, err);
}

pawl_status pawli_change_found(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                               size_t param_count, size_t *ret_changed, pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    return run(store, sql, params, param_count, NULL, ret_changed, err);
}
