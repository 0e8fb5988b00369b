/* tests/fault/failing_sqlite.c - SQLite's functions and SQLite's memory, failing on request. */
#include "failing_private.h"

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#include <stdlib.h>

static sqlite3_mem_methods real_memory;

static void *memory_get(int size)
{
    return failing_now(FAILING_SQLITE_MEMORY, "SQLite's malloc") ? NULL : real_memory.xMalloc(size);
}

static void *memory_change(void *old, int size)
{
    return failing_now(FAILING_SQLITE_MEMORY, "SQLite's realloc") ? NULL
                                                                  : real_memory.xRealloc(old, size);
}

void failing_sqlite_prepare(void)
{
    sqlite3_mem_methods methods;

    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory) != SQLITE_OK)
        return;
    methods = real_memory;
    methods.xMalloc = memory_get;
    methods.xRealloc = memory_change;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
        abort();
}

int __real_sqlite3_open_v2(const char *path, sqlite3 **handle, int flags, const char *vfs);
int __real_sqlite3_prepare_v2(sqlite3 *handle, const char *sql, int size, sqlite3_stmt **statement,
                              const char **tail);
int __real_sqlite3_prepare_v3(sqlite3 *handle, const char *sql, int size, unsigned flags,
                              sqlite3_stmt **statement, const char **tail);
int __real_sqlite3_step(sqlite3_stmt *statement);
int __real_sqlite3_reset(sqlite3_stmt *statement);
int __real_sqlite3_finalize(sqlite3_stmt *statement);
int __real_sqlite3_bind_int64(sqlite3_stmt *statement, int index, sqlite3_int64 value);
int __real_sqlite3_bind_text64(sqlite3_stmt *statement, int index, const char *text,
                               sqlite3_uint64 size, void (*done)(void *), unsigned char encoding);
int __real_sqlite3_bind_blob64(sqlite3_stmt *statement, int index, const void *bytes,
                               sqlite3_uint64 size, void (*done)(void *));
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **handle, int flags, const char *vfs);
int __wrap_sqlite3_prepare_v2(sqlite3 *handle, const char *sql, int size, sqlite3_stmt **statement,
                              const char **tail);
int __wrap_sqlite3_prepare_v3(sqlite3 *handle, const char *sql, int size, unsigned flags,
                              sqlite3_stmt **statement, const char **tail);
int __wrap_sqlite3_step(sqlite3_stmt *statement);
int __wrap_sqlite3_reset(sqlite3_stmt *statement);
int __wrap_sqlite3_finalize(sqlite3_stmt *statement);
int __wrap_sqlite3_bind_int64(sqlite3_stmt *statement, int index, sqlite3_int64 value);
int __wrap_sqlite3_bind_text64(sqlite3_stmt *statement, int index, const char *text,
                               sqlite3_uint64 size, void (*done)(void *), unsigned char encoding);
int __wrap_sqlite3_bind_blob64(sqlite3_stmt *statement, int index, const void *bytes,
                               sqlite3_uint64 size, void (*done)(void *));

static int code(void)
{
    return failing_how() & ~FAILING_AFTERWARDS;
}

/* A statement whose step failed here: its reset must return it, as SQLite's does. */
static _Thread_local sqlite3_stmt *failed_statement;

int __wrap_sqlite3_open_v2(const char *path, sqlite3 **handle, int flags, const char *vfs)
{
    if (!failing_now(FAILING_SQL, "sqlite3_open_v2"))
        return __real_sqlite3_open_v2(path, handle, flags, vfs);
    *handle = NULL;
    return code();
}

int __wrap_sqlite3_prepare_v2(sqlite3 *handle, const char *sql, int size, sqlite3_stmt **statement,
                              const char **tail)
{
    if (!failing_now(FAILING_SQL, "sqlite3_prepare_v2"))
        return __real_sqlite3_prepare_v2(handle, sql, size, statement, tail);
    *statement = NULL;
    return code();
}

int __wrap_sqlite3_prepare_v3(sqlite3 *handle, const char *sql, int size, unsigned flags,
                              sqlite3_stmt **statement, const char **tail)
{
    if (!failing_now(FAILING_SQL, "sqlite3_prepare_v3"))
        return __real_sqlite3_prepare_v3(handle, sql, size, flags, statement, tail);
    *statement = NULL;
    return code();
}

int __wrap_sqlite3_step(sqlite3_stmt *statement)
{
    if (!failing_now(FAILING_SQL, "sqlite3_step"))
        return __real_sqlite3_step(statement);
    if (failing_how() & FAILING_AFTERWARDS)
        (void)__real_sqlite3_step(statement);
    failed_statement = statement;
    return code();
}

/* Whether the statement's end has to return the failure. */
static bool ends_failed(const sqlite3_stmt *statement)
{
    if (!statement || statement != failed_statement)
        return false;
    failed_statement = NULL;
    return true;
}

int __wrap_sqlite3_reset(sqlite3_stmt *statement)
{
    int answer = __real_sqlite3_reset(statement);

    return ends_failed(statement) ? code() : answer;
}

int __wrap_sqlite3_finalize(sqlite3_stmt *statement)
{
    bool failed = ends_failed(statement);
    int answer = __real_sqlite3_finalize(statement);

    return failed ? code() : answer;
}

int __wrap_sqlite3_bind_int64(sqlite3_stmt *statement, int index, sqlite3_int64 value)
{
    return failing_now(FAILING_SQL, "sqlite3_bind_int64")
               ? code()
               : __real_sqlite3_bind_int64(statement, index, value);
}

int __wrap_sqlite3_bind_text64(sqlite3_stmt *statement, int index, const char *text,
                               sqlite3_uint64 size, void (*done)(void *), unsigned char encoding)
{
    return failing_now(FAILING_SQL, "sqlite3_bind_text64")
               ? code()
               : __real_sqlite3_bind_text64(statement, index, text, size, done, encoding);
}

int __wrap_sqlite3_bind_blob64(sqlite3_stmt *statement, int index, const void *bytes,
                               sqlite3_uint64 size, void (*done)(void *))
{
    return failing_now(FAILING_SQL, "sqlite3_bind_blob64")
               ? code()
               : __real_sqlite3_bind_blob64(statement, index, bytes, size, done);
}
#endif
