/* include/pawl/tx.h - enqueueing and acknowledging messages in one transaction with the
 * application's rows.
 */
#ifndef PAWL_TX_H
#define PAWL_TX_H

#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/queue.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

struct sqlite3;
struct pg_conn;

typedef struct pawl_tx pawl_tx; /* opaque */

/**
 * Joins the transaction that is open on the application's own handle. pawl never commits or rolls
 * it back; a failing pawl call leaves it as it was before that call.
 *
 * Ownership: *ret_tx is the caller's (pawl_tx_free); untouched on failure. `store` and the handle
 *            must outlive it. It is valid for one transaction.
 * Threads:   the thread that uses the handle. Until the application's transaction ends, a plain
 *            call on the same SQLite file from that thread returns PAWL_E_MISUSE at once, because
 *            it would deadlock with itself.
 * Blocks:    no.
 * Durable:   when the application commits.
 * Errors:    PAWL_E_MISUSE (no transaction is open on the handle, or the handle belongs to another
 *            database file than the store), PAWL_E_UNSUPPORTED (other engine than the store's),
 *            PAWL_E_NOMEM, PAWL_E_INVALID (NULL).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_foreign_sqlite(pawl_store *store,
                                                            struct sqlite3 *handle,
                                                            pawl_tx **ret_tx, pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_foreign_postgres(pawl_store *store,
                                                              struct pg_conn *handle,
                                                              pawl_tx **ret_tx, pawl_error *err);

/*
 * Tells pawl that the application has committed, so that idle workers of this process poll at once
 * instead of at their next interval. Optional. Call it after COMMIT succeeded.
 */
PAWL_API void pawl_tx_committed(pawl_tx *tx);

/* ---- exactly-once effects: a message is acknowledged in the same commit as its effects ---- */

/* SQLite: how long such a transaction may stay open. A lease should be three times as long. */
#define PAWL_SQLITE_TX_MAX_MS 1000

/**
 * Begins a transaction of pawl's own for the end of a message's processing: the application writes
 * its rows through pawl_tx_sqlite() or pawl_tx_postgres(), sends further messages with
 * pawl_tx_enqueue(), and pawl_tx_commit_with_ack() adds the acknowledgement. All of it is
 * committed, once, or nothing. Do slow work before: in SQLite this transaction has the write lock.
 *
 * Ownership: *ret_tx is the caller's (pawl_tx_free, also after commit or rollback); untouched on
 *            failure. `store` must outlive it.
 * Threads:   begun, used and ended by one thread. Until it has ended, a plain call on the same
 *            SQLite file from that thread returns PAWL_E_MISUSE at once.
 * Blocks:    SQLite: until it gets the write lock, like any write; PostgreSQL: one round trip on a
 *            connection of its own (pool_size of them, in addition to those of all other calls).
 * Durable:   nothing yet.
 * Errors:    PAWL_E_INVALID, PAWL_E_MISUSE (this thread has a transaction open on the file),
 *            PAWL_E_BUSY, PAWL_E_INTERRUPTED, PAWL_E_UNAVAILABLE, PAWL_E_NOMEM.
 *
 * SQLite: after PAWL_SQLITE_TX_MAX_MS the transaction is rolled back, by a thread that waits for
 * the write lock or by the next call; then pawl calls return PAWL_E_TIMEOUT, statements of the
 * application fail or change nothing, and the work must be done again. (A thread that reads
 * sqlite3_errmsg() of a late transaction must lock sqlite3_db_mutex(), as SQLite requires for
 * handles that threads share.)
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_begin_for(pawl_store *store, pawl_owner owner,
                                                       pawl_receipt item, pawl_tx **ret_tx,
                                                       pawl_error *err);

/*
 * Returns the handle on which the transaction is open, whether foreign or begun by pawl; NULL if it
 * belongs to the other engine or the transaction has ended. If pawl began it: use the handle until
 * the end of the transaction, leave no statement unfinished and no setting changed (SET LOCAL is
 * allowed), and do not COMMIT or ROLLBACK; SQLite rejects such a COMMIT. Its pragmas may differ
 * from those of the application's own connections: foreign keys are on.
 */
PAWL_API struct sqlite3 *pawl_tx_sqlite(pawl_tx *tx);
PAWL_API struct pg_conn *pawl_tx_postgres(pawl_tx *tx);

/*
 * Sets the handler's output, stored with the message by pawl_tx_commit_with_ack(). Copied; a later
 * call replaces it. PAWL_E_TOO_LARGE beyond PAWL_OUTPUT_MAX, PAWL_E_NOMEM; the transaction
 * continues in either case. PAWL_E_MISUSE: it was not begun by pawl_tx_begin_for().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_output(pawl_tx *tx, const void *output,
                                                    size_t output_size, pawl_error *err);

/**
 * Acknowledges the message and commits. The transaction has then ended, whatever the status.
 *
 * Ownership: `tx` stays the caller's (pawl_tx_free).
 * Threads:   the one that began it.
 * Blocks:    one or two round trips, bounded by the store's timeout.
 * Durable:   everything on PAWL_OK, nothing on any other status except PAWL_E_IN_DOUBT.
 *            PAWL_E_IN_DOUBT: the response was lost. pawl_queue_release() of the item resolves it:
 *            it changes 1 if nothing was committed (the message is ready again), 0 if it was
 *            committed. Doing nothing is also correct: if nothing was committed, the message is
 *            ready again when its lease expires.
 * Errors:    PAWL_E_LOST (the lease expired and another worker owns the message, or it was
 *            cancelled), PAWL_E_TIMEOUT (SQLite: open for too long), PAWL_E_TX_RESTART (one of its
 *            statements had failed), PAWL_E_MISUSE (it has ended, or was not begun by pawl),
 *            PAWL_E_IN_DOUBT, PAWL_E_INTERRUPTED, PAWL_E_UNAVAILABLE, PAWL_E_SERIALIZATION.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_commit_with_ack(pawl_tx *tx, pawl_error *err);

/*
 * Rolls the transaction back. The message stays claimed. Does nothing if the transaction has ended;
 * NULL is allowed.
 */
PAWL_API void pawl_tx_rollback(pawl_tx *tx);

/*
 * Frees the transaction object. A foreign transaction continues without pawl; one that pawl began
 * and that has not ended is rolled back. NULL is allowed.
 */
PAWL_API void pawl_tx_free(pawl_tx *tx);

PAWL_END_DECLS

#endif
