/*
 * src/db/hold.h - a transaction of pawl's own that stays open between calls, while the application
 * uses its handle.
 *
 * On an engine with one writer it has the write lock, for at most PAWLI_HOLD_MAX_US: then a thread
 * that waits for the lock takes it back. See docs/internals/effect-once.md.
 */
#ifndef PAWLI_HOLD_H
#define PAWLI_HOLD_H

#include <pawl/error.h>

#include "db.h"
#include "op.h"
#include "scope.h"

#ifndef PAWLI_HOLD_MAX_US /* a test uses another value */
#define PAWLI_HOLD_MAX_US INT64_C(1000000)
#endif

typedef struct pawli_hold pawli_hold;

/* Begins, once the caller has the write lock. Everything below: the thread that began. */
pawl_status pawli_db_hold(pawli_db *db, pawli_hold **ret_hold, pawl_error *err);
/*
 * Runs an op inside the transaction; a failure leaves the transaction unchanged, unless the error
 * says otherwise.
 */
pawl_status pawli_hold_run(pawli_hold *hold, const pawli_op *op, pawl_error *err);
/* Both end it; after that, run and commit return PAWL_E_MISUSE. */
pawl_status pawli_hold_commit(pawli_hold *hold, pawl_error *err);
void pawli_hold_rollback(pawli_hold *hold);
/* The engine's handle; NULL if it has ended or `engine` is another. */
void *pawli_hold_native(pawli_hold *hold, const char *engine);
void pawli_hold_free(pawli_hold *hold); /* rolls back if open; NULL is allowed */

PAWLI_AUTO_DEFINE(pawli_hold, pawli_hold_free);

#endif
