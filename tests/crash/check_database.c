/* tests/crash/check_database.c - opening what was found, comparing it, and going on with it. */
#include "check_database.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash_vfs.h"

typedef struct checking {
    const char *path;
    const check_expect *expect;
    char *text;
    size_t size;
} checking;

static bool say_wrong(const checking *c, const char *format, ...) PAWL_PRINTF(2, 3);
static bool say_wrong(const checking *c, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(c->text, c->size, format, arguments);
    va_end(arguments);
    return false;
}

static size_t after_last_checkpoint(size_t at)
{
    size_t from = 0;

    for (size_t i = 0; i < at; i++) {
        if (scenario[i].verb >= CHECKPOINT_PASSIVE && scenario[i].verb <= CHECKPOINT_TRUNCATE)
            from = i;
    }
    return from;
}

void check_expect_run(check_expect *e, const crash_run *l)
{
    *e = (check_expect){.at = l->at, .highest_fence = l->highest_fence};
    memcpy(e->answers, l->answers, sizeof e->answers);
    /* With synchronous=NORMAL commits do not wait for the disk. */
    e->may_be_lost_from =
        l->durability == PAWL_DURABILITY_NORMAL ? after_last_checkpoint(l->at) : l->at;
}

/* Whether the call's messages are in their final state. */
static bool call_is_there(const model *before, const model *found, const step *s, int call,
                          int64_t now_ms)
{
    model after = *before;
    char text[512];

    if (s->verb == SEND_CROWD)
        return found->messages[s->first + call].state != MODEL_ABSENT;
    model_apply_call(&after, s, call, now_ms);
    return !model_differ(&after, found, text, sizeof text);
}

/* The state that must be there if the steps before `at` were kept, and calls of it by answer. */
static void expected_model(const check_expect *e, const answer *answers, const model *found,
                           size_t at, model *ret_model)
{
    *ret_model = *scenario_model(at);
    if (at >= scenario_count || !answers)
        return;
    for (int call = 0; call < step_calls(&scenario[at]); call++) {
        int64_t now_ms = step_now_ms(at);
        bool there = answers[call] == ANSWER_DONE;

        if (answers[call] == ANSWER_IN_DOUBT && !e->doubt_is_failure)
            there = call_is_there(ret_model, found, &scenario[at], call, now_ms);
        if (there)
            model_apply_call(ret_model, &scenario[at], call, now_ms);
    }
}

/* Without a sync at that commit any earlier state is good, as long as it is one. */
static bool is_earlier_state(const check_expect *e, const model *found)
{
    answer any[SCENARIO_CALLS_MAX];
    char difference[512];
    model expected;

    for (size_t i = 0; i < SCENARIO_CALLS_MAX; i++)
        any[i] = ANSWER_IN_DOUBT;
    for (size_t at = e->may_be_lost_from; at <= e->at; at++) {
        bool crowd = at < scenario_count && scenario[at].verb == SEND_CROWD;

        expected_model(e, crowd ? any : NULL, found, at, &expected);
        if (!model_differ(&expected, found, difference, sizeof difference))
            return true;
    }
    return false;
}

static bool compare_model(const checking *c, const model *found)
{
    const check_expect *e = c->expect;
    char difference[512];
    model expected;

    expected_model(e, e->answers, found, e->at, &expected);
    if (!model_differ(&expected, found, difference, sizeof difference))
        return true;
    if (e->may_be_lost_from < e->at && is_earlier_state(e, found))
        return true;
    return say_wrong(c, "%s was not done, and %s", step_name(e->at), difference);
}

/* The text of the tables as the library's own SQL makes them, in a database of its own. */
static const char *whole_schema(void)
{
    static char *text; /* asked for thousands of times */
    sqlite3 *handle = NULL;
    char *sql = NULL;

    if (!text && pawl_schema_sql("sqlite", 0, NULL, &sql, NULL) == PAWL_OK &&
        sqlite3_open(":memory:", &handle) == SQLITE_OK &&
        sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK)
        text = observe_schema(handle);
    sqlite3_close(handle);
    free(sql);
    return text;
}

