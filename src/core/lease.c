/* src/core/lease.c - acquires, renews and releases leases, and guards transactions with them. */
#include <pawl/lease.h>

#include "claim_check.h"
#include "codes.h"
#include "fail.h"
#include "lease_private.h"
#include "log.h"
#include "store_private.h"
#include "tx_private.h"

static pawl_status check_ttl(int64_t ttl_ms, pawl_error *err)
{
    if (ttl_ms < PAWL_LEASE_TTL_MIN_MS || ttl_ms > PAWL_LEASE_TTL_MAX_MS)
        return pawli_fail(err, PAWL_E_INVALID, "ttl_ms must be %d to %d", PAWL_LEASE_TTL_MIN_MS,
                          PAWL_LEASE_TTL_MAX_MS);
    return PAWL_OK;
}

/* The last row is the result. */
static pawl_status lease_run(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                             size_t param_count, pawl_leases *leases, pawl_error *err)
{
    pawli_op op = {
        .sql = sql,
        .writes = true,
        .urgent = sql == PAWLI_SQL_LEASE_RENEW, /* it may be about to expire */
        .params = params,
        .param_count = param_count,
        .columns = &pawli_lease_columns,
        .on_row = pawli_leases_on_row,
        .on_start = pawli_leases_on_start,
        .context = leases,
    };

    return leases ? pawli_db_run(store->db, &op, err) : pawli_leases_no_memory(err);
}

static const pawl_lease *lease_last(const pawl_leases *leases)
{
    return pawl_leases_at(leases, leases->count - 1);
}

static void lease_fill(const pawl_leases *leases, bool taken, pawl_lease_grant *ret_grant)
{
    const pawl_lease *lease = lease_last(leases);

    *ret_grant = (pawl_lease_grant){
        .fence = lease->fence,
        .now = leases->now,
        .expires_at = lease->expires_at,
        .taken = taken,
    };
}

static pawl_status held_by_another(const pawl_leases *leases, const char *name, pawl_error *err)
{
    const pawl_lease *lease = lease_last(leases);
    int64_t left_ms = (lease->expires_at.us - leases->now.us + 999) / 1000;

    return pawli_fail(err, PAWL_E_HELD,
                      "lease '%.100s' is owned by %.100s and expires in %lld.%03lld s unless "
                      "renewed; try again later",
                      name, lease->owner_name, (long long)(left_ms / 1000),
                      (long long)(left_ms % 1000));
}

pawl_status pawl_lease_acquire(pawl_store *store, const char *name, pawl_owner owner,
                               int64_t ttl_ms, const char *owner_name, pawl_lease_grant *ret_grant,
                               pawl_error *err)
{
    PAWLI_AUTO(pawl_leases) leases = pawli_leases_new();
    char who[PAWLI_OWNER_NAME_SIZE];
    pawl_status st = pawli_lease_check_name(store, name, err);

    if (st == PAWL_OK)
        st = pawli_check_owner(store, owner, err);
    if (st == PAWL_OK)
        st = check_ttl(ttl_ms, err);
    if (st == PAWL_OK)
        st = pawli_owner_name(owner_name, who, err);
    if (st != PAWL_OK)
        return st;
    if (!ret_grant)
        return pawli_fail(err, PAWL_E_INVALID, "ret_grant must not be NULL");
    pawli_param params[] = {
        {"name", pawli_text(name)},
        {"owner", pawli_uuid(owner.bytes)},
        {"ttl", pawli_span_ms(ttl_ms)},
        {"owner_name", pawli_text(who)},
    };
    st = lease_run(store, PAWLI_SQL_LEASE_ACQUIRE, params, PAWLI_COUNT(params), leases, err);
    if (st != PAWL_OK || !leases)
        return st;
    if (leases->result == PAWLI_LEASE_RESULT_HELD)
        return held_by_another(leases, name, err);
    lease_fill(leases, leases->result == PAWLI_LEASE_RESULT_TAKEN, ret_grant);
    pawli_log(&store->log, PAWL_LOG_DEBUG, "lease",
              ret_grant->taken ? "{owner} took lease '{lease}' with fencing token {fence}"
                               : "{owner} extended lease '{lease}' with fencing token {fence}",
              pawli_logged("owner", who), pawli_logged("lease", name),
              pawli_logged_number("fence", ret_grant->fence));
    return PAWL_OK;
}

