/* src/core/inbox_records.c - inbox records: list, count, retry or delete dead ones, prune. */
#include <pawl/inbox_records.h>

#include <stdlib.h>
#include <string.h>

#include "batch_update.h"
#include "columns.h"
#include "fail.h"
#include "inbox_private.h"
#include "log.h"
#include "options.h"
#include "page.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 10000
#define ROWS_LOOKED_AT 10000
#define ROWS_PER_CALL 1000
#define STATE(name) (1u << PAWL_INBOX_##name)
#define UNFINISHED (STATE(SEEN) | STATE(PROCESSING))
#define ANY (UNFINISHED | STATE(DONE) | STATE(DEAD))

#define X(upper, name) COLUMN_##upper,
enum { PAWLI_INBOX_COLUMNS(X) PAWLI_EXTRA_COLUMNS(X) COLUMN_COUNT };
#undef X
static const char *const record_column_names[COLUMN_COUNT] = {
    PAWLI_INBOX_COLUMNS(PAWLI_COLUMN_NAME) PAWLI_EXTRA_COLUMNS(PAWLI_COLUMN_NAME)};
static const pawli_columns record_columns = {record_column_names, COLUMN_COUNT};

struct pawl_inbox_records {
    pawl_inbox_record *items;
    size_t count;
    size_t capacity;
    pawli_arena texts;
    /* Paging: */
    size_t limit;
    int64_t next; /* 0: there are no older records */
};

PAWLI_AUTO_DEFINE(pawl_inbox_records, pawl_inbox_records_free);

const char *pawl_inbox_state_name(pawl_inbox_state state)
{
    static const char *const names[] = {"seen", "processing", "done", "dead"};

    return (unsigned)state < PAWLI_COUNT(names) ? names[state] : "unknown";
}

/* ---- the list ---- */

static void records_start(void *context)
{
    pawl_inbox_records *list = context;

    pawli_arena_done(&list->texts);
    list->count = 0;
    list->next = 0;
}

static const void *records_copy(pawl_inbox_records *list, const pawli_row *row, int column,
                                size_t *ret_size, bool *failed)
{
    size_t size;
    const void *bytes = pawli_row_bytes(row, column, &size);
    const void *copied = bytes ? pawli_arena_copy(&list->texts, bytes, size) : NULL;

    if (ret_size)
        *ret_size = size;
    *failed = *failed || (bytes && !copied);
    return copied;
}

static bool read_record(pawl_inbox_records *list, const pawli_row *row, pawl_inbox_record *record)
{
    bool failed = false;

    *record = (pawl_inbox_record){
        .number = pawli_row_int(row, COLUMN_NUMBER),
        .source = records_copy(list, row, COLUMN_SOURCE, NULL, &failed),
        .id = records_copy(list, row, COLUMN_ID, NULL, &failed),
        .state = (pawl_inbox_state)pawli_row_int(row, COLUMN_STATE),
        .endpoint = records_copy(list, row, COLUMN_ENDPOINT, NULL, &failed),
        .attempts = (int)pawli_row_int(row, COLUMN_ATTEMPTS),
        .max_attempts = (int)pawli_row_int(row, COLUMN_MAX_ATTEMPTS),
        .suspect = pawli_row_int(row, COLUMN_SUSPECT) != 0,
        .duplicates = pawli_row_int(row, COLUMN_DUPLICATES),
        .fence = pawli_row_int(row, COLUMN_FENCE),
        .lease_until = pawli_row_time(row, COLUMN_LEASE_UNTIL),
        .first_seen = pawli_row_time(row, COLUMN_FIRST_SEEN),
        .last_seen = pawli_row_time(row, COLUMN_LAST_SEEN),
        .processed_at = pawli_row_time(row, COLUMN_PROCESSED_AT),
        .expires_at = pawli_row_time(row, COLUMN_EXPIRES_AT),
        .hash = records_copy(list, row, COLUMN_HASH, NULL, &failed),
        .error = records_copy(list, row, COLUMN_ERROR, NULL, &failed),
    };
    record->response = records_copy(list, row, COLUMN_RESPONSE, &record->response_size, &failed);
    return !failed;
}

static pawl_status records_add(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_inbox_records *list = context;

    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        pawl_inbox_record *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the records");
        list->items = items;
        list->capacity = capacity;
    }
    if (!read_record(list, row, &list->items[list->count]))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the records");
    list->count++;
    return PAWL_OK;
}

