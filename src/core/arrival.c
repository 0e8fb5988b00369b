/* src/core/arrival.c - one delivery in somebody's hands, and its end: done, failed, given up. */
#include <stdlib.h>

#include "change.h"
#include "claim_check.h"
#include "fail.h"
#include "inbox_private.h"
#include "log.h"
#include "tx_private.h"

/* ---- the two ends, by key and fence ---- */

static pawl_status end(const pawli_inbox_item *item, enum pawli_sql sql, const pawli_param *params,
                       size_t param_count, bool *ret_changed, pawl_error *err)
{
    size_t changed = 0;
    pawli_op op = {
        .sql = sql,
        .writes = true,
        .urgent = sql == PAWLI_SQL_INBOX_RENEW, /* a lease may be about to end */
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

    return end(item, PAWLI_SQL_INBOX_DONE, params, PAWLI_COUNT(params), ret_changed, err);
}

pawl_status pawli_inbox_give_up(const pawli_inbox_item *item, const char *error, bool dead,
                                bool *ret_changed, pawl_error *err)
{
    char room[PAWLI_WORDS_SIZE];
    pawli_param params[] = {
        {"source", pawli_text(item->source)}, {"id", pawli_text(item->id)},
        {"fence", fence_value(item->fence)},  {"error", pawli_clean_words(error, room)},
        {"dead", pawli_bool(dead)},           {"keep", pawli_span_ms(item->keep_ms)},
    };

    return end(item, PAWLI_SQL_INBOX_FAIL, params, PAWLI_COUNT(params), ret_changed, err);
}

pawl_status pawli_inbox_release(const pawli_inbox_item *item, bool *ret_changed, pawl_error *err)
{
    pawli_param params[] = {
        {"source", pawli_text(item->source)},
        {"id", pawli_text(item->id)},
        {"fence", pawli_int(item->fence)},
    };

    return end(item, PAWLI_SQL_INBOX_RELEASE, params, PAWLI_COUNT(params), ret_changed, err);
}

pawl_status pawli_inbox_check_response(pawl_store *store, const void *response, size_t size,
                                       pawl_error *err)
{
    size_t most = pawli_db_driver(store->db)->max_payload_bytes;

    if (!response && size > 0)
        return pawli_fail(err, PAWL_E_INVALID, "the response is NULL but its size is not 0");
    if (size > most)
        return pawli_fail(err, PAWL_E_TOO_LARGE,
                          "the response has %zu bytes; at most %zu can be kept: keep a reference",
                          size, most);
    return PAWL_OK;
}

/* ---- the arrival ---- */

static pawli_inbox_item item_of(const pawl_arrival *arrival, pawl_tx *tx)
{
    return (pawli_inbox_item){
        .store = arrival->store,
        .tx = tx,
        .source = arrival->source,
        .id = arrival->id,
        .fence = arrival->fence,
        .keep_ms = arrival->keep_ms,
    };
}

static pawl_status lost(const pawl_arrival *arrival, pawl_error *err)
{
    return pawli_fail(err, PAWL_E_LOST,
                      "%s of %s is no longer held under this fence: its lease ran out, or somebody "
                      "has finished it; nothing of this attempt may stay",
                      arrival->id, arrival->source);
}

static pawl_status check_open(const pawl_arrival *arrival, pawl_error *err)
{
    if (!arrival)
        return pawli_fail(err, PAWL_E_INVALID, "the arrival must not be NULL");
    if (arrival->answer != PAWL_INBOX_NEW)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the answer was '%s': there is nothing to process or to end",
                          pawl_inbox_answer_name(arrival->answer));
    if (arrival->ended)
        return pawli_fail(err, PAWL_E_MISUSE, "the arrival has ended: begin again");
    return PAWL_OK;
}

/* Others need not wait for the lease. If that is not possible, they do. */
static void give_back(const pawl_arrival *arrival)
{
    pawli_inbox_item item = item_of(arrival, NULL);
    bool changed;

    (void)pawli_inbox_give_up(&item, NULL, false, &changed, NULL);
}

static pawl_status commit(pawl_arrival *arrival, bool changed, pawl_status st, pawl_error *err)
{
    pawl_store *store = arrival->store;

    /* Inside the transaction nothing was committed yet, whatever happened to the answer. */
    if (st == PAWL_E_IN_DOUBT)
        st = pawli_fail(err, PAWL_E_NOMEM, "out of memory; nothing of the transaction remains");
    if (st == PAWL_OK && !changed)
        st = lost(arrival, err);
    if (st == PAWL_OK) {
        st = pawli_hold_commit(arrival->tx->hold, err);
        pawli_store_changed(store);
        if (st == PAWL_OK || st == PAWL_E_IN_DOUBT)
            pawli_wake_signal(pawli_db_wake(store->db)); /* it may have sent messages */
    } else {
        pawli_hold_rollback(arrival->tx->hold);
    }
    if (st != PAWL_OK && st != PAWL_E_IN_DOUBT && st != PAWL_E_LOST)
        give_back(arrival);
    return st;
}

