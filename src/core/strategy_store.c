/* src/core/strategy_store.c - timers that are messages of a store which are not due yet. */
#include <pawl/sys/strategy.h>

#include <stdlib.h>

#include "batch_update.h"
#include "fail.h"
#include "message_private.h"
#include "scope.h"
#include "store_private.h"

#define ROWS_LOOKED_AT 10000
#define WIDER 8 /* a page that was not filled is looked for among so many times as many rows */

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
    PARAM_COUNT /* of a count; a page has two more */
};

static void fill_params(const pawl_timer_query *query, pawl_timer_mark after, int64_t scan,
                        pawli_param params[PARAM_COUNT])
{
    params[PARAM_TOPIC] = (pawli_param){"topic", pawli_text(query->topic)};
    params[PARAM_DESTINATION] = (pawli_param){"destination", pawli_text(query->destination)};
    params[PARAM_CORRELATION_ID] =
        (pawli_param){"correlation_id", pawli_text(query->correlation_id)};
    params[PARAM_AFTER_DUE] = (pawli_param){"after_due", pawli_time(after.due_at)};
    params[PARAM_AFTER_ID] = (pawli_param){"after_id", pawli_int(after.id.value)};
    params[PARAM_DUE_BEFORE] = (pawli_param){"due_before", pawli_time(query->due_before)};
    params[PARAM_SCAN] = (pawli_param){"scan", pawli_int(scan)};
}

/* Work ids are above 0, so this is before all that are due at due_from. */
static pawl_timer_mark stored_start_of(const pawl_timer_query *query)
{
    pawl_timer_mark from = {query->due_from, {0}};

    return query->after.due_at.us >= from.due_at.us ? query->after : from;
}

/* One look: rows that match go to the list, and where it ended is remembered. */
struct look {
    pawl_messages *list;
    size_t limit;         /* of the page */
    size_t had;           /* what the looks before found */
    pawl_timer_mark from; /* where it begins */
    pawl_timer_mark last; /* of the row that was looked at last */
    pawl_timer_mark full; /* of the last row of a page that is full and not the last; id 0: none */
    bool bounded;         /* there was more to look at */
};

static void scan_start(void *context)
{
    struct look *look = context;

    pawli_messages_truncate(look->list, look->had);
    look->last = look->from;
    look->full = (pawl_timer_mark){{0}, {0}};
    look->bounded = false;
}

static pawl_status look_row(void *context, const pawli_row *row, pawl_error *err)
{
    struct look *look = context;
    bool matches = pawli_row_int(row, COLUMN_COUNT) != 0;

    if (matches && pawl_messages_count(look->list) == look->limit) { /* one more than asked for */
        look->full = look->last;
        return PAWL_OK;
    }
    look->last = (pawl_timer_mark){pawli_row_time(row, COLUMN_NEXT_ATTEMPT_AT),
                                   {pawli_row_int(row, COLUMN_ID)}};
    look->bounded = pawli_row_int(row, COLUMN_COUNT + 1) != 0;
    return matches ? pawli_messages_add(look->list, row, err) : PAWL_OK;
}

static pawl_status look_once(pawl_store *store, const pawl_timer_query *query,
                             pawl_timer_mark after, int64_t scan, struct look *look,
                             pawl_error *err)
{
    pawli_param params[PARAM_COUNT + 2];
    pawli_op op = {
        .sql = PAWLI_SQL_TIMER_PENDING,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .on_row = look_row,
        .on_start = scan_start,
        .context = look,
    };

    look->from = after;
    look->had = pawl_messages_count(look->list);
    fill_params(query, after, scan, params);
    params[PARAM_COUNT] = (pawli_param){"limit", pawli_int((int64_t)(look->limit - look->had) + 1)};
    params[PARAM_COUNT + 1] = (pawli_param){"with_payload", pawli_bool(query->with_payload)};
    return pawli_db_run(store->db, &op, err);
}

/* Mostly the first look finds a whole page; where matches are rare, the next ones are wider. */
static pawl_status stored_pending(void *self, const pawl_timer_query *query,
                                  pawl_messages **ret_list, pawl_timer_mark *ret_next,
                                  pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) list = NULL;
    pawl_timer_mark after = stored_start_of(query);
    int64_t scan = query->limit + 1, looked_at = 0;
    struct look look = {.limit = (size_t)query->limit};
    pawl_status st = pawli_messages_new(&list, err);

    look.list = list;
    while (st == PAWL_OK) {
        st = look_once(self, query, after, scan, &look, err);
        looked_at += scan;
        if (st != PAWL_OK || look.full.id.value != 0 || !look.bounded ||
            looked_at >= ROWS_LOOKED_AT)
            break;
        after = look.last;
        scan =
            scan * WIDER < ROWS_LOOKED_AT - looked_at ? scan * WIDER : ROWS_LOOKED_AT - looked_at;
    }
    if (st != PAWL_OK)
        return st;
    if (look.full.id.value != 0)
        *ret_next = look.full;
    else
        *ret_next = look.bounded ? look.last : (pawl_timer_mark){{0}, {0}};
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

static pawl_status stored_count(void *self, const pawl_timer_query *query,
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

    fill_params(query, stored_start_of(query), ROWS_LOOKED_AT, params);
    pawl_status st = pawli_db_run(store->db, &op, err);
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
    .pending = stored_pending,
    .count = stored_count,
};

pawl_status pawl_scheduler_new_on_store(pawl_store *store, pawl_scheduler **ret_scheduler,
                                        pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    return pawl_scheduler_new(&strategy, store, ret_scheduler, err);
}
