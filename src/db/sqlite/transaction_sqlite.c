/* src/db/sqlite/transaction_sqlite.c - transactions and the write lock. */
#include "conn_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "platform.h"

/* ---- transactions, and the transaction context of one op ---- */

#define UNDO_TRIES 3

static const char *const command_texts[PAWLI_SQLITE_COMMAND_COUNT] = {
    [PAWLI_SQLITE_SAVE] = "SAVEPOINT pawl_op",   [PAWLI_SQLITE_KEEP] = "RELEASE pawl_op",
    [PAWLI_SQLITE_UNDO] = "ROLLBACK TO pawl_op", [PAWLI_SQLITE_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [PAWLI_SQLITE_BEGIN_READ] = "BEGIN",         [PAWLI_SQLITE_COMMIT] = "COMMIT",
    [PAWLI_SQLITE_ROLLBACK] = "ROLLBACK",
};

pawl_status pawli_sqlite_commands_prepare(pawli_sqlite *conn, pawl_error *err)
{
    int count = conn->base.foreign ? PAWLI_SQLITE_UNDO + 1 : PAWLI_SQLITE_COMMAND_COUNT;

    for (int i = 0; i < count; i++) {
        int code = sqlite3_prepare_v3(conn->handle, command_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                      &conn->commands[i], NULL);
        if (code != SQLITE_OK)
            return pawli_sqlite_fail(conn, code, command_texts[i], err);
    }
    return PAWL_OK;
}

/* Returns SQLITE_OK or the error, which can still be read from the handle. */
int pawli_sqlite_command_run(pawli_sqlite *conn, pawli_sqlite_command command)
{
    sqlite3_step(conn->commands[command]);
    return sqlite3_reset(conn->commands[command]);
}

static bool in_transaction(const pawli_sqlite *conn)
{
    return sqlite3_get_autocommit(conn->handle) == 0;
}

/* A late interrupt must not end a rollback half-way. */
static int undo_command(pawli_sqlite *conn, pawli_sqlite_command command)
{
    int code = SQLITE_OK;

    conn->undoing = true;
    for (int tries = 0; tries < UNDO_TRIES; tries++) {
        code = pawli_sqlite_command_run(conn, command);
        if ((code & 0xff) != SQLITE_INTERRUPT)
            break;
    }
    conn->undoing = false;
    return code;
}

/* Some errors make SQLite roll back by itself; then there is nothing to do. */
static void roll_back(pawli_sqlite *conn)
{
    conn->moves_mark = false;
    if (in_transaction(conn))
        undo_command(conn, PAWLI_SQLITE_ROLLBACK);
    if (in_transaction(conn))
        conn->base.broken = true;
    pawli_sqlite_write_lock_release(conn);
}

static int begin_write(pawli_sqlite *conn)
{
    pawli_sqlite_sync_before(conn);
    pawli_sqlite_write_lock_acquire(conn);
    int code = pawli_sqlite_command_run(conn, PAWLI_SQLITE_BEGIN_WRITE);
    if (code != SQLITE_OK)
        pawli_sqlite_write_lock_release(conn);
    return code;
}

/* Whether a COMMIT with this error has certainly not happened. */
static bool surely_not_committed(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_INTERRUPT:
    case SQLITE_CONSTRAINT:
        return true;
    default:
        return false;
    }
}

static pawl_status commit_now(pawli_sqlite *conn, bool writes, pawl_error *err)
{
    pawl_error why = PAWL_ERROR_INIT;
    int code = pawli_sqlite_command_run(conn, PAWLI_SQLITE_COMMIT);
    pawl_status st;

    if (code == SQLITE_OK) {
        pawli_sqlite_write_lock_release(conn);
        code = pawli_sqlite_sync_after(conn);
        if (code == SQLITE_OK)
            return PAWL_OK;
    } else {
        code = pawli_sqlite_extended(conn->handle, code);
    }
    st = pawli_sqlite_fail(conn, code, "commit", &why);
    roll_back(conn);
    if (writes && !surely_not_committed(code)) {
        /* A failed sync may succeed the second time without having written anything: only a new
         * handle can tell what is on the disk. */
        conn->base.broken = true;
        return pawli_fail_code(err, PAWL_E_IN_DOUBT, code,
                               "the commit failed and may or may not be durable: %s", why.message);
    }
    if (err)
        *err = why;
    return st;
}

static pawl_status transaction_rolled_back(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_TX_RESTART,
                      "SQLite rolled the whole transaction back after an earlier error; start it "
                      "again");
}

pawl_status pawli_sqlite_begin(pawli_conn *base, pawl_mono deadline, pawl_error *err)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;
    int code;

    conn->deadline = deadline;
    pawl_status st = pawli_sqlite_wait_check(conn, err);
    if (st != PAWL_OK)
        return st;
    code = begin_write(conn);
    if (code != SQLITE_OK)
        return pawli_sqlite_fail(conn, code, "begin", err);
    conn->begun = true;
    base->lost = false;
    return PAWL_OK;
}

