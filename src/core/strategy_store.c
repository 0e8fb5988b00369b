/* src/core/strategy_store.c - timers stored as scheduled messages of a store. */
#include <pawl/sys/strategy.h>

#include <stdlib.h>

#include "batch_update.h"
#include "fail.h"
#include "message_private.h"
#include "page.h"
#include "scope.h"
#include "store_private.h"

#define ROWS_READ_MAX 10000
#define WIDER 8 /* if a page was not filled, the next scan reads this many times as many rows */

static pawl_status stored_schedule(void *self, const pawl_message_spec *messages, size_t count,
                                   pawl_enqueued *ret_enqueued, pawl_error *err)
{
    return pawl_outbox_enqueue_batch(self, messages, count, ret_enqueued, err);
}

static pawl_status stored_cancel(void *self, const pawl_uuid *ids, size_t count,
                                 size_t *ret_cancelled, pawl_error *err)
{
    return pawli_batch_update_messages(self, PAWLI_SQL_TIMER_CANCEL, ids, count, ret_cancelled,
                                       err);
}

static pawl_status stored_get(void *self, pawl_uuid id, pawl_messages **ret_one, pawl_error *err)
{
    return pawl_outbox_find(self, id, ret_one, err);
}

enum {
    PARAM_TOPIC,
    PARAM_DESTINATION,
    PARAM_CORRELATION_ID,
    PARAM_AFTER_DUE,
    PARAM_AFTER_ID,
    PARAM_DUE_BEFORE,
    PARAM_SCAN,
    PARAM_COUNT /* for a count; a page has two more */
};

static void fill_params(const pawl_timer_filter *query, pawli_timer_mark after, int64_t scan,
                        pawli_param params[PARAM_COUNT])
{
    params[PARAM_TOPIC] = (pawli_param){"topic", pawli_text(query->topic)};
    params[PARAM_DESTINATION] = (pawli_param){"destination", pawli_text(query->destination)};
    params[PARAM_CORRELATION_ID] =
        (pawli_param){"correlation_id", pawli_text(query->correlation_id)};
    params[PARAM_AFTER_DUE] = (pawli_param){"after_due", pawli_time(after.due_at)};
    params[PARAM_AFTER_ID] = (pawli_param){"after_id", pawli_int(after.id)};
    params[PARAM_DUE_BEFORE] = (pawli_param){"due_before", pawli_time(query->due_before)};
    params[PARAM_SCAN] = (pawli_param){"scan", pawli_int(scan)};
}

/* Work ids are above 0, so this precedes all timers due at due_from. */
static pawl_status stored_start_of(const pawl_timer_filter *query, pawli_timer_mark *ret_start,
                                   pawl_error *err)
{
    pawl_status st = pawli_page_read_timer(&query->after, ret_start, err);

    if (st == PAWL_OK && ret_start->due_at.us < query->due_from.us)
        *ret_start = (pawli_timer_mark){query->due_from, 0};
    return st;
}

/* One scan: matching rows are added to the list, and the end position is recorded. */
struct page_scan {
    pawl_messages *list;
    size_t limit;          /* of the page */
    size_t had;            /* found by earlier scans */
    pawli_timer_mark from; /* start position */
    pawli_timer_mark last; /* position of the last row read */
    pawli_timer_mark
        full;     /* of the last row of a full page that is not the last page; id 0: none */
    bool bounded; /* the scan stopped at its limit */
};

static void scan_start(void *context)
{
    struct page_scan *page = context;

    pawli_messages_truncate(page->list, page->had);
    page->last = page->from;
    page->full = (pawli_timer_mark){{0}, 0};
    page->bounded = false;
}

