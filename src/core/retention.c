/* src/core/retention.c - maintenance: reap expired leases, expire messages, prune old ones,
 * compact statistics. */
#include <pawl/queue.h>

#include "batch_update.h"
#include "fail.h"
#include "bounds.h"
#include "log.h"
#include "scope.h"
#include "store_private.h"

/* How much one call does: little enough to keep the write lock for only milliseconds. */
#define CLAIMS_PER_REAP 100
#define ROWS_PER_CALL 1000
#define ROWS_PER_FOLD 10000

/* Runs a statement that returns how many rows it changed and how many it read. */
static pawl_status run_scanned(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                               size_t param_count, size_t limit, size_t *ret_changed,
                               pawl_scan *ret_scan, pawl_error *err)
{
    pawli_scanned scanned = {0, 0};
    pawli_op op = {
        .sql = sql,
        .writes = true,
        .params = params,
        .param_count = param_count,
        .on_row = pawli_scanned_on_row,
        .on_start = pawli_scanned_on_start,
        .context = &scanned,
    };

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    pawl_status st = pawli_store_write(store, &op, err);
    if (st != PAWL_OK)
        return st;
    if (ret_changed)
        *ret_changed = scanned.changed;
    if (ret_scan)
        *ret_scan = (pawl_scan){scanned.rows, scanned.rows >= limit};
    return PAWL_OK;
}

/* What was read is committed; a second run would not count it. */
static bool read_nothing(const void *context)
{
    return ((const pawli_scanned *)context)->rows == 0;
}

pawl_status pawl_queue_reap(pawl_store *store, size_t *ret_changed, pawl_scan *ret_scan,
                            pawl_error *err)
{
    pawli_param params[] = {{"limit", pawli_int(CLAIMS_PER_REAP)}};
    pawli_scanned scanned = {0, 0};
    pawli_op op = {
        .sql = PAWLI_SQL_REAP,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = pawli_scanned_on_row,
        .on_start = pawli_scanned_on_start,
        .context = &scanned,
    };

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    pawl_status st = pawli_store_scan(store, &op, read_nothing, err);
    if (st != PAWL_OK)
        return st;
    if (scanned.changed > 0)
        pawli_log(&store->log, PAWL_LOG_INFO, "outbox", "reaped {count} expired leases",
                  pawli_logged_number("count", (int64_t)scanned.changed));
    if (ret_changed)
        *ret_changed = scanned.changed;
    if (ret_scan)
        *ret_scan = (pawl_scan){scanned.rows, scanned.rows >= CLAIMS_PER_REAP};
    return PAWL_OK;
}

pawl_status pawl_queue_expire(pawl_store *store, size_t *ret_changed, pawl_scan *ret_scan,
                              pawl_error *err)
{
    pawli_param params[] = {{"limit", pawli_int(ROWS_PER_CALL)}};
    size_t changed = 0;
    pawl_status st = pawli_batch_update_scanned(store, PAWLI_SQL_EXPIRE, params, 1, ROWS_PER_CALL,
                                                &changed, ret_scan, err);

    if (st != PAWL_OK)
        return st;
    if (changed > 0)
        pawli_log(&store->log, PAWL_LOG_INFO, "outbox", "expired {count} messages",
                  pawli_logged_number("count", (int64_t)changed));
    if (ret_changed)
        *ret_changed = changed;
    return PAWL_OK;
}

pawl_status pawl_queue_prune(pawl_store *store, int64_t keep_ms, size_t *ret_changed,
                             pawl_scan *ret_scan, pawl_error *err)
{
    if (keep_ms < 0 || keep_ms > PAWLI_KEEP_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "keep_ms must be " PAWLI_KEEP_RANGE);
    pawli_param params[] = {
        {"keep", pawli_span_ms(keep_ms)},
        {"limit", pawli_int(ROWS_PER_CALL)},
    };
    return run_scanned(store, PAWLI_SQL_PRUNE, params, PAWLI_COUNT(params), ROWS_PER_CALL,
                       ret_changed, ret_scan, err);
}

/* What a call read, and the last lane of it, if the engine reports it. */
typedef struct compacted {
    pawli_scanned scanned;
    int64_t last_lane;
} compacted;

static void compact_stats_on_start(void *context)
{
    *(compacted *)context = (compacted){{0, 0}, 0};
}

static pawl_status compact_stats_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    compacted *c = context;

    c->last_lane = pawli_row_int(row, 2);
    return pawli_scanned_on_row(&c->scanned, row, err);
}

pawl_status pawl_queue_compact_stats(pawl_store *store, size_t *ret_changed, pawl_scan *ret_scan,
                                     pawl_error *err)
{
    compacted c = {{0, 0}, 0};
    pawli_op op = {
        .sql = PAWLI_SQL_COMPACT_STATS,
        .writes = true,
        .on_row = compact_stats_on_row,
        .on_start = compact_stats_on_start,
        .context = &c,
    };

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    pawli_param params[] = {
        {"limit", pawli_int(ROWS_PER_FOLD)},
        {"after_id", pawli_int(atomic_load(&store->compacted_lane))},
    };
    op.params = params;
    op.param_count = PAWLI_COUNT(params);
    pawl_status st = pawli_store_write(store, &op, err);
    if (st != PAWL_OK)
        return st;
    bool more = c.scanned.rows >= ROWS_PER_FOLD;
    atomic_store(&store->compacted_lane, more ? c.last_lane : 0);
    if (ret_changed)
        *ret_changed = c.scanned.changed;
    if (ret_scan)
        *ret_scan = (pawl_scan){c.scanned.rows, more};
    return PAWL_OK;
}
