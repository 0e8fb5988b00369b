/* src/core/inbox.c - receives a message: decides whether it is new, a duplicate, being processed
 * or dead. */
#include <pawl/inbox.h>

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "inbox_private.h"
#include "log.h"
#include "options.h"
#include "tx_private.h"
#include "platform.h"

/* The time when another attempt makes sense is unknown: soon, with jitter so that copies do not
 * retry together. */
#define LATER_US 1000000

/* The columns of the result of inbox_begin. */
enum {
    COLUMN_RESULT,
    COLUMN_ATTEMPT,
    COLUMN_FENCE,
    COLUMN_KEY,
    COLUMN_RETRY_AFTER,
    COLUMN_RESPONSE,
    COLUMN_ERROR
};

const char *pawl_inbox_result_name(pawl_inbox_result result)
{
    static const char *const names[] = {"new", "duplicate", "in_progress", "conflict", "dead"};

    return (unsigned)result < PAWLI_COUNT(names) ? names[result] : "unknown";
}

/* ---- the inbox task of a received message ---- */

static bool inbox_copy_text(pawli_arena *arena, const char *text, const char **ret_copy)
{
    *ret_copy = text ? pawli_arena_copy(arena, text, strlen(text)) : NULL;
    return !text || *ret_copy;
}

/* Returns NULL if memory ran out. */
static pawl_inbox_task *inbox_task_new(pawl_store *store, const char *source, const char *id,
                                       const uint8_t *hash, const pawl_inbox_options *options)
{
    PAWLI_AUTO(pawl_inbox_task) task = calloc(1, sizeof *task);

    if (!task)
        return NULL;
    task->store = store;
    task->ended = true; /* until it is known to be new */
    task->max_attempts = options->max_attempts;
    task->keep_ms = pawli_inbox_keep(store, options->keep_ms);
    task->has_hash = hash != NULL;
    if (hash)
        memcpy(task->hash, hash, PAWL_HASH_SIZE);
    if (!inbox_copy_text(&task->given, source, &task->source) ||
        !inbox_copy_text(&task->given, id, &task->id) ||
        !inbox_copy_text(&task->given, options->endpoint, &task->endpoint))
        return NULL;
    return pawl_inbox_task_take(&task);
}

/* ---- reading the result ---- */

static void forget_answer(void *context)
{
    pawl_inbox_task *task = context;

    pawli_arena_done(&task->texts);
    task->has_result = false;
}

static bool inbox_read_text(pawl_inbox_task *task, const pawli_row *row, int column,
                            const char **ret_text, size_t *ret_size)
{
    const void *bytes = pawli_row_bytes(row, column, ret_size);

    *ret_text = bytes ? pawli_arena_copy(&task->texts, bytes, *ret_size) : NULL;
    return !bytes || *ret_text;
}

static int64_t later_us(int64_t lease_us)
{
    int64_t later = LATER_US + (int64_t)(pawli_random_u64() % LATER_US);

    return lease_us > 0 && lease_us < later ? lease_us : later;
}

/* A script may return a row for a new message, then a row with its current state. */
static pawl_status read_answer(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_inbox_task *task = context;
    size_t size;

    if (task->has_result)
        return PAWL_OK;
    if (!inbox_read_text(task, row, COLUMN_KEY, &task->key, &size) ||
        !inbox_read_text(task, row, COLUMN_ERROR, &task->error, &size) ||
        !inbox_read_text(task, row, COLUMN_RESPONSE, &task->response, &task->response_size))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the inbox task");
    task->result = (pawl_inbox_result)pawli_row_int(row, COLUMN_RESULT);
    task->attempt = (int)pawli_row_int(row, COLUMN_ATTEMPT);
    task->fence = task->result == PAWL_INBOX_NEW ? pawli_row_int(row, COLUMN_FENCE) : 0;
    task->retry_after_us = later_us(pawli_row_int(row, COLUMN_RETRY_AFTER));
    task->has_result = true;
    return PAWL_OK;
}

