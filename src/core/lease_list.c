/* src/core/lease_list.c - lists leases, releases them by force, and prunes old ones. */
#include <pawl/lease.h>

#include <stdlib.h>
#include <string.h>

#include "batch_update.h"
#include "claim_check.h"
#include "columns.h"
#include "fail.h"
#include "bounds.h"
#include "lease_private.h"
#include "log.h"
#include "options.h"
#include "page.h"
#include "store_private.h"
#include "text.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 10000
#define ROWS_PER_CLEAN 1000

#define X(upper, name) upper,
enum { PAWLI_LEASE_COLUMNS(X) COLUMN_COUNT };
#undef X
static const char *const lease_column_names[COLUMN_COUNT] = {
    PAWLI_LEASE_COLUMNS(PAWLI_COLUMN_NAME)};
const pawli_columns pawli_lease_columns = {lease_column_names, COLUMN_COUNT};

/* ---- the list ---- */

pawl_leases *pawli_leases_new(void)
{
    return calloc(1, sizeof(pawl_leases));
}

pawl_status pawli_leases_no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the leases");
}

void pawl_leases_free(pawl_leases *leases)
{
    if (!leases)
        return;
    pawli_arena_done(&leases->texts);
    free(leases->items);
    free(leases);
}

size_t pawl_leases_count(const pawl_leases *leases)
{
    return leases ? leases->count : 0;
}

const pawl_lease *pawl_leases_at(const pawl_leases *leases, size_t index)
{
    return leases && index < leases->count ? &leases->items[index] : NULL;
}

pawl_wall pawl_leases_now(const pawl_leases *leases)
{
    return leases ? leases->now : PAWL_TIME_UNSET;
}

void pawli_leases_on_start(void *context)
{
    pawl_leases *leases = context;

    pawli_arena_done(&leases->texts);
    leases->count = 0;
    leases->result = 0;
    leases->now = PAWL_TIME_UNSET;
}

static bool lease_list_make_room(pawl_leases *leases)
{
    if (leases->count < leases->capacity)
        return true;
    size_t capacity = leases->capacity ? leases->capacity * 2 : 4;
    pawl_lease *items = realloc(leases->items, capacity * sizeof *items);
    if (!items)
        return false;
    leases->items = items;
    leases->capacity = capacity;
    return true;
}

/* NULL stays NULL. Returns false if memory ran out. */
static bool lease_list_copy_text(pawl_leases *leases, const pawli_row *row, int column,
                                 const char **ret_text)
{
    size_t size;
    const void *text = pawli_row_bytes(row, column, &size);

    *ret_text =
        pawli_row_is_null(row, column) ? NULL : pawli_arena_copy(&leases->texts, text, size);
    return *ret_text || pawli_row_is_null(row, column);
}

pawl_status pawli_leases_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_leases *leases = context;
    pawl_lease lease = {
        .fence = pawli_row_int(row, FENCE),
        .taken_at = pawli_row_time(row, TAKEN_AT),
        .renewed_at = pawli_row_time(row, RENEWED_AT),
        .expires_at = pawli_row_time(row, EXPIRES_AT),
        .released_at = pawli_row_time(row, RELEASED_AT),
        .forced_at = pawli_row_time(row, FORCED_AT),
        .forced_fence = pawli_row_int(row, FORCED_FENCE),
    };

    leases->result = (int)pawli_row_int(row, RESULT);
    leases->now = pawli_row_time(row, AT);
    if (pawli_row_is_null(row, NAME)) /* no lease has that name */
        return PAWL_OK;
    lease.owned = pawli_row_is_null(row, RELEASED_AT) && lease.expires_at.us > leases->now.us;
    pawli_row_uuid(row, OWNER, lease.owner.bytes);
    if (!lease_list_make_room(leases) || !lease_list_copy_text(leases, row, NAME, &lease.name) ||
        !lease_list_copy_text(leases, row, OWNER_NAME, &lease.owner_name) ||
        !lease_list_copy_text(leases, row, FORCED_BY, &lease.forced_by) ||
        !lease_list_copy_text(leases, row, FORCED_REASON, &lease.forced_reason))
        return pawli_leases_no_memory(err);
    leases->items[leases->count++] = lease;
    return PAWL_OK;
}

