/* src/core/queue.c - the consumer's side of the queue: claim, the results of claims, owned
 * messages. */
#include <pawl/queue.h>

#include "batch_update.h"
#include "claim_check.h"
#include "fail.h"
#include "log.h"
#include "message_private.h"
#include "options.h"
#include "message_spec.h"
#include "store_private.h"
#include "platform.h"

#define CLAIMS_PER_REAP 20
#define DELAY_MAX_MS ((int64_t)36500 * 24 * 3600 * 1000)

static bool queue_is_empty(const void *list)
{
    return pawl_messages_count(list) == 0;
}

/* The highest limit of all destinations. */
static int64_t highest_limit(const pawl_claim_options *options, int limit)
{
    int64_t highest = options->destination_limits ? 0 : limit;

    for (size_t i = 0; options->destination_limits && i < options->destination_count; i++)
        if (options->destination_limits[i] > highest)
            highest = options->destination_limits[i];
    return highest < limit ? highest : limit;
}

static pawl_status queue_claim(pawl_store *store, pawl_owner owner, const pawli_rows *acks,
                               int64_t lease_ms, int limit, const pawl_claim_options *options,
                               const char *name, size_t *ret_acked, pawl_messages *list,
                               pawl_error *err)
{
    bool remote = options->destinations != NULL;
    pawli_param params[7] = {
        {"owner", pawli_uuid(owner.bytes)},
        {"owner_name", pawli_text(name)},
        {"lease", pawli_span_ms(lease_ms)},
        {"limit", pawli_int(limit)},
    };
    size_t param_count = 4;
    pawli_op op = {
        .sql = remote ? PAWLI_SQL_CLAIM_REMOTE : PAWLI_SQL_CLAIM,
        .writes = true,
        .params = params,
        .columns = &pawli_message_columns,
        .on_row = pawli_messages_on_row,
        .on_start = pawli_messages_on_start,
        .context = list,
    };
    size_t acked = 0;
    pawli_op ack = {
        .sql = PAWLI_SQL_ACK,
        .writes = true,
        .params = params, /* the owner */
        .param_count = 1,
        .rows = acks,
        .on_row = pawli_count_on_row,
        .on_start = pawli_count_on_start,
        .context = &acked,
        .next = &op,
    };

    if (remote) {
        params[param_count++] = (pawli_param){
            "destinations", pawli_texts(options->destinations, options->destination_count)};
        params[param_count++] = (pawli_param){
            "limits", pawli_ints(options->destination_limits, options->destination_count)};
        params[param_count++] = (pawli_param){"most", pawli_int(highest_limit(options, limit))};
    } else {
        params[param_count++] =
            (pawli_param){"topics", pawli_texts(options->topics, options->topic_count)};
    }
    op.param_count = param_count;
    /* A message sent from here on may be missed by this claim; it ends the next
     * pawl_queue_wait(). */
    atomic_store(&store->sent_before_claim, pawli_wake_sent(pawli_db_wake(store->db)));
    pawl_status st = pawli_store_scan(store, acks->row_count > 0 ? &ack : &op, queue_is_empty, err);
    if (st != PAWL_OK)
        return st;
    if (ret_acked)
        *ret_acked = acked;
    pawli_log(&store->log, PAWL_LOG_DEBUG, "outbox", "{owner} claimed {count} messages",
              pawli_logged("owner", name),
              pawli_logged_number("count", (int64_t)pawl_messages_count(list)));
    return PAWL_OK;
}

/*
 * Reaps for callers without a worker, if this claim found nothing or if it is time. Returns true
 * if messages became ready. An error here is ignored: it will recur, and is reported, when the
 * result matters.
 */
static bool reap_for_claim(pawl_store *store, bool found)
{
    size_t changed = 0;

    if (found && atomic_fetch_add(&store->claims_since_reap, 1) + 1 < CLAIMS_PER_REAP)
        return false;
    atomic_store(&store->claims_since_reap, 0);
    return pawl_queue_reap(store, &changed, NULL, NULL) == PAWL_OK && changed > 0;
}

/*
 * After reaping, repeats the claim without its acknowledgements, which are already stored. If
 * the repeat fails, the first claim's empty result stands, unless the repeat may have leased
 * messages.
 */
static pawl_status claim_again(pawl_store *store, pawl_owner owner, pawli_rows *acks,
                               int64_t lease_ms, int limit, const pawl_claim_options *options,
                               const char *name, pawl_messages *list, pawl_error *err)
{
    pawl_error why = PAWL_ERROR_INIT;

    acks->row_count = 0;
    pawl_status st =
        queue_claim(store, owner, acks, lease_ms, limit, options, name, NULL, list, &why);
    if (st == PAWL_OK)
        return PAWL_OK;
    if (st == PAWL_E_IN_DOUBT) {
        if (err)
            *err = why;
        return st;
    }
    pawli_messages_on_start(list); /* discard what was read: those messages are not leased */
    return PAWL_OK;
}