pawl_status pawli_sqlite_commit(pawli_conn *base, pawl_mono deadline, pawl_error *err)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;

    conn->deadline = deadline;
    conn->begun = false;
    if (!in_transaction(conn)) {
        pawli_sqlite_write_lock_release(conn);
        return transaction_rolled_back(err);
    }
    conn->committing = true;
    pawl_status st = commit_now(conn, true, err);
    conn->committing = false;
    return st;
}

void pawli_sqlite_rollback(pawli_conn *base)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;

    /* On an exposed handle: a running statement of the application ends first. */
    sqlite3_mutex_enter(sqlite3_db_mutex(conn->handle));
    conn->begun = false;
    roll_back(conn);
    sqlite3_mutex_leave(sqlite3_db_mutex(conn->handle));
}

/*
 * While a handle is exposed, only pawl commits. That is not only about an application's COMMIT:
 * after SQLite or a waiting thread has rolled back the transaction, every further statement would
 * be a transaction of its own and be committed.
 */
static int refuse_commit(void *context)
{
    const pawli_sqlite *conn = context;

    return !conn->committing;
}

void pawli_sqlite_expose(pawli_conn *base, pawl_mono until)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;

    base->exposed = true;
    conn->deadline = until; /* of the application's statements, too */
    sqlite3_commit_hook(conn->handle, refuse_commit, conn);
}

void pawli_sqlite_unexpose(pawli_conn *base)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;

    base->exposed = false;
    sqlite3_commit_hook(conn->handle, NULL, NULL);
    pawli_sqlite_wait_install(conn);
}

/*
 * The application's transaction may have begun with plain BEGIN. The clock must be read under the
 * write lock. Taking the lock first lets a transaction that has not read anything yet wait for it
 * instead of failing with SQLITE_BUSY_SNAPSHOT.
 */
static pawl_status lock_foreign(pawli_sqlite *conn, pawl_error *err)
{
    int code = SQLITE_OK;

    if (sqlite3_txn_state(conn->handle, "main") == SQLITE_TXN_WRITE)
        return PAWL_OK;
    if (!conn->lock) {
        char text[128];
        sqlite3_snprintf(sizeof text, text, "DELETE FROM main.\"%wmeta\" WHERE 0",
                         conn->settings->names);
        code = sqlite3_prepare_v3(conn->handle, text, -1, 0, &conn->lock, NULL);
    }
    if (code == SQLITE_OK) {
        sqlite3_step(conn->lock);
        code = sqlite3_reset(conn->lock);
    }
    return code == SQLITE_OK ? PAWL_OK : pawli_sqlite_fail(conn, code, "lock", err);
}

static pawl_status open_savepoint(pawli_sqlite *conn, pawl_error *err)
{
    int code = pawli_sqlite_command_run(conn, PAWLI_SQLITE_SAVE);
    pawl_status st = PAWL_OK;

    if (code != SQLITE_OK)
        return pawli_sqlite_fail(conn, code, "savepoint", err);
    if (conn->base.foreign)
        st = lock_foreign(conn, err);
    if (st != PAWL_OK)
        pawli_sqlite_unit_undo(conn, PAWLI_SQLITE_SAVEPOINT);
    return st;
}

pawl_status pawli_sqlite_unit_open(pawli_sqlite *conn, bool writes, bool snapshot,
                                   pawli_sqlite_unit *ret_unit, pawl_error *err)
{
    pawli_sqlite_unit unit = PAWLI_SQLITE_PLAIN;
    pawl_status st = PAWL_OK;
    int code = SQLITE_OK;

    if (conn->base.foreign && !in_transaction(conn))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the application's transaction has ended; pass the handle again after "
                          "BEGIN IMMEDIATE");
    if (conn->begun && !in_transaction(conn))
        return transaction_rolled_back(err);
    if (conn->base.foreign || conn->begun) {
        if (writes && !conn->base.single_op) {
            unit = PAWLI_SQLITE_SAVEPOINT;
            st = open_savepoint(conn, err);
        }
    } else if (writes || snapshot) {
        unit = PAWLI_SQLITE_TRANSACTION;
        code = writes ? begin_write(conn) : pawli_sqlite_command_run(conn, PAWLI_SQLITE_BEGIN_READ);
        if (code != SQLITE_OK)
            st = pawli_sqlite_fail(conn, code, "begin", err);
    }
    if (st == PAWL_OK)
        *ret_unit = unit;
    return st;
}

