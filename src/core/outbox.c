/* src/core/outbox.c - operations on sent messages: get, list, cancel, retry, purge. */
#include <pawl/outbox.h>

#include <stdlib.h>
#include <string.h>

#include <pawl/queue.h>

#include "batch_update.h"
#include "fail.h"
#include "message_private.h"
#include "options.h"
#include "page.h"
#include "store_private.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 10000
#define ROWS_LOOKED_AT 10000
#define PAGE 1000
#define STATE(name) (1u << PAWL_STATE_##name)
#define UNFINISHED (STATE(SCHEDULED) | STATE(READY) | STATE(RUNNING))
#define DEAD (STATE(FAILED) | STATE(EXPIRED) | STATE(CANCELLED))
#define ANY (UNFINISHED | STATE(DONE) | DEAD)

static pawl_status read_one(pawl_store *store, enum pawli_sql sql, const pawli_param *param,
                            pawl_messages **ret_one, pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) list = NULL;
    pawl_status st;

    if (!store || !ret_one)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_one must not be NULL");
    st = pawli_messages_new(&list, err);
    if (st != PAWL_OK)
        return st;
    pawli_op op = {
        .sql = sql,
        .params = param,
        .param_count = 1,
        .columns = &pawli_message_columns,
        .on_row = pawli_messages_on_row,
        .on_start = pawli_messages_on_start,
        .context = list,
    };
    st = pawli_db_run(store->db, &op, err);
    if (st != PAWL_OK)
        return st;
    if (pawl_messages_count(list) == 0)
        return pawli_fail(err, PAWL_E_NOT_FOUND, "no such message; it may have been purged");
    *ret_one = pawl_messages_take(&list);
    return PAWL_OK;
}

pawl_status pawl_outbox_get(pawl_store *store, pawl_work_id id, pawl_messages **ret_one,
                            pawl_error *err)
{
    pawli_param param = {"id", pawli_int(id.value)};

    return read_one(store, PAWLI_SQL_GET, &param, ret_one, err);
}

pawl_status pawl_outbox_find(pawl_store *store, pawl_uuid id, pawl_messages **ret_one,
                             pawl_error *err)
{
    pawli_param param = {"message_id", pawli_uuid(id.bytes)};

    return read_one(store, PAWLI_SQL_FIND, &param, ret_one, err);
}

static pawl_status outbox_read_filter(const pawl_outbox_filter *given, pawl_outbox_filter *filter,
                                      pawl_error *err)
{
    pawl_status st = pawli_options_copy(filter, sizeof *filter, given, err);

    if (st != PAWL_OK)
        return st;
    if (filter->limit < 0 || filter->limit > LIMIT_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the limit must be 0 (default) to %d", LIMIT_MAX);
    if ((filter->states & ~ANY) != 0)
        return pawli_fail(err, PAWL_E_INVALID, "states has a bit that is not a PAWL_STATE_...");
    if (filter->limit == 0)
        filter->limit = LIMIT_DEFAULT;
    if (filter->states == 0)
        filter->states = ANY;
    return PAWL_OK;
}

/* Chooses the narrowest table that contains all wanted states. */
static enum pawli_sql outbox_choose_list(unsigned states)
{
    if ((states & ~UNFINISHED) == 0)
        return PAWLI_SQL_LIST_UNFINISHED;
    if ((states & ~DEAD) == 0)
        return PAWLI_SQL_LIST_DEAD;
    return PAWLI_SQL_LIST_ANY;
}

/* One page: the matching rows, and how far the scan got. */
struct page {
    pawl_messages *list;
    size_t limit;
    pawl_work_id next; /* 0: there are no older messages */
};

static void page_start(void *context)
{
    struct page *page = context;

    pawli_messages_clear(page->list);
    page->next.value = 0;
}

static pawl_status outbox_page_row(void *context, const pawli_row *row, pawl_error *err)
{
    struct page *page = context;
    pawl_work_id id = {pawli_row_int(row, COLUMN_ID)};
    bool matches = pawli_row_int(row, COLUMN_MATCHES) != 0;
    bool bound_reached = pawli_row_int(row, COLUMN_BOUNDED) != 0;
    size_t count = pawl_messages_count(page->list);

    if (matches && count == page->limit) { /* one more row than requested: there is a next page */
        page->next = pawl_message_work_id(pawl_messages_at(page->list, count - 1));
        return PAWL_OK;
    }
    if (page->next.value == 0 || count < page->limit)
        page->next.value = bound_reached ? id.value : 0;
    return matches ? pawli_messages_add(page->list, row, err) : PAWL_OK;
}

pawl_status pawl_outbox_list(pawl_store *store, const pawl_outbox_filter *given,
                             pawl_messages **ret_list, pawl_page *ret_next, pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) list = NULL;
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    int64_t before;
    pawl_status st;

    if (!store || !ret_list)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_list must not be NULL");
    st = outbox_read_filter(given, &filter, err);
    if (st == PAWL_OK)
        st = pawli_page_read_id(&filter.after, &before, err);
    if (st == PAWL_OK)
        st = pawli_messages_new(&list, err);
    if (st != PAWL_OK)
        return st;
    struct page page = {list, (size_t)filter.limit, {0}};
    pawli_param params[] = {
        {"states", pawli_int(filter.states)},
        {"topic", pawli_text(filter.topic)},
        {"correlation_id", pawli_text(filter.correlation_id)},
        {"created_before", pawli_time(filter.created_before)},
        {"before", pawli_int(before)},
        {"limit", pawli_int(filter.limit + 1)},
        {"scan", pawli_int(ROWS_LOOKED_AT)},
        {"with_payload", pawli_bool(filter.with_payload)},
    };
    pawli_op op = {
        .sql = outbox_choose_list(filter.states),
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .columns = &pawli_message_columns,
        .on_row = outbox_page_row,
        .on_start = page_start,
        .context = &page,
    };
    st = pawli_db_run(store->db, &op, err);
    if (st != PAWL_OK)
        return st;
    pawli_page_write_id(page.next.value, ret_next);
    *ret_list = pawl_messages_take(&list);
    return PAWL_OK;
}

