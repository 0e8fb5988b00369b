/*
 * tests/scenario/operation.h - calls of the public interface that the players of random and fixed
 * scenarios choose by a kind.
 *
 * They need no fixture and no allocation of their own: a fault test may let any call below them
 * fail, and a power test may lose the machine.
 */
#ifndef PAWL_SCENARIO_OPERATION_H
#define PAWL_SCENARIO_OPERATION_H

#include <pawl/pawl.h>

typedef enum operation_kind {
    /* Those that answer for claimed messages. */
    OPERATION_ACK,
    OPERATION_ABANDON,
    OPERATION_FAIL,
    OPERATION_RENEW,
    OPERATION_DEFER,
    OPERATION_RELEASE,
    /* Those that manage messages by id, ... */
    OPERATION_CANCEL,
    OPERATION_REDRIVE,
    OPERATION_PURGE,
    /* ... by a filter ... */
    OPERATION_CANCEL_MATCHING,
    OPERATION_REDRIVE_MATCHING,
    OPERATION_PURGE_MATCHING,
    /* ... and by what is due. */
    OPERATION_REAP,
    OPERATION_EXPIRE,
    OPERATION_RETAIN,
    OPERATION_FOLD
} operation_kind;

/* Unused fields are omitted. */
typedef struct operation {
    operation_kind kind;
    pawl_owner owner;
    const pawl_receipt *items;
    const pawl_work_id *ids;
    size_t count;
    const pawl_outbox_filter *filter;
    int64_t ms; /* lease, delay, or how long to keep */
    const char *error;
} operation;

pawl_status operation_call(pawl_store *store, const operation *op, size_t *ret_changed,
                           pawl_error *err);

/* A claim, which acknowledges in the same call when `acks` is not NULL. */
typedef struct operation_claim {
    pawl_owner owner;
    const pawl_receipt *acks;
    size_t ack_count;
    int64_t lease_ms;
    int limit;
    const pawl_claim_options *opts;
} operation_claim;

pawl_status operation_claim_call(pawl_store *store, const operation_claim *op, size_t *ret_acked,
                                 pawl_messages **ret_list, pawl_error *err);

/* Timers, each time with a scheduler of their own. */
pawl_status operation_schedule(pawl_store *store, const pawl_message_spec *messages, size_t count,
                               pawl_enqueued *ret_enqueued, pawl_error *err);
pawl_status operation_unschedule(pawl_store *store, const pawl_uuid *ids, size_t count,
                                 size_t *ret_changed, pawl_error *err);

#endif
