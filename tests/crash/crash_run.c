/* tests/crash/crash_run.c - opening, closing, reading, and one step after the other. */
#include "crash_run.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "crash_vfs.h"

#define CROWD 4
#define PAYLOAD_ROOM 16384

void crash_run_init(crash_run *l, const char *path, pawl_durability durability)
{
    *l = (crash_run){.path = path, .durability = durability};
}

void crash_run_wrong(crash_run *l, const char *format, ...)
{
    va_list arguments;

    if (l->wrong[0])
        return;
    int used = snprintf(l->wrong, sizeof l->wrong, "%s: ", step_name(l->at));
    va_start(arguments, format);
    vsnprintf(l->wrong + used, sizeof l->wrong - (size_t)used, format, arguments);
    va_end(arguments);
}

static pawl_status open_store(crash_run *l, bool deploy, pawl_error *err)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    char url[1100];

    opts.deploy_schema = deploy;
    opts.durability = l->durability;
    snprintf(url, sizeof url, "sqlite:%s", l->path);
    return pawl_store_open(url, &opts, &l->store, err);
}

static void close_application(crash_run *l)
{
    sqlite3_close(l->application);
    l->application = NULL;
}

bool crash_run_application(crash_run *l)
{
    const char *synchronous = l->durability == PAWL_DURABILITY_NORMAL
                                  ? "PRAGMA synchronous = NORMAL"
                                  : "PRAGMA synchronous = FULL";

    if (l->application)
        return true;
    if (sqlite3_open_v2(l->path, &l->application, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(l->application, 10000) == SQLITE_OK &&
        sqlite3_exec(l->application, synchronous, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    close_application(l);
    return false;
}

void crash_run_close(crash_run *l)
{
    pawl_store_close(l->store);
    l->store = NULL;
    close_application(l);
}

static void copy_message(crash_run *l, int number, const pawl_message *message, model_message *ret)
{
    uint8_t payload[PAYLOAD_ROOM];
    size_t size = 0;
    const void *bytes = pawl_message_payload(message, &size);
    pawl_owner owner = pawl_message_owner(message);

    model_payload(number, payload);
    if (size != model_payload_size(number) || memcmp(bytes, payload, size) != 0 ||
        strcmp(pawl_message_topic(message), model_topic(number)) != 0)
        crash_run_wrong(l, "message %d came back with another topic or payload", number);
    *ret = (model_message){
        .state = (int)pawl_message_state(message),
        .retries = pawl_message_retries(message),
        .owner = model_owner_number(owner.bytes),
        .fence = pawl_message_fence(message),
        .lease_until_ms = pawl_message_lease_until(message).us / 1000,
    };
    if (ret->state == PAWL_STATE_SCHEDULED) /* the model has states as they are stored */
        ret->state = PAWL_STATE_READY;
    if (ret->state == PAWL_STATE_READY)
        ret->run_at_ms = pawl_message_next_attempt_at(message).us / 1000;
    l->ids[number] = pawl_message_work_id(message);
    if (ret->fence > 0 && ret->fence != l->fences[number]) {
        l->earlier_fences[number] = l->fences[number];
        l->fences[number] = ret->fence;
    }
    if (ret->fence > l->highest_fence)
        l->highest_fence = ret->fence;
}

bool crash_run_read(crash_run *l, int number, model_message *ret_message, pawl_error *err)
{
    pawl_messages *one = NULL;
    pawl_status st = pawl_outbox_find(l->store, model_id(number), &one, err);

    if (st == PAWL_OK)
        copy_message(l, number, pawl_messages_at(one, 0), ret_message);
    else if (st == PAWL_E_NOT_FOUND)
        *ret_message = (model_message){.state = MODEL_ABSENT};
    pawl_messages_free(one);
    return st == PAWL_OK || st == PAWL_E_NOT_FOUND;
}

static pawl_status read_all_back(crash_run *l, const step *s, pawl_error *err)
{
    for (int i = s->first; i < s->first + s->count; i++) {
        model_message found;

        if (!crash_run_read(l, i, &found, err))
            return err->status;
        if (found.state != scenario_model(l->at)->messages[i].state)
            crash_run_wrong(l, "message %d is read back in another state", i);
    }
    return PAWL_OK;
}

/* SQLITE_BUSY is a result: there is a reader, and the rest is done later. */
static pawl_status checkpoint_file(crash_run *l, int mode)
{
    if (!crash_run_application(l))
        return PAWL_E_IO;
    int code = sqlite3_wal_checkpoint_v2(l->application, NULL, mode, NULL, NULL);
    if (code == SQLITE_OK || code == SQLITE_BUSY)
        return PAWL_OK;
    close_application(l);
    return PAWL_E_IO;
}

/* As an application should: only these say for certain that a COMMIT has not happened. */
static pawl_status application_status(int code)
{
    if (code == SQLITE_OK)
        return PAWL_OK;
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_CONSTRAINT ? PAWL_E_BUSY
                                                                              : PAWL_E_IN_DOUBT;
}

static pawl_status make_orders(crash_run *l)
{
    if (!crash_run_application(l))
        return PAWL_E_IO;
    int code = sqlite3_exec(l->application,
                            "CREATE TABLE IF NOT EXISTS orders (n INTEGER PRIMARY KEY) STRICT",
                            NULL, NULL, NULL);
    if (code != SQLITE_OK)
        close_application(l);
    return application_status(code);
}

static pawl_status reopen_store(crash_run *l, pawl_error *err)
{
    crash_run_close(l);
    pawl_status st = open_store(l, false, err);
    return st == PAWL_OK && !crash_run_application(l) ? PAWL_E_IO : st;
}

static pawl_status run_one(crash_run *l, const step *s, pawl_error *err)
{
    switch (s->verb) {
    case DEPLOY:
        return open_store(l, true, err);
    case MAKE_ORDERS:
        return make_orders(l);
    case SEND:
    case SEND_BATCH:
    case SEND_AGAIN:
    case SEND_OTHER:
    case SCHEDULE:
        return crash_run_send(l, s, err);
    case SEND_TX:
    case SEND_TX_UNDO:
        return crash_run_send_tx(l, s, err);
    case CLAIM:
    case ACK_AND_CLAIM:
        return crash_run_claim(l, s, err);
    case RENEW:
    case ACK:
    case ACK_LATE:
    case ABANDON:
    case FAIL:
    case RELEASE:
    case REAP:
    case EXPIRE:
    case CANCEL:
    case UNSCHEDULE:
    case REDRIVE:
    case RETAIN:
    case PURGE:
        return crash_run_change(l, s, err);
    case LEASE_TAKE:
    case LEASE_RENEW:
    case LEASE_RELEASE:
    case LEASE_LATE:
    case LEASE_CLEAN:
        return crash_run_lease(l, s, err);
    case CHECKPOINT_PASSIVE:
        return checkpoint_file(l, SQLITE_CHECKPOINT_PASSIVE);
    case CHECKPOINT_RESTART:
        return checkpoint_file(l, SQLITE_CHECKPOINT_RESTART);
    case CHECKPOINT_TRUNCATE:
        return checkpoint_file(l, SQLITE_CHECKPOINT_TRUNCATE);
    case READ_BACK:
        return read_all_back(l, s, err);
    case REOPEN:
        return reopen_store(l, err);
    case SEND_CROWD:
    case WAIT:
        break;
    }
    return PAWL_OK;
}

answer crash_run_answer_of(pawl_status st)
{
    if (st == PAWL_OK)
        return ANSWER_DONE;
    return st == PAWL_E_IN_DOUBT ? ANSWER_IN_DOUBT : ANSWER_NOT_DONE;
}

typedef struct crowd_member {
    pthread_t thread;
    crash_run *l;
    int first_call;
    pawl_status statuses[SCENARIO_CALLS_MAX];
} crowd_member;

static void *send_as_member(void *argument)
{
    crowd_member *member = argument;
    const step *s = &scenario[member->l->at];

    for (int call = member->first_call; call < s->count; call += CROWD) {
        pawl_error err = PAWL_ERROR_INIT;
        if (member->l->answers[call] != ANSWER_DONE)
            member->statuses[call] = crash_run_send_one(member->l, s->first + call, &err);
    }
    return NULL;
}

/* Calls that were done in an earlier try of the step are not made again. */
static void run_crowd(crash_run *l)
{
    crowd_member members[CROWD];
    const step *s = &scenario[l->at];

    for (int i = 0; i < CROWD; i++) {
        members[i] = (crowd_member){.l = l, .first_call = i};
        if (pthread_create(&members[i].thread, NULL, send_as_member, &members[i]) != 0)
            crash_run_wrong(l, "no thread could be started");
    }
    for (int i = 0; i < CROWD; i++)
        pthread_join(members[i].thread, NULL);
    for (int call = 0; call < s->count; call++) {
        pawl_status st = members[call % CROWD].statuses[call];

        l->answers[call] = crash_run_answer_of(st);
        if (st != PAWL_OK)
            l->status = st;
    }
}

bool crash_run_step(crash_run *l)
{
    const step *s = &scenario[l->at];
    bool done = true;

    crash_vfs_set_clock(step_now_ms(l->at) + (s->verb == WAIT ? s->ms : 0));
    if (s->verb == SEND_CROWD) {
        run_crowd(l);
    } else {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_status st = run_one(l, s, &err);
        l->answers[0] = crash_run_answer_of(st);
        /* A store that cannot be opened says nothing about the tables that were to be made. */
        if (s->verb == DEPLOY && st != PAWL_OK)
            l->answers[0] = ANSWER_IN_DOUBT;
        l->status = st;
        if (st != PAWL_OK && err.status != PAWL_OK && err.status != st)
            crash_run_wrong(l, "answered %s and filled the error with %s", pawl_status_name(st),
                            pawl_status_name(err.status));
    }
    for (int call = 0; call < step_calls(s); call++)
        done = done && l->answers[call] == ANSWER_DONE;
    if (done) {
        memset(l->answers, 0, sizeof l->answers);
        l->at++;
    }
    return done;
}

void crash_run_run(crash_run *l)
{
    while (l->at < scenario_count && crash_run_step(l))
        ;
}