/* Renews or releases, for its owner, with its fencing token. */
static pawl_status lease_change(pawl_store *store, enum pawli_sql sql, const char *name,
                                pawl_owner owner, int64_t fence, int64_t ttl_ms,
                                pawl_lease_grant *ret_grant, pawl_error *err)
{
    PAWLI_AUTO(pawl_leases) leases = pawli_leases_new();
    pawli_param params[] = {
        {"name", pawli_text(name)},
        {"owner", pawli_uuid(owner.bytes)},
        {"fence", pawli_int(fence)},
        {"ttl", pawli_span_ms(ttl_ms)},
    };
    size_t count = sql == PAWLI_SQL_LEASE_RENEW ? PAWLI_COUNT(params) : PAWLI_COUNT(params) - 1;
    pawl_status st = pawli_lease_check_name(store, name, err);

    if (st == PAWL_OK)
        st = pawli_check_owner(store, owner, err);
    if (st == PAWL_OK)
        st = lease_run(store, sql, params, count, leases, err);
    if (st != PAWL_OK || !leases)
        return st;
    if (leases->result == 0)
        return pawli_fail(err, PAWL_E_LOST,
                          "lease '%.255s' is no longer owned with fencing token %lld: it expired, "
                          "was released, or was released by force",
                          name, (long long)fence);
    if (ret_grant)
        lease_fill(leases, false, ret_grant);
    return PAWL_OK;
}

pawl_status pawl_lease_renew(pawl_store *store, const char *name, pawl_owner owner, int64_t fence,
                             int64_t ttl_ms, pawl_lease_grant *ret_grant, pawl_error *err)
{
    pawl_status st = check_ttl(ttl_ms, err);

    if (st != PAWL_OK)
        return st;
    if (!ret_grant)
        return pawli_fail(err, PAWL_E_INVALID, "ret_grant must not be NULL");
    return lease_change(store, PAWLI_SQL_LEASE_RENEW, name, owner, fence, ttl_ms, ret_grant, err);
}

pawl_status pawl_lease_release(pawl_store *store, const char *name, pawl_owner owner, int64_t fence,
                               pawl_lease_grant *ret_grant, pawl_error *err)
{
    return lease_change(store, PAWLI_SQL_LEASE_RELEASE, name, owner, fence, 0, ret_grant, err);
}

/* ---- the transaction guard ---- */

typedef struct guarding {
    const char *name;
    int64_t fence;
} guarding;

static pawl_status lease_judge(void *context, const pawli_row *row, pawl_error *err)
{
    const guarding *guard = context;

    if (pawli_row_int(row, 0) != 0)
        return PAWL_OK;
    return pawli_fail(err, PAWL_E_LOST,
                      "lease '%.255s' is no longer owned with fencing token %lld: roll the "
                      "transaction back, another owner may be active",
                      guard->name, (long long)guard->fence);
}

pawl_status pawl_lease_guard(pawl_tx *tx, const char *name, int64_t fence, pawl_error *err)
{
    guarding guard = {name, fence};
    pawli_param params[] = {{"name", pawli_text(name)}, {"fence", pawli_int(fence)}};
    pawli_op op = {
        .sql = PAWLI_SQL_LEASE_GUARD,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = lease_judge,
        .context = &guard,
    };

    if (!tx)
        return pawli_fail(err, PAWL_E_INVALID, "the transaction must not be NULL");
    pawl_status st = pawli_lease_check_name(tx, name, err);
    if (st == PAWL_OK && fence <= 0)
        st = pawli_fail(err, PAWL_E_INVALID,
                        "the fencing token must be one that an acquisition returned");
    if (st != PAWL_OK)
        return st;
    st = pawli_tx_run(tx, &op, err);
    /* Inside the transaction nothing is committed yet, so a lost reply leaves no doubt. */
    if (st == PAWL_E_IN_DOUBT)
        st = pawli_fail(err, PAWL_E_NOMEM, "out of memory; roll the transaction back");
    if (st != PAWL_OK && tx->owned)
        pawli_owned_tx_rollback(tx->owned);
    return st;
}
