/*
 * src/db/wrapped.h - which threads of this process hold a transaction open between calls.
 *
 * SQLite has one write lock per file: a plain write from such a thread would wait for itself until
 * the timeout. It is refused at once instead.
 */
#ifndef PAWLI_WRAPPED_H
#define PAWLI_WRAPPED_H

#include <stdbool.h>

#include "driver.h"

/*
 * Remember, until forgotten, that this thread has a transaction open on `conn`, a connection to the
 * file `path`. `database` tells databases in memory apart, which have no file. NULL: no memory.
 */
typedef struct pawli_wrapped pawli_wrapped;
pawli_wrapped *pawli_wrapped_remember(pawli_conn *conn, const void *database, const char *path);
void pawli_wrapped_forget(pawli_wrapped *wrapped); /* NULL is fine */

/* Whether this thread has a remembered transaction open on that database. */
bool pawli_wrapped_blocks(const void *database, const char *path);

#endif