pawl_status pawli_lease_check_name(const void *store, const char *name, pawl_error *err)
{
    size_t characters;

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    if (!name || !*name || !pawli_utf8_check(name, strlen(name), &characters) ||
        characters > PAWL_LEASE_NAME_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the name of a lease must be 1 to %d characters of UTF-8",
                          PAWL_LEASE_NAME_MAX);
    return PAWL_OK;
}

/* ---- reading ---- */

static pawl_status read_leases(pawl_store *store, enum pawli_sql sql, const pawli_param *params,
                               size_t param_count, pawl_leases *leases, pawl_error *err)
{
    pawli_op op = {
        .sql = sql,
        .params = params,
        .param_count = param_count,
        .columns = &pawli_lease_columns,
        .on_row = pawli_leases_on_row,
        .on_start = pawli_leases_on_start,
        .context = leases,
    };

    return pawli_db_run(store->db, &op, err);
}

pawl_status pawl_lease_get(pawl_store *store, const char *name, pawl_leases **ret_one,
                           pawl_error *err)
{
    PAWLI_AUTO(pawl_leases) one = NULL;
    pawli_param params[] = {{"name", pawli_text(name)}};
    pawl_status st = pawli_lease_check_name(store, name, err);

    if (st != PAWL_OK)
        return st;
    if (!ret_one)
        return pawli_fail(err, PAWL_E_INVALID, "ret_one must not be NULL");
    one = pawli_leases_new();
    if (!one)
        return pawli_leases_no_memory(err);
    st = read_leases(store, PAWLI_SQL_LEASE_GET, params, PAWLI_COUNT(params), one, err);
    if (st != PAWL_OK)
        return st;
    if (one->count == 0)
        return pawli_fail(
            err, PAWL_E_NOT_FOUND,
            "no such lease: '%.255s'; it was never acquired, or its record was pruned", name);
    *ret_one = pawl_leases_take(&one);
    return PAWL_OK;
}

