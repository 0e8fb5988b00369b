/* include/pawl/tx.h - sending inside a transaction that the application opened. */
#ifndef PAWL_TX_H
#define PAWL_TX_H

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

struct sqlite3;
struct pg_conn;

typedef struct pawl_tx pawl_tx; /* opaque */

/**
 * Join the transaction that is open on the application's own handle. pawl never commits it and
 * never rolls it back; a failing pawl call leaves it as it was before that call.
 *
 * Ownership: *ret_tx is the caller's (pawl_tx_free); untouched on failure. `store` and the handle
 *            must outlive it. It is good for one transaction.
 * Threads:   the thread that uses the handle. Until the application's transaction ends, a plain
 *            call on the same SQLite file from that thread answers PAWL_E_MISUSE at once: it would
 *            wait for itself.
 * Blocks:    no.
 * Durable:   when the application commits.
 * Errors:    PAWL_E_MISUSE (no transaction is open on the handle, or the handle is of another
 *            database file than the store), PAWL_E_UNSUPPORTED (other engine than the store's),
 *            PAWL_E_NOMEM, PAWL_E_INVALID (NULL).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_wrap_sqlite(pawl_store *store, struct sqlite3 *handle,
                                                         pawl_tx **ret_tx, pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_wrap_postgres(pawl_store *store,
                                                           struct pg_conn *handle, pawl_tx **ret_tx,
                                                           pawl_error *err);

/*
 * Tell pawl that the application has committed, so that waiting workers of this process look at
 * once instead of at their next poll. Optional. Call it after COMMIT succeeded.
 */
PAWL_API void pawl_tx_committed(pawl_tx *tx);

/* Forget the transaction; it neither commits nor rolls back. NULL is fine. */
PAWL_API void pawl_tx_free(pawl_tx *tx);

PAWL_END_DECLS

#endif