pawl_status pawli_sqlite_unit_keep(pawli_sqlite *conn, pawli_sqlite_unit unit, bool writes,
                                   pawl_error *err)
{
    pawl_status st;
    int code;

    switch (unit) {
    case PAWLI_SQLITE_TRANSACTION:
        if (atomic_load_explicit(&conn->base.stop, memory_order_relaxed)) {
            st = pawli_sqlite_wait_check(conn, err);
            roll_back(conn);
            return st;
        }
        return commit_now(conn, writes, err);
    case PAWLI_SQLITE_SAVEPOINT:
        code = pawli_sqlite_command_run(conn, PAWLI_SQLITE_KEEP);
        if (code == SQLITE_OK)
            return PAWL_OK;
        st = pawli_sqlite_fail(conn, code, "release", err);
        pawli_sqlite_unit_undo(conn, unit);
        return st;
    case PAWLI_SQLITE_PLAIN:
        break;
    }
    return PAWL_OK;
}

void pawli_sqlite_unit_undo(pawli_sqlite *conn, pawli_sqlite_unit unit)
{
    conn->moves_mark = false; /* if another op did, the mark is moved once more */
    if (unit == PAWLI_SQLITE_TRANSACTION) {
        roll_back(conn);
    } else if (unit == PAWLI_SQLITE_SAVEPOINT && in_transaction(conn)) {
        if (undo_command(conn, PAWLI_SQLITE_UNDO) == SQLITE_OK &&
            undo_command(conn, PAWLI_SQLITE_KEEP) == SQLITE_OK)
            return;
        /* Half an op must not be committed with the rest. The application's transaction is not
         * ours to roll back: there the op's error must be enough. */
        conn->base.broken = true;
        if (!conn->base.foreign)
            roll_back(conn);
    }
}

/* ---- queueing for the write lock with other pawl processes ---- */

/*
 * SQLite's own lock is polled with growing delays, and the process that has just released it
 * finds it free first. A second lock, on a file of its own beside the database, is polled much
 * more often at almost no cost. It provides fairness, not protection: a process that cannot get
 * it in time continues to SQLite's lock, which decides. (Opening or closing the database file
 * itself would drop the locks that SQLite holds on it.)
 */
#define MAX_QUEUE_US 250000 /* limits the delay by a stopped holder */
#define FIRST_PAUSE_US 30
#define LONGEST_PAUSE_US 1000

/*
 * Only users who may write the database may take this lock: a lock on a file that others can read
 * could block us. Hence mode 0600 beside a database that pawl created, whatever the umask.
 */
static void set_mode(int fd, const char *database)
{
    struct stat about;
    mode_t mode = 0600;

    if (stat(database, &about) == 0) {
        mode |= about.st_mode & S_IWGRP ? 0060 : 0;
        mode |= about.st_mode & S_IWOTH ? 0006 : 0;
    }
    (void)fchmod(fd, mode);
}

/* Created when first needed, so that only a database that is written gets a second file. */
static void open_lock(pawli_sqlite *conn)
{
    PAWLI_AUTO_BUFFER path = {0};

    if (conn->lock_fd != PAWLI_SQLITE_WRITE_LOCK_UNKNOWN)
        return;
    conn->lock_fd = PAWLI_SQLITE_WRITE_LOCK_NONE;
    if (pawli_sqlite_in_memory(conn->settings))
        return;
    pawli_buffer_format(&path, "%s-lock", conn->settings->target);
    if (path.failed)
        return;
    conn->lock_fd = open(path.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (conn->lock_fd >= 0)
        set_mode(conn->lock_fd, conn->settings->target);
    else
        conn->lock_fd = open(path.data, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (conn->lock_fd < 0)
        conn->lock_fd = PAWLI_SQLITE_WRITE_LOCK_NONE;
}

void pawli_sqlite_write_lock_close(pawli_sqlite *conn)
{
    if (conn->lock_fd >= 0)
        close(conn->lock_fd);
    conn->lock_fd = PAWLI_SQLITE_WRITE_LOCK_NONE;
}

void pawli_sqlite_write_lock_acquire(pawli_sqlite *conn)
{
    pawl_mono patience = pawli_mono_after(pawli_mono_now(), MAX_QUEUE_US);
    int64_t pause = FIRST_PAUSE_US;

    open_lock(conn);
    if (conn->lock_fd < 0)
        return;
    if (patience.us > conn->deadline.us)
        patience = conn->deadline;
    while (flock(conn->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || pawli_mono_passed(patience) ||
            atomic_load_explicit(&conn->base.stop, memory_order_relaxed))
            return;
        pawli_sleep_us(pause / 2 + (int64_t)(pawli_random_u64() % (uint64_t)pause));
        pause = pause * 2 < LONGEST_PAUSE_US ? pause * 2 : LONGEST_PAUSE_US;
    }
    conn->has_write_lock = true;
}

void pawli_sqlite_write_lock_release(pawli_sqlite *conn)
{
    if (conn->has_write_lock)
        flock(conn->lock_fd, LOCK_UN);
    conn->has_write_lock = false;
}
