/* src/db/sqlite/error_sqlite.c - errors, and waiting for SQLite's locks. */
#include "conn_sqlite.h"

#include <string.h>

#include "fail.h"
#include "platform.h"

/* ---- from a SQLite result code to a status ---- */

int pawli_sqlite_extended(sqlite3 *handle, int code)
{
    int extended = sqlite3_extended_errcode(handle);

    /* Some codes (SQLITE_MISUSE) are not recorded in the handle. */
    return (extended & 0xff) == (code & 0xff) ? extended : code;
}

static pawl_status sqlite_error_busy(const pawli_sqlite *conn, int code, pawl_error *err)
{
    const char *path = conn->settings->target;

    if (code == SQLITE_BUSY_SNAPSHOT)
        return pawli_fail_code(
            err, PAWL_E_TX_RESTART, code,
            "the transaction read '%s' before another connection wrote to it and can "
            "no longer write; roll back and begin it with BEGIN IMMEDIATE",
            path);
    if (conn->base.foreign)
        return pawli_fail_code(err, PAWL_E_BUSY, code,
                               "another connection holds the write lock of '%s'; begin the "
                               "transaction with BEGIN IMMEDIATE and a busy timeout",
                               path);
    return pawli_fail_code(err, PAWL_E_BUSY, code,
                           "timed out waiting for the write lock of '%s'; try again, or end the "
                           "transaction that holds it in another process or connection",
                           path);
}

static pawl_status sqlite_error_read_only(pawli_sqlite *conn, int code, pawl_error *err)
{
    const char *path = conn->settings->target;

    if (code == SQLITE_READONLY_DIRECTORY)
        return pawli_fail_code(err, PAWL_E_READ_ONLY, code,
                               "the -wal file cannot be made beside '%s'; give the user permission "
                               "to write the directory",
                               path);
    if (code == SQLITE_READONLY_DBMOVED) {
        conn->base.broken = true;
        return pawli_fail_code(err, PAWL_E_READ_ONLY, code,
                               "'%s' was moved, replaced or deleted while it was open; put it "
                               "back or open the store again",
                               path);
    }
    return pawli_fail_code(err, PAWL_E_READ_ONLY, code,
                           "'%s' cannot be written (%s); check the permissions of the file, its "
                           "directory and the -wal and -shm files",
                           path, sqlite3_errmsg(conn->handle));
}

static pawl_status sqlite_error_interrupted(pawli_sqlite *conn, int code, pawl_error *err)
{
    pawl_status st = conn->base.foreign ? PAWL_OK : pawli_sqlite_wait_check(conn, err);

    if (st == PAWL_OK)
        return pawli_fail_code(err, PAWL_E_INTERRUPTED, code, "the call was interrupted");
    if (err)
        err->native_code = code;
    return st;
}

static pawl_status no_schema_or_store(const pawli_sqlite *conn, int code, const char *what,
                                      pawl_error *err)
{
    const char *message = sqlite3_errmsg(conn->handle);

    if ((code & 0xff) == SQLITE_ERROR && strncmp(message, "no such table", 13) == 0)
        return pawli_fail_code(err, PAWL_E_NO_SCHEMA, code,
                               "'%s' has no pawl tables (%s); run `pawl init`",
                               conn->settings->target, message);
    return pawli_fail_code(err, PAWL_E_STORE, code, "SQLite failed at '%s' of '%s': %s", what,
                           conn->settings->target, message);
}

static pawl_status sqlite_error_damaged(pawli_sqlite *conn, int code, pawl_error *err)
{
    const char *path = conn->settings->target;

    conn->base.broken = true;
    if ((code & 0xff) == SQLITE_NOTADB)
        return pawli_fail_code(err, PAWL_E_NOT_OURS, code,
                               "'%s' is not a SQLite database; give the path of one", path);
    return pawli_fail_code(err, PAWL_E_CORRUPT, code,
                           "the SQLite database '%s' is damaged (%s); restore it from a backup",
                           path, sqlite3_errmsg(conn->handle));
}

/* After an I/O error only a new connection can read the true state of the file. */
static pawl_status sqlite_error_io(pawli_sqlite *conn, int code, const char *what, pawl_error *err)
{
    int system_errno = sqlite3_system_errno(conn->handle);

    conn->base.broken = true;
    if (code == SQLITE_IOERR_NOMEM)
        return pawli_fail_code(err, PAWL_E_NOMEM, code, "SQLite ran out of memory at '%s'", what);
    return pawli_fail_code(
        err, PAWL_E_IO, code, "SQLite could not read or write '%s' (%s); check the disk",
        conn->settings->target, system_errno ? strerror(system_errno) : sqlite3_errstr(code));
}

