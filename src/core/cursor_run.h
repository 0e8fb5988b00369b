/* src/core/cursor_run.h - ops that start to look where a cursor says. */
#ifndef PAWLI_CURSOR_RUN_H
#define PAWLI_CURSOR_RUN_H

#include <stdbool.h>

#include <pawl/store.h>

#include "cursor.h"
#include "op.h"

/*
 * Run an op that writes, and that answers for the cursor after its own rows: rows whose column 0 is
 * NULL and whose columns from `column` on are item, number and time (sql/postgres/migrations, the
 * view "claimed"). The op gets the lists :cursor_lane and :cursor_since, and its callbacks see only
 * its own rows. When it started too far on and `found_nothing(op->context)`, it is run once more.
 * *ret_acked (may be NULL): how many items of earlier claims it finished.
 */
pawl_status pawli_cursor_run(pawl_store *store, pawli_cursor *cursor, const pawli_op *op,
                             int column, bool (*found_nothing)(const void *context),
                             size_t *ret_acked, pawl_error *err);

#endif