static bool check_schema(const checking *c, sqlite3 *handle)
{
    const char *whole = whole_schema();
    char *found = observe_schema(handle);
    bool same = whole && found && strcmp(found, whole) == 0;

    free(found);
    return same || say_wrong(c, "pawl's tables are there in part");
}

static bool check_contents(const checking *c, bool schema)
{
    sqlite3 *handle = NULL;
    model found;
    bool good;

    if (access(c->path, F_OK) == 0 &&
        sqlite3_open_v2(c->path, &handle, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        sqlite3_close(handle);
        return say_wrong(c, "SQLite cannot open the file");
    }
    good = observe(handle, &found, c->text, c->size);
    if (good && found.schema != schema)
        good = say_wrong(c, "the store says that its tables are %sthere", schema ? "" : "not ");
    if (good && handle)
        good = observe_rules(handle, found.schema, c->text, c->size);
    if (good && found.schema)
        good = check_schema(c, handle);
    if (good)
        good = compare_model(c, &found);
    sqlite3_close(handle);
    return good;
}

static bool failed_call(const checking *c, const char *what, const pawl_error *err)
{
    return say_wrong(c, "after the restart, %s: %s: %s", what, pawl_status_name(err->status),
                     err->message);
}

static bool claim_and_ack(const checking *c, pawl_store *store, pawl_work_id id)
{
    static const char *const topic = "after";
    pawl_claim_options opts = PAWL_CLAIM_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    size_t changed = 0;
    bool good = true;

    opts.topics = &topic;
    opts.topic_count = 1;
    if (pawl_queue_claim(store, model_owner(1), 1000, 10, &opts, &list, &err) != PAWL_OK)
        return failed_call(c, "claim", &err);
    const pawl_message *message = pawl_messages_at(list, 0);
    if (pawl_messages_count(list) != 1 || pawl_message_work_id(message).value != id.value)
        good = say_wrong(c, "after the restart, the claim gave something else than was sent");
    else if (pawl_message_fence(message) <= c->expect->highest_fence)
        good = say_wrong(c, "after the restart, a fence was given out twice");
    if (good) {
        pawl_receipt item = {id, pawl_message_fence(message)};
        if (pawl_queue_ack(store, model_owner(1), &item, 1, &changed, &err) != PAWL_OK)
            good = failed_call(c, "ack", &err);
        else if (changed != 1)
            good = say_wrong(c, "after the restart, ack changed %zu messages", changed);
    }
    pawl_messages_free(list);
    return good;
}

static bool check_works(const checking *c, pawl_store *store)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued enqueued;

    message.topic = "after";
    message.payload = "it works";
    message.payload_size = 8;
    if (pawl_outbox_enqueue(store, &message, &enqueued, &err) != PAWL_OK)
        return failed_call(c, "enqueue", &err);
    return claim_and_ack(c, store, enqueued.work_id);
}

static bool check_sound_at_last(const checking *c)
{
    sqlite3 *handle = NULL;
    bool good = sqlite3_open_v2(c->path, &handle, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK;

    good = good ? observe_rules(handle, true, c->text, c->size)
                : say_wrong(c, "SQLite cannot open the file again");
    sqlite3_close(handle);
    return good;
}

bool check_database(const char *path, const check_expect *e, char *ret_text, size_t size)
{
    checking c = {path, e, ret_text, size};
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    char url[1100];
    bool good;

    snprintf(url, sizeof url, "sqlite:%s", path);
    crash_vfs_set_clock(step_now_ms(e->at));
    pawl_status st = pawl_store_open(url, &opts, &store, &err);
    if (st != PAWL_OK && st != PAWL_E_NO_SCHEMA && st != PAWL_E_NOT_FOUND)
        return failed_call(&c, "open", &err);
    good = check_contents(&c, st == PAWL_OK);
    opts.deploy_schema = true;
    if (good && !store && pawl_store_open(url, &opts, &store, &err) != PAWL_OK)
        good = failed_call(&c, "deploy", &err);
    if (good)
        good = check_works(&c, store);
    pawl_store_close(store);
    return good && check_sound_at_last(&c);
}
