/* src/core/retention.c - housekeeping: leases, time to live, what is old, the counts. */
#include <pawl/queue.h>

#include "change.h"
#include "cursor_run.h"
#include "fail.h"
#include "bounds.h"
#include "log.h"
#include "scope.h"
#include "store_private.h"

/* How much one call does: small enough to hold a write lock for milliseconds only. */
#define CLAIMS_PER_REAP 100
#define ROWS_PER_CALL 1000

static bool is_zero(const void *count)
{
    return *(const size_t *)count == 0;
}

pawl_status pawl_queue_reap(pawl_store *store, size_t *ret_changed, pawl_error *err)
{
    pawli_param params[] = {{"limit", pawli_int(CLAIMS_PER_REAP)}};
    size_t changed = 0;
    pawli_op op = {
        .sql = PAWLI_SQL_REAP,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = pawli_count_on_row,
        .on_start = pawli_count_on_start,
        .context = &changed,
    };

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    pawli_cursor_notes notes = {0};
    pawl_status st = pawli_cursor_run(store, &store->reap_cursor, &op, 1, is_zero, &notes, err);
    if (st != PAWL_OK)
        return st;
    if (changed > 0)
        pawli_log(&store->log, PAWL_LOG_INFO, "outbox", "reaped %zu expired leases", changed);
    if (ret_changed)
        *ret_changed = changed;
    return PAWL_OK;
}

pawl_status pawl_queue_expire(pawl_store *store, size_t *ret_changed, pawl_error *err)
{
    pawli_param params[] = {{"limit", pawli_int(ROWS_PER_CALL)}};
    size_t changed = 0;
    pawl_status st = pawli_change_found(store, PAWLI_SQL_EXPIRE, params, 1, &changed, err);

    if (st != PAWL_OK)
        return st;
    if (changed > 0)
        pawli_log(&store->log, PAWL_LOG_INFO, "outbox", "%zu messages expired", changed);
    if (ret_changed)
        *ret_changed = changed;
    return PAWL_OK;
}

pawl_status pawl_queue_retain(pawl_store *store, int64_t keep_ms, size_t *ret_changed,
                              pawl_error *err)
{
    if (keep_ms < 0 || keep_ms > PAWLI_KEEP_MOST)
        return pawli_fail(err, PAWL_E_INVALID, "keep_ms must be " PAWLI_KEEP_WORDS);
    pawli_param params[] = {
        {"keep", pawli_span_ms(keep_ms)},
        {"limit", pawli_int(ROWS_PER_CALL)},
    };
    return pawli_change_found(store, PAWLI_SQL_RETAIN, params, PAWLI_COUNT(params), ret_changed,
                              err);
}

pawl_status pawl_queue_fold(pawl_store *store, pawl_error *err)
{
    return pawli_change_found(store, PAWLI_SQL_FOLD, NULL, 0, NULL, err);
}
