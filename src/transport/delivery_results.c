/* src/transport/delivery_results.c - stores the results of sends, and renews leases. */
#include <stdlib.h>
#include <string.h>

#include <pawl/outbox.h>
#include <pawl/tx.h>
#include <pawl_private/delivery_store.h>

#include "delivery_private.h"
#include "fail.h"
#include "log.h"
#include "scope.h"
#include "platform.h"
#include "transport_client.h"

#define RENEW_AGAIN_US INT64_C(500000)

/* ---- groups of results that one call can store ---- */

static bool wants_response(const pawli_send_op *op)
{
    return op->result == PAWL_DONE && op->payload && op->delivery->options.responses;
}

static bool has_output(const pawli_send_op *op)
{
    return op->result == PAWL_DONE && op->payload && !wants_response(op);
}

static bool is_plain_ack(const pawli_send_op *op)
{
    return op->result == PAWL_DONE && !op->payload;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether one call can store both. */
static bool results_equal(const pawli_send_op *a, const pawli_send_op *b)
{
    if (a->result != b->result)
        return false;
    return same_text(a->error, b->error) &&
           (a->result == PAWL_FAIL ||
            (a->delay_ms == b->delay_ms && a->policy.base_ms == b->policy.base_ms &&
             a->policy.max_ms == b->policy.max_ms && a->policy.jitter_ms == b->policy.jitter_ms));
}

static pawl_status result_gather(const pawli_send_op *like, bool (*wanted)(const pawli_send_op *),
                                 const pawli_send_ops *completed, size_t most,
                                 pawl_receipt **ret_items, size_t *ret_count, pawl_error *err)
{
    pawl_receipt *items = calloc(completed->count + 1, sizeof *items);
    size_t count = 0;

    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu results", completed->count);
    for (const pawli_send_op *at = completed->first; at && count < most; at = at->next)
        if (like ? results_equal(like, at) : wanted(at))
            items[count++] = at->receipt;
    *ret_items = items;
    *ret_count = count;
    return PAWL_OK;
}

static void log_result(const pawl_delivery *delivery, const pawli_send_op *op, pawl_log_level level,
                       const char *error, const char *pattern)
{
    pawli_log_fields fields = {0};

    pawli_log_id(&fields, "message_id", pawl_message_id(op->message));
    pawli_log_text(&fields, "topic", pawl_message_topic(op->message));
    pawli_log_text(&fields, "destination", op->destination->name);
    pawli_log_number(&fields, "attempt", pawl_message_attempt(op->message));
    pawli_log_text(&fields, "error", error);
    pawli_log_record(&delivery->options.log, level, "outbox", &fields, pattern);
}

/* It was accepted after what the other side said had been left out. */
static void log_stripped(pawl_delivery *delivery, const pawli_send_op *op)
{
    if (op->stripped)
        log_result(delivery, op, PAWL_LOG_WARNING, NULL,
                   "message {message_id} to {destination}: the database rejected the response, "
                   "which is discarded");
}

/* The results of the first `count` are stored. */
static void result_finish(pawl_delivery *delivery, const pawli_send_op *like,
                          bool (*wanted)(const pawli_send_op *), size_t count)
{
    pawli_send_op *next = NULL;

    for (pawli_send_op *at = delivery->completed.first; at && count > 0; at = next) {
        next = at->next;
        if (at == like || !(like ? results_equal(like, at) : wanted(at)))
            continue;
        log_stripped(delivery, at);
        pawli_send_op_done(at);
        delivery->moved++;
        count--;
    }
}

static pawl_status result_call(pawl_delivery *delivery, const pawli_send_op *like,
                               const pawl_receipt *items, size_t count, pawl_error *err)
{
    pawl_store *store = delivery->store;
    pawl_owner owner = delivery->owner;

    switch (like->result) {
    case PAWL_FAIL:
        return pawl_queue_fail(store, owner, items, count, like->error, NULL, err);
    case PAWL_DEFER:
        return pawl_queue_defer(store, owner, items, count, like->error, like->delay_ms,
                                &like->policy, NULL, err);
    case PAWL_RETRY:
        if (like->delay_ms != PAWL_DELAY_BY_POLICY)
            return pawl_queue_abandon(store, owner, items, count, like->error, like->delay_ms, NULL,
                                      err);
        return pawl_queue_abandon_by(store, owner, items, count, like->error, &like->policy, NULL,
                                     err);
    default:
        return PAWL_OK;
    }
}

/* ---- results that the database rejects ---- */

/*
 * The database rejected a single result because of its content, so waiting does not help. First
 * the peer's text is removed. If there is none, or the database rejects the result again, the
 * result is discarded and the message is sent again when its lease expires. Logged once per
 * message.
 */
static void result_rejected(pawl_delivery *delivery, pawli_send_op *op, const pawl_error *why)
{
    if (op->error || op->payload) {
        free(op->error);
        free(op->payload);
        op->error = NULL;
        op->payload = NULL;
        op->stripped = true;
        return;
    }
    log_result(
        delivery, op, PAWL_LOG_ERROR, why ? why->message : "-",
        "message {message_id} to {destination}: the database rejected its result; the message "
        "is sent again when its lease expires: {error}");
    pawli_send_op_done(op);
    delivery->moved++;
}

/* Half of the rejected batch, to find the result that caused it; 0: that is the one. */
static size_t result_divide(size_t count)
{
    return count / 2;
}

/* If the call failed or is in doubt, the same results are stored again; those already stored do
 * not change. */
static pawl_status store_group(pawl_delivery *delivery, pawli_send_op *first, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_receipt *items = NULL;
    pawl_error why = PAWL_ERROR_INIT;
    size_t count = 0;
    pawl_status st =
        result_gather(first, NULL, &delivery->completed, PAWL_BATCH_MAX, &items, &count, err);

    if (st != PAWL_OK)
        return st;
    pawli_send_pump_lend(delivery);
    st = result_call(delivery, first, items, count, &why);
    while (pawli_store_error_is_refusal(st) && result_divide(count) > 0) {
        count = result_divide(count);
        st = result_call(delivery, first, items, count, &why);
    }
    pawli_send_pump_reclaim(delivery);
    if (pawli_store_error_is_refusal(st)) {
        result_rejected(delivery, first, &why);
        return PAWL_OK;
    }
    if (st != PAWL_OK) {
        if (err)
            *err = why;
        return st;
    }
    result_finish(delivery, first, NULL, count - 1);
    log_stripped(delivery, first);
    pawli_send_op_done(first);
    delivery->moved++;
    return PAWL_OK;
}

/* ---- responses ---- */

static pawl_message_spec response_to(const pawli_send_op *op, char id[PAWL_UUID_TEXT_SIZE])
{
    const pawl_delivery_options *options = &op->delivery->options;
    pawl_message_spec response = PAWL_MESSAGE_SPEC_INIT;

    pawl_uuid_format(pawl_message_id(op->message), id);
    response.id = op->reply;
    response.topic =
        options->response_topic ? options->response_topic : pawl_message_topic(op->message);
    response.payload = op->payload;
    response.payload_size = op->payload_size;
    response.type = PAWL_TYPE_RESPONSE;
    response.correlation_id = pawl_message_correlation_id(op->message);
    if (!response.correlation_id)
        response.correlation_id = id;
    return response;
}

/* Stores the result of the request and its response: both or neither. */
static pawl_status store_response(pawl_delivery *delivery, const pawli_send_op *op,
                                  const pawl_message_spec *response, pawl_error *err)
{
    PAWLI_AUTO(pawl_tx) tx = NULL;
    pawl_status st = pawl_tx_begin_for(delivery->store, delivery->owner, op->receipt, &tx, err);

    if (st == PAWL_OK)
        st = pawl_tx_enqueue(tx, response, NULL, err);
    if (st == PAWL_OK && op->payload_size <= PAWL_OUTPUT_MAX)
        st = pawl_tx_output(tx, op->payload, op->payload_size, err);
    if (st == PAWL_OK)
        st = pawl_tx_commit_with_ack(tx, err);
    return st;
}

static pawl_status result_respond(pawl_delivery *delivery, pawli_send_op *op, pawl_error *err)
{
    if (pawl_uuid_is_zero(op->reply))
        op->reply = pawl_uuid_new();
    char id[PAWL_UUID_TEXT_SIZE];
    pawl_message_spec response = response_to(op, id);
    pawl_status st;

    pawli_send_pump_lend(delivery);
    st = store_response(delivery, op, &response, err);
    pawli_send_pump_reclaim(delivery);
    if (pawli_store_error_is_refusal(st)) {
        /* It cannot become a message. The request is done anyway. */
        log_result(delivery, op, PAWL_LOG_ERROR, err ? err->message : "-",
                   "the response to message {message_id} is discarded: {error}");
        free(op->payload);
        op->payload = NULL;
        return PAWL_OK;
    }
    if (st != PAWL_OK && st != PAWL_E_LOST)
        return st;
    pawli_send_op_done(op);
    delivery->moved++;
    return PAWL_OK;
}

/* ---- acknowledgements with a payload ---- */

static void forget_payload(pawli_send_op *op)
{
    free(op->payload);
    op->payload = NULL;
}

static pawli_send_op *first_that(pawl_delivery *delivery, bool (*wanted)(const pawli_send_op *))
{
    pawli_send_op *at = delivery->completed.first;

    while (at && !wanted(at))
        at = at->next;
    return at;
}

static pawl_status store_outputs(pawl_delivery *delivery, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_receipt_output *items =
        calloc(delivery->completed.count + 1, sizeof(pawl_receipt_output));
    size_t count = 0;
    pawl_status st = PAWL_OK;

    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the results");
    for (pawli_send_op *at = delivery->completed.first; at && count < PAWL_BATCH_MAX;
         at = at->next) {
        if (!has_output(at))
            continue;
        if (at->payload_size > PAWL_OUTPUT_MAX) {
            pawli_log(&delivery->options.log, PAWL_LOG_WARNING, "outbox",
                      "message {message_id}: the response of {destination} has {bytes} bytes, more "
                      "than the maximum of {limit}, and is discarded",
                      pawli_logged_id("message_id", pawl_message_id(at->message)),
                      pawli_logged("topic", pawl_message_topic(at->message)),
                      pawli_logged("destination", at->destination->name),
                      pawli_logged_number("bytes", (int64_t)at->payload_size),
                      pawli_logged_number("limit", PAWL_OUTPUT_MAX));
            forget_payload(at);
            continue;
        }
        items[count++] = (pawl_receipt_output){at->receipt, at->payload, at->payload_size};
    }
    pawli_send_pump_lend(delivery);
    if (count > 0)
        st = pawl_queue_ack_outputs(delivery->store, delivery->owner, items, count, NULL, err);
    while (pawli_store_error_is_refusal(st) && result_divide(count) > 0) {
        count = result_divide(count);
        st = pawl_queue_ack_outputs(delivery->store, delivery->owner, items, count, NULL, err);
    }
    pawli_send_pump_reclaim(delivery);
    if (pawli_store_error_is_refusal(st)) {
        result_rejected(delivery, first_that(delivery, has_output), err);
        return PAWL_OK;
    }
    if (st == PAWL_OK)
        result_finish(delivery, NULL, has_output, count);
    return st;
}

pawl_status pawli_delivery_store_others(pawl_delivery *delivery, pawl_error *err)
{
    pawl_status st = PAWL_OK;
    pawli_send_op *at = delivery->completed.first;

    while (at && st == PAWL_OK) {
        if (is_plain_ack(at)) {
            at = at->next;
        } else if (at->result == PAWL_LOST) {
            pawli_send_op_done(at);
            at = delivery->completed.first;
        } else if (has_output(at)) {
            st = store_outputs(delivery, err);
            at = delivery->completed.first;
        } else {
            st = wants_response(at) ? result_respond(delivery, at, err)
                                    : store_group(delivery, at, err);
            at = delivery->completed.first;
        }
    }
    return st;
}

/* ---- acknowledgements ---- */

pawl_status pawli_delivery_acks(pawl_delivery *delivery, pawl_receipt **ret_items,
                                size_t *ret_count, pawl_error *err)
{
    return result_gather(NULL, is_plain_ack, &delivery->completed, PAWL_BATCH_MAX, ret_items,
                         ret_count, err);
}

void pawli_delivery_acked(pawl_delivery *delivery, size_t count)
{
    result_finish(delivery, NULL, is_plain_ack, count);
}

/* As many as the database accepts at once, or the single one that it rejects. */
static pawl_status store_some_acks(pawl_delivery *delivery, size_t *ret_count, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_receipt *items = NULL;
    size_t count = 0;
    pawl_status st = pawli_delivery_acks(delivery, &items, &count, err);

    *ret_count = count;
    if (st != PAWL_OK || count == 0)
        return st;
    pawli_send_pump_lend(delivery);
    st = pawl_queue_ack(delivery->store, delivery->owner, items, count, NULL, err);
    while (pawli_store_error_is_refusal(st) && result_divide(count) > 0) {
        count = result_divide(count);
        st = pawl_queue_ack(delivery->store, delivery->owner, items, count, NULL, err);
    }
    pawli_send_pump_reclaim(delivery);
    if (pawli_store_error_is_refusal(st)) {
        result_rejected(delivery, first_that(delivery, is_plain_ack), err);
        return PAWL_OK;
    }
    if (st == PAWL_OK)
        pawli_delivery_acked(delivery, count);
    return st;
}

pawl_status pawli_delivery_store_done(pawl_delivery *delivery, pawl_error *err)
{
    pawl_status st;
    size_t count;

    do
        st = store_some_acks(delivery, &count, err);
    while (st == PAWL_OK && count > 0);
    return st;
}

/* ---- leases ---- */

pawl_mono pawli_delivery_renew_at(const pawl_delivery *delivery)
{
    pawl_mono at = {INT64_MAX};

    for (const pawli_send_op *op = delivery->in_flight.first; op; op = op->next)
        if (!op->lost && op->renew_at.us < at.us)
            at = op->renew_at;
    return at;
}

static bool receipt_equal(pawl_receipt a, pawl_receipt b)
{
    return a.id.value == b.id.value && a.fence == b.fence;
}

/* Sends may have completed during the call: the others are still in the order of the items. */
static void renewal_apply(pawl_delivery *delivery, const pawl_receipt *items, const bool *renewed,
                          size_t count, pawl_mono now)
{
    size_t i = 0;

    for (pawli_send_op *at = delivery->in_flight.first; at; at = at->next) {
        if (at->renew_at.us != now.us + RENEW_AGAIN_US)
            continue; /* it was not due */
        while (i < count && !receipt_equal(items[i], at->receipt))
            i++;
        if (i == count)
            return;
        if (renewed[i]) {
            at->renew_at = pawli_mono_after(now, at->lease_us / 3);
            at->lease_end = pawli_mono_after(now, at->lease_us); /* measured from before the call */
            continue;
        }
        at->lost = true;
        if (at->send)
            pawli_transport_client_cancel(delivery->client, at->send);
    }
}

pawl_status pawli_delivery_renew(pawl_delivery *delivery, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_receipt *items = NULL;
    PAWLI_AUTO_FREE bool *renewed = NULL;
    pawl_mono now = pawli_mono_now();
    size_t count = 0;
    pawl_status st;

    if (pawli_delivery_renew_at(delivery).us > now.us)
        return PAWL_OK;
    items = calloc(delivery->in_flight.count + 1, sizeof *items);
    renewed = calloc(delivery->in_flight.count + 1, sizeof *renewed);
    if (!items || !renewed)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu leases",
                          delivery->in_flight.count);
    for (pawli_send_op *at = delivery->in_flight.first; at && count < PAWL_BATCH_MAX;
         at = at->next) {
        if (at->lost || at->renew_at.us > now.us)
            continue;
        items[count++] = at->receipt;
        at->renew_at = pawli_mono_after(now, RENEW_AGAIN_US); /* unless the renewal succeeds */
    }
    pawli_send_pump_lend(delivery);
    st = pawl_queue_renew_each(delivery->store, delivery->owner, items, count,
                               delivery->options.lease_ms, renewed, NULL, err);
    pawli_send_pump_reclaim(delivery);
    if (st == PAWL_OK)
        renewal_apply(delivery, items, renewed, count, now);
    return st;
}
