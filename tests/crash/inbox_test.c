/* tests/crash/inbox_test.c - power is lost at every operation while messages are received. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash_vfs.h"
#include "crash_run.h"
#include "power_loss.h"
#include "crash_summary.h"

#define INBOX_MESSAGES 6
#define INBOX_CALLS 4 /* from this one on: call-out, the others atomic */

/* The results that each got before the power loss. */
typedef struct inbox_answers {
    answer begun[INBOX_MESSAGES]; /* pawl_inbox_begin() or pawl_inbox_call() */
    answer done[INBOX_MESSAGES];
    int64_t highest_fence;
    char wrong[256]; /* a result that is wrong whatever is on the disk; or "" */
} inbox_answers;

#define SOURCE "shop"
#define FAILS_FIRST 1 /* this message's first attempt */

static void name_of(int number, char ret_id[16], char ret_response[32])
{
    snprintf(ret_id, 16, "%d", number);
    snprintf(ret_response, 32, "response %d", number);
}

/* Make an empty store with the application's table `orders` at `path`. */
static bool prepare_inbox(const char *path)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store;
    sqlite3 *handle = NULL;

    crash_vfs_set_clock(MODEL_START_MS);
    store = power_loss_open(path, true, &err);
    pawl_store_close(store);
    bool made = store && sqlite3_open(path, &handle) == SQLITE_OK &&
                sqlite3_exec(handle, "CREATE TABLE orders (n INTEGER) STRICT", NULL, NULL, NULL) ==
                    SQLITE_OK;
    sqlite3_close(handle);
    return made;
}

/* The application's row and a further message, in the transaction of the delivery. */
static pawl_status write_effect(pawl_tx *tx, int number, pawl_error *err)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    char sql[64], id[16], response[32];

    name_of(number, id, response);
    snprintf(sql, sizeof sql, "INSERT INTO orders VALUES (%d)", number);
    if (sqlite3_exec(pawl_tx_sqlite(tx), sql, NULL, NULL, NULL) != SQLITE_OK)
        return PAWL_E_IO;
    message.topic = "effect";
    message.payload = id;
    message.payload_size = strlen(id);
    message.correlation_id = id;
    return pawl_tx_enqueue(tx, &message, NULL, err);
}

static pawl_status begin_delivery(pawl_store *store, int number, pawl_inbox_task **ret_arrival,
                                  pawl_error *err)
{
    char id[16], response[32];

    name_of(number, id, response);
    return number < INBOX_CALLS ? pawl_inbox_begin(store, SOURCE, id, NULL, NULL, ret_arrival, err)
                                : pawl_inbox_call(store, SOURCE, id, NULL, NULL, ret_arrival, err);
}

static pawl_status finish_delivery(pawl_inbox_task *arrival, int number, pawl_error *err)
{
    char id[16], response[32];
    pawl_status st = PAWL_OK;

    name_of(number, id, response);
    if (number < INBOX_CALLS)
        st = write_effect(pawl_inbox_task_tx(arrival), number, err);
    return st == PAWL_OK ? pawl_inbox_task_done(arrival, response, strlen(response), err) : st;
}

static bool has_response(const pawl_inbox_task *arrival, int number)
{
    char id[16], response[32];
    size_t size = 0;
    const void *found = pawl_inbox_task_response(arrival, &size);

    name_of(number, id, response);
    return found && size == strlen(response) && memcmp(found, response, size) == 0;
}

