/* src/core/inbox_mark.c - the inbox's primitives and options. */
#include <pawl/inbox.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <pawl/inbox_records.h>

#include "claim_check.h"
#include "fail.h"
#include "hash.h"
#include "inbox_private.h"
#include "log.h"
#include "text.h"
#include "tx_private.h"

/* ---- single-step primitives, by key alone ---- */

#define ATTEMPTS 10
#define HOLDER_SIZE 48

static pawl_status inbox_mark_check(const pawl_store *store, const char *source, const char *id,
                                    pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    return pawli_inbox_check_key(source, id, err);
}

typedef struct sighting {
    pawl_inbox_state state;
    bool conflict;
} sighting;

static pawl_status read_sighting(void *context, const pawli_row *row, pawl_error *err)
{
    (void)err;
    *(sighting *)context =
        (sighting){(pawl_inbox_state)pawli_row_int(row, 0), pawli_row_int(row, 1) != 0};
    return PAWL_OK;
}

pawl_status pawl_inbox_already_processed(pawl_store *store, const char *source, const char *id,
                                         const uint8_t *hash, bool *ret_processed, pawl_error *err)
{
    sighting seen = {PAWL_INBOX_SEEN, false};
    pawl_status st = inbox_mark_check(store, source, id, err);

    if (st != PAWL_OK)
        return st;
    if (!ret_processed)
        return pawli_fail(err, PAWL_E_INVALID, "ret_processed must not be NULL");
    pawli_param params[] = {
        {"source", pawli_text(source)},
        {"id", pawli_text(id)},
        {"hash", pawli_inbox_hash_value(hash)},
        {"max_attempts", pawli_int(ATTEMPTS)},
        {"keep", pawli_span_ms(store->inbox_keep_ms)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_INBOX_SEEN,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = read_sighting,
        .context = &seen,
    };
    st = pawli_db_run(store->db, &op, err);
    if (st == PAWL_OK && seen.conflict)
        return pawli_fail(err, PAWL_E_CONFLICT,
                          "%s of %s is known with different content; nothing was changed", id,
                          source);
    if (st == PAWL_OK)
        *ret_processed = seen.state == PAWL_INBOX_DONE;
    return st;
}

/* Names this thread, unique among all users of this store and other stores, because thread ids
 * are reused. */
static void name_thread(const pawl_store *store, char ret_holder[HOLDER_SIZE])
{
    static _Atomic uint64_t last;
    static _Thread_local uint64_t own;

    if (own == 0)
        own = atomic_fetch_add(&last, 1) + 1;
    snprintf(ret_holder, HOLDER_SIZE, "%016" PRIx64 "-%" PRIu64, store->inbox_holder, own);
}

pawl_status pawl_inbox_mark_processing_by(pawl_store *store, const char *source, const char *id,
                                          const char *holder, pawl_error *err)
{
    PAWLI_AUTO(pawl_inbox_task) task = NULL;
    pawl_inbox_options options = PAWL_INBOX_OPTIONS_INIT;
    char thread[HOLDER_SIZE];
    pawl_status st = inbox_mark_check(store, source, id, err);

    if (st == PAWL_OK && holder && pawli_inbox_check_key(holder, id, NULL) != PAWL_OK)
        st = pawli_fail(err, PAWL_E_INVALID, "holder must be NULL or 1 to %d characters of UTF-8",
                        PAWL_INBOX_KEY_MAX);
    if (st != PAWL_OK)
        return st;
    options.max_attempts = ATTEMPTS;
    options.lease_ms = PAWLI_INBOX_CALL_LEASE_MS;
    name_thread(store, thread);
    st = pawli_inbox_call_by(store, holder ? holder : thread, source, id, &options, &task, err);
    if (st != PAWL_OK)
        return st;
    switch (task->result) {
    case PAWL_INBOX_NEW:
        return PAWL_OK;
    case PAWL_INBOX_IN_PROGRESS:
        return pawli_fail(err, PAWL_E_HELD,
                          "%s of %s is being processed by another caller: try again in %lld ms", id,
                          source, (long long)pawl_inbox_task_retry_after_ms(task));
    case PAWL_INBOX_DUPLICATE:
        return pawli_fail(err, PAWL_E_LOST, "%s of %s was processed already: skip it", id, source);
    default:
        return pawli_fail(err, PAWL_E_LOST, "%s of %s is dead: retry it first", id, source);
    }
}

pawl_status pawl_inbox_mark_processing(pawl_store *store, const char *source, const char *id,
                                       pawl_error *err)
{
    return pawl_inbox_mark_processing_by(store, source, id, NULL, err);
}

/* Nothing changed: finds out whether the record exists and whether it already has the wanted
 * state. */
static pawl_status inbox_mark_explain(const pawli_inbox_item *item, pawl_inbox_state wanted,
                                      pawl_error *err)
{
    pawl_inbox_records *one = NULL;
    pawl_status st = pawl_inbox_get(item->store, item->source, item->id, &one, err);

    if (st != PAWL_OK)
        return st;
    pawl_inbox_state state = pawl_inbox_records_at(one, 0)->state;
    pawl_inbox_records_free(one);
    if (state == wanted)
        return PAWL_OK;
    return pawli_fail(err, PAWL_E_LOST, "%s of %s is %s, which is final", item->id, item->source,
                      pawl_inbox_state_name(state));
}

pawl_status pawl_inbox_mark_processed(pawl_store *store, const char *source, const char *id,
                                      pawl_error *err)
{
    pawl_status st = inbox_mark_check(store, source, id, err);
    bool changed = false;

    if (st != PAWL_OK)
        return st;
    pawli_inbox_item item = {
        .store = store, .source = source, .id = id, .keep_ms = store->inbox_keep_ms};
    st = pawli_inbox_finish(&item, NULL, 0, &changed, err);
    return st == PAWL_OK && !changed ? inbox_mark_explain(&item, PAWL_INBOX_DONE, err) : st;
}

pawl_status pawl_inbox_mark_dead(pawl_store *store, const char *source, const char *id,
                                 const char *error, pawl_error *err)
{
    pawl_status st = inbox_mark_check(store, source, id, err);
    bool changed = false;

    if (st != PAWL_OK)
        return st;
    pawli_inbox_item item = {
        .store = store, .source = source, .id = id, .keep_ms = store->inbox_keep_ms};
    st = pawli_inbox_fail_permanently(&item, error, true, &changed, err);
    return st == PAWL_OK && !changed ? inbox_mark_explain(&item, PAWL_INBOX_DEAD, err) : st;
}

pawl_status pawl_tx_inbox_done(pawl_tx *tx, const char *source, const char *id, int64_t fence,
                               const void *response, size_t size, pawl_error *err)
{
    pawl_status st = pawli_inbox_check_key(source, id, err);
    bool changed = false;

    if (!tx || fence <= 0)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "tx must not be NULL, and the fence must be the one that the call returned");
    if (st == PAWL_OK)
        st = pawli_inbox_check_response(tx->store, response, size, err);
    if (st != PAWL_OK)
        return st;
    pawli_inbox_item item = {.store = tx->store,
                             .tx = tx,
                             .source = source,
                             .id = id,
                             .fence = fence,
                             .keep_ms = tx->store->inbox_keep_ms};
    st = pawli_inbox_finish(&item, response, size, &changed, err);
    if (st == PAWL_E_IN_DOUBT)
        return pawli_fail(err, PAWL_E_TX_RESTART,
                          "out of memory for the result: roll the transaction back");
    if (st == PAWL_OK && !changed)
        return pawli_fail(err, PAWL_E_LOST,
                          "%s of %s is no longer leased under this fence, or has already ended: "
                          "roll the transaction back",
                          id, source);
    return st;
}

