/* src/core/inbox_task.c - ends a delivery (done, failed, dead), and runs suspects one at a time. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "batch_update.h"
#include "claim_check.h"
#include "cond.h"
#include "fail.h"
#include "inbox_private.h"
#include "inbox_suspects.h"
#include "log.h"
#include "platform.h"
#include "tx_private.h"

/* ---- ending a delivery: done, failed, dead ---- */

/* ---- ending it by key and fence ---- */

static pawl_status inbox_task_end(const pawli_inbox_item *item, enum pawli_sql sql,
                                  const pawli_param *params, size_t param_count, bool *ret_changed,
                                  pawl_error *err)
{
    size_t changed = 0;
    pawli_op op = {
        .sql = sql,
        .writes = true,
        .urgent = sql == PAWLI_SQL_INBOX_RENEW, /* a lease may be about to expire */
        .params = params,
        .param_count = param_count,
        .on_row = pawli_count_on_row,
        .on_start = pawli_count_on_start,
        .context = &changed,
    };
    pawl_status st =
        item->tx ? pawli_tx_run(item->tx, &op, err) : pawli_db_run(item->store->db, &op, err);

    if (st == PAWL_OK)
        *ret_changed = changed == 1;
    return st;
}

static pawli_value fence_value(int64_t fence)
{
    return fence ? pawli_int(fence) : pawli_null(PAWLI_INT);
}

pawl_status pawli_inbox_finish(const pawli_inbox_item *item, const void *response, size_t size,
                               bool *ret_changed, pawl_error *err)
{
    pawli_param params[] = {
        {"source", pawli_text(item->source)},
        {"id", pawli_text(item->id)},
        {"fence", fence_value(item->fence)},
        {"response", response ? pawli_bytes(response, size) : pawli_null(PAWLI_BYTES)},
        {"keep", pawli_span_ms(item->keep_ms)},
    };

    return inbox_task_end(item, PAWLI_SQL_INBOX_DONE, params, PAWLI_COUNT(params), ret_changed,
                          err);
}

pawl_status pawli_inbox_fail_permanently(const pawli_inbox_item *item, const char *error, bool dead,
                                         bool *ret_changed, pawl_error *err)
{
    char room[PAWLI_CLEAN_TEXT_SIZE];
    pawli_param params[] = {
        {"source", pawli_text(item->source)}, {"id", pawli_text(item->id)},
        {"fence", fence_value(item->fence)},  {"error", pawli_clean_text(error, room)},
        {"dead", pawli_bool(dead)},           {"keep", pawli_span_ms(item->keep_ms)},
    };

    return inbox_task_end(item, PAWLI_SQL_INBOX_FAIL, params, PAWLI_COUNT(params), ret_changed,
                          err);
}

pawl_status pawli_inbox_release(const pawli_inbox_item *item, bool *ret_changed, pawl_error *err)
{
    pawli_param params[] = {
        {"source", pawli_text(item->source)},
        {"id", pawli_text(item->id)},
        {"fence", pawli_int(item->fence)},
    };

    return inbox_task_end(item, PAWLI_SQL_INBOX_RELEASE, params, PAWLI_COUNT(params), ret_changed,
                          err);
}

pawl_status pawli_inbox_check_response(pawl_store *store, const void *response, size_t size,
                                       pawl_error *err)
{
    size_t most = pawli_db_driver(store->db)->max_payload_bytes;

    if (!response && size > 0)
        return pawli_fail(err, PAWL_E_INVALID, "the response is NULL but its size is not 0");
    if (size > most)
        return pawli_fail(err, PAWL_E_TOO_LARGE,
                          "the response has %zu bytes; the maximum is %zu: store it elsewhere and "
                          "pass a reference",
                          size, most);
    return PAWL_OK;
}

/* ---- ending it as an inbox task ---- */

static pawli_inbox_item item_of(const pawl_inbox_task *task, pawl_tx *tx)
{
    return (pawli_inbox_item){
        .store = task->store,
        .tx = tx,
        .source = task->source,
        .id = task->id,
        .fence = task->fence,
        .keep_ms = task->keep_ms,
    };
}

static pawl_status inbox_task_lost(const pawl_inbox_task *task, pawl_error *err)
{
    return pawli_fail(err, PAWL_E_LOST,
                      "%s of %s is no longer leased under this fence: its lease expired, or "
                      "another caller has finished it; discard this attempt's effects",
                      task->id, task->source);
}