/* Whether to continue. */
static bool receive_one(inbox_answers *l, pawl_store *store, int number, bool fails)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = NULL;
    pawl_status st = begin_delivery(store, number, &arrival, &err);

    l->begun[number] = crash_run_answer_of(st);
    if (st != PAWL_OK)
        return false;
    if (pawl_inbox_task_result(arrival) != PAWL_INBOX_NEW)
        snprintf(l->wrong, sizeof l->wrong, "message %d is '%s' at first", number,
                 pawl_inbox_result_name(pawl_inbox_task_result(arrival)));
    if (pawl_inbox_task_fence(arrival) <= l->highest_fence)
        snprintf(l->wrong, sizeof l->wrong, "a fence was given out twice");
    l->highest_fence = pawl_inbox_task_fence(arrival);
    if (fails) {
        st = pawl_inbox_task_fail(arrival, "at first", &err);
    } else {
        st = finish_delivery(arrival, number, &err);
        l->done[number] = crash_run_answer_of(st);
    }
    pawl_inbox_task_free(arrival);
    return st == PAWL_OK;
}

static bool receive_again(inbox_answers *l, pawl_store *store, int number)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = NULL;

    if (begin_delivery(store, number, &arrival, &err) != PAWL_OK)
        return false;
    if (pawl_inbox_task_result(arrival) != PAWL_INBOX_DUPLICATE || !has_response(arrival, number))
        snprintf(l->wrong, sizeof l->wrong, "message %d is not answered as a duplicate", number);
    pawl_inbox_task_free(arrival);
    return true;
}

/*
 * Every message once, the first three once more; one fails at first. Ends at the first call that
 * was not done.
 */
static void run_inbox(void *context, const char *path)
{
    inbox_answers *l = context;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store;
    bool on;

    *l = (inbox_answers){0};
    store = power_loss_open(path, false, &err);
    on = store != NULL;
    for (int i = 0; on && i < INBOX_MESSAGES; i++) {
        if (i == FAILS_FIRST)
            on = receive_one(l, store, i, true);
        on = on && receive_one(l, store, i, false);
        if (i < 3)
            on = on && receive_again(l, store, i);
    }
    pawl_store_close(store);
}

/* ---- after the restart ---- */

static int64_t count(sqlite3 *handle, const char *format, int number)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf(format, number);
    int64_t found = -1;

    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        found = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return found;
}

/* Rows, message and record: all or nothing. *ret_done: all. */
static bool is_whole(sqlite3 *handle, int number, bool *ret_done, char *ret_text, size_t size)
{
    int64_t orders = count(handle, "SELECT count(*) FROM orders WHERE n = %d", number);
    int64_t sent =
        count(handle, "SELECT count(*) FROM pawl_body WHERE correlation_id = '%d'", number);
    int64_t done = count(handle,
                         "SELECT count(*) FROM pawl_inbox_record WHERE id = '%d' AND state = 2"
                         " AND response = CAST('response ' || id AS BLOB)",
                         number);
    int64_t expected = number < INBOX_CALLS ? done : 0;

    snprintf(ret_text, size, "message %d: %lld rows, %lld messages, %lld records that are done",
             number, (long long)orders, (long long)sent, (long long)done);
    *ret_done = done == 1;
    return (done == 0 || done == 1) && orders == expected && sent == expected;
}

static bool is_as_answered(const inbox_answers *l, sqlite3 *handle, int number, bool done,
                           char *ret_text, size_t size)
{
    snprintf(ret_text, size, "message %d is %sdone, and was answered otherwise", number,
             done ? "" : "not ");
    if (l->done[number] == ANSWER_DONE && !done)
        return false;
    if (l->done[number] != ANSWER_DONE && l->done[number] != ANSWER_IN_DOUBT && done)
        return false;
    /* The count of an atomic attempt need not survive the loss of power. */
    snprintf(ret_text, size, "message %d was begun, and its attempt is not counted", number);
    return number < INBOX_CALLS || l->begun[number] != ANSWER_DONE ||
           count(handle, "SELECT count(*) FROM pawl_inbox_record WHERE id = '%d' AND attempts > 0",
                 number) == 1;
}

