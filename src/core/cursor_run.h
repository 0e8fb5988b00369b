/* src/core/cursor_run.h - running ops that scan from a cursor's positions. */
#ifndef PAWLI_CURSOR_RUN_H
#define PAWLI_CURSOR_RUN_H

#include <stdbool.h>

#include <pawl/store.h>

#include "cursor.h"
#include "op.h"

/* What a scan returned beside its own rows. */
typedef struct pawli_cursor_notes {
    int64_t last_lane; /* where it ended; untouched if it claimed nothing */
    pawl_wall clock;   /* the database's, when it began; untouched if it was not returned */
} pawli_cursor_notes;

/*
 * Runs a writing op that scans. It gets :cursor_first, a lane, the list :cursor_since, positions in
 * that lane and those after it, and :notes, whether it must note positions for the cursor in any
 * case; the columns "lane" and "clock" of its rows are read. `ack`, if it is not NULL, runs before
 * it in the same transaction: the statement ack. If the scan started too far on and
 * `found_nothing(op->context)`, it is run once more, without `ack`.
 */
pawl_status pawli_cursor_run(pawl_store *store, pawli_cursor *cursor, const pawli_op *ack,
                             const pawli_op *op, bool (*found_nothing)(const void *context),
                             pawli_cursor_notes *notes, pawl_error *err);

#endif
