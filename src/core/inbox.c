/* src/core/inbox.c - a message has come: is it new, known, in somebody's hands, or dead? */
#include <pawl/inbox.h>

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "inbox_private.h"
#include "log.h"
#include "options.h"
#include "tx_private.h"
#include "world.h"

/* When it is worth asking again is not known: soon, and not all copies at the same time. */
#define LATER_US 1000000

/* The columns of the answer to inbox_begin. */
enum {
    COLUMN_ANSWER,
    COLUMN_ATTEMPT,
    COLUMN_FENCE,
    COLUMN_KEY,
    COLUMN_RETRY_AFTER,
    COLUMN_RESPONSE,
    COLUMN_ERROR
};

const char *pawl_inbox_answer_name(pawl_inbox_answer answer)
{
    static const char *const names[] = {"new", "duplicate", "in_progress", "conflict", "dead"};

    return (unsigned)answer < PAWLI_COUNT(names) ? names[answer] : "unknown";
}

/* ---- the arrival ---- */

static bool copy_text(pawli_arena *arena, const char *text, const char **ret_copy)
{
    *ret_copy = text ? pawli_arena_copy(arena, text, strlen(text)) : NULL;
    return !text || *ret_copy;
}

/* NULL: there was no memory for it. */
static pawl_arrival *arrival_new(pawl_store *store, const char *source, const char *id,
                                 const uint8_t *hash, const pawl_inbox_options *options)
{
    PAWLI_AUTO(pawl_arrival) arrival = calloc(1, sizeof *arrival);

    if (!arrival)
        return NULL;
    arrival->store = store;
    arrival->ended = true; /* until it is known to be new */
    arrival->max_attempts = options->max_attempts;
    arrival->keep_ms = pawli_inbox_keep(store, options->keep_ms);
    arrival->has_hash = hash != NULL;
    if (hash)
        memcpy(arrival->hash, hash, PAWL_HASH_SIZE);
    if (!copy_text(&arrival->given, source, &arrival->source) ||
        !copy_text(&arrival->given, id, &arrival->id) ||
        !copy_text(&arrival->given, options->endpoint, &arrival->endpoint))
        return NULL;
    return pawl_arrival_take(&arrival);
}

/* ---- what is answered ---- */

static void forget_answer(void *context)
{
    pawl_arrival *arrival = context;

    pawli_arena_done(&arrival->texts);
    arrival->answered = false;
}

static bool read_text(pawl_arrival *arrival, const pawli_row *row, int column,
                      const char **ret_text, size_t *ret_size)
{
    const void *bytes = pawli_row_bytes(row, column, ret_size);

    *ret_text = bytes ? pawli_arena_copy(&arrival->texts, bytes, *ret_size) : NULL;
    return !bytes || *ret_text;
}

static int64_t later_us(int64_t lease_us)
{
    int64_t later = LATER_US + (int64_t)(pawli_random_u64() % LATER_US);

    return lease_us > 0 && lease_us < later ? lease_us : later;
}

/* SQLite's script tells a new one, and then how it stands. */
static pawl_status read_answer(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_arrival *arrival = context;
    size_t size;

    if (arrival->answered)
        return PAWL_OK;
    if (!read_text(arrival, row, COLUMN_KEY, &arrival->key, &size) ||
        !read_text(arrival, row, COLUMN_ERROR, &arrival->error, &size) ||
        !read_text(arrival, row, COLUMN_RESPONSE, &arrival->response, &arrival->response_size))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the arrival");
    arrival->answer = (pawl_inbox_answer)pawli_row_int(row, COLUMN_ANSWER);
    arrival->attempt = (int)pawli_row_int(row, COLUMN_ATTEMPT);
    arrival->fence = arrival->answer == PAWL_INBOX_NEW ? pawli_row_int(row, COLUMN_FENCE) : 0;
    arrival->retry_after_us = later_us(pawli_row_int(row, COLUMN_RETRY_AFTER));
    arrival->answered = true;
    return PAWL_OK;
}