pawl_status pawl_queue_ack_and_claim(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                     size_t count, int64_t lease_ms, int limit,
                                     const pawl_claim_options *opts, size_t *ret_acked,
                                     pawl_messages **ret_list, pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) list = NULL;
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    char name[PAWLI_OWNER_NAME_SIZE];
    pawli_receipt_rows acks;
    pawl_status st = pawli_check_claim(store, owner, lease_ms, limit, ret_list, err);

    if (st == PAWL_OK)
        st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st == PAWL_OK)
        st = pawli_check_topics(&options, err);
    if (st == PAWL_OK)
        st = pawli_check_destinations(&options, err);
    if (st == PAWL_OK)
        st = pawli_owner_name(options.owner_name, name, err);
    if (st == PAWL_OK)
        st = pawli_messages_new(&list, err);
    if (st != PAWL_OK)
        return st;
    st = pawli_receipt_rows_fill(&acks, items, count, err);
    if (st == PAWL_OK)
        st = queue_claim(store, owner, &acks.rows, lease_ms, limit, &options, name, ret_acked, list,
                         err);
    if (st == PAWL_OK && options.reap && reap_for_claim(store, !queue_is_empty(list)) &&
        queue_is_empty(list))
        st = claim_again(store, owner, &acks.rows, lease_ms, limit, &options, name, list, err);
    pawli_receipt_rows_done(&acks);
    if (st == PAWL_OK)
        *ret_list = pawl_messages_take(&list);
    return st;
}

pawl_status pawl_queue_claim(pawl_store *store, pawl_owner owner, int64_t lease_ms, int limit,
                             const pawl_claim_options *opts, pawl_messages **ret_list,
                             pawl_error *err)
{
    static const pawl_receipt none;

    return pawl_queue_ack_and_claim(store, owner, &none, 0, lease_ms, limit, opts, NULL, ret_list,
                                    err);
}

pawl_status pawl_queue_owned(pawl_store *store, pawl_owner owner, pawl_messages **ret_list,
                             pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) list = NULL;
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st != PAWL_OK)
        return st;
    if (!ret_list)
        return pawli_fail(err, PAWL_E_INVALID, "ret_list must not be NULL");
    st = pawli_messages_new(&list, err);
    if (st != PAWL_OK)
        return st;
    pawli_param params[] = {{"owner", pawli_uuid(owner.bytes)}};
    pawli_op op = {
        .sql = PAWLI_SQL_OWNED,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .columns = &pawli_message_columns,
        .on_row = pawli_messages_on_row,
        .on_start = pawli_messages_on_start,
        .context = list,
    };
    st = pawli_db_run(store->db, &op, err);
    if (st == PAWL_OK)
        *ret_list = pawl_messages_take(&list);
    return st;
}

pawl_status pawl_queue_ack(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                           size_t count, size_t *ret_changed, pawl_error *err)
{
    pawli_param params[] = {{"owner", pawli_uuid(owner.bytes)}};
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st != PAWL_OK)
        return st;
    return pawli_batch_update_receipts(store, PAWLI_SQL_ACK, params, PAWLI_COUNT(params), items,
                                       count, ret_changed, err);
}

/* Runs abandon or defer, which have the same parameters. */
static pawl_status queue_put_off(pawl_store *store, enum pawli_sql sql, pawl_owner owner,
                                 const pawl_receipt *items, size_t count, const char *error,
                                 pawli_value delay, const pawl_backoff *local,
                                 const pawl_backoff *remote, size_t *ret_changed, pawl_error *err)
{
    char room[PAWLI_CLEAN_TEXT_SIZE];
    pawli_param params[] = {
        {"owner", pawli_uuid(owner.bytes)},
        {"error", pawli_clean_text(error, room)},
        {"delay", delay},
        {"local_base", pawli_span_ms(local->base_ms)},
        {"local_max", pawli_span_ms(local->max_ms)},
        {"local_jitter", pawli_jitter(local)},
        {"remote_base", pawli_span_ms(remote->base_ms)},
        {"remote_max", pawli_span_ms(remote->max_ms)},
        {"remote_jitter", pawli_jitter(remote)},
    };
    return pawli_batch_update_receipts(store, sql, params, PAWLI_COUNT(params), items, count,
                                       ret_changed, err);
}

pawl_status pawl_queue_abandon(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                               size_t count, const char *error, int64_t delay_ms,
                               size_t *ret_changed, pawl_error *err)
{
    pawli_value delay;
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st == PAWL_OK)
        st = pawli_check_delay(delay_ms, &delay, err);
    if (st != PAWL_OK)
        return st;
    return queue_put_off(store, PAWLI_SQL_ABANDON, owner, items, count, error, delay,
                         &store->backoff_local, &store->backoff_remote, ret_changed, err);
}

