/* src/db/sqlite/wait_sqlite.c - deadlines, interruption, and waiting for SQLite's locks. */
#include "conn_sqlite.h"

#include "fail.h"
#include "platform.h"

#define STEPS_BETWEEN_LOOKS 1000 /* of SQLite's virtual machine; a look costs one clock reading */
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
    /* Half of it is chance, so that processes waiting for each other fall out of step. */
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
    sqlite3_progress_handler(conn->handle, STEPS_BETWEEN_LOOKS, on_progress, conn);
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
 * Any thread. A writing statement that sqlite3_interrupt() stops takes its whole transaction with
 * it, and a wrapped one is the application's: there the flag alone must do, between statements.
 */
void pawli_sqlite_interrupt(pawli_conn *base)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;

    atomic_store(&base->stop, true);
    if (!base->foreign)
        sqlite3_interrupt(conn->handle);
}