pawl_status pawl_arrival_done(pawl_arrival *arrival, const void *response, size_t size,
                              pawl_error *err)
{
    bool changed = false;
    pawl_status st = check_open(arrival, err);

    if (st == PAWL_OK)
        st = pawli_inbox_check_response(arrival->store, response, size, err);
    if (st != PAWL_OK)
        return st;
    arrival->ended = true;
    pawli_inbox_item item = item_of(arrival, arrival->tx);
    st = pawli_inbox_finish(&item, response, size, &changed, err);
    if (arrival->mode == PAWLI_ATOMIC)
        st = commit(arrival, changed, st, err);
    else if (st == PAWL_E_IN_DOUBT && arrival->mode == PAWLI_JOINED)
        st = pawli_fail(err, PAWL_E_TX_RESTART,
                        "out of memory for the answer: roll the transaction back");
    else if (st == PAWL_OK && !changed)
        st = lost(arrival, err);
    pawli_arrival_leave(arrival);
    if (st == PAWL_OK)
        pawli_log(&arrival->store->log, PAWL_LOG_INFO, "inbox",
                  "message %s processed from %s (attempt %d)", arrival->id, arrival->source,
                  arrival->attempt);
    return st;
}

/* The transaction took the attempt with it when it was rolled back, so it is counted again. */
static pawl_status count_again(pawl_arrival *arrival, pawl_error *err)
{
    const pawli_inbox_way way = {.lease_ms = PAWLI_INBOX_ATOMIC_LEASE_MS, .alone = true};
    pawl_status st = pawli_arrival_deliver(arrival, &way, err);

    if (st == PAWL_OK && arrival->answer != PAWL_INBOX_NEW)
        st = lost(arrival, err);
    return st;
}

static pawl_status fail_attempt(pawl_arrival *arrival, const char *error, bool dead,
                                pawl_error *err)
{
    bool changed = false;
    pawl_status st = check_open(arrival, err);

    if (st != PAWL_OK)
        return st;
    arrival->ended = true;
    if (arrival->mode == PAWLI_ATOMIC)
        pawli_hold_rollback(arrival->tx->hold);
    else if (arrival->mode == PAWLI_JOINED)
        st = count_again(arrival, err);
    if (st != PAWL_OK)
        return st;
    pawli_inbox_item item = item_of(arrival, NULL);
    st = pawli_inbox_give_up(&item, error, dead, &changed, err);
    pawli_arrival_leave(arrival);
    if (st == PAWL_OK && !changed)
        return lost(arrival, err);
    if (st == PAWL_OK && (dead || arrival->attempt >= arrival->max_attempts))
        pawli_log(&arrival->store->log, PAWL_LOG_WARNING, "inbox",
                  "%s from %s is dead after %d attempts", arrival->id, arrival->source,
                  arrival->attempt);
    return st;
}

pawl_status pawl_arrival_fail(pawl_arrival *arrival, const char *error, pawl_error *err)
{
    return fail_attempt(arrival, error, false, err);
}

pawl_status pawl_arrival_give_up(pawl_arrival *arrival, const char *error, pawl_error *err)
{
    return fail_attempt(arrival, error, true, err);
}

pawl_status pawl_arrival_renew(pawl_arrival *arrival, int64_t lease_ms, pawl_error *err)
{
    bool changed = false;
    pawl_status st = check_open(arrival, err);

    if (st == PAWL_OK && arrival->mode != PAWLI_CALL)
        st =
            pawli_fail(err, PAWL_E_MISUSE,
                       "an open transaction holds the message as long as it is open: only those of "
                       "pawl_inbox_call() are renewed");
    if (st == PAWL_OK)
        st = pawli_check_lease(lease_ms, err);
    if (st != PAWL_OK)
        return st;
    pawli_inbox_item item = item_of(arrival, NULL);
    pawli_param params[] = {
        {"source", pawli_text(item.source)},
        {"id", pawli_text(item.id)},
        {"fence", pawli_int(item.fence)},
        {"lease", pawli_span_ms(lease_ms)},
    };
    st = end(&item, PAWLI_SQL_INBOX_RENEW, params, PAWLI_COUNT(params), &changed, err);
    return st == PAWL_OK && !changed ? lost(arrival, err) : st;
}

void pawl_arrival_free(pawl_arrival *arrival)
{
    if (!arrival)
        return;
    if (arrival->mode == PAWLI_ATOMIC) {
        pawl_tx_free(arrival->tx); /* rolls back what is open */
        if (!arrival->ended)
            give_back(arrival);
    }
    pawli_arrival_leave(arrival);
    pawli_arena_done(&arrival->given);
    pawli_arena_done(&arrival->texts);
    free(arrival);
}

pawl_inbox_answer pawl_arrival_answer(const pawl_arrival *arrival)
{
    return arrival->answer;
}

pawl_tx *pawl_arrival_tx(const pawl_arrival *arrival)
{
    return arrival->mode == PAWLI_ATOMIC && !arrival->ended ? arrival->tx : NULL;
}

const void *pawl_arrival_response(const pawl_arrival *arrival, size_t *ret_size)
{
    if (ret_size)
        *ret_size = arrival->response ? arrival->response_size : 0;
    return arrival->response;
}

int64_t pawl_arrival_retry_after_ms(const pawl_arrival *arrival)
{
    return arrival->answer == PAWL_INBOX_IN_PROGRESS ? (arrival->retry_after_us + 999) / 1000 : 0;
}

int pawl_arrival_attempt(const pawl_arrival *arrival)
{
    return arrival->attempt;
}

int64_t pawl_arrival_fence(const pawl_arrival *arrival)
{
    return arrival->fence;
}

bool pawl_arrival_suspect(const pawl_arrival *arrival)
{
    return arrival->suspect;
}

const char *pawl_arrival_key(const pawl_arrival *arrival)
{
    return arrival->key;
}

const char *pawl_arrival_error(const pawl_arrival *arrival)
{
    return arrival->error;
}
