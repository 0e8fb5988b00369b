/*
 * src/db/hold.h - a transaction of pawl's own that stays open between calls, while the application
 * works with its handle.
 *
 * Where there is one writer it is a turn of that writer, for PAWLI_HOLD_MAX_US at most: then
 * whoever waits for the turn takes it back. docs/internals/effect-once.md tells the whole story.
 */
#ifndef PAWLI_HOLD_H
#define PAWLI_HOLD_H

#include <pawl/error.h>

#include "db.h"
#include "op.h"
#include "scope.h"

#ifndef PAWLI_HOLD_MAX_US /* a test has another */
#define PAWLI_HOLD_MAX_US INT64_C(1000000)
#endif

typedef struct pawli_hold pawli_hold;

/* Begin, when it is this caller's turn to write. Everything below: the thread that began. */
pawl_status pawli_db_hold(pawli_db *db, pawli_hold **ret_hold, pawl_error *err);
/* Inside the transaction, which a failure leaves as it was, unless the error says otherwise. */
pawl_status pawli_hold_run(pawli_hold *hold, const pawli_op *op, pawl_error *err);
/* Both end it; after that, run and commit answer PAWL_E_MISUSE. */
pawl_status pawli_hold_commit(pawli_hold *hold, pawl_error *err);
void pawli_hold_rollback(pawli_hold *hold);
/* The engine's handle; NULL if it has ended or `engine` is another. */
void *pawli_hold_native(pawli_hold *hold, const char *engine);
void pawli_hold_free(pawli_hold *hold); /* rolls back what is open; NULL is fine */

PAWLI_AUTO_DEFINE(pawli_hold, pawli_hold_free);

#endif