static pawl_status check_policy(const pawl_backoff *policy, pawl_error *err)
{
    if (!policy || policy->base_ms < 1 || policy->max_ms < policy->base_ms ||
        policy->jitter_ms < PAWL_JITTER_TENTH || policy->max_ms > DELAY_MAX_MS ||
        policy->jitter_ms > DELAY_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the policy needs base_ms > 0, max_ms >= base_ms, jitter_ms >= 0 (or "
                          "PAWL_JITTER_TENTH)");
    return PAWL_OK;
}

pawl_status pawl_queue_abandon_by(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                  size_t count, const char *error, const pawl_backoff *policy,
                                  size_t *ret_changed, pawl_error *err)
{
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st == PAWL_OK)
        st = check_policy(policy, err);
    if (st != PAWL_OK)
        return st;
    return queue_put_off(store, PAWLI_SQL_ABANDON, owner, items, count, error,
                         pawli_null(PAWLI_SPAN), policy, policy, ret_changed, err);
}

pawl_status pawl_queue_defer(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                             size_t count, const char *error, int64_t delay_ms,
                             const pawl_backoff *policy, size_t *ret_changed, pawl_error *err)
{
    bool by_policy = delay_ms == PAWL_DELAY_BY_POLICY;
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st == PAWL_OK && policy)
        st = check_policy(policy, err);
    if (st == PAWL_OK && !by_policy && (delay_ms < 0 || delay_ms > DELAY_MAX_MS))
        st = pawli_fail(err, PAWL_E_INVALID,
                        "delay_ms must be 0 to 100 years, or PAWL_DELAY_BY_POLICY");
    if (st != PAWL_OK)
        return st;
    return queue_put_off(store, PAWLI_SQL_DEFER, owner, items, count, error,
                         by_policy ? pawli_null(PAWLI_SPAN) : pawli_span_ms(delay_ms),
                         policy ? policy : &store->backoff_local,
                         policy ? policy : &store->backoff_remote, ret_changed, err);
}

pawl_status pawl_queue_fail(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                            size_t count, const char *error, size_t *ret_changed, pawl_error *err)
{
    char room[PAWLI_CLEAN_TEXT_SIZE];
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st != PAWL_OK)
        return st;
    pawli_param params[] = {
        {"owner", pawli_uuid(owner.bytes)},
        {"error", pawli_clean_text(error, room)},
    };
    return pawli_batch_update_receipts(store, PAWLI_SQL_FAIL, params, PAWLI_COUNT(params), items,
                                       count, ret_changed, err);
}

pawl_status pawl_queue_renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                             size_t count, int64_t lease_ms, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st == PAWL_OK)
        st = pawli_check_lease(lease_ms, err);
    if (st != PAWL_OK)
        return st;
    pawli_param params[] = {
        {"owner", pawli_uuid(owner.bytes)},
        {"lease", pawli_span_ms(lease_ms)},
    };
    return pawli_batch_update_receipts(store, PAWLI_SQL_RENEW, params, PAWLI_COUNT(params), items,
                                       count, ret_changed, err);
}

pawl_status pawl_queue_release(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                               size_t count, size_t *ret_changed, pawl_error *err)
{
    pawli_param params[] = {{"owner", pawli_uuid(owner.bytes)}};
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st != PAWL_OK)
        return st;
    return pawli_batch_update_receipts(store, PAWLI_SQL_RELEASE, params, PAWLI_COUNT(params), items,
                                       count, ret_changed, err);
}

pawl_status pawl_queue_progress(pawl_store *store, pawl_owner owner, pawl_receipt item,
                                const char *text, pawl_error *err)
{
    char room[PAWLI_CLEAN_TEXT_SIZE];
    size_t changed = 0;
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st != PAWL_OK)
        return st;
    pawli_param params[] = {
        {"owner", pawli_uuid(owner.bytes)},
        {"text", pawli_clean_text(text, room)},
    };
    st = pawli_batch_update_receipts(store, PAWLI_SQL_PROGRESS, params, PAWLI_COUNT(params), &item,
                                     1, &changed, err);
    if (st == PAWL_OK && changed != 1)
        return pawli_fail(err, PAWL_E_LOST,
                          "message %lld is no longer leased under this fence: its lease expired or "
                          "it has already ended",
                          (long long)item.id.value);
    return st;
}

pawl_status pawl_queue_wait(pawl_store *store, int64_t timeout_ms, pawl_error *err)
{
    if (!store || timeout_ms < 0 || timeout_ms > DELAY_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID,
                          "store must not be NULL, and timeout_ms must not be negative");
    pawli_wake *wake = pawli_db_wake(store->db);
    pawl_mono deadline = pawli_mono_after(pawli_mono_now(), timeout_ms * 1000);
    if (!pawli_wake_wait(wake, atomic_load(&store->sent_before_claim), deadline))
        return pawli_fail(err, PAWL_E_INTERRUPTED, "interrupted while waiting for messages");
    return PAWL_OK;
}