static pawl_status records_add_to_page(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_inbox_records *list = context;
    bool matches = pawli_row_int(row, COLUMN_MATCHES) != 0;

    if (matches && list->count == list->limit) { /* one more row than requested: there is a next
                                                  * page */
        list->next = list->items[list->count - 1].number;
        return PAWL_OK;
    }
    if (list->next == 0 || list->count < list->limit)
        list->next = pawli_row_int(row, COLUMN_BOUNDED) ? pawli_row_int(row, COLUMN_NUMBER) : 0;
    return matches ? records_add(list, row, err) : PAWL_OK;
}

size_t pawl_inbox_records_count(const pawl_inbox_records *records)
{
    return records ? records->count : 0;
}

const pawl_inbox_record *pawl_inbox_records_at(const pawl_inbox_records *records, size_t index)
{
    return records && index < records->count ? &records->items[index] : NULL;
}

void pawl_inbox_records_free(pawl_inbox_records *records)
{
    if (!records)
        return;
    pawli_arena_done(&records->texts);
    free(records->items);
    free(records);
}

pawl_status pawl_inbox_get(pawl_store *store, const char *source, const char *id,
                           pawl_inbox_records **ret_one, pawl_error *err)
{
    PAWLI_AUTO(pawl_inbox_records) one = NULL;
    pawl_status st = pawli_inbox_check_key(source, id, err);

    if (st != PAWL_OK)
        return st;
    if (!store || !ret_one)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_one must not be NULL");
    one = calloc(1, sizeof *one);
    if (!one)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the record");
    pawli_param params[] = {{"source", pawli_text(source)}, {"id", pawli_text(id)}};
    pawli_op op = {
        .sql = PAWLI_SQL_INBOX_GET,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .columns = &record_columns,
        .on_row = records_add,
        .on_start = records_start,
        .context = one,
    };
    st = pawli_db_run(store->db, &op, err);
    if (st == PAWL_OK && one->count == 0)
        st = pawli_fail(err, PAWL_E_NOT_FOUND,
                        "no such message in the inbox; it may have been pruned");
    if (st == PAWL_OK)
        *ret_one = pawl_inbox_records_take(&one);
    return st;
}

