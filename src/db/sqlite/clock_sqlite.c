/*
 * src/db/sqlite/clock_sqlite.c - the store's clock: the wall clock, or a time known to be later.
 *
 * docs/internals/clock.md explains it. Everything is read in the op's own transaction.
 */
#include "conn_sqlite.h"

#include <string.h>

#include "fail.h"
#include "platform.h"

/* The stored offset may be wrong by this much; it is not updated for less. */
#define SLACK_US INT64_C(100000)
/* A clock that is ahead by less is not worth reporting. */
#define WORTH_TELLING_US INT64_C(5000000)

enum { NOW, WALL, BOOT, BOOT_ID, KNOWN_BOOT_ID, BOOT_OFFSET, RESETS };

static pawl_status clock_prepare(pawli_sqlite *conn, const char *format, sqlite3_stmt **statement,
                                 pawl_error *err)
{
    char text[256];

    if (*statement)
        return PAWL_OK;
    sqlite3_snprintf(sizeof text, text, format, conn->settings->names, conn->settings->names);
    int code =
        sqlite3_prepare_v3(conn->handle, text, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    return code == SQLITE_OK ? PAWL_OK : pawli_sqlite_fail(conn, code, "clock", err);
}

static const char *clock_text_of(sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);

    return text ? (const char *)text : "";
}

/*
 * The database's offset belongs to another boot clock, or contradicts the highest time. This
 * process continues from that time with the offset that it remembers, until a write has stored
 * its own offset.
 */
static int64_t go_on_alone(const pawli_sqlite *conn, int64_t latest, int64_t boot, int64_t resets)
{
    pawli_clock_memory *memory = conn->settings->clock;
    int64_t now = latest;

    if (!memory)
        return latest;
    pthread_mutex_lock(&memory->lock);
    if (memory->resets != resets || latest - boot > memory->offset) {
        memory->resets = resets;
        memory->offset = latest - boot;
    }
    now = boot + memory->offset;
    pthread_mutex_unlock(&memory->lock);
    return now;
}

static void record_ahead(const pawli_sqlite *conn, int64_t ahead_us)
{
    pawli_clock_memory *memory = conn->settings->clock;

    if (ahead_us < WORTH_TELLING_US)
        ahead_us = 0;
    /* Usually both are 0: then this cache line, which all threads share, is not written. */
    if (memory && atomic_load_explicit(&memory->ahead_us, memory_order_relaxed) != ahead_us)
        atomic_store_explicit(&memory->ahead_us, ahead_us, memory_order_relaxed);
}

static void compute_time(const pawli_sqlite *conn, sqlite3_stmt *row, pawli_sqlite_time *ret_time)
{
    int64_t latest = sqlite3_column_int64(row, NOW); /* or the wall clock, if that is later */
    int64_t wall = sqlite3_column_int64(row, WALL);
    bool real = sqlite3_column_type(row, BOOT) == SQLITE_NULL;
    int64_t boot = real ? pawli_boot_now_us() : sqlite3_column_int64(row, BOOT);
    const char *id = real ? pawli_boot_id() : clock_text_of(row, BOOT_ID);
    bool known = strcmp(id, clock_text_of(row, KNOWN_BOOT_ID)) == 0;
    int64_t by_boot = known ? boot + sqlite3_column_int64(row, BOOT_OFFSET) : wall;

    if (latest - (by_boot > wall ? by_boot : wall) > (known ? SLACK_US : 0))
        by_boot = go_on_alone(conn, latest, boot, sqlite3_column_int64(row, RESETS));
    ret_time->now = by_boot > latest ? by_boot : latest;
    ret_time->boot = boot;
    ret_time->boot_is_real = real;
    ret_time->resets = sqlite3_column_int64(row, RESETS);
    /* The stored offset gives another time. */
    int64_t stored = boot + sqlite3_column_int64(row, BOOT_OFFSET);
    ret_time->write_offset = !known || ret_time->now - stored > SLACK_US;
    record_ahead(conn, ret_time->now - wall);
}

pawl_status pawli_sqlite_clock_read(pawli_sqlite *conn, pawli_sqlite_time *ret_time,
                                    pawl_error *err)
{
    pawl_status st = clock_prepare(conn,
                                   "SELECT now, wall, boot, boot_id, known_boot_id, boot_offset, "
                                   "clock_resets FROM main.\"%wclock\"",
                                   &conn->clock, err);

    if (st != PAWL_OK)
        return st;
    int code = sqlite3_step(conn->clock);
    if (code == SQLITE_ROW)
        compute_time(conn, conn->clock, ret_time);
    int end = sqlite3_reset(conn->clock);
    if (code == SQLITE_ROW)
        return PAWL_OK;
    if (end == SQLITE_OK)
        return pawli_fail(err, PAWL_E_STORE, "the view '%sclock' returned no time",
                          conn->settings->names);
    return pawli_sqlite_fail(conn, end, "clock", err);
}

pawl_status pawli_sqlite_clock_write(pawli_sqlite *conn, const pawli_sqlite_time *time,
                                     pawl_error *err)
{
    pawl_status st;
    int code;

    if (!time->write_offset)
        return PAWL_OK;
    st = clock_prepare(conn,
                       "UPDATE main.\"%wmeta\" SET boot_offset = ?1, boot_id = coalesce(?2, "
                       "(SELECT id FROM main.\"%wboot\")) WHERE id = 1 AND clock_resets = ?3",
                       &conn->set_clock, err);
    if (st != PAWL_OK)
        return st;
    /* A value that could not be bound would be the previous call's. */
    code = sqlite3_bind_int64(conn->set_clock, 1, time->now - time->boot);
    if (code == SQLITE_OK && time->boot_is_real) /* NULL: the test clock's */
        code = sqlite3_bind_text(conn->set_clock, 2, pawli_boot_id(), -1, SQLITE_STATIC);
    if (code == SQLITE_OK) /* not by the op that resets it */
        code = sqlite3_bind_int64(conn->set_clock, 3, time->resets);
    if (code == SQLITE_OK)
        code = sqlite3_step(conn->set_clock);
    int end = sqlite3_reset(conn->set_clock);
    if (code == SQLITE_DONE)
        return PAWL_OK;
    return pawli_sqlite_fail(conn, end == SQLITE_OK ? code : end, "clock", err);
}