static pawl_status inbox_task_check_open(const pawl_inbox_task *task, pawl_error *err)
{
    if (!task)
        return pawli_fail(err, PAWL_E_INVALID, "the inbox task must not be NULL");
    if (task->result != PAWL_INBOX_NEW)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the delivery's status is '%s': there is nothing to process or to end",
                          pawl_inbox_result_name(task->result));
    if (task->ended)
        return pawli_fail(err, PAWL_E_MISUSE, "the inbox task has ended: begin again");
    return PAWL_OK;
}

/* Releases the lease so that others need not wait for it to expire. If that fails, they wait. */
static void inbox_task_give_back(const pawl_inbox_task *task)
{
    pawli_inbox_item item = item_of(task, NULL);
    bool changed;

    (void)pawli_inbox_fail_permanently(&item, NULL, false, &changed, NULL);
}

static pawl_status inbox_task_commit(pawl_inbox_task *task, bool changed, pawl_status st,
                                     pawl_error *err)
{
    pawl_store *store = task->store;

    /* Inside the transaction nothing is committed yet, so a lost reply leaves no doubt. */
    if (st == PAWL_E_IN_DOUBT)
        st = pawli_fail(err, PAWL_E_NOMEM, "out of memory; the transaction was rolled back");
    if (st == PAWL_OK && !changed)
        st = inbox_task_lost(task, err);
    if (st == PAWL_OK) {
        st = pawli_owned_tx_commit(task->tx->owned, err);
        pawli_store_changed(store);
        if (st == PAWL_OK || st == PAWL_E_IN_DOUBT)
            pawli_wake_signal(pawli_db_wake(store->db)); /* the transaction may have enqueued
                                                          * messages */
    } else {
        pawli_owned_tx_rollback(task->tx->owned);
    }
    if (st != PAWL_OK && st != PAWL_E_IN_DOUBT && st != PAWL_E_LOST)
        inbox_task_give_back(task);
    return st;
}

pawl_status pawl_inbox_task_done(pawl_inbox_task *task, const void *response, size_t size,
                                 pawl_error *err)
{
    bool changed = false;
    pawl_status st = inbox_task_check_open(task, err);

    if (st == PAWL_OK)
        st = pawli_inbox_check_response(task->store, response, size, err);
    if (st != PAWL_OK)
        return st;
    task->ended = true;
    pawli_inbox_item item = item_of(task, task->tx);
    st = pawli_inbox_finish(&item, response, size, &changed, err);
    if (task->mode == PAWLI_ATOMIC)
        st = inbox_task_commit(task, changed, st, err);
    else if (st == PAWL_E_IN_DOUBT && task->mode == PAWLI_JOINED)
        st = pawli_fail(err, PAWL_E_TX_RESTART,
                        "out of memory for the result: roll the transaction back");
    else if (st == PAWL_OK && !changed)
        st = inbox_task_lost(task, err);
    pawli_arrival_leave(task);
    if (st == PAWL_OK)
        pawli_log(&task->store->log, PAWL_LOG_INFO, "inbox",
                  "message {message_id} processed from {source} (attempt {attempt})",
                  pawli_logged("message_id", task->id), pawli_logged("source", task->source),
                  pawli_logged_number("attempt", task->attempt));
    return st;
}

/* Rolling the transaction back also undid the attempt count, so count the attempt again. */
static pawl_status count_again(pawl_inbox_task *task, pawl_error *err)
{
    const pawli_inbox_way way = {.lease_ms = PAWLI_INBOX_ATOMIC_LEASE_MS, .alone = true};
    pawl_status st = pawli_arrival_deliver(task, &way, err);

    if (st == PAWL_OK && task->result != PAWL_INBOX_NEW)
        st = inbox_task_lost(task, err);
    return st;
}

static pawl_status fail_attempt(pawl_inbox_task *task, const char *error, bool dead,
                                pawl_error *err)
{
    bool changed = false;
    pawl_status st = inbox_task_check_open(task, err);

    if (st != PAWL_OK)
        return st;
    task->ended = true;
    if (task->mode == PAWLI_ATOMIC)
        pawli_owned_tx_rollback(task->tx->owned);
    else if (task->mode == PAWLI_JOINED)
        st = count_again(task, err);
    if (st != PAWL_OK)
        return st;
    pawli_inbox_item item = item_of(task, NULL);
    st = pawli_inbox_fail_permanently(&item, error, dead, &changed, err);
    pawli_arrival_leave(task);
    if (st == PAWL_OK && !changed)
        return inbox_task_lost(task, err);
    if (st == PAWL_OK && (dead || task->attempt >= task->max_attempts))
        pawli_log(&task->store->log, PAWL_LOG_WARNING, "inbox",
                  "{message_id} from {source} is dead after {attempt} attempts",
                  pawli_logged("message_id", task->id), pawli_logged("source", task->source),
                  pawli_logged_number("attempt", task->attempt));
    return st;
}