pawl_status pawli_arrival_deliver(pawl_inbox_task *task, const pawli_inbox_way *way,
                                  pawl_error *err)
{
    pawl_tx *tx = way->tx;
    pawli_param params[] = {
        {"source", pawli_text(task->source)},
        {"id", pawli_text(task->id)},
        {"hash", pawli_inbox_hash_value(task->has_hash ? task->hash : NULL)},
        {"lease", pawli_span_ms(way->lease_ms)},
        {"max_attempts", pawli_int(task->max_attempts)},
        {"keep", pawli_span_ms(task->keep_ms)},
        {"endpoint", pawli_text(task->endpoint)},
        {"alone", pawli_bool(way->alone)},
        {"holder", pawli_text(way->holder)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_INBOX_BEGIN,
        .writes = true,
        /* A power failure that undoes an atomic attempt undoes all of it, and the commit of its
         * end includes the count. The effects of a call outside a transaction may already be
         * visible to others. */
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = read_answer,
        .on_start = forget_answer,
        .context = task,
    };
    pawl_status st = tx ? pawli_tx_run(tx, &op, err) : pawli_db_run(task->store->db, &op, err);

    /* Inside a transaction nothing is committed yet, so a lost reply leaves no doubt. */
    if (st == PAWL_E_IN_DOUBT && tx)
        return pawli_fail(err, PAWL_E_TX_RESTART,
                          "out of memory for the result: roll the transaction back");
    if (st == PAWL_OK && !task->has_result)
        return pawli_fail(err, PAWL_E_STORE, "the database returned no result for the delivery");
    return st;
}

static void log_answer(const pawl_inbox_task *task)
{
    const pawl_log_sink *log = &task->store->log;

    if (task->result == PAWL_INBOX_DUPLICATE)
        pawli_log(log, PAWL_LOG_WARNING, "inbox", "duplicate {message_id} detected from {source}",
                  pawli_logged("message_id", task->id), pawli_logged("source", task->source));
    else if (task->result == PAWL_INBOX_CONFLICT)
        pawli_log(log, PAWL_LOG_WARNING, "inbox",
                  "{message_id} from {source} is known with different content: rejected",
                  pawli_logged("message_id", task->id), pawli_logged("source", task->source));
    else if (task->result == PAWL_INBOX_REJECTED)
        pawli_log(log, PAWL_LOG_WARNING, "inbox",
                  "{message_id} from {source} is dead after {attempt} attempts: rejected",
                  pawli_logged("message_id", task->id), pawli_logged("source", task->source),
                  pawli_logged_number("attempt", task->attempt));
}

/* ---- the transaction of an atomic attempt ---- */

static pawl_status read_flag(void *context, const pawli_row *row, pawl_error *err)
{
    (void)err;
    *(bool *)context = pawli_row_int(row, 0) != 0;
    return PAWL_OK;
}

/* Between the commit of the attempt and the start of the transaction another receiver may have
 * taken over. */
static pawl_status still_ours(const pawl_inbox_task *task, bool *ret_ours, pawl_error *err)
{
    pawli_param params[] = {
        {"source", pawli_text(task->source)},
        {"id", pawli_text(task->id)},
        {"fence", pawli_int(task->fence)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_INBOX_LEASE,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = read_flag,
        .context = ret_ours,
    };

    *ret_ours = false;
    return pawli_tx_run(task->tx, &op, err);
}

/* The handler was not called, so the attempt is uncounted; if that update fails, it stays
 * counted. */
static void take_back(pawl_inbox_task *task)
{
    pawli_inbox_item item = {
        .store = task->store, .source = task->source, .id = task->id, .fence = task->fence};
    bool changed;

    pawl_tx_free(task->tx);
    task->tx = NULL;
    task->ended = true;
    (void)pawli_inbox_release(&item, &changed, NULL);
}

static void answer_later(pawl_inbox_task *task)
{
    task->ended = true;
    task->result = PAWL_INBOX_IN_PROGRESS;
    task->fence = 0;
    task->retry_after_us = later_us(0);
}

static pawl_status open_transaction(pawl_inbox_task *task, pawl_error *err)
{
    bool ours = false;
    pawl_tx *tx = calloc(1, sizeof *tx);
    pawl_status st;

    task->tx = tx;
    if (tx) {
        tx->store = task->store;
        st = pawli_db_begin_owned_tx(task->store->db, &tx->owned, err);
    } else {
        st = pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    }
    if (st == PAWL_OK)
        st = still_ours(task, &ours, err);
    if (st != PAWL_OK || !ours)
        take_back(task);
    if (st == PAWL_OK && !ours)
        answer_later(task);
    return st;
}

/* ---- suspects ---- */

static pawli_suspect_kind kind_of(const pawl_inbox_task *task)
{
    return task->mode == PAWLI_CALL ? PAWLI_SUSPECT_CALL : PAWLI_SUSPECT_TRANSACTION;
}

void pawli_arrival_leave(pawl_inbox_task *task)
{
    if (!task->alone)
        return;
    task->alone = false;
    pawli_suspect_leave(kind_of(task));
}

/*
 * A first delivery takes only messages that are not suspects. A suspect is delivered again only
 * when it is the sole suspect in this process, so that no other suspect's attempt is counted if
 * it crashes the process.
 */
static pawl_status inbox_deliver(pawl_inbox_task *task, pawli_inbox_way *way, int64_t wait_ms,
                                 pawl_error *err)
{
    pawl_status st = pawli_arrival_deliver(task, way, err);

    if (st != PAWL_OK || task->result != PAWLI_INBOX_SUSPECT)
        return st;
    int64_t most_ms = wait_ms == 0 ? task->store->timeout_ms : wait_ms;
    pawl_mono deadline = pawli_mono_after(pawli_mono_now(), most_ms < 0 ? 0 : most_ms * 1000);
    task->alone = wait_ms != PAWL_SUSPECT_NOT_BEGUN && pawli_suspect_enter(kind_of(task), deadline);
    if (!task->alone) {
        task->suspect = true;
        answer_later(task);
        return PAWL_OK;
    }
    way->alone = true;
    st = pawli_arrival_deliver(task, way, err);
    if (st != PAWL_OK || task->result != PAWL_INBOX_NEW)
        pawli_arrival_leave(task);
    return st;
}

/* ---- the three ways to begin: atomic, in a foreign transaction, as a call ---- */

static pawl_status inbox_begin_attempt(pawl_store *store, pawli_inbox_way way,
                                       pawli_arrival_mode mode, const char *source, const char *id,
                                       const uint8_t *hash, const pawl_inbox_options *opts,
                                       pawl_inbox_task **ret_task, pawl_error *err)
{
    PAWLI_AUTO(pawl_inbox_task) task = NULL;
    pawl_inbox_options options = PAWL_INBOX_OPTIONS_INIT;
    pawl_status st = pawli_inbox_check_key(source, id, err);

    if (!ret_task)
        return pawli_fail(err, PAWL_E_INVALID, "ret_task must not be NULL");
    if (st == PAWL_OK)
        st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st == PAWL_OK)
        st = pawli_inbox_check_options(&options, err);
    if (st != PAWL_OK)
        return st;
    task = inbox_task_new(store, source, id, hash, &options);
    if (!task)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the inbox task");
    task->mode = mode;
    task->tx = way.tx;
    way.lease_ms = mode == PAWLI_CALL ? options.lease_ms : PAWLI_INBOX_ATOMIC_LEASE_MS;
    st = inbox_deliver(task, &way, options.suspect_wait_ms, err);
    if (st != PAWL_OK)
        return st;
    task->ended = task->result != PAWL_INBOX_NEW;
    if (mode == PAWLI_ATOMIC && !task->ended)
        st = open_transaction(task, err);
    if (task->ended)
        pawli_arrival_leave(task);
    if (st != PAWL_OK)
        return st;
    log_answer(task);
    *ret_task = pawl_inbox_task_take(&task);
    return PAWL_OK;
}

pawl_status pawl_inbox_begin(pawl_store *store, const char *source, const char *id,
                             const uint8_t *hash, const pawl_inbox_options *opts,
                             pawl_inbox_task **ret_task, pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    return inbox_begin_attempt(store, (pawli_inbox_way){0}, PAWLI_ATOMIC, source, id, hash, opts,
                               ret_task, err);
}

pawl_status pawl_inbox_call(pawl_store *store, const char *source, const char *id,
                            const uint8_t *hash, const pawl_inbox_options *opts,
                            pawl_inbox_task **ret_task, pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    return inbox_begin_attempt(store, (pawli_inbox_way){0}, PAWLI_CALL, source, id, hash, opts,
                               ret_task, err);
}

pawl_status pawl_tx_inbox_begin(pawl_tx *tx, const char *source, const char *id,
                                const uint8_t *hash, const pawl_inbox_options *opts,
                                pawl_inbox_task **ret_task, pawl_error *err)
{
    if (!tx)
        return pawli_fail(err, PAWL_E_INVALID, "the transaction must not be NULL");
    if (!tx->foreign)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "this transaction was begun by pawl for another purpose: use a "
                          "transaction of your own, or use pawl_inbox_begin()");
    /* If the process dies, the transaction rolls back and the count with it, so suspects need
     * not run alone. */
    return inbox_begin_attempt(tx->store, (pawli_inbox_way){.tx = tx, .alone = true}, PAWLI_JOINED,
                               source, id, hash, opts, ret_task, err);
}

/* The end of such an attempt is not observed, so it cannot be the sole suspect until then. */
pawl_status pawli_inbox_call_by(pawl_store *store, const char *holder, const char *source,
                                const char *id, const pawl_inbox_options *opts,
                                pawl_inbox_task **ret_task, pawl_error *err)
{
    return inbox_begin_attempt(store, (pawli_inbox_way){.alone = true, .holder = holder},
                               PAWLI_CALL, source, id, NULL, opts, ret_task, err);
}