pawl_status pawli_arrival_deliver(pawl_arrival *arrival, const pawli_inbox_way *way,
                                  pawl_error *err)
{
    pawl_tx *tx = way->tx;
    pawli_param params[] = {
        {"source", pawli_text(arrival->source)},
        {"id", pawli_text(arrival->id)},
        {"hash", pawli_inbox_hash_value(arrival->has_hash ? arrival->hash : NULL)},
        {"lease", pawli_span_ms(way->lease_ms)},
        {"max_attempts", pawli_int(arrival->max_attempts)},
        {"keep", pawli_span_ms(arrival->keep_ms)},
        {"endpoint", pawli_text(arrival->endpoint)},
        {"alone", pawli_bool(way->alone)},
        {"holder", pawli_text(way->holder)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_INBOX_BEGIN,
        .writes = true,
        /* Power that takes an atomic attempt takes all of it; the commit of its end carries the
         * count along. A call-out may have been seen by others. */
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = read_answer,
        .on_start = forget_answer,
        .context = arrival,
    };
    pawl_status st = tx ? pawli_tx_run(tx, &op, err) : pawli_db_run(arrival->store->db, &op, err);

    /* Inside a transaction nothing was committed yet, whatever happened to the answer. */
    if (st == PAWL_E_IN_DOUBT && tx)
        return pawli_fail(err, PAWL_E_TX_RESTART,
                          "out of memory for the answer: roll the transaction back");
    if (st == PAWL_OK && !arrival->answered)
        return pawli_fail(err, PAWL_E_STORE, "the database gave no answer for the delivery");
    return st;
}

static void log_answer(const pawl_arrival *arrival)
{
    const pawl_log_sink *log = &arrival->store->log;

    if (arrival->answer == PAWL_INBOX_DUPLICATE)
        pawli_log(log, PAWL_LOG_WARNING, "inbox", "duplicate %s detected from %s", arrival->id,
                  arrival->source);
    else if (arrival->answer == PAWL_INBOX_CONFLICT)
        pawli_log(log, PAWL_LOG_WARNING, "inbox", "%s from %s is known with other content: refused",
                  arrival->id, arrival->source);
    else if (arrival->answer == PAWL_INBOX_REFUSED)
        pawli_log(log, PAWL_LOG_WARNING, "inbox", "%s from %s is dead after %d attempts: refused",
                  arrival->id, arrival->source, arrival->attempt);
}

/* ---- the transaction of an atomic attempt ---- */

static pawl_status read_flag(void *context, const pawli_row *row, pawl_error *err)
{
    (void)err;
    *(bool *)context = pawli_row_int(row, 0) != 0;
    return PAWL_OK;
}

/* Between the commit of the attempt and the beginning of the transaction others may have come. */
static pawl_status still_ours(const pawl_arrival *arrival, bool *ret_ours, pawl_error *err)
{
    pawli_param params[] = {
        {"source", pawli_text(arrival->source)},
        {"id", pawli_text(arrival->id)},
        {"fence", pawli_int(arrival->fence)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_INBOX_HOLD,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = read_flag,
        .context = ret_ours,
    };

    *ret_ours = false;
    return pawli_tx_run(arrival->tx, &op, err);
}

/* The handler was not called, so the attempt does not count; if that cannot be said, it does. */
static void take_back(pawl_arrival *arrival)
{
    pawli_inbox_item item = {.store = arrival->store,
                             .source = arrival->source,
                             .id = arrival->id,
                             .fence = arrival->fence};
    bool changed;

    pawl_tx_free(arrival->tx);
    arrival->tx = NULL;
    arrival->ended = true;
    (void)pawli_inbox_release(&item, &changed, NULL);
}

static void answer_later(pawl_arrival *arrival)
{
    arrival->ended = true;
    arrival->answer = PAWL_INBOX_IN_PROGRESS;
    arrival->fence = 0;
    arrival->retry_after_us = later_us(0);
}

static pawl_status open_transaction(pawl_arrival *arrival, pawl_error *err)
{
    bool ours = false;
    pawl_tx *tx = calloc(1, sizeof *tx);
    pawl_status st;

    arrival->tx = tx;
    if (tx) {
        tx->store = arrival->store;
        st = pawli_db_hold(arrival->store->db, &tx->hold, err);
    } else {
        st = pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    }
    if (st == PAWL_OK)
        st = still_ours(arrival, &ours, err);
    if (st != PAWL_OK || !ours)
        take_back(arrival);
    if (st == PAWL_OK && !ours)
        answer_later(arrival);
    return st;
}

/* ---- suspects ---- */

static pawli_suspect_kind kind_of(const pawl_arrival *arrival)
{
    return arrival->mode == PAWLI_CALL ? PAWLI_SUSPECT_CALL : PAWLI_SUSPECT_TRANSACTION;
}

void pawli_arrival_leave(pawl_arrival *arrival)
{
    if (!arrival->alone)
        return;
    arrival->alone = false;
    pawli_suspect_leave(kind_of(arrival));
}

/*
 * A first delivery takes what is not a suspect. A suspect is asked for again when it is the only
 * one of this process, so that its attempt is counted while no other suspect's is.
 */
static pawl_status deliver(pawl_arrival *arrival, pawli_inbox_way *way, int64_t wait_ms,
                           pawl_error *err)
{
    pawl_status st = pawli_arrival_deliver(arrival, way, err);

    if (st != PAWL_OK || arrival->answer != PAWLI_INBOX_SUSPECT)
        return st;
    int64_t most_ms = wait_ms == 0 ? arrival->store->timeout_ms : wait_ms;
    pawl_mono deadline = pawli_mono_after(pawli_mono_now(), most_ms < 0 ? 0 : most_ms * 1000);
    arrival->alone =
        wait_ms != PAWL_SUSPECT_NOT_BEGUN && pawli_suspect_enter(kind_of(arrival), deadline);
    if (!arrival->alone) {
        arrival->suspect = true;
        answer_later(arrival);
        return PAWL_OK;
    }
    way->alone = true;
    st = pawli_arrival_deliver(arrival, way, err);
    if (st != PAWL_OK || arrival->answer != PAWL_INBOX_NEW)
        pawli_arrival_leave(arrival);
    return st;
}

/* ---- the three ways ---- */

static pawl_status begin(pawl_store *store, pawli_inbox_way way, pawli_arrival_mode mode,
                         const char *source, const char *id, const uint8_t *hash,
                         const pawl_inbox_options *opts, pawl_arrival **ret_arrival,
                         pawl_error *err)
{
    PAWLI_AUTO(pawl_arrival) arrival = NULL;
    pawl_inbox_options options = PAWL_INBOX_OPTIONS_INIT;
    pawl_status st = pawli_inbox_check_key(source, id, err);

    if (!ret_arrival)
        return pawli_fail(err, PAWL_E_INVALID, "ret_arrival must not be NULL");
    if (st == PAWL_OK)
        st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st == PAWL_OK)
        st = pawli_inbox_check_options(&options, err);
    if (st != PAWL_OK)
        return st;
    arrival = arrival_new(store, source, id, hash, &options);
    if (!arrival)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the arrival");
    arrival->mode = mode;
    arrival->tx = way.tx;
    way.lease_ms = mode == PAWLI_CALL ? options.lease_ms : PAWLI_INBOX_ATOMIC_LEASE_MS;
    st = deliver(arrival, &way, options.suspect_wait_ms, err);
    if (st != PAWL_OK)
        return st;
    arrival->ended = arrival->answer != PAWL_INBOX_NEW;
    if (mode == PAWLI_ATOMIC && !arrival->ended)
        st = open_transaction(arrival, err);
    if (arrival->ended)
        pawli_arrival_leave(arrival);
    if (st != PAWL_OK)
        return st;
    log_answer(arrival);
    *ret_arrival = pawl_arrival_take(&arrival);
    return PAWL_OK;
}

pawl_status pawl_inbox_begin(pawl_store *store, const char *source, const char *id,
                             const uint8_t *hash, const pawl_inbox_options *opts,
                             pawl_arrival **ret_arrival, pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    return begin(store, (pawli_inbox_way){0}, PAWLI_ATOMIC, source, id, hash, opts, ret_arrival,
                 err);
}

pawl_status pawl_inbox_call(pawl_store *store, const char *source, const char *id,
                            const uint8_t *hash, const pawl_inbox_options *opts,
                            pawl_arrival **ret_arrival, pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    return begin(store, (pawli_inbox_way){0}, PAWLI_CALL, source, id, hash, opts, ret_arrival, err);
}

pawl_status pawl_tx_inbox_begin(pawl_tx *tx, const char *source, const char *id,
                                const uint8_t *hash, const pawl_inbox_options *opts,
                                pawl_arrival **ret_arrival, pawl_error *err)
{
    if (!tx)
        return pawli_fail(err, PAWL_E_INVALID, "the transaction must not be NULL");
    if (!tx->wrap)
        return pawli_fail(
            err, PAWL_E_MISUSE,
            "pawl began this transaction for something else: wrap one of your own, or "
            "use pawl_inbox_begin()");
    /* If the process dies, so does the transaction, and with it the count: none needs to be alone.
     */
    return begin(tx->store, (pawli_inbox_way){.tx = tx, .alone = true}, PAWLI_JOINED, source, id,
                 hash, opts, ret_arrival, err);
}

/* Nothing says when its attempt ends, so it cannot be the only suspect until then. */
pawl_status pawli_inbox_call_by(pawl_store *store, const char *holder, const char *source,
                                const char *id, const pawl_inbox_options *opts,
                                pawl_arrival **ret_arrival, pawl_error *err)
{
    return begin(store, (pawli_inbox_way){.alone = true, .holder = holder}, PAWLI_CALL, source, id,
                 NULL, opts, ret_arrival, err);
}
