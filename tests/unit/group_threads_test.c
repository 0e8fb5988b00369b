/*
 * tests/unit/group_threads_test.c - group commit on a real SQLite file: who shares a commit, and
 * what one caller's misfortune does to the others.
 *
 * A foreign handle holds the write lock while the callers line up, so that all of them are in one
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
struct ground {
    char url[512];
    const char *path;
    pawl_store *store;
    sqlite3 *foreign;
    pawl_status answers[CALLERS];
    pawl_error errors[CALLERS];
    int odd_one; /* the caller that brings `odd_message` */
    pawl_outgoing odd_message;
};

static void close_ground(void *context)
{
    struct ground *ground = context;

    pawl_store_close(ground->store);
    sqlite3_close(ground->foreign);
    free(ground);
}

static void foreign(struct ground *ground, const char *sql)
{
    char *problem = NULL;

    if (sqlite3_exec(ground->foreign, sql, NULL, NULL, &problem) != SQLITE_OK)
        test_fail("%s: %s", sql, problem);
}

static int count(struct ground *ground, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int n = -1;

    if (sqlite3_prepare_v2(ground->foreign, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        n = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return n;
}

static struct ground *open_ground(int64_t timeout_ms)
{
    struct ground *ground = calloc(1, sizeof *ground);
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    assert_non_null(ground);
    test_defer(close_ground, ground);
    ground->odd_one = -1;
    ground->path = test_note("%s/group.db", test_directory());
    snprintf(ground->url, sizeof ground->url, "sqlite:%s", ground->path);
    options.deploy_schema = true;
    options.timeout_ms = timeout_ms;
    assert_ok(pawl_store_open(ground->url, &options, &ground->store, &err), &err);
    assert_int_equal(sqlite3_open(ground->path, &ground->foreign), SQLITE_OK);
    foreign(ground, "PRAGMA wal_autocheckpoint = 0");
    return ground;
}

static pawl_outgoing ordinary(void)
{
    pawl_outgoing message = PAWL_OUTGOING_INIT;

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

static const char *call(void *context, size_t index)
{
    struct ground *ground = context;
    pawli_group *group = ground->store->db->group;

    if (index == CALLERS) { /* the foreigner: lets go when everybody but the leader waits */
        activity_wait(pawli_group_waiting(group) >= CALLERS - 1);
        if (sqlite3_exec(ground->foreign, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
            return "the foreign COMMIT failed";
        return NULL;
    }
    pawl_outgoing message = (int)index == ground->odd_one ? ground->odd_message : ordinary();
    ground->answers[index] =
        pawl_outbox_enqueue(ground->store, &message, NULL, &ground->errors[index]);
    return NULL;
}

static void all_call(struct ground *ground)
{
    foreign(ground, "BEGIN IMMEDIATE");
    test_threads(CALLERS + 1, call, ground);
}

/* One, or a few when the work itself took longer than a group may (under a sanitizer). */
static void expect_few_commits(struct ground *ground, int before)
{
    assert_in_range(commits_in_wal(ground->path) - before, 1, CALLERS / 3);
}

PAWL_TEST(callers_that_wait_share_one_commit)
{
    struct ground *ground = open_ground(30000);
    int before = commits_in_wal(ground->path);

    all_call(ground);
    for (int i = 0; i < CALLERS; i++)
        assert_ok(ground->answers[i], &ground->errors[i]);
    assert_int_equal(count(ground, "SELECT count(*) FROM pawl_queue"), CALLERS);
    expect_few_commits(ground, before);
}

PAWL_TEST(one_that_fails_is_undone_alone)
{
    struct ground *ground = open_ground(30000);
    pawl_outgoing first = ordinary();
    pawl_error err = PAWL_ERROR_INIT;

    first.id = pawl_message_id_new();
    assert_ok(pawl_outbox_enqueue(ground->store, &first, NULL, &err), &err);
    ground->odd_one = 5;
    ground->odd_message = first;
    ground->odd_message.topic = "other"; /* a conflict, found after a lane was added for it */
    int before = commits_in_wal(ground->path);
    all_call(ground);
    for (int i = 0; i < CALLERS; i++)
        assert_status(i == 5 ? PAWL_E_CONFLICT : PAWL_OK, ground->answers[i], &ground->errors[i]);
    assert_int_equal(count(ground, "SELECT count(*) FROM pawl_queue"), CALLERS);
    assert_int_equal(count(ground, "SELECT count(*) FROM pawl_lane WHERE topic = 'other'"), 0);
    expect_few_commits(ground, before);
}

PAWL_TEST(one_that_loses_the_whole_transaction_takes_nobody_with_it)
{
    struct ground *ground = open_ground(30000);

    foreign(ground, "CREATE TRIGGER loses_all BEFORE INSERT ON pawl_body "
                    "WHEN NEW.correlation_id = 'loses all' "
                    "BEGIN SELECT RAISE(ROLLBACK, 'by the test'); END");
    ground->odd_one = 7;
    ground->odd_message = ordinary();
    ground->odd_message.correlation_id = "loses all";
    all_call(ground);
    for (int i = 0; i < CALLERS; i++)
        assert_status(i == 7 ? PAWL_E_STORE : PAWL_OK, ground->answers[i], &ground->errors[i]);
    assert_int_equal(count(ground, "SELECT count(*) FROM pawl_queue"), CALLERS - 1);
    assert_int_equal(count(ground, "SELECT count(DISTINCT message_id) FROM pawl_body"),
                     CALLERS - 1);
}

static const char *call_in_vain(void *context, size_t index)
{
    struct ground *ground = context;
    pawl_outgoing message = ordinary();

    ground->answers[index] =
        pawl_outbox_enqueue(ground->store, &message, NULL, &ground->errors[index]);
    return NULL;
}

PAWL_TEST(a_foreign_writer_that_never_lets_go_makes_everybody_busy)
{
    struct ground *ground = open_ground(300);

    foreign(ground, "BEGIN IMMEDIATE");
    test_threads(CALLERS, call_in_vain, ground);
    foreign(ground, "COMMIT");
    for (int i = 0; i < CALLERS; i++)
        assert_status(PAWL_E_BUSY, ground->answers[i], &ground->errors[i]);
    assert_int_equal(count(ground, "SELECT count(*) FROM pawl_body"), 0);
}

static const char *call_and_interrupt(void *context, size_t index)
{
    struct ground *ground = context;

    if (index < CALLERS)
        return call_in_vain(context, index);
    activity_wait(pawli_group_waiting(ground->store->db->group) >= CALLERS - 1);
    pawl_store_interrupt(ground->store);
    return NULL;
}

PAWL_TEST(an_interrupt_ends_the_leader_and_all_that_wait)
{
    struct ground *ground = open_ground(60000);
    pawl_outgoing message = ordinary();
    pawl_error err = PAWL_ERROR_INIT;

    foreign(ground, "BEGIN IMMEDIATE");
    test_threads(CALLERS + 1, call_and_interrupt, ground);
    foreign(ground, "COMMIT");
    for (int i = 0; i < CALLERS; i++)
        assert_status(PAWL_E_INTERRUPTED, ground->answers[i], &ground->errors[i]);
    assert_int_equal(count(ground, "SELECT count(*) FROM pawl_body"), 0);
    assert_ok(pawl_outbox_enqueue(ground->store, &message, NULL, &err), &err);
}
