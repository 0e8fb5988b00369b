/* src/db/sqlite/driver_sqlite.c - the driver's table and its connections. */
#include "conn_sqlite.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "fail.h"
#include "platform.h"
#include "waiter_private.h"

/* ---- the SQLite driver's table ---- */

/* There is no server that could go away. A moved or damaged file shows at the next statement. */
static bool sqlite_alive(pawli_conn *base)
{
    (void)base;
    return true;
}

static const pawli_driver driver = {
    .name = "sqlite",
    .single_writer = true,
    .max_payload_bytes = PAWLI_PAYLOAD_MAX,
    .open = pawli_sqlite_open,
    .close = pawli_sqlite_close,
    .alive = sqlite_alive,
    .run = pawli_sqlite_run,
    .begin = pawli_sqlite_begin,
    .commit = pawli_sqlite_commit,
    .rollback = pawli_sqlite_rollback,
    .expose = pawli_sqlite_expose,
    .unexpose = pawli_sqlite_unexpose,
    .native = pawli_sqlite_native,
    .script = pawli_sqlite_schema_script,
    .schema = pawli_sqlite_schema,
    .schema_lock = pawli_sqlite_schema_lock,
    .open_foreign = pawli_sqlite_open_foreign,
    .tx_open = pawli_sqlite_tx_open,
    .interrupt = pawli_sqlite_interrupt,
    .wait_method = &pawli_wait_by_polling,
    .listener_open = pawli_sqlite_listener_open,
    .listener_close = pawli_sqlite_listener_close,
    .listener_read = pawli_sqlite_listener_read,
    .checkpoint = pawli_sqlite_checkpoint,
};

const pawli_driver *const pawli_driver_sqlite = &driver;

/* ---- opening a database file, or using an application's handle ---- */

#define OLDEST_VERSION 3038000

typedef struct pragma_value {
    char text[16];
} pragma_value;

static pawl_status sqlite_pragma(pawli_sqlite *conn, const char *text, pragma_value *ret_value,
                                 pawl_error *err)
{
    sqlite3_stmt *handle = NULL;
    int code = sqlite3_prepare_v2(conn->handle, text, -1, &handle, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(handle);
    if (code == SQLITE_ROW && ret_value) {
        const char *answer = (const char *)sqlite3_column_text(handle, 0);
        sqlite3_snprintf(sizeof ret_value->text, ret_value->text, "%s", answer ? answer : "");
    }
    pawl_status st = PAWL_OK;
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        st = pawli_sqlite_fail(conn, code, text, err);
    sqlite3_finalize(handle);
    return st;
}

static pawl_status sqlite_pragmas(pawli_sqlite *conn, pawl_error *err)
{
    const char *synchronous = conn->settings->durability == PAWL_DURABILITY_NORMAL
                                  ? "PRAGMA synchronous = NORMAL"
                                  : "PRAGMA synchronous = FULL";
    const char *const texts[] = {
        synchronous,
        "PRAGMA cache_size = -8000", /* 8 MB */
        "PRAGMA foreign_keys = ON",
        "PRAGMA temp_store = MEMORY",
        conn->base.read_only ? "PRAGMA query_only = ON" : NULL,
    };
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < PAWLI_COUNT(texts) && st == PAWL_OK; i++) {
        if (texts[i])
            st = sqlite_pragma(conn, texts[i], NULL, err);
    }
    return st;
}

/*
 * A process died in a transaction before the file was in WAL mode, for example by a power loss
 * while the store was being created. Only a connection that writes can roll back the hot journal.
 */
static void recover_hot_journal(const char *path)
{
    sqlite3 *handle = NULL;

    if (sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
        SQLITE_OK)
        sqlite3_exec(handle, "PRAGMA schema_version", NULL, NULL, NULL);
    sqlite3_close(handle);
}