static pawl_status lease_list_check_filter(const pawl_lease_filter *filter, pawl_error *err)
{
    if (filter->limit < 0 || filter->limit > LIMIT_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the limit must be 0 to %d", LIMIT_MAX);
    return pawli_page_check_name(&filter->after, err);
}

pawl_status pawl_lease_list(pawl_store *store, const pawl_lease_filter *filter,
                            pawl_leases **ret_list, pawl_page *ret_next, pawl_error *err)
{
    PAWLI_AUTO(pawl_leases) leases = NULL;
    pawl_lease_filter wanted = PAWL_LEASE_FILTER_INIT;
    pawl_status st;

    if (!store || !ret_list)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_list must not be NULL");
    st = pawli_options_copy(&wanted, sizeof wanted, filter, err);
    if (st == PAWL_OK)
        st = lease_list_check_filter(&wanted, err);
    if (st != PAWL_OK)
        return st;
    leases = pawli_leases_new();
    if (!leases)
        return pawli_leases_no_memory(err);
    if (wanted.limit == 0)
        wanted.limit = LIMIT_DEFAULT;
    pawli_param params[] = {
        {"after", pawli_text(wanted.after.text)},
        {"only_owned", pawli_bool(wanted.only_owned)},
        {"limit", pawli_int(wanted.limit)},
    };
    st = read_leases(store, PAWLI_SQL_LEASE_LIST, params, PAWLI_COUNT(params), leases, err);
    if (st != PAWL_OK)
        return st;
    bool full = leases->count == (size_t)wanted.limit;
    pawli_page_write_name(full ? leases->items[leases->count - 1].name : NULL, ret_next);
    *ret_list = pawl_leases_take(&leases);
    return PAWL_OK;
}

/* ---- forced release ---- */

static pawl_status lease_list_force(pawl_store *store, const char *name,
                                    const pawl_lease_force_options *options, const char *by,
                                    pawl_leases *one, pawl_error *err)
{
    char reason[PAWLI_CLEAN_TEXT_SIZE];
    pawli_param params[] = {
        {"name", pawli_text(name)},
        {"by", pawli_text(by)},
        {"reason", pawli_clean_text(options->reason, reason)},
        {"fence", options->fence ? pawli_int(options->fence) : pawli_null(PAWLI_INT)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_LEASE_FORCE,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .columns = &pawli_lease_columns,
        .on_row = pawli_leases_on_row,
        .on_start = pawli_leases_on_start,
        .context = one,
    };
    pawl_status st = pawli_db_run(store->db, &op, err);

    if (st != PAWL_OK)
        return st;
    if (one->count == 0)
        return pawli_fail(
            err, PAWL_E_NOT_FOUND,
            "no such lease: '%.255s'; it was never acquired, or its record was pruned", name);
    if (one->result != 0)
        return PAWL_OK;
    return one->items[0].owned
               ? pawli_fail(err, PAWL_E_LOST,
                            "the lease has fencing token %lld, not %lld; nothing was changed",
                            (long long)one->items[0].fence, (long long)options->fence)
               : pawli_fail(err, PAWL_E_LOST,
                            "the lease has no owner; there is nothing to release");
}

pawl_status pawl_lease_force_release(pawl_store *store, const char *name,
                                     const pawl_lease_force_options *opts, pawl_leases **ret_one,
                                     pawl_error *err)
{
    PAWLI_AUTO(pawl_leases) one = NULL;
    pawl_lease_force_options options = PAWL_LEASE_FORCE_OPTIONS_INIT;
    char by[PAWLI_OWNER_NAME_SIZE];
    pawl_status st = pawli_lease_check_name(store, name, err);

    if (st == PAWL_OK)
        st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st == PAWL_OK && options.fence < 0)
        st = pawli_fail(err, PAWL_E_INVALID, "the fencing token must not be negative");
    if (st == PAWL_OK && pawli_owner_name(options.by, by, NULL) != PAWL_OK)
        st = pawli_fail(err, PAWL_E_INVALID, "'by' must be 1 to %d characters of UTF-8",
                        PAWLI_OWNER_NAME_MAX);
    if (st != PAWL_OK)
        return st;
    one = pawli_leases_new();
    if (!one)
        return pawli_leases_no_memory(err);
    st = lease_list_force(store, name, &options, by, one, err);
    if (st != PAWL_OK)
        return st;
    pawli_log(
        &store->log, PAWL_LOG_WARNING, "lease",
        "lease '{lease}' of {owner} (fencing token {fence}) was released by force by {released_by}",
        pawli_logged("lease", name), pawli_logged("owner", one->items[0].owner_name),
        pawli_logged_number("fence", one->items[0].fence), pawli_logged("released_by", by));
    if (ret_one)
        *ret_one = pawl_leases_take(&one);
    return PAWL_OK;
}

pawl_status pawl_lease_clean(pawl_store *store, int64_t keep_ms, size_t *ret_removed,
                             pawl_scan *ret_scan, pawl_error *err)
{
    if (keep_ms < 0 || keep_ms > PAWLI_KEEP_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "keep_ms must be " PAWLI_KEEP_RANGE);
    pawli_param params[] = {
        {"keep", pawli_span_ms(keep_ms)},
        {"limit", pawli_int(ROWS_PER_CLEAN)},
    };
    return pawli_batch_update_scanned(store, PAWLI_SQL_LEASE_CLEAN, params, PAWLI_COUNT(params),
                                      ROWS_PER_CLEAN, ret_removed, ret_scan, err);
}
