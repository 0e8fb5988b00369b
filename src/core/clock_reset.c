/* src/core/clock_reset.c - setting a store's clock back after the machine's was ahead. */
#include <pawl/store.h>

#include "fail.h"
#include "log.h"
#include "store_private.h"

static void clock_reset_on_start(void *context)
{
    *(pawl_clock_reset *)context = (pawl_clock_reset){0};
}

static pawl_status clock_reset_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_clock_reset *reset = context;

    (void)err;
    if (pawli_row_int(row, 0) != 0) {
        reset->done = true;
        return PAWL_OK;
    }
    reset->ahead_ms = pawli_row_int(row, 1) / 1000;
    reset->owned = pawli_row_int(row, 2);
    return PAWL_OK;
}

pawl_status pawl_store_reset_clock(pawl_store *store, bool force, bool dry_run,
                                   pawl_clock_reset *ret_reset, pawl_error *err)
{
    pawl_clock_reset reset = {0};
    pawli_param params[] = {{"force", pawli_bool(force)}, {"dry_run", pawli_bool(dry_run)}};
    pawli_op op = {
        .sql = PAWLI_SQL_CLOCK_RESET,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = clock_reset_on_row,
        .on_start = clock_reset_on_start,
        .context = &reset,
    };

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    pawl_status st = pawli_store_write(store, &op, err);
    if (st != PAWL_OK)
        return st;
    if (!reset.done && !dry_run && reset.ahead_ms > 1000)
        return pawli_fail(
            err, PAWL_E_HELD,
            "%lld messages or leases are held: stop all workers, or force it and have "
            "them end by the new clock",
            (long long)reset.owned);
    if (reset.done)
        pawli_log(&store->log, PAWL_LOG_WARNING, "store", "the clock was set back by %lld ms",
                  (long long)reset.ahead_ms);
    if (ret_reset)
        *ret_reset = reset;
    return PAWL_OK;
}
