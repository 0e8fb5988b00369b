/* src/db/sqlite/wal_sqlite_test.c - the write-ahead log stays small without blocking callers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "test.h"

#define MEGABYTE ((int64_t)1024 * 1024)

static void close_store(void *store)
{
    pawl_store_close(store);
}

static void close_handle(void *handle)
{
    sqlite3_close(handle);
}

static pawl_store *open_store(const char *path)
{
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_store *store = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    options.deploy_schema = true;
    options.durability = PAWL_DURABILITY_NORMAL;
    assert_ok(pawl_store_open(test_note("sqlite:%s", path), &options, &store, &err), &err);
    test_defer(close_store, store);
    return store;
}

static void send_megabytes(pawl_store *store, int count)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    char *payload = calloc(1, MEGABYTE);

    assert_non_null(payload);
    message.topic = "large";
    message.payload = payload;
    message.payload_size = (size_t)MEGABYTE;
    for (int i = 0; i < count; i++)
        assert_ok(pawl_outbox_enqueue(store, &message, NULL, &err), &err);
    free(payload);
}

static int64_t size_of(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 ? (int64_t)file.st_size : 0;
}

PAWL_TEST(the_log_is_written_back_beyond_16_megabytes)
{
    const char *path = test_note("%s/wal.db", test_directory());
    pawl_store *store = open_store(path);

    send_megabytes(store, 12);
    assert_true(size_of(path) < 2 * MEGABYTE); /* not yet: it is all in the log */
    send_megabytes(store, 48);
    assert_true(size_of(test_note("%s-wal", path)) < 24 * MEGABYTE);
    assert_true(size_of(path) > 32 * MEGABYTE);
}

PAWL_TEST(a_long_reader_lets_the_log_grow_and_blocks_no_caller)
{
    const char *path = test_note("%s/wal.db", test_directory());
    const char *log = test_note("%s-wal", path);
    pawl_store *store = open_store(path);
    sqlite3 *reader = NULL;

    send_megabytes(store, 1);
    assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
    test_defer(close_handle, reader);
    assert_int_equal(
        sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM pawl_body", NULL, NULL, NULL), SQLITE_OK);
    send_megabytes(store, 80);
    assert_true(size_of(log) > 70 * MEGABYTE);
    assert_int_equal(sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    send_megabytes(store, 1);
    assert_int_equal(size_of(log), 0);
}

PAWL_TEST(a_log_that_has_grown_shrinks_when_another_process_has_written_it_back)
{
    const char *path = test_note("%s/wal.db", test_directory());
    const char *log = test_note("%s-wal", path);
    pawl_store *store = open_store(path);
    sqlite3 *reader = NULL;

    send_megabytes(store, 1);
    assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
    test_defer(close_handle, reader);
    assert_int_equal(
        sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM pawl_body", NULL, NULL, NULL), SQLITE_OK);
    send_megabytes(store, 80);
    /* From here on the log begins again at every commit, so none sees a long one to truncate. */
    assert_int_equal(sqlite3_exec(reader, "COMMIT; PRAGMA wal_checkpoint", NULL, NULL, NULL),
                     SQLITE_OK);
    send_megabytes(store, 1);
    assert_true(size_of(log) <= 64 * MEGABYTE);
}
