/* src/core/cursor_run.h - running ops that scan from a cursor's positions. */
#ifndef PAWLI_CURSOR_RUN_H
#define PAWLI_CURSOR_RUN_H

#include <stdbool.h>

#include <pawl/store.h>

#include "cursor.h"
#include "op.h"

/* What else a claim returns. */
typedef struct pawli_cursor_notes {
    size_t acked;      /* how many items of earlier claims it finished */
    int64_t last_lane; /* where it ended; untouched if it claimed nothing */
    pawl_wall clock;   /* the database's, when it began; untouched if it was not returned */
} pawli_cursor_notes;

/*
 * Runs a writing op that reports for the cursor after its own rows: rows whose column 0 is NULL and
 * whose columns from `column` on are item, number and time (sql/postgres/views/row_types.sql, the
 * view "claimed"). The op gets :cursor_first, a lane, the list :cursor_since, positions in that
 * lane and those after it, and :notes, whether it must report for the cursor in any case; its
 * callbacks see only its own rows. If it started too far on and `found_nothing(op->context)`, it is
 * run once more.
 */
pawl_status pawli_cursor_run(pawl_store *store, pawli_cursor *cursor, const pawli_op *op,
                             int column, bool (*found_nothing)(const void *context),
                             pawli_cursor_notes *notes, pawl_error *err);

#endif