static int find_table(sqlite3 *handle, const char *table)
{
    return sqlite3_table_column_metadata(handle, "main", table, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* Whether the file has a table that could be pawl's. Also SQLite's first access to the file. */
static pawl_status find_meta(pawli_sqlite *conn, bool *ret_has_meta, pawl_error *err)
{
    char table[64];
    int code;

    sqlite3_snprintf(sizeof table, table, "%smeta", conn->settings->names);
    code = find_table(conn->handle, table);
    if (code == SQLITE_READONLY_ROLLBACK) {
        recover_hot_journal(conn->settings->target);
        code = find_table(conn->handle, table);
    }
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_ERROR)
        return pawli_sqlite_fail(conn, code, "open", err);
    *ret_has_meta = code == SQLITE_OK;
    return PAWL_OK;
}

/*
 * The switch to WAL is stored in the file, so it is not made in a file that is only inspected. It
 * needs exclusive access to the file, and SQLite does not wait for that by itself.
 */
static pawl_status use_wal(pawli_sqlite *conn, pawl_error *err)
{
    pragma_value mode = {""}, page_size = {""};
    pawl_status st;
    int tries = 0, code = SQLITE_OK;

    do
        st = sqlite_pragma(conn, "PRAGMA journal_mode = WAL", &mode, err);
    while (st == PAWL_E_BUSY && pawli_sqlite_wait_again(conn, tries++));
    if (st == PAWL_OK && strcmp(mode.text, "wal") != 0)
        return pawli_fail(err, PAWL_E_STORE,
                          "'%s' stays in journal mode '%s' and cannot use WAL; put it on a local "
                          "file system",
                          conn->settings->target, mode.text);
    if (st == PAWL_OK)
        st = sqlite_pragma(conn, "PRAGMA page_size", &page_size, err);
    if (st == PAWL_OK)
        code = pawli_sqlite_wal_watch(conn, (int)strtol(page_size.text, NULL, 10));
    return code == SQLITE_OK ? st : pawli_sqlite_fail(conn, code, "open", err);
}

static pawl_status sqlite_prepare(pawli_sqlite *conn, pawl_error *err)
{
    int code = pawli_sqlite_rows_register(conn);

    if (code == SQLITE_OK)
        code = pawli_sqlite_sync_register(conn);
    if (code != SQLITE_OK)
        return pawli_sqlite_fail(conn, code, "open", err);
    return pawli_sqlite_commands_prepare(conn, err);
}

static pawl_status prepare_connection(pawli_sqlite *conn, pawl_error *err)
{
    const pawli_db_settings *settings = conn->settings;
    bool has_meta = false;
    pawl_status st;

    pawli_sqlite_wait_install(conn);
    /* Without it SQLite re-plans a statement whenever a bound value could decide whether a
     * partial index is usable: on every row of an ack. */
    sqlite3_db_config(conn->handle, SQLITE_DBCONFIG_ENABLE_QPSG, 1, NULL);
    conn->max_length = sqlite3_limit(conn->handle, SQLITE_LIMIT_LENGTH, -1);
    if (!conn->base.read_only && sqlite3_db_readonly(conn->handle, "main") == 1)
        return pawli_sqlite_path_read_only(settings->target, err);
    st = find_meta(conn, &has_meta, err);
    if (st == PAWL_OK)
        st = sqlite_pragmas(conn, err);
    if (st == PAWL_OK && !conn->base.read_only && !pawli_sqlite_in_memory(settings) &&
        (has_meta || settings->create))
        st = use_wal(conn, err);
    if (st == PAWL_OK)
        st = sqlite_prepare(conn, err);
    return st;
}

static pawl_status check_library(pawl_error *err)
{
    if (sqlite3_libversion_number() < OLDEST_VERSION)
        return pawli_fail(err, PAWL_E_UNSUPPORTED, "SQLite %s is too old; pawl needs 3.38 or newer",
                          sqlite3_libversion());
    if (!sqlite3_threadsafe())
        return pawli_fail(err, PAWL_E_UNSUPPORTED,
                          "this SQLite was built without threads; use one that was built with");
    return PAWL_OK;
}

static pawli_sqlite *sqlite_conn_new(const pawli_db_settings *settings, pawl_mono deadline)
{
    pawli_sqlite *conn = calloc(1, sizeof *conn);

    if (!conn)
        return NULL;
    conn->base.driver = settings->driver;
    conn->base.stop_fd = -1;
    conn->lock_fd = PAWLI_SQLITE_WRITE_LOCK_UNKNOWN;
    atomic_init(&conn->base.stop, false);
    conn->settings = settings;
    conn->deadline = deadline;
    return conn;
}

pawl_status pawli_sqlite_open(const pawli_db_settings *settings, pawli_use use, pawl_mono deadline,
                              pawli_conn **ret_conn, pawl_error *err)
{
    PAWLI_AUTO(pawli_sqlite) conn = NULL;
    bool reader = use == PAWLI_READS;
    bool create = settings->create && !reader;
    /* Another thread may roll back an exposed connection while the application uses it. */
    int flags = (use == PAWLI_EXCLUSIVE ? SQLITE_OPEN_FULLMUTEX : SQLITE_OPEN_NOMUTEX) |
                SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE |
                (reader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                (create ? SQLITE_OPEN_CREATE : 0);
    pawl_status st = check_library(err);

    if (st == PAWL_OK && !pawli_sqlite_in_memory(settings))
        st = pawli_sqlite_path_check(settings->target, create, err);
    if (st != PAWL_OK)
        return st;
    conn = sqlite_conn_new(settings, deadline);
    if (!conn)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a connection");
    conn->base.read_only = use == PAWLI_READS;
    if (create && !pawli_sqlite_in_memory(settings))
        pawli_sqlite_path_create(settings->target);
    int code = sqlite3_open_v2(settings->target, &conn->handle, flags, NULL);
    if (!conn->handle)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a connection");
    st = code == SQLITE_OK ? prepare_connection(conn, err)
                           : pawli_sqlite_fail(conn, code, "open", err);
    if (st == PAWL_OK)
        *ret_conn = &pawli_sqlite_take(&conn)->base;
    return st;
}

/* SQLite's name of the main file is its full path, which differs from ours if there are symbolic
 * links. */
static pawl_status check_foreign(const pawli_db_settings *settings, sqlite3 *handle,
                                 pawl_error *err)
{
    const char *path = sqlite3_db_filename(handle, "main");

    if (sqlite3_get_autocommit(handle))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "no transaction is open on the SQLite handle; run BEGIN IMMEDIATE first");
    if (pawli_sqlite_in_memory(settings))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "an in-memory store belongs to pawl's own connection and cannot be "
                          "reached from another handle; use a file");
    if (!path || path[0] == '\0' || !pawli_sqlite_same_file(path, settings->target))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the SQLite handle's main database is '%s' and the store is '%s'; open "
                          "the same file (an attached database is not enough)",
                          path ? path : "", settings->target);
    if (sqlite3_db_readonly(handle, "main") == 1)
        return pawli_fail_code(err, PAWL_E_READ_ONLY, SQLITE_READONLY,
                               "the SQLite handle of '%s' is read-only; open it for writing", path);
    return PAWL_OK;
}

