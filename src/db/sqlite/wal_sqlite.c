/* src/db/sqlite/wal_sqlite.c - the write-ahead log: its size, and when it is synced. */
#include "conn_sqlite.h"

/* ---- limiting the write-ahead log's size without blocking callers ---- */

/*
 * SQLite's default (a checkpoint every 1,000 pages) moves pages into the database several times
 * as often as is useful under load. Here, beyond 16 MB a passive checkpoint runs after a commit;
 * beyond 64 MB, which means that a reader has blocked checkpoints for long, one attempt is made
 * to also truncate the file. A checkpoint that does not succeed is not an error: the commit
 * before it stands, and the next commit tries again. While several processes write all the time,
 * no attempt to truncate may succeed; but the log soon begins again at the start of its file, and
 * journal_size_limit makes SQLite shorten the file then.
 */
#define PASSIVE_BYTES INT64_C(16777216) /* 16 MB */
#define TRUNCATE_BYTES 67108864         /* 64 MB */
#define TEXT_OF(number) TEXT_OF_EXPANDED(number)
#define TEXT_OF_EXPANDED(number) #number

/* Moves what can be moved without waiting. */
static int wal_move(pawli_sqlite *conn, const char *database, int mode)
{
    pawl_mono deadline = conn->deadline;
    int code;

    conn->deadline = (pawl_mono){0}; /* the busy handler gives up at once */
    conn->undoing = true;            /* the progress handler does not stop it half-way */
    code = sqlite3_wal_checkpoint_v2(conn->handle, database, mode, NULL, NULL);
    if ((code & 0xff) == SQLITE_IOERR) /* a failed sync is never retried on this handle */
        conn->base.broken = true;
    conn->undoing = false;
    conn->deadline = deadline;
    return code;
}

/* SQLite calls this after each commit, when the write lock is free again. */
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

/* A concurrent reader or writer is no failure: the checkpoint is tried again later. */
pawl_status pawli_sqlite_checkpoint(pawli_conn *base, pawl_error *err)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;
    int code = wal_move(conn, NULL, SQLITE_CHECKPOINT_PASSIVE);

    if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
        return PAWL_OK;
    return code == SQLITE_OK ? PAWL_OK : pawli_sqlite_fail(conn, code, "checkpoint", err);
}

int pawli_sqlite_wal_watch(pawli_sqlite *conn, int page_size)
{
    conn->page_size = page_size;
    sqlite3_wal_hook(conn->handle, after_commit, conn);
    return sqlite3_exec(conn->handle, "PRAGMA journal_size_limit = " TEXT_OF(TRUNCATE_BYTES), NULL,
                        NULL, NULL);
}

/* ---- fencing tokens are never issued twice ---- */

/*
 * With synchronous=NORMAL a power loss undoes the last commits, and with them the record of
 * issued tokens. Therefore tokens are reserved in advance: pawl_meta.fence_mark is the highest
 * token that may be issued, and is durable before any reserved token is used. The first draw on a
 * connection starts behind the mark, because the connection does not know which tokens were
 * issued before a power loss. The SQL (sql/sqlite/claim.sql) calls two functions:
 *
 * pawli_first()      1 until this connection has moved the mark
 * pawli_must_last()  1; the current transaction moves the mark: it must be durable
 */
void pawli_sqlite_sync_before(pawli_sqlite *conn)
{
    conn->moves_mark = false;
    conn->must_last = false;
}

int pawli_sqlite_sync_after(pawli_sqlite *conn)
{
    bool synced = conn->settings->durability == PAWL_DURABILITY_FULL; /* by the COMMIT */
    sqlite3_file *wal = NULL;
    int code = SQLITE_OK;

    if (conn->must_last && !synced && !pawli_sqlite_in_memory(conn->settings)) {
        code = sqlite3_file_control(conn->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
        if (code == SQLITE_OK && wal && wal->pMethods)
            code = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
    }
    if (code == SQLITE_OK && conn->moves_mark)
        conn->moved_mark = true;
    conn->moves_mark = false;
    conn->must_last = false;
    return code;
}

/* Any connection may use an application's handle next: there every draw counts as a first one. */
static void sync_first(sqlite3_context *context, int count, sqlite3_value **values)
{
    const pawli_sqlite *conn = sqlite3_user_data(context);

    (void)count;
    (void)values;
    sqlite3_result_int(context, !conn || !conn->moved_mark);
}

static void must_last(sqlite3_context *context, int count, sqlite3_value **values)
{
    pawli_sqlite *conn = sqlite3_user_data(context);

    (void)count;
    (void)values;
    if (conn) {
        conn->moves_mark = true;
        conn->must_last = true;
    }
    sqlite3_result_int(context, 1);
}

static bool sync_is_registered(sqlite3 *handle)
{
    sqlite3_stmt *probe = NULL;
    int code = sqlite3_prepare_v2(handle, "SELECT pawli_first()", -1, &probe, NULL);

    sqlite3_finalize(probe);
    return code == SQLITE_OK;
}

int pawli_sqlite_sync_register(pawli_sqlite *conn)
{
    pawli_sqlite *context = conn->base.foreign ? NULL : conn;
    int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;

    /* Another foreign transaction may be using them on the same handle now. */
    if (conn->base.foreign && sync_is_registered(conn->handle))
        return SQLITE_OK;
    int code = sqlite3_create_function_v2(conn->handle, "pawli_first", 0, flags, context,
                                          sync_first, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function_v2(conn->handle, "pawli_must_last", 0, flags, context,
                                          must_last, NULL, NULL, NULL);
    return code;
}