static bool observe_deliveries(const inbox_answers *l, const char *path, bool done[INBOX_MESSAGES],
                               char *ret_text, size_t size)
{
    sqlite3 *handle = NULL;
    bool good = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK;

    snprintf(ret_text, size, "the file is damaged");
    good = good && count(handle,
                         "SELECT count(*) FROM pragma_integrity_check"
                         " WHERE integrity_check = 'ok'",
                         0) == 1;
    for (int i = 0; good && i < INBOX_MESSAGES; i++) {
        good = is_whole(handle, i, &done[i], ret_text, size);
        if (good && l)
            good = is_as_answered(l, handle, i, done[i], ret_text, size);
    }
    sqlite3_close(handle);
    return good;
}

static bool deliver_again(const inbox_answers *l, pawl_store *store, int number, bool was_done,
                          char *ret_text, size_t size)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = NULL;
    bool good = true;

    if (begin_delivery(store, number, &arrival, &err) != PAWL_OK) {
        snprintf(ret_text, size, "message %d again: %s", number, err.message);
        return false;
    }
    pawl_inbox_result expected = was_done ? PAWL_INBOX_DUPLICATE : PAWL_INBOX_NEW;
    if (pawl_inbox_task_result(arrival) != expected ||
        (was_done && !has_response(arrival, number)) ||
        (!was_done && pawl_inbox_task_fence(arrival) <= l->highest_fence)) {
        snprintf(ret_text, size, "message %d again is '%s', or has a response or fence of before",
                 number, pawl_inbox_result_name(pawl_inbox_task_result(arrival)));
        good = false;
    }
    if (good && !was_done && finish_delivery(arrival, number, &err) != PAWL_OK) {
        snprintf(ret_text, size, "message %d again is not done: %s", number, err.message);
        good = false;
    }
    pawl_inbox_task_free(arrival);
    return good;
}

/*
 * What is at `path` after a restart: rows, message and record of each are there together or not at
 * all, as was returned; and delivered again, each is processed if it was not, once. False:
 * `ret_text` says what is wrong.
 */
static bool check_deliveries(const inbox_answers *l, const char *path, char *ret_text, size_t size)
{
    bool done[INBOX_MESSAGES], all[INBOX_MESSAGES];
    pawl_error err = PAWL_ERROR_INIT;
    bool good = observe_deliveries(l, path, done, ret_text, size);

    crash_vfs_set_clock(MODEL_START_MS + 3600000); /* every lease has ended */
    pawl_store *store = good ? power_loss_open(path, false, &err) : NULL;
    if (good && !store) {
        snprintf(ret_text, size, "the store does not open: %s", err.message);
        good = false;
    }
    for (int i = 0; good && i < INBOX_MESSAGES; i++)
        good = deliver_again(l, store, i, done[i], ret_text, size);
    pawl_store_close(store);
    good = good && observe_deliveries(NULL, path, all, ret_text, size);
    for (int i = 0; good && i < INBOX_MESSAGES; i++) {
        snprintf(ret_text, size, "message %d is not done in the end", i);
        good = all[i];
    }
    return good;
}

/* ---- tests ---- */

static bool check_inbox(void *context, const char *path, char *ret_text, size_t size)
{
    inbox_answers *l = context;

    if (l->wrong[0])
        snprintf(ret_text, size, "%s", l->wrong);
    return !l->wrong[0] && check_deliveries(l, path, ret_text, size);
}

static void lose_power(bool syncs_lie, long stride, crash_campaign_result *ret_result)
{
    inbox_answers l;

    crash_vfs_install();
    power_loss_run(test_directory(),
                   &(power_scenario){prepare_inbox, run_inbox, check_inbox, &l, syncs_lie}, stride,
                   ret_result);
}

PAWL_TEST(an_effect_is_there_with_its_record_or_not_at_all)
{
    crash_campaign_result result;

    lose_power(false, test_stride(9), &result);
    summary_expect_survival("inbox", &result);
}

PAWL_TEST(a_disk_that_falsely_reports_a_sync_is_found)
{
    crash_campaign_result result;

    lose_power(true, 7, &result);
    assert_true(result.violations > 0);
}
