/*
 * src/db/owned_tx.h - a transaction of pawl's own that stays open between calls, while the
 * application uses its handle.
 *
 * On an engine with one writer it has the write lock, for at most PAWLI_OWNED_TX_MAX_US: then a
 * thread that waits for the lock takes it back. See docs/internals/effect-once.md.
 */
#ifndef PAWLI_OWNED_TX_H
#define PAWLI_OWNED_TX_H

#include <pawl/error.h>

#include "db.h"
#include "op.h"
#include "scope.h"

#ifndef PAWLI_OWNED_TX_MAX_US /* a test uses another value */
#define PAWLI_OWNED_TX_MAX_US INT64_C(1000000)
#endif

typedef struct pawli_owned_tx pawli_owned_tx;

/* Begins, once the caller has the write lock. Everything below: the thread that began. */
pawl_status pawli_db_begin_owned_tx(pawli_db *db, pawli_owned_tx **ret_tx, pawl_error *err);
/*
 * Runs an op inside the transaction; a failure leaves the transaction unchanged, unless the error
 * says otherwise.
 */
pawl_status pawli_owned_tx_run(pawli_owned_tx *tx, const pawli_op *op, pawl_error *err);
/* Both end it; after that, run and commit return PAWL_E_MISUSE. */
pawl_status pawli_owned_tx_commit(pawli_owned_tx *tx, pawl_error *err);
void pawli_owned_tx_rollback(pawli_owned_tx *tx);
/* The engine's handle; NULL if it has ended or `engine` is another. */
void *pawli_owned_tx_native(pawli_owned_tx *tx, const char *engine);
void pawli_owned_tx_free(pawli_owned_tx *tx); /* rolls back if open; NULL is allowed */

PAWLI_AUTO_DEFINE(pawli_owned_tx, pawli_owned_tx_free);

#endif
