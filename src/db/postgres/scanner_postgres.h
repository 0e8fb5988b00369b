/*
 * src/db/postgres/scanner_postgres.h - a store's scans of the queue, each from where the store
 * knows that no earlier row can be ready. docs/internals/claim-cursor.md.
 */
#ifndef PAWLI_SCANNER_POSTGRES_H
#define PAWLI_SCANNER_POSTGRES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cursor_postgres.h"
#include "driver.h"

struct pawli_scanner {
    pawli_db *db;
    pawli_cursor claim;
    pawli_cursor claim_remote; /* claims for destinations; local claims do not need its lanes */
    pawli_cursor reap;
    atomic_llong claimed_lane; /* the lane that was claimed from last, for round-robin */
};

pawl_status pawli_postgres_scanner_new(pawli_db *db, pawli_scanner **ret_scanner, pawl_error *err);
void pawli_postgres_scanner_free(pawli_scanner *scanner);

/*
 * Runs claim, claim_remote or reap, or ack and then one of them. The scan gets :after_lane, the
 * lane claimed last; :cursor_first, a lane, and the list :cursor_since, positions in that lane and
 * those after it; and :notes, whether it must note positions for the cursor in any case. The
 * columns "lane" and "clock" of its rows are read. If the scan started too far on and
 * `found_nothing(context of its op)`, it is run once more, without ack.
 */
pawl_status pawli_postgres_scan(pawli_scanner *scanner, const pawli_op *ops,
                                bool (*found_nothing)(const void *context), pawl_error *err);

#endif