pawl_status pawl_outbox_cancel(pawl_store *store, const pawl_work_id *ids, size_t count,
                               size_t *ret_changed, pawl_error *err)
{
    return pawli_batch_update_ids(store, PAWLI_SQL_CANCEL, ids, count, ret_changed, err);
}

pawl_status pawl_outbox_retry(pawl_store *store, const pawl_work_id *ids, size_t count,
                              size_t *ret_changed, pawl_error *err)
{
    pawl_status st = pawli_batch_update_ids(store, PAWLI_SQL_RETRY, ids, count, ret_changed, err);

    if (st == PAWL_OK)
        pawli_wake_signal(pawli_db_wake(store->db));
    return st;
}

pawl_status pawl_outbox_purge(pawl_store *store, const pawl_work_id *ids, size_t count,
                              size_t *ret_changed, pawl_error *err)
{
    return pawli_batch_update_ids(store, PAWLI_SQL_PURGE, ids, count, ret_changed, err);
}

typedef pawl_status (*change_ids)(pawl_store *store, const pawl_work_id *ids, size_t count,
                                  size_t *ret_changed, pawl_error *err);

/* Reads and changes one page of matches; *next is where the following page starts. */
static pawl_status change_page(pawl_store *store, pawl_outbox_filter *filter, change_ids change,
                               size_t *ret_changed, pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) list = NULL;
    pawl_work_id ids[PAGE];
    pawl_status st = pawl_outbox_list(store, filter, &list, &filter->after, err);

    if (st != PAWL_OK)
        return st;
    for (size_t i = 0; i < pawl_messages_count(list); i++)
        ids[i] = pawl_message_work_id(pawl_messages_at(list, i));
    return change(store, ids, pawl_messages_count(list), ret_changed, err);
}

static pawl_status change_matching(pawl_store *store, const pawl_outbox_filter *given,
                                   unsigned possible, change_ids change, size_t *ret_changed,
                                   pawl_error *err)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    size_t total = 0;
    pawl_status st = outbox_read_filter(given, &filter, err);

    if (st != PAWL_OK)
        return st;
    filter.states &= possible;
    filter.after = (pawl_page)PAWL_PAGE_INIT;
    filter.limit = PAGE;
    filter.with_payload = false;
    if (ret_changed)
        *ret_changed = 0;
    do {
        size_t changed = 0;
        if (filter.states == 0)
            break; /* the filter has only states that the change does not apply to */
        st = change_page(store, &filter, change, &changed, err);
        total += changed;
        if (ret_changed)
            *ret_changed = total;
    } while (st == PAWL_OK && !PAWL_PAGE_IS_NONE(filter.after));
    return st;
}

pawl_status pawl_outbox_cancel_matching(pawl_store *store, const pawl_outbox_filter *filter,
                                        size_t *ret_changed, pawl_error *err)
{
    return change_matching(store, filter, UNFINISHED, pawl_outbox_cancel, ret_changed, err);
}

pawl_status pawl_outbox_retry_matching(pawl_store *store, const pawl_outbox_filter *filter,
                                       size_t *ret_changed, pawl_error *err)
{
    return change_matching(store, filter, DEAD, pawl_outbox_retry, ret_changed, err);
}

pawl_status pawl_outbox_purge_matching(pawl_store *store, const pawl_outbox_filter *filter,
                                       size_t *ret_changed, pawl_error *err)
{
    return change_matching(store, filter, STATE(DONE) | DEAD, pawl_outbox_purge, ret_changed, err);
}