pawl_status pawli_sqlite_fail(pawli_sqlite *conn, int code, const char *what, pawl_error *err)
{
    const char *path = conn->settings->target;

    code = pawli_sqlite_extended(conn->handle, code);
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        if (atomic_load(&conn->base.stop))
            return sqlite_error_interrupted(conn, code, err);
        return sqlite_error_busy(conn, code, err);
    case SQLITE_READONLY:
        return sqlite_error_read_only(conn, code, err);
    case SQLITE_CANTOPEN:
        return pawli_sqlite_path_explain(path, sqlite3_system_errno(conn->handle), err);
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return pawli_fail_code(err, PAWL_E_DENIED, code, "SQLite refused '%s' of '%s': %s", what,
                               path, sqlite3_errmsg(conn->handle));
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return sqlite_error_damaged(conn, code, err);
    case SQLITE_FULL:
        return pawli_fail_code(err, PAWL_E_FULL, code,
                               "no space is left for '%s'; free some, or raise its page limit",
                               path);
    case SQLITE_IOERR:
        return sqlite_error_io(conn, code, what, err);
    case SQLITE_NOMEM:
        return pawli_fail_code(err, PAWL_E_NOMEM, code, "SQLite ran out of memory at '%s'", what);
    case SQLITE_INTERRUPT:
        return sqlite_error_interrupted(conn, code, err);
    case SQLITE_TOOBIG:
        return pawli_fail_code(err, PAWL_E_TOO_LARGE, code,
                               "a value is larger than the %d bytes that SQLite takes; store it "
                               "elsewhere and send a reference",
                               conn->max_length);
    default:
        return no_schema_or_store(conn, code, what, err);
    }
}

/* ---- deadlines, interruption, and waiting for SQLite's locks ---- */

/* Steps of SQLite's virtual machine; a check costs one clock reading. */
#define STEPS_BETWEEN_CHECKS 1000
#define FIRST_PAUSE_US 1000
#define LONGEST_PAUSE_US 50000

static bool wait_stopped(pawli_sqlite *conn)
{
    return atomic_load_explicit(&conn->base.stop, memory_order_relaxed);
}

bool pawli_sqlite_wait_again(pawli_sqlite *conn, int tries)
{
    int64_t left = pawli_mono_left(conn->deadline);
    int64_t pause = tries < 6 ? (int64_t)FIRST_PAUSE_US << tries : LONGEST_PAUSE_US;

    if (wait_stopped(conn) || left == 0)
        return false;
    if (pause > LONGEST_PAUSE_US)
        pause = LONGEST_PAUSE_US;
    /* Half of the delay is random, so that waiting processes do not stay in step. */
    pause = pause / 2 + (int64_t)(pawli_random_u64() % (uint64_t)(pause / 2 + 1));
    pawli_sleep_us(pause < left ? pause : left);
    return true;
}

static int on_busy(void *context, int tries)
{
    return pawli_sqlite_wait_again(context, tries);
}

static int on_progress(void *context)
{
    pawli_sqlite *conn = context;

    return !conn->undoing && (wait_stopped(conn) || pawli_mono_passed(conn->deadline));
}

void pawli_sqlite_wait_install(pawli_sqlite *conn)
{
    sqlite3_busy_handler(conn->handle, on_busy, conn);
    sqlite3_progress_handler(conn->handle, STEPS_BETWEEN_CHECKS, on_progress, conn);
}

pawl_status pawli_sqlite_wait_check(pawli_sqlite *conn, pawl_error *err)
{
    if (wait_stopped(conn))
        return pawli_fail(err, PAWL_E_INTERRUPTED, "the call was interrupted");
    if (pawli_mono_passed(conn->deadline))
        return pawli_fail(err, PAWL_E_TIMEOUT,
                          "the deadline passed before SQLite had finished; allow more time");
    return PAWL_OK;
}

/*
 * Any thread. sqlite3_interrupt() on a writing statement rolls back its whole transaction, and a
 * foreign transaction belongs to the application: there only the flag is set, and is checked
 * between statements.
 */
void pawli_sqlite_interrupt(pawli_conn *base)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;

    atomic_store(&base->stop, true);
    if (!base->foreign)
        sqlite3_interrupt(conn->handle);
}
