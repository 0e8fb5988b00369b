/*
 * tests/unit/group_commit_threads_test.c - group commit on a real SQLite file: who shares a commit,
 * and what one caller's misfortune does to the others.
 *
 * A foreign handle has the write lock while the callers queue, so that all of them are in one
 * group when it lets go. Commits are counted in the WAL: a frame that ends one says so.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "db_private.h"
#include "store_private.h"
#include "test.h"

#define CALLERS 16

/* One file with a store and a foreign handle. */
struct test_store {
    char url[512];
    const char *path;
    pawl_store *store;
    sqlite3 *foreign;
    pawl_status answers[CALLERS];
    pawl_error errors[CALLERS];
    int odd_one; /* the caller that brings `odd_message` */
    pawl_message_spec odd_message;
};

static void close_test_store(void *context)
{
    struct test_store *test_store = context;

    pawl_store_close(test_store->store);
    sqlite3_close(test_store->foreign);
    free(test_store);
}

static void foreign(struct test_store *test_store, const char *sql)
{
    char *problem = NULL;

    if (sqlite3_exec(test_store->foreign, sql, NULL, NULL, &problem) != SQLITE_OK)
        test_fail("%s: %s", sql, problem);
}

static int count_rows(struct test_store *test_store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int n = -1;

    if (sqlite3_prepare_v2(test_store->foreign, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        n = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return n;
}

static struct test_store *open_test_store(int64_t timeout_ms)
{
    struct test_store *test_store = calloc(1, sizeof *test_store);
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    assert_non_null(test_store);
    test_defer(close_test_store, test_store);
    test_store->odd_one = -1;
    test_store->path = test_note("%s/group.db", test_directory());
    snprintf(test_store->url, sizeof test_store->url, "sqlite:%s", test_store->path);
    options.deploy_schema = true;
    options.timeout_ms = timeout_ms;
    assert_ok(pawl_store_open(test_store->url, &options, &test_store->store, &err), &err);
    assert_int_equal(sqlite3_open(test_store->path, &test_store->foreign), SQLITE_OK);
    foreign(test_store, "PRAGMA wal_autocheckpoint = 0");
    return test_store;
}

static pawl_message_spec ordinary(void)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;

    message.topic = "t";
    message.payload = "p";
    message.payload_size = 1;
    return message;
}

/* WAL: 32 bytes of header, then frames of 24 bytes + a page; bytes 4-7 are not 0 in a commit frame,
 * bytes 8-15 must be the salts of the header or the frame is a leftover. */
static int commits_in_wal(const char *path)
{
    unsigned char header[32], frame[24];
    int fd = open(test_note("%s-wal", path), O_RDONLY | O_CLOEXEC);
    int commits = 0;

    if (fd < 0 || read(fd, header, sizeof header) != (ssize_t)sizeof header) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    off_t page = header[8] << 24 | header[9] << 16 | header[10] << 8 | header[11];
    for (off_t at = 32; pread(fd, frame, sizeof frame, at) == (ssize_t)sizeof frame;
         at += 24 + page)
        commits += memcmp(frame + 8, header + 16, 8) == 0 &&
                   (frame[4] | frame[5] | frame[6] | frame[7]) != 0;
    close(fd);
    return commits;
}

static const char *call_store(void *context, size_t index)
{
    struct test_store *test_store = context;
    pawli_group *group = test_store->store->db->group;

    if (index == CALLERS) { /* the foreign writer: commits when all callers but the leader wait */
        activity_wait(pawli_group_waiting(group) >= CALLERS - 1);
        if (sqlite3_exec(test_store->foreign, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
            return "the foreign COMMIT failed";
        return NULL;
    }
    pawl_message_spec message =
        (int)index == test_store->odd_one ? test_store->odd_message : ordinary();
    test_store->answers[index] =
        pawl_outbox_enqueue(test_store->store, &message, NULL, &test_store->errors[index]);
    return NULL;
}

static void all_call(struct test_store *test_store)
{
    foreign(test_store, "BEGIN IMMEDIATE");
    test_threads(CALLERS + 1, call_store, test_store);
}

/* One, or a few when the work itself took longer than a group may (under a sanitizer). */
static void expect_few_commits(struct test_store *test_store, int before)
{
    assert_in_range(commits_in_wal(test_store->path) - before, 1, CALLERS / 3);
}

PAWL_TEST(callers_that_wait_share_one_commit)
{
    struct test_store *test_store = open_test_store(30000);
    int before = commits_in_wal(test_store->path);

    all_call(test_store);
    for (int i = 0; i < CALLERS; i++)
        assert_ok(test_store->answers[i], &test_store->errors[i]);
    assert_int_equal(count_rows(test_store, "SELECT count(*) FROM pawl_queue"), CALLERS);
    expect_few_commits(test_store, before);
}

PAWL_TEST(a_failing_caller_is_rolled_back_alone)
{
    struct test_store *test_store = open_test_store(30000);
    pawl_message_spec first = ordinary();
    pawl_error err = PAWL_ERROR_INIT;

    first.id = pawl_uuid_new();
    assert_ok(pawl_outbox_enqueue(test_store->store, &first, NULL, &err), &err);
    test_store->odd_one = 5;
    test_store->odd_message = first;
    test_store->odd_message.topic = "other"; /* a conflict, found after a lane was added for it */
    int before = commits_in_wal(test_store->path);
    all_call(test_store);
    for (int i = 0; i < CALLERS; i++)
        assert_status(i == 5 ? PAWL_E_CONFLICT : PAWL_OK, test_store->answers[i],
                      &test_store->errors[i]);
    assert_int_equal(count_rows(test_store, "SELECT count(*) FROM pawl_queue"), CALLERS);
    assert_int_equal(count_rows(test_store, "SELECT count(*) FROM pawl_lane WHERE topic = 'other'"),
                     0);
    expect_few_commits(test_store, before);
}

PAWL_TEST(a_caller_that_loses_the_transaction_affects_no_other)
{
    struct test_store *test_store = open_test_store(30000);

    foreign(test_store, "CREATE TRIGGER loses_all BEFORE INSERT ON pawl_body "
                        "WHEN NEW.correlation_id = 'loses all' "
                        "BEGIN SELECT RAISE(ROLLBACK, 'by the test'); END");
    test_store->odd_one = 7;
    test_store->odd_message = ordinary();
    test_store->odd_message.correlation_id = "loses all";
    all_call(test_store);
    for (int i = 0; i < CALLERS; i++)
        assert_status(i == 7 ? PAWL_E_STORE : PAWL_OK, test_store->answers[i],
                      &test_store->errors[i]);
    assert_int_equal(count_rows(test_store, "SELECT count(*) FROM pawl_queue"), CALLERS - 1);
    assert_int_equal(count_rows(test_store, "SELECT count(DISTINCT message_id) FROM pawl_body"),
                     CALLERS - 1);
}

static const char *call_in_vain(void *context, size_t index)
{
    struct test_store *test_store = context;
    pawl_message_spec message = ordinary();

    test_store->answers[index] =
        pawl_outbox_enqueue(test_store->store, &message, NULL, &test_store->errors[index]);
    return NULL;
}

PAWL_TEST(a_foreign_writer_that_never_commits_makes_all_callers_busy)
{
    struct test_store *test_store = open_test_store(300);

    foreign(test_store, "BEGIN IMMEDIATE");
    test_threads(CALLERS, call_in_vain, test_store);
    foreign(test_store, "COMMIT");
    for (int i = 0; i < CALLERS; i++)
        assert_status(PAWL_E_BUSY, test_store->answers[i], &test_store->errors[i]);
    assert_int_equal(count_rows(test_store, "SELECT count(*) FROM pawl_body"), 0);
}

static const char *call_and_interrupt(void *context, size_t index)
{
    struct test_store *test_store = context;

    if (index < CALLERS)
        return call_in_vain(context, index);
    activity_wait(pawli_group_waiting(test_store->store->db->group) >= CALLERS - 1);
    pawl_store_interrupt(test_store->store);
    return NULL;
}

PAWL_TEST(an_interrupt_ends_the_leader_and_all_that_wait)
{
    struct test_store *test_store = open_test_store(60000);
    pawl_message_spec message = ordinary();
    pawl_error err = PAWL_ERROR_INIT;

    foreign(test_store, "BEGIN IMMEDIATE");
    test_threads(CALLERS + 1, call_and_interrupt, test_store);
    foreign(test_store, "COMMIT");
    for (int i = 0; i < CALLERS; i++)
        assert_status(PAWL_E_INTERRUPTED, test_store->answers[i], &test_store->errors[i]);
    assert_int_equal(count_rows(test_store, "SELECT count(*) FROM pawl_body"), 0);
    assert_ok(pawl_outbox_enqueue(test_store->store, &message, NULL, &err), &err);
}
