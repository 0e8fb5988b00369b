/* tests/scenario/operation.c - calls of the public interface, chosen by a kind. */
#include "operation.h"

static pawl_status call_answer(pawl_store *store, const operation *op, size_t *ret_changed,
                               pawl_error *err)
{
    switch (op->kind) {
    case OPERATION_ABANDON:
        return pawl_queue_abandon(store, op->owner, op->items, op->count, op->error, op->ms,
                                  ret_changed, err);
    case OPERATION_FAIL:
        return pawl_queue_fail(store, op->owner, op->items, op->count, op->error, ret_changed, err);
    case OPERATION_RENEW:
        return pawl_queue_renew(store, op->owner, op->items, op->count, op->ms, ret_changed, err);
    case OPERATION_DEFER:
        return pawl_queue_defer(store, op->owner, op->items, op->count, op->error, op->ms, NULL,
                                ret_changed, err);
    case OPERATION_RELEASE:
        return pawl_queue_release(store, op->owner, op->items, op->count, ret_changed, err);
    default:
        return pawl_queue_ack(store, op->owner, op->items, op->count, ret_changed, err);
    }
}

pawl_status operation_call(pawl_store *store, const operation *op, size_t *ret_changed,
                           pawl_error *err)
{
    switch (op->kind) {
    case OPERATION_CANCEL:
        return pawl_outbox_cancel(store, op->ids, op->count, ret_changed, err);
    case OPERATION_REDRIVE:
        return pawl_outbox_retry(store, op->ids, op->count, ret_changed, err);
    case OPERATION_PURGE:
        return pawl_outbox_purge(store, op->ids, op->count, ret_changed, err);
    case OPERATION_CANCEL_MATCHING:
        return pawl_outbox_cancel_matching(store, op->filter, ret_changed, err);
    case OPERATION_REDRIVE_MATCHING:
        return pawl_outbox_retry_matching(store, op->filter, ret_changed, err);
    case OPERATION_PURGE_MATCHING:
        return pawl_outbox_purge_matching(store, op->filter, ret_changed, err);
    case OPERATION_REAP:
        return pawl_queue_reap(store, ret_changed, NULL, err);
    case OPERATION_EXPIRE:
        return pawl_queue_expire(store, ret_changed, NULL, err);
    case OPERATION_RETAIN:
        return pawl_queue_prune(store, op->ms, ret_changed, NULL, err);
    case OPERATION_FOLD:
        return pawl_queue_compact_stats(store, NULL, NULL, err);
    default:
        return call_answer(store, op, ret_changed, err);
    }
}

pawl_status operation_claim_call(pawl_store *store, const operation_claim *op, size_t *ret_acked,
                                 pawl_messages **ret_list, pawl_error *err)
{
    if (op->acks)
        return pawl_queue_ack_and_claim(store, op->owner, op->acks, op->ack_count, op->lease_ms,
                                        op->limit, op->opts, ret_acked, ret_list, err);
    return pawl_queue_claim(store, op->owner, op->lease_ms, op->limit, op->opts, ret_list, err);
}

pawl_status operation_schedule(pawl_store *store, const pawl_message_spec *messages, size_t count,
                               pawl_enqueued *ret_enqueued, pawl_error *err)
{
    pawl_scheduler *scheduler = NULL;
    pawl_status st = pawl_scheduler_new_on_store(store, &scheduler, err);

    if (st == PAWL_OK)
        st = pawl_timer_schedule_batch(scheduler, messages, count, ret_enqueued, err);
    pawl_scheduler_free(scheduler);
    return st;
}

pawl_status operation_unschedule(pawl_store *store, const pawl_uuid *ids, size_t count,
                                 size_t *ret_changed, pawl_error *err)
{
    pawl_scheduler *scheduler = NULL;
    pawl_status st = pawl_scheduler_new_on_store(store, &scheduler, err);

    if (st == PAWL_OK)
        st = pawl_timer_cancel(scheduler, ids, count, ret_changed, err);
    pawl_scheduler_free(scheduler);
    return st;
}
