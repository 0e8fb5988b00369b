/* src/core/finish.c - operations on claimed messages: their results, and their leases. */
#include "finish.h"

#include "bounds.h"
#include "claim_check.h"
#include "fail.h"
#include "message_spec.h"
#include "store_private.h"

pawl_status pawli_queue_ack(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                            size_t count, pawli_changed ret, pawl_error *err)
{
    pawli_param params[] = {{"owner", pawli_uuid(owner.bytes)}};
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st != PAWL_OK)
        return st;
    return pawli_receipt_update(store, PAWLI_SQL_ACK, params, PAWLI_COUNT(params), items, count,
                                ret, err);
}

/* Runs abandon or defer, which have the same parameters. */
static pawl_status queue_put_off(pawl_store *store, enum pawli_sql sql, pawl_owner owner,
                                 const pawl_receipt *items, size_t count, const char *error,
                                 pawli_value delay, const pawl_backoff *local,
                                 const pawl_backoff *remote, pawli_changed ret, pawl_error *err)
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
    return pawli_receipt_update(store, sql, params, PAWLI_COUNT(params), items, count, ret, err);
}

pawl_status pawli_queue_abandon(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                size_t count, const char *error, int64_t delay_ms,
                                pawli_changed ret, pawl_error *err)
{
    pawli_value delay;
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st == PAWL_OK)
        st = pawli_check_delay(delay_ms, &delay, err);
    if (st != PAWL_OK)
        return st;
    return queue_put_off(store, PAWLI_SQL_ABANDON, owner, items, count, error, delay,
                         &store->backoff_local, &store->backoff_remote, ret, err);
}

static pawl_status check_policy(const pawl_backoff *policy, pawl_error *err)
{
    if (!policy || policy->base_ms < 1 || policy->max_ms < policy->base_ms ||
        policy->jitter_ms < PAWL_JITTER_TENTH || policy->max_ms > PAWLI_DELAY_MAX ||
        policy->jitter_ms > PAWLI_DELAY_MAX)
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
                         pawli_null(PAWLI_SPAN), policy, policy,
                         (pawli_changed){.count = ret_changed}, err);
}

pawl_status pawl_queue_defer(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                             size_t count, const char *error, int64_t delay_ms,
                             const pawl_backoff *policy, size_t *ret_changed, pawl_error *err)
{
    bool by_policy = delay_ms == PAWL_DELAY_BY_POLICY;
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st == PAWL_OK && policy)
        st = check_policy(policy, err);
    if (st == PAWL_OK && !by_policy && (delay_ms < 0 || delay_ms > PAWLI_DELAY_MAX))
        st = pawli_fail(err, PAWL_E_INVALID,
                        "delay_ms must be 0 to 100 years, or PAWL_DELAY_BY_POLICY");
    if (st != PAWL_OK)
        return st;
    return queue_put_off(store, PAWLI_SQL_DEFER, owner, items, count, error,
                         by_policy ? pawli_null(PAWLI_SPAN) : pawli_span_ms(delay_ms),
                         policy ? policy : &store->backoff_local,
                         policy ? policy : &store->backoff_remote,
                         (pawli_changed){.count = ret_changed}, err);
}

pawl_status pawli_queue_fail(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                             size_t count, const char *error, pawli_changed ret, pawl_error *err)
{
    char room[PAWLI_CLEAN_TEXT_SIZE];
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st != PAWL_OK)
        return st;
    pawli_param params[] = {
        {"owner", pawli_uuid(owner.bytes)},
        {"error", pawli_clean_text(error, room)},
    };
    return pawli_receipt_update(store, PAWLI_SQL_FAIL, params, PAWLI_COUNT(params), items, count,
                                ret, err);
}

pawl_status pawli_queue_renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                              size_t count, int64_t lease_ms, pawli_changed ret, pawl_error *err)
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
    return pawli_receipt_update(store, PAWLI_SQL_RENEW, params, PAWLI_COUNT(params), items, count,
                                ret, err);
}

pawl_status pawli_queue_release(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                size_t count, pawli_changed ret, pawl_error *err)
{
    pawli_param params[] = {{"owner", pawli_uuid(owner.bytes)}};
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st != PAWL_OK)
        return st;
    return pawli_receipt_update(store, PAWLI_SQL_RELEASE, params, PAWLI_COUNT(params), items, count,
                                ret, err);
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
    st = pawli_receipt_update(store, PAWLI_SQL_PROGRESS, params, PAWLI_COUNT(params), &item, 1,
                              (pawli_changed){.count = &changed}, err);
    if (st == PAWL_OK && changed != 1)
        return pawli_fail(err, PAWL_E_LOST,
                          "message %lld is no longer leased under this fence: its lease expired or "
                          "it has already ended",
                          (long long)item.id.value);
    return st;
}

/* ---- the public forms ---- */

pawl_status pawl_queue_ack(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                           size_t count, size_t *ret_changed, pawl_error *err)
{
    return pawli_queue_ack(store, owner, items, count, (pawli_changed){.count = ret_changed}, err);
}

pawl_status pawl_queue_abandon(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                               size_t count, const char *error, int64_t delay_ms,
                               size_t *ret_changed, pawl_error *err)
{
    return pawli_queue_abandon(store, owner, items, count, error, delay_ms,
                               (pawli_changed){.count = ret_changed}, err);
}

pawl_status pawl_queue_fail(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                            size_t count, const char *error, size_t *ret_changed, pawl_error *err)
{
    return pawli_queue_fail(store, owner, items, count, error,
                            (pawli_changed){.count = ret_changed}, err);
}

pawl_status pawl_queue_renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                             size_t count, int64_t lease_ms, size_t *ret_changed, pawl_error *err)
{
    return pawli_queue_renew(store, owner, items, count, lease_ms,
                             (pawli_changed){.count = ret_changed}, err);
}

pawl_status pawl_queue_renew_each(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                                  size_t count, int64_t lease_ms, bool *ret_each,
                                  size_t *ret_changed, pawl_error *err)
{
    return pawli_queue_renew(store, owner, items, count, lease_ms,
                             (pawli_changed){ret_changed, ret_each}, err);
}

pawl_status pawl_queue_release(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                               size_t count, size_t *ret_changed, pawl_error *err)
{
    return pawli_queue_release(store, owner, items, count, (pawli_changed){.count = ret_changed},
                               err);
}