/* ---- arguments of a delivery: key, content, options ---- */

#define WAIT_MAX_MS ((int64_t)24 * 3600 * 1000)

_Static_assert(PAWL_HASH_SIZE == PAWLI_SHA256_SIZE, "the inbox stores SHA-256 hashes only");

pawl_status pawl_inbox_hash(const void *payload, size_t size, uint8_t ret_hash[PAWL_HASH_SIZE],
                            pawl_error *err)
{
    if (!ret_hash || (!payload && size > 0))
        return pawli_fail(err, PAWL_E_INVALID, "payload and ret_hash must not be NULL");
    if (!pawli_sha256(payload, size, ret_hash))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the hash");
    return PAWL_OK;
}

/* ---- argument checks ---- */

static bool mark_is_text(const char *text)
{
    size_t characters;

    return text && *text && pawli_utf8_check(text, strlen(text), &characters) &&
           characters <= PAWL_INBOX_KEY_MAX;
}

pawl_status pawli_inbox_check_key(const char *source, const char *id, pawl_error *err)
{
    if (!mark_is_text(source) || !mark_is_text(id))
        return pawli_fail(err, PAWL_E_INVALID,
                          "source and id must be 1 to %d characters of UTF-8 each",
                          PAWL_INBOX_KEY_MAX);
    return PAWL_OK;
}

pawl_status pawli_inbox_check_options(const pawl_inbox_options *options, pawl_error *err)
{
    pawl_status st = pawli_check_lease(options->lease_ms, err);

    if (st != PAWL_OK)
        return st;
    if (options->max_attempts < 1 || options->max_attempts > PAWLI_ATTEMPTS_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "max_attempts must be 1 to %d", PAWLI_ATTEMPTS_MAX);
    if (options->keep_ms < 0 || options->keep_ms > PAWLI_INBOX_KEEP_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "keep_ms must be " PAWLI_INBOX_KEEP_RANGE);
    if (options->suspect_wait_ms < PAWL_SUSPECT_NOT_BEGUN || options->suspect_wait_ms > WAIT_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID,
                          "suspect_wait_ms must be 0 (the store's timeout) to a day, or one of "
                          "PAWL_SUSPECT_NO_WAIT and PAWL_SUSPECT_NOT_BEGUN");
    if (options->endpoint && !mark_is_text(options->endpoint))
        return pawli_fail(err, PAWL_E_INVALID, "endpoint must be NULL or 1 to %d characters",
                          PAWL_INBOX_KEY_MAX);
    return PAWL_OK;
}

pawli_value pawli_inbox_hash_value(const uint8_t *hash)
{
    return hash ? pawli_bytes(hash, PAWL_HASH_SIZE) : pawli_null(PAWLI_BYTES);
}

void pawli_inbox_warn_keep(pawl_store *store, int64_t keep_ms)
{
    if (keep_ms / 2 >= store->inbox_retry_window_ms ||
        atomic_exchange(&store->warned_of_keep, true))
        return;
    pawli_log(
        &store->log, PAWL_LOG_WARNING, "inbox",
        "processed messages are remembered for {keep_s} s, but senders retry for {retry_s} s: a "
        "message that arrives after its record was pruned is processed again; keep records "
        "for at least twice the retry time",
        pawli_logged_number("keep_s", keep_ms / 1000),
        pawli_logged_number("retry_s", store->inbox_retry_window_ms / 1000));
}

int64_t pawli_inbox_keep(pawl_store *store, int64_t keep_ms)
{
    if (keep_ms == 0)
        return store->inbox_keep_ms; /* checked when the store was opened */
    pawli_inbox_warn_keep(store, keep_ms);
    return keep_ms;
}
