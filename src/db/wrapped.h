/*
 * src/db/wrapped.h - which threads of this process hold an application's transaction open.
 *
 * SQLite has one write lock per file: a plain write from such a thread would wait for itself until
 * the timeout. It is refused at once instead.
 */
#ifndef PAWLI_WRAPPED_H
#define PAWLI_WRAPPED_H

#include <stdbool.h>

#include "driver.h"

/* Remember, until forgotten, that this thread wrapped `conn`, a connection to the file `path`. */
typedef struct pawli_wrapped pawli_wrapped;
pawli_wrapped *pawli_wrapped_remember(pawli_conn *conn, const char *path); /* NULL: no memory */
void pawli_wrapped_forget(pawli_wrapped *wrapped);                         /* NULL is fine */

/* Whether this thread has a wrapped transaction open on the file `path`. */
bool pawli_wrapped_blocks(const char *path);

#endif
