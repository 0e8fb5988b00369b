/* include/pawl/tx.h - sending, and finishing a message, in one transaction with the application's
 * rows. */
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

/* ---- effect once: a message is done in the same commit as what it brought about ---- */

/* SQLite: how long such a transaction may stay open. A lease should be three times as long. */
#define PAWL_TURN_MAX_MS 1000

/**
 * Open a transaction of pawl's own for the end of a message's handling: the application writes its
 * rows through pawl_tx_sqlite() or pawl_tx_postgres(), sends further messages with
 * pawl_tx_enqueue(), and pawl_message_commit() adds the acknowledgement. All of it happens, once,
 * or nothing. Do the slow work before: in SQLite this is a turn of the one writer.
 *
 * Ownership: *ret_tx is the caller's (pawl_tx_free, also after commit or rollback); untouched on
 *            failure. `store` must outlive it.
 * Threads:   begun, used and ended by one thread. Until it has ended, a plain call on the same
 *            SQLite file from that thread answers PAWL_E_MISUSE at once.
 * Blocks:    SQLite: until its turn to write, like any write; PostgreSQL: one round trip on a
 *            connection of its own (pool_size of them, beside those of all other calls).
 * Durable:   nothing yet.
 * Errors:    PAWL_E_INVALID, PAWL_E_MISUSE (this thread has a transaction open on the file),
 *            PAWL_E_BUSY, PAWL_E_INTERRUPTED, PAWL_E_UNAVAILABLE, PAWL_E_NOMEM.
 *
 * SQLite: after PAWL_TURN_MAX_MS the transaction is rolled back, by a thread that waits to write or
 * by the next call; then pawl calls answer PAWL_E_TIMEOUT, statements of the application fail or
 * change nothing, and the work has to be done again. (A thread that reads sqlite3_errmsg() of a
 * late transaction holds sqlite3_db_mutex(), as SQLite asks of handles that threads share.)
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_message_begin(pawl_store *store, pawl_owner owner,
                                                        pawl_held item, pawl_tx **ret_tx,
                                                        pawl_error *err);

/*
 * The handle on which the transaction is open, wrapped or begun by pawl; NULL when it is of the
 * other engine or has ended. Of one that pawl began: use it until the end of the transaction, leave
 * no statement unfinished and no setting changed (SET LOCAL is fine), and neither COMMIT nor
 * ROLLBACK it; SQLite refuses such a COMMIT. It may have other pragmas than the application's own
 * connections: foreign keys are on.
 */
PAWL_API struct sqlite3 *pawl_tx_sqlite(pawl_tx *tx);
PAWL_API struct pg_conn *pawl_tx_postgres(pawl_tx *tx);

/*
 * What the handler leaves for others to read, stored with the message's end by
 * pawl_message_commit(): copied; the last call counts. PAWL_E_TOO_LARGE beyond PAWL_OUTPUT_MAX,
 * PAWL_E_NOMEM; the transaction goes on in either case. PAWL_E_MISUSE: it was not begun by
 * pawl_message_begin().
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_tx_output(pawl_tx *tx, const void *output,
                                                    size_t output_size, pawl_error *err);

/**
 * Acknowledge the message and commit. The transaction has ended then, whatever the answer.
 *
 * Ownership: `tx` stays the caller's (pawl_tx_free).
 * Threads:   the one that began it.
 * Blocks:    one or two round trips, bounded by the store's timeout.
 * Durable:   on PAWL_OK all of it. On any other answer but PAWL_E_IN_DOUBT nothing of it is there.
 *            PAWL_E_IN_DOUBT: the answer was lost; pawl_queue_release() of the item tells: it
 *            changes 1 if nothing was committed (the message is ready again), 0 if it was done.
 *            Doing nothing is right, too: what was not committed comes again when its lease ends.
 * Errors:    PAWL_E_LOST (the lease ran out and the message is somebody else's, or it was
 *            cancelled), PAWL_E_TIMEOUT (SQLite: open for too long), PAWL_E_TX_RESTART (a statement
 *            of it had failed), PAWL_E_MISUSE (it has ended, or was not begun by pawl),
 *            PAWL_E_IN_DOUBT, PAWL_E_INTERRUPTED, PAWL_E_UNAVAILABLE, PAWL_E_SERIALIZATION.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_message_commit(pawl_tx *tx, pawl_error *err);

/* Leave nothing of it. The message stays held. Nothing happens if it has ended; NULL is fine. */
PAWL_API void pawl_message_rollback(pawl_tx *tx);

/*
 * Forget the transaction. A wrapped one goes on without pawl; one that pawl began and that has not
 * ended is rolled back. NULL is fine.
 */
PAWL_API void pawl_tx_free(pawl_tx *tx);

PAWL_END_DECLS

#endif
