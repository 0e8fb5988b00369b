/* src/core/inbox_options.c - what a delivery is given: key, content, options. */
#include <pawl/inbox.h>

#include <string.h>

#include "claim_check.h"
#include "fail.h"
#include "hash.h"
#include "inbox_private.h"
#include "log.h"
#include "text.h"

#define WAIT_MAX_MS ((int64_t)24 * 3600 * 1000)

_Static_assert(PAWL_HASH_SIZE == PAWLI_SHA256_SIZE, "the inbox keeps SHA-256");

pawl_status pawl_inbox_hash(const void *payload, size_t size, uint8_t ret_hash[PAWL_HASH_SIZE],
                            pawl_error *err)
{
    if (!ret_hash || (!payload && size > 0))
        return pawli_fail(err, PAWL_E_INVALID, "payload and ret_hash must not be NULL");
    if (!pawli_sha256(payload, size, ret_hash))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the hash");
    return PAWL_OK;
}

/* ---- what is given ---- */

static bool is_text(const char *text)
{
    size_t characters;

    return text && *text && pawli_utf8_check(text, strlen(text), &characters) &&
           characters <= PAWL_INBOX_KEY_MAX;
}

pawl_status pawli_inbox_check_key(const char *source, const char *id, pawl_error *err)
{
    if (!is_text(source) || !is_text(id))
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
    if (options->endpoint && !is_text(options->endpoint))
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
        "processed messages are remembered for %lld s, which should be at least twice the %lld s "
        "during which senders retry: what comes later is processed again",
        (long long)(keep_ms / 1000), (long long)(store->inbox_retry_window_ms / 1000));
}

int64_t pawli_inbox_keep(pawl_store *store, int64_t keep_ms)
{
    if (keep_ms == 0)
        return store->inbox_keep_ms; /* looked at when the store was opened */
    pawli_inbox_warn_keep(store, keep_ms);
    return keep_ms;
}
