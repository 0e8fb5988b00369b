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

#define PASSIVE_BYTES INT64_C(16777216)  /* 16 MB */
#define TRUNCATE_BYTES INT64_C(67108864) /* 64 MB */

/* Moves what can be moved without waiting for anybody. */
static int wal_move(pawli_sqlite *conn, const char *database, int mode)
{
    pawl_mono deadline = conn->deadline;
    int code;

    conn->deadline = (pawl_mono){0}; /* the busy handler answers at once: nobody is waited for */
    conn->undoing = true;            /* and the progress handler does not stop it half-way */
    code = sqlite3_wal_checkpoint_v2(conn->handle, database, mode, NULL, NULL);
    if ((code & 0xff) == SQLITE_IOERR) /* a sync that failed is never tried again on this handle */
        conn->base.broken = true;
    conn->undoing = false;
    conn->deadline = deadline;
    return code;
}

/* Called by SQLite after each commit, with the write lock free again. */
static int after_commit(void *context, sqlite3 *handle, const char *database, int pages)
{
    pawli_sqlite *conn = context;
    int64_t bytes = (int64_t)pages * conn->page_size;

    (void)handle;
    if (bytes >= PASSIVE_BYTES)
        (void)wal_move(conn, database,
                       bytes < TRUNCATE_BYTES ? SQLITE_CHECKPOINT_PASSIVE
                                              : SQLITE_CHECKPOINT_TRUNCATE);
    return SQLITE_OK;
}

/* Somebody who reads or writes just now is no failure: there is a next time. */
pawl_status pawli_sqlite_checkpoint(pawli_conn *base, pawl_error *err)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;
    int code = wal_move(conn, NULL, SQLITE_CHECKPOINT_PASSIVE);

    if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
        return PAWL_OK;
    return code == SQLITE_OK ? PAWL_OK : pawli_sqlite_fail(conn, code, "checkpoint", err);
}

void pawli_sqlite_wal_watch(pawli_sqlite *conn, int page_size)
{
    conn->page_size = page_size;
    sqlite3_wal_hook(conn->handle, after_commit, conn);
}