pawl_status pawl_inbox_task_fail(pawl_inbox_task *task, const char *error, pawl_error *err)
{
    return fail_attempt(task, error, false, err);
}

pawl_status pawl_inbox_task_fail_permanently(pawl_inbox_task *task, const char *error,
                                             pawl_error *err)
{
    return fail_attempt(task, error, true, err);
}

pawl_status pawl_inbox_task_renew(pawl_inbox_task *task, int64_t lease_ms, pawl_error *err)
{
    bool changed = false;
    pawl_status st = inbox_task_check_open(task, err);

    if (st == PAWL_OK && task->mode != PAWLI_CALL)
        st = pawli_fail(err, PAWL_E_MISUSE,
                        "only inbox tasks of pawl_inbox_call() have a lease to renew: here the "
                        "open transaction itself holds the message");
    if (st == PAWL_OK)
        st = pawli_check_lease(lease_ms, err);
    if (st != PAWL_OK)
        return st;
    pawli_inbox_item item = item_of(task, NULL);
    pawli_param params[] = {
        {"source", pawli_text(item.source)},
        {"id", pawli_text(item.id)},
        {"fence", pawli_int(item.fence)},
        {"lease", pawli_span_ms(lease_ms)},
    };
    st = inbox_task_end(&item, PAWLI_SQL_INBOX_RENEW, params, PAWLI_COUNT(params), &changed, err);
    return st == PAWL_OK && !changed ? inbox_task_lost(task, err) : st;
}

void pawl_inbox_task_free(pawl_inbox_task *task)
{
    if (!task)
        return;
    if (task->mode == PAWLI_ATOMIC) {
        pawl_tx_free(task->tx); /* rolls back an open transaction */
        if (!task->ended)
            inbox_task_give_back(task);
    }
    pawli_arrival_leave(task);
    pawli_arena_done(&task->given);
    pawli_arena_done(&task->texts);
    free(task);
}

pawl_inbox_result pawl_inbox_task_result(const pawl_inbox_task *task)
{
    return task->result;
}

pawl_tx *pawl_inbox_task_tx(const pawl_inbox_task *task)
{
    return task->mode == PAWLI_ATOMIC && !task->ended ? task->tx : NULL;
}

const void *pawl_inbox_task_response(const pawl_inbox_task *task, size_t *ret_size)
{
    if (ret_size)
        *ret_size = task->response ? task->response_size : 0;
    return task->response;
}

int64_t pawl_inbox_task_retry_after_ms(const pawl_inbox_task *task)
{
    return task->result == PAWL_INBOX_IN_PROGRESS ? (task->retry_after_us + 999) / 1000 : 0;
}

int pawl_inbox_task_attempt(const pawl_inbox_task *task)
{
    return task->attempt;
}

int64_t pawl_inbox_task_fence(const pawl_inbox_task *task)
{
    return task->fence;
}

bool pawl_inbox_task_suspect(const pawl_inbox_task *task)
{
    return task->suspect;
}

const char *pawl_inbox_task_key(const pawl_inbox_task *task)
{
    return task->key;
}

const char *pawl_inbox_task_error(const pawl_inbox_task *task)
{
    return task->error;
}

/* ---- suspects: messages that may have killed their receiver run one at a time ---- */

/* Per process, not per store: a crash takes all stores of the process down. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left[PAWLI_SUSPECT_KINDS];
static pid_t taken_by[PAWLI_SUSPECT_KINDS]; /* 0: free */

static void init_conditions(void)
{
    for (int i = 0; i < PAWLI_SUSPECT_KINDS; i++)
        pawli_cond_init(&left[i]);
}

bool pawli_suspect_enter(pawli_suspect_kind kind, pawl_mono deadline)
{
    pid_t self = getpid();
    bool entered;

    pthread_once(&once, init_conditions);
    pthread_mutex_lock(&lock);
    /* After fork(), what the parent had taken still belongs to the parent. */
    while (taken_by[kind] == self && !pawli_mono_passed(deadline))
        pawli_cond_wait_until(&left[kind], &lock, deadline);
    entered = taken_by[kind] != self;
    if (entered)
        taken_by[kind] = self;
    pthread_mutex_unlock(&lock);
    return entered;
}

void pawli_suspect_leave(pawli_suspect_kind kind)
{
    pthread_mutex_lock(&lock);
    taken_by[kind] = 0;
    pthread_cond_signal(&left[kind]);
    pthread_mutex_unlock(&lock);
}
