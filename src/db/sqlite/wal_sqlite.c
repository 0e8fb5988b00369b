/*
 * src/db/sqlite/wal_sqlite.c - keeping the write-ahead log small without making callers wait.
 *
 * SQLite's own rule (a checkpoint every 1,000 pages) moves pages into the database several times
 * as often as is useful under load. Ours: beyond 16 MB whatever can be moved without waiting is
 * moved after a commit; beyond 64 MB, which means that a reader has been in the way for long, one
 * try is made to empty the file as well. A checkpoint that does not succeed is not an error: the
 * commit before it stands, and the next commit tries again.
 */
#include "conn_sqlite.h"

#define PASSIVE_BYTES (16 * 1024 * 1024)
#define TRUNCATE_BYTES (64 * 1024 * 1024)

/* Called by SQLite after each commit, with the write lock free again. */
static int after_commit(void *context, sqlite3 *handle, const char *database, int pages)
{
    pawli_sqlite *conn = context;
    int64_t bytes = (int64_t)pages * conn->page_size;
    pawl_mono deadline = conn->deadline;
    int code;

    if (bytes < PASSIVE_BYTES)
        return SQLITE_OK;
    conn->deadline = (pawl_mono){0}; /* the busy handler answers at once: nobody is waited for */
    conn->undoing = true;            /* and the progress handler does not stop it half-way */
    code = sqlite3_wal_checkpoint_v2(handle, database,
                                     bytes < TRUNCATE_BYTES ? SQLITE_CHECKPOINT_PASSIVE
                                                            : SQLITE_CHECKPOINT_TRUNCATE,
                                     NULL, NULL);
    if ((code & 0xff) == SQLITE_IOERR) /* a sync that failed is never tried again on this handle */
        conn->base.broken = true;
    conn->undoing = false;
    conn->deadline = deadline;
    return SQLITE_OK;
}

void pawli_sqlite_wal_watch(pawli_sqlite *conn, int page_size)
{
    conn->page_size = page_size;
    sqlite3_wal_hook(conn->handle, after_commit, conn);
}