pawl_status pawli_sqlite_open_foreign(const pawli_db_settings *settings, void *native,
                                      pawli_conn **ret_conn, pawl_error *err)
{
    PAWLI_AUTO(pawli_sqlite) conn = NULL;
    pawl_status st = check_foreign(settings, native, err);

    if (st != PAWL_OK)
        return st;
    conn = sqlite_conn_new(settings, pawli_mono_now());
    if (!conn)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a foreign transaction");
    conn->base.foreign = true;
    conn->handle = native;
    conn->max_length = sqlite3_limit(conn->handle, SQLITE_LIMIT_LENGTH, -1);
    st = sqlite_prepare(conn, err);
    if (st == PAWL_OK)
        *ret_conn = &pawli_sqlite_take(&conn)->base;
    return st;
}

bool pawli_sqlite_tx_open(pawli_conn *base)
{
    return sqlite3_get_autocommit(((pawli_sqlite *)base)->handle) == 0;
}

void *pawli_sqlite_native(pawli_conn *base)
{
    return ((pawli_sqlite *)base)->handle;
}

void pawli_sqlite_close(pawli_conn *base)
{
    pawli_sqlite *conn = (pawli_sqlite *)base;

    if (!conn)
        return;
    for (int i = 0; i < PAWLI_SQL_COUNT; i++)
        pawli_sqlite_script_free(conn->scripts[i]);
    for (int i = 0; i < PAWLI_SQLITE_COMMAND_COUNT; i++)
        sqlite3_finalize(conn->commands[i]);
    sqlite3_finalize(conn->clock);
    sqlite3_finalize(conn->set_clock);
    sqlite3_finalize(conn->lock);
    pawli_sqlite_write_lock_close(conn);
    if (!base->foreign)
        sqlite3_close_v2(conn->handle); /* the application may have left a statement behind */
    pawli_buffer_done(&conn->json);
    free(conn);
}