static pawl_status records_read_filter(const pawl_inbox_filter *given, pawl_inbox_filter *filter,
                                       pawl_error *err)
{
    pawl_status st = pawli_options_copy(filter, sizeof *filter, given, err);

    if (st != PAWL_OK)
        return st;
    if (filter->limit < 0 || filter->limit > LIMIT_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the limit must be 0 (default) to %d", LIMIT_MAX);
    if ((filter->states & ~ANY) != 0)
        return pawli_fail(err, PAWL_E_INVALID, "states has a bit that is not an inbox state");
    if (filter->source)
        st = pawli_inbox_check_key(filter->source, "any", err);
    if (filter->limit == 0)
        filter->limit = LIMIT_DEFAULT;
    if (filter->states == 0)
        filter->states = ANY;
    return st;
}

/* Chooses the narrowest index that covers all wanted states. */
static enum pawli_sql records_choose_list(unsigned states)
{
    if ((states & ~UNFINISHED) == 0)
        return PAWLI_SQL_INBOX_LIST_UNFINISHED;
    if (states == STATE(DEAD))
        return PAWLI_SQL_INBOX_LIST_DEAD;
    return PAWLI_SQL_INBOX_LIST_ANY;
}

pawl_status pawl_inbox_list(pawl_store *store, const pawl_inbox_filter *given,
                            pawl_inbox_records **ret_list, pawl_page *ret_next, pawl_error *err)
{
    PAWLI_AUTO(pawl_inbox_records) list = NULL;
    pawl_inbox_filter filter = PAWL_INBOX_FILTER_INIT;
    int64_t before;
    pawl_status st;

    if (!store || !ret_list)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_list must not be NULL");
    st = records_read_filter(given, &filter, err);
    if (st == PAWL_OK)
        st = pawli_page_read_id(&filter.after, &before, err);
    if (st != PAWL_OK)
        return st;
    list = calloc(1, sizeof *list);
    if (!list)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the records");
    list->limit = (size_t)filter.limit;
    pawli_param params[] = {
        {"states", pawli_int(filter.states)}, {"source", pawli_text(filter.source)},
        {"before", pawli_int(before)},        {"limit", pawli_int(filter.limit + 1)},
        {"scan", pawli_int(ROWS_LOOKED_AT)},
    };
    pawli_op op = {
        .sql = records_choose_list(filter.states),
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .columns = &record_columns,
        .on_row = records_add_to_page,
        .on_start = records_start,
        .context = list,
    };
    st = pawli_db_run(store->db, &op, err);
    if (st != PAWL_OK)
        return st;
    pawli_page_write_id(list->next, ret_next);
    *ret_list = pawl_inbox_records_take(&list);
    return PAWL_OK;
}

/* ---- updates ---- */

/* Updates dead records in bounded transactions until none is left. */
static pawl_status change_dead(pawl_store *store, enum pawli_sql sql, const char *source,
                               const char *id, size_t *ret_changed, pawl_error *err)
{
    size_t total = 0, changed = 0;
    pawl_status st;

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    st = pawli_inbox_check_key(source ? source : "any", id ? id : "any", err);
    if (st != PAWL_OK)
        return st;
    pawli_param params[] = {
        {"source", pawli_text(source)},
        {"id", pawli_text(id)},
        {"limit", pawli_int(ROWS_PER_CALL)},
        {"keep", pawli_span_ms(store->inbox_keep_ms)},
    };
    size_t count = sql == PAWLI_SQL_INBOX_RETRY ? 4 : 3;
    do {
        changed = 0;
        st = pawli_batch_update_found(store, sql, params, count, &changed, err);
        total += changed;
    } while (st == PAWL_OK && changed == ROWS_PER_CALL);
    if (ret_changed)
        *ret_changed = total;
    return st;
}

pawl_status pawl_inbox_retry(pawl_store *store, const char *source, const char *id,
                             size_t *ret_changed, pawl_error *err)
{
    return change_dead(store, PAWLI_SQL_INBOX_RETRY, source, id, ret_changed, err);
}

pawl_status pawl_inbox_purge(pawl_store *store, const char *source, const char *id,
                             size_t *ret_changed, pawl_error *err)
{
    return change_dead(store, PAWLI_SQL_INBOX_PURGE, source, id, ret_changed, err);
}

pawl_status pawl_inbox_clean(pawl_store *store, size_t *ret_changed, pawl_scan *ret_scan,
                             pawl_error *err)
{
    pawli_param params[] = {{"limit", pawli_int(ROWS_PER_CALL)}};
    size_t changed = 0;
    pawl_status st = pawli_batch_update_scanned(store, PAWLI_SQL_INBOX_CLEAN, params, 1,
                                                ROWS_PER_CALL, &changed, ret_scan, err);

    if (st != PAWL_OK)
        return st;
    if (changed > 0)
        pawli_log(&store->log, PAWL_LOG_DEBUG, "inbox", "pruned {count} records",
                  pawli_logged_number("count", (int64_t)changed));
    if (ret_changed)
        *ret_changed = changed;
    return PAWL_OK;
}

/* ---- counts ---- */

static pawl_status read_counts(void *context, const pawli_row *row, pawl_error *err)
{
    pawl_inbox_stats *stats = context;

    (void)err;
    stats->seen = pawli_row_int(row, 0);
    stats->processing = pawli_row_int(row, 1);
    stats->stuck = pawli_row_int(row, 2);
    stats->done = pawli_row_int(row, 3);
    stats->dead = pawli_row_int(row, 4);
    return PAWL_OK;
}

pawl_status pawl_inbox_get_stats(pawl_store *store, pawl_inbox_stats *ret_stats, pawl_error *err)
{
    pawli_param params[] = {{"cap", pawli_int(PAWL_INBOX_COUNT_MAX)}};
    pawl_inbox_stats stats = PAWL_INBOX_STATS_INIT;
    pawli_op op = {
        .sql = PAWLI_SQL_INBOX_STATS,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = read_counts,
        .context = &stats,
    };

    if (!store || !ret_stats)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_stats must not be NULL");
    pawl_status st = pawli_db_run(store->db, &op, err);
    if (st != PAWL_OK)
        return st;
    pawli_returned_copy(ret_stats, &stats, sizeof stats);
    return PAWL_OK;
}
