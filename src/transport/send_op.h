/* src/transport/send_op.h - the send of one claimed message, from its claim until its result is
 * stored.
 */
#ifndef PAWLI_SEND_OP_H
#define PAWLI_SEND_OP_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/queue.h>
#include <pawl/result.h>

#include "destination.h"
#include "transport_client.h"

/* The messages of one claim; freed with the last send that uses one. */
typedef struct pawli_claim_batch {
    pawl_messages *list;
    size_t users;
} pawli_claim_batch;

typedef struct pawli_send_op {
    struct pawli_send_op *previous, *next; /* in the list that contains it */
    pawl_delivery *delivery;
    pawli_destination *destination;
    pawli_claim_batch *batch;
    const pawl_message *message;
    pawl_receipt receipt;
    pawl_services *services; /* a reference, while it is in flight */
    pawl_envelope *envelope;
    pawli_transport_send *send; /* NULL: not in flight (any more) */
    pawl_mono began;
    int64_t lease_us; /* duration of a lease */
    pawl_mono renew_at;
    pawl_mono lease_end; /* by the local clock; no other owner can have it before that */
    bool lost;           /* the lease is lost, and so is the result */
    bool late; /* the lease has expired by the local clock: dropped, unless it is still owned */
    bool breaker_was_closed; /* when the send began */
    /* Set when the send has ended: */
    pawl_result result;  /* never PAWL_RELEASE */
    pawl_backoff policy; /* for a retry: the message's own, or the service's */
    int limit;           /* maximum counted attempts; 0: no limit */
    bool cancelled;      /* by this side */
    bool unsendable;     /* the service map prevented it */
    int64_t delay_ms;    /* or PAWL_DELAY_BY_POLICY */
    char *error;         /* may be NULL, also if memory ran out */
    bool answered;       /* `error` contains text of the peer */
    bool stripped;       /* the peer's text was left out because the database rejected it */
    int status;          /* HTTP status of the response; 0: none */
    void *payload;       /* of the acknowledgement */
    size_t payload_size; /* 0 and no payload: none */
    pawl_uuid reply;     /* id of the response message, constant across retries */
} pawli_send_op;

/* In the order in which they were added. */
typedef struct pawli_send_ops {
    pawli_send_op *first, *last;
    size_t count;
} pawli_send_ops;

void pawli_send_ops_add(pawli_send_ops *ops, pawli_send_op *op);
void pawli_send_ops_remove(pawli_send_ops *ops, pawli_send_op *op);

/*
 * Sends the message: afterwards it is in the delivery's list `in_flight`, or in `completed` if the
 * send ended at once. False: out of memory, nothing was done.
 */
bool pawli_send_op_begin(pawl_delivery *delivery, pawli_claim_batch *batch,
                         const pawl_message *message, pawl_mono claimed_at);
/* It must not be in flight, nor in a list. */
void pawli_send_op_free(pawli_send_op *op);
/* Removes it from the list `completed` and frees it. */
void pawli_send_op_done(pawli_send_op *op);

#endif