static pawl_status timer_page_row(void *context, const pawli_row *row, pawl_error *err)
{
    struct page_scan *page = context;
    bool matches = pawli_row_int(row, COLUMN_MATCHES) != 0;

    if (matches && pawl_messages_count(page->list) == page->limit) { /* one more than requested */
        page->full = page->last;
        return PAWL_OK;
    }
    page->last = (pawli_timer_mark){pawli_row_time(row, COLUMN_NEXT_ATTEMPT_AT),
                                    pawli_row_int(row, COLUMN_ID)};
    page->bounded = pawli_row_int(row, COLUMN_BOUNDED) != 0;
    return matches ? pawli_messages_add(page->list, row, err) : PAWL_OK;
}

static pawl_status page_scan_once(pawl_store *store, const pawl_timer_filter *query,
                                  pawli_timer_mark after, int64_t scan, struct page_scan *page,
                                  pawl_error *err)
{
    pawli_param params[PARAM_COUNT + 2];
    pawli_op op = {
        .sql = PAWLI_SQL_TIMER_PENDING,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .columns = &pawli_message_columns,
        .on_row = timer_page_row,
        .on_start = scan_start,
        .context = page,
    };

    page->from = after;
    page->had = pawl_messages_count(page->list);
    fill_params(query, after, scan, params);
    params[PARAM_COUNT] = (pawli_param){"limit", pawli_int((int64_t)(page->limit - page->had) + 1)};
    params[PARAM_COUNT + 1] = (pawli_param){"with_payload", pawli_bool(query->with_payload)};
    return pawli_db_run(store->db, &op, err);
}

/* The first scan normally fills the page; where matches are rare, later scans read more rows. */
static pawl_status stored_list(void *self, const pawl_timer_filter *query, pawl_messages **ret_list,
                               pawl_page *ret_next, pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) list = NULL;
    pawli_timer_mark after;
    int64_t scan = query->limit + 1, rows_read = 0;
    struct page_scan page = {.limit = (size_t)query->limit};
    pawl_status st = stored_start_of(query, &after, err);

    if (st == PAWL_OK)
        st = pawli_messages_new(&list, err);
    page.list = list;
    while (st == PAWL_OK) {
        st = page_scan_once(self, query, after, scan, &page, err);
        rows_read += scan;
        if (st != PAWL_OK || page.full.id != 0 || !page.bounded || rows_read >= ROWS_READ_MAX)
            break;
        after = page.last;
        scan = scan * WIDER < ROWS_READ_MAX - rows_read ? scan * WIDER : ROWS_READ_MAX - rows_read;
    }
    if (st != PAWL_OK)
        return st;
    if (page.full.id == 0 && page.bounded)
        page.full = page.last;
    pawli_page_write_timer(page.full, ret_next);
    *ret_list = pawl_messages_take(&list);
    return PAWL_OK;
}

static pawl_status read_total(void *context, const pawli_row *row, pawl_error *err)
{
    (void)err;
    *(pawl_timer_total *)context =
        (pawl_timer_total){pawli_row_int(row, 0), pawli_row_int(row, 1) != 0};
    return PAWL_OK;
}

static pawl_status stored_count(void *self, const pawl_timer_filter *query,
                                pawl_timer_total *ret_total, pawl_error *err)
{
    pawl_store *store = self;
    pawl_timer_total total = {0, false};
    pawli_param params[PARAM_COUNT];
    pawli_op op = {
        .sql = PAWLI_SQL_TIMER_COUNT,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = read_total,
        .context = &total,
    };

    pawli_timer_mark after;
    pawl_status st = stored_start_of(query, &after, err);
    if (st != PAWL_OK)
        return st;
    fill_params(query, after, ROWS_READ_MAX, params);
    st = pawli_db_run(store->db, &op, err);
    if (st == PAWL_OK)
        *ret_total = total;
    return st;
}

static const pawl_strategy strategy = {
    .version = PAWL_STRATEGY_VERSION,
    .name = "store",
    .schedule = stored_schedule,
    .cancel = stored_cancel,
    .get = stored_get,
    .list = stored_list,
    .count = stored_count,
};

pawl_status pawl_scheduler_new_on_store(pawl_store *store, pawl_scheduler **ret_scheduler,
                                        pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    return pawl_scheduler_new(&strategy, store, ret_scheduler, err);
}
