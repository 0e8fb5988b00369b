/* src/core/dead_letter_queue.c - claims failed and expired messages for dead-letter handlers. */
#include <pawl/dead.h>

#include "claim_check.h"
#include "fail.h"
#include "finish.h"
#include "message_private.h"
#include "options.h"
#include "store_private.h"

pawl_status pawl_dead_claim(pawl_store *store, pawl_owner owner, int64_t lease_ms, int limit,
                            const pawl_claim_options *opts, pawl_messages **ret_list,
                            pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) list = NULL;
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_status st = pawli_check_claim(store, owner, lease_ms, limit, ret_list, err);

    if (st == PAWL_OK)
        st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st == PAWL_OK)
        st = pawli_check_topics(&options, err);
    if (st == PAWL_OK && options.destinations)
        st = pawli_fail(err, PAWL_E_INVALID,
                        "dead letters are claimed by topic, not by destination");
    if (st == PAWL_OK)
        st = pawli_messages_new(&list, err);
    if (st != PAWL_OK)
        return st;
    pawli_param params[] = {
        {"owner", pawli_uuid(owner.bytes)},
        {"lease", pawli_span_ms(lease_ms)},
        {"limit", pawli_int(limit)},
        {"topics", pawli_texts(options.topics, options.topic_count)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_DEAD_CLAIM,
        .writes = true,
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

pawl_status pawli_dead_done(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                            size_t count, pawli_changed ret, pawl_error *err)
{
    pawli_param params[] = {{"owner", pawli_uuid(owner.bytes)}};
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st != PAWL_OK)
        return st;
    return pawli_receipt_update(store, PAWLI_SQL_DEAD_DONE, params, PAWLI_COUNT(params), items,
                                count, ret, err);
}

pawl_status pawli_dead_abandon(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                               size_t count, const char *error, int64_t delay_ms, pawli_changed ret,
                               pawl_error *err)
{
    char room[PAWLI_CLEAN_TEXT_SIZE];
    pawli_value delay;
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st == PAWL_OK)
        st = pawli_check_delay(delay_ms, &delay, err);
    if (st != PAWL_OK)
        return st;
    pawli_param params[] = {
        {"owner", pawli_uuid(owner.bytes)},
        {"error", pawli_clean_text(error, room)},
        {"delay", delay},
        {"base", pawli_span_ms(store->backoff_local.base_ms)},
        {"max", pawli_span_ms(store->backoff_local.max_ms)},
    };
    return pawli_receipt_update(store, PAWLI_SQL_DEAD_ABANDON, params, PAWLI_COUNT(params), items,
                                count, ret, err);
}

pawl_status pawli_dead_renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
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
    return pawli_receipt_update(store, PAWLI_SQL_DEAD_RENEW, params, PAWLI_COUNT(params), items,
                                count, ret, err);
}

pawl_status pawl_dead_done(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                           size_t count, size_t *ret_changed, pawl_error *err)
{
    return pawli_dead_done(store, owner, items, count, (pawli_changed){.count = ret_changed}, err);
}

pawl_status pawl_dead_abandon(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                              size_t count, const char *error, int64_t delay_ms,
                              size_t *ret_changed, pawl_error *err)
{
    return pawli_dead_abandon(store, owner, items, count, error, delay_ms,
                              (pawli_changed){.count = ret_changed}, err);
}

pawl_status pawl_dead_renew(pawl_store *store, pawl_owner owner, const pawl_receipt *items,
                            size_t count, int64_t lease_ms, size_t *ret_changed, pawl_error *err)
{
    return pawli_dead_renew(store, owner, items, count, lease_ms,
                            (pawli_changed){.count = ret_changed}, err);
}
