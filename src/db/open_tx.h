/*
 * src/db/open_tx.h - the threads of this process that have a transaction open between calls.
 *
 * SQLite has one write lock per file: a plain write from such a thread would wait for itself until
 * the timeout. It is rejected at once instead.
 */
#ifndef PAWLI_OPEN_TX_H
#define PAWLI_OPEN_TX_H

#include <stdbool.h>

#include "driver.h"

/*
 * Records, until pawli_open_tx_forget(), that this thread has a transaction open on `conn`, a
 * connection to the file `path`. `database` distinguishes in-memory databases, which have no file.
 * NULL: out of memory.
 */
typedef struct pawli_open_tx pawli_open_tx;
pawli_open_tx *pawli_open_tx_remember(pawli_conn *conn, const void *database, const char *path);
void pawli_open_tx_forget(pawli_open_tx *open_tx); /* NULL is allowed */

/* Whether this thread has a recorded transaction open on that database. */
bool pawli_open_tx_blocks(const void *database, const char *path);

#endif
