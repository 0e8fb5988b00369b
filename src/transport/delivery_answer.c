/* src/transport/delivery_answer.c - telling the database what became of messages; keeping leases.
 */
#include <stdlib.h>
#include <string.h>

#include <pawl/outbox.h>
#include <pawl/tx.h>

#include "delivery_private.h"
#include "fail.h"
#include "log.h"
#include "scope.h"
#include "world.h"

#define RENEW_AGAIN_US INT64_C(500000)

/* ---- groups: what one call can answer for ---- */

static bool wants_response(const pawli_flight *flight)
{
    return flight->fate == PAWLI_FATE_DONE && flight->payload &&
           flight->delivery->options.responses;
}

static bool has_output(const pawli_flight *flight)
{
    return flight->fate == PAWLI_FATE_DONE && flight->payload && !wants_response(flight);
}

static bool is_plain_ack(const pawli_flight *flight)
{
    return flight->fate == PAWLI_FATE_DONE && !flight->payload;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* One call answers for both. */
static bool alike(const pawli_flight *a, const pawli_flight *b)
{
    if (a->fate != b->fate)
        return false;
    return same_text(a->error, b->error) &&
           (a->fate == PAWLI_FATE_FAIL ||
            (a->delay_ms == b->delay_ms && a->policy.base_ms == b->policy.base_ms &&
             a->policy.max_ms == b->policy.max_ms && a->policy.jitter_ms == b->policy.jitter_ms));
}

static pawl_status gather(const pawli_flight *like, bool (*wanted)(const pawli_flight *),
                          const pawli_flights *landed, size_t most, pawl_held **ret_items,
                          size_t *ret_count, pawl_error *err)
{
    pawl_held *items = calloc(landed->count + 1, sizeof *items);
    size_t count = 0;

    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu answers", landed->count);
    for (const pawli_flight *at = landed->first; at && count < most; at = at->next)
        if (like ? alike(like, at) : wanted(at))
            items[count++] = at->held;
    *ret_items = items;
    *ret_count = count;
    return PAWL_OK;
}

/* It was accepted after what the other side said had been left out. */
static void log_stripped(pawl_delivery *delivery, const pawli_flight *flight)
{
    char id[PAWL_UUID_TEXT_SIZE];

    if (!flight->stripped)
        return;
    pawl_message_id_format(pawl_message_get_id(flight->message), id);
    pawli_log(&delivery->options.log, PAWL_LOG_WARNING, "outbox",
              "message %s to %s: what was answered was refused by the database and is not kept", id,
              flight->recipient->name);
}

/* The first `count` of them are answered for. */
static void finish(pawl_delivery *delivery, const pawli_flight *like,
                   bool (*wanted)(const pawli_flight *), size_t count)
{
    pawli_flight *next = NULL;

    for (pawli_flight *at = delivery->landed.first; at && count > 0; at = next) {
        next = at->next;
        if (at == like || !(like ? alike(like, at) : wanted(at)))
            continue;
        log_stripped(delivery, at);
        pawli_flight_done(at);
        delivery->moved++;
        count--;
    }
}

static pawl_status call(pawl_delivery *delivery, const pawli_flight *like, const pawl_held *items,
                        size_t count, pawl_error *err)
{
    pawl_store *store = delivery->store;
    pawl_owner owner = delivery->owner;

    switch (like->fate) {
    case PAWLI_FATE_FAIL:
        return pawl_queue_fail(store, owner, items, count, like->error, NULL, err);
    case PAWLI_FATE_DEFER:
        return pawl_queue_defer(store, owner, items, count, like->error, like->delay_ms,
                                &like->policy, NULL, err);
    case PAWLI_FATE_RETRY:
        if (like->delay_ms != PAWL_DELAY_BY_POLICY)
            return pawl_queue_abandon(store, owner, items, count, like->error, like->delay_ms, NULL,
                                      err);
        return pawl_queue_abandon_by(store, owner, items, count, like->error, &like->policy, NULL,
                                     err);
    default:
        return PAWL_OK;
    }
}

/* ---- what the database refuses ---- */

/*
 * A single answer was refused for what is in it, and waiting does not help. First what the other
 * side said is left out; if there is nothing to leave out, or that was refused, too, the answer is
 * dropped and the message is sent again when its lease ends. Said once for each message.
 */
static void refused(pawl_delivery *delivery, pawli_flight *flight, const pawl_error *why)
{
    char id[PAWL_UUID_TEXT_SIZE];

    if (flight->error || flight->payload) {
        free(flight->error);
        free(flight->payload);
        flight->error = NULL;
        flight->payload = NULL;
        flight->stripped = true;
        return;
    }
    pawl_message_id_format(pawl_message_get_id(flight->message), id);
    pawli_log(&delivery->options.log, PAWL_LOG_ERROR, "outbox",
              "message %s to %s: its result was refused by the database; it is sent again when its "
              "lease ends: %s",
              id, flight->recipient->name, why ? why->message : "-");
    pawli_flight_done(flight);
    delivery->moved++;
}

/* Half as many as were refused, so that the one that it is about is found; 0: that is it. */
static size_t divide(size_t count)
{
    return count / 2;
}

/* In doubt or not at all: the same is told again; what was done already then changes nothing. */
static pawl_status tell_group(pawl_delivery *delivery, pawli_flight *first, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_held *items = NULL;
    pawl_error why = PAWL_ERROR_INIT;
    size_t count = 0;
    pawl_status st = gather(first, NULL, &delivery->landed, PAWL_BATCH_MAX, &items, &count, err);

    if (st != PAWL_OK)
        return st;
    pawli_send_pump_lend(delivery);
    st = call(delivery, first, items, count, &why);
    while (pawli_store_error_is_refusal(st) && divide(count) > 0) {
        count = divide(count);
        st = call(delivery, first, items, count, &why);
    }
    pawli_send_pump_reclaim(delivery);
    if (pawli_store_error_is_refusal(st)) {
        refused(delivery, first, &why);
        return PAWL_OK;
    }
    if (st != PAWL_OK) {
        if (err)
            *err = why;
        return st;
    }
    finish(delivery, first, NULL, count - 1);
    log_stripped(delivery, first);
    pawli_flight_done(first);
    delivery->moved++;
    return PAWL_OK;
}

/* ---- responses ---- */

static pawl_outgoing response_to(const pawli_flight *flight, char id[PAWL_UUID_TEXT_SIZE])
{
    const pawl_delivery_options *options = &flight->delivery->options;
    pawl_outgoing response = PAWL_OUTGOING_INIT;

    pawl_message_id_format(pawl_message_get_id(flight->message), id);
    response.id = flight->reply;
    response.topic =
        options->response_topic ? options->response_topic : pawl_message_topic(flight->message);
    response.payload = flight->payload;
    response.payload_size = flight->payload_size;
    response.type = PAWL_TYPE_RESPONSE;
    response.correlation_id = pawl_message_correlation_id(flight->message);
    if (!response.correlation_id)
        response.correlation_id = id;
    return response;
}

/* The end of the request and its response: both or neither. */
static pawl_status store_response(pawl_delivery *delivery, const pawli_flight *flight,
                                  const pawl_outgoing *response, pawl_error *err)
{
    PAWLI_AUTO(pawl_tx) tx = NULL;
    pawl_status st = pawl_message_begin(delivery->store, delivery->owner, flight->held, &tx, err);

    if (st == PAWL_OK)
        st = pawl_tx_enqueue(tx, response, NULL, err);
    if (st == PAWL_OK && flight->payload_size <= PAWL_OUTPUT_MAX)
        st = pawl_tx_output(tx, flight->payload, flight->payload_size, err);
    if (st == PAWL_OK)
        st = pawl_message_commit(tx, err);
    return st;
}

static pawl_status respond(pawl_delivery *delivery, pawli_flight *flight, pawl_error *err)
{
    if (pawl_message_id_is_zero(flight->reply))
        flight->reply = pawl_message_id_new();
    char id[PAWL_UUID_TEXT_SIZE];
    pawl_outgoing response = response_to(flight, id);
    pawl_status st;

    pawli_send_pump_lend(delivery);
    st = store_response(delivery, flight, &response, err);
    pawli_send_pump_reclaim(delivery);
    if (pawli_store_error_is_refusal(st)) {
        /* It cannot become a message. The request is done all the same. */
        pawli_log(&delivery->options.log, PAWL_LOG_ERROR, "outbox",
                  "the response to message %s is dropped: %s", id, err ? err->message : "-");
        free(flight->payload);
        flight->payload = NULL;
        return PAWL_OK;
    }
    if (st != PAWL_OK && st != PAWL_E_LOST)
        return st;
    pawli_flight_done(flight);
    delivery->moved++;
    return PAWL_OK;
}

/* ---- acknowledgements that brought something ---- */

static void forget_payload(pawli_flight *flight)
{
    free(flight->payload);
    flight->payload = NULL;
}

static pawli_flight *first_that(pawl_delivery *delivery, bool (*wanted)(const pawli_flight *))
{
    pawli_flight *at = delivery->landed.first;

    while (at && !wanted(at))
        at = at->next;
    return at;
}

static pawl_status tell_outputs(pawl_delivery *delivery, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_held_output *items =
        calloc(delivery->landed.count + 1, sizeof(pawl_held_output));
    size_t count = 0;
    pawl_status st = PAWL_OK;

    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the answers");
    for (pawli_flight *at = delivery->landed.first; at && count < PAWL_BATCH_MAX; at = at->next) {
        if (!has_output(at))
            continue;
        if (at->payload_size > PAWL_OUTPUT_MAX) {
            pawli_log(&delivery->options.log, PAWL_LOG_WARNING, "outbox",
                      "an answer of %s has %zu bytes and is not kept: at most %zu are",
                      at->recipient->name, at->payload_size, PAWL_OUTPUT_MAX);
            forget_payload(at);
            continue;
        }
        items[count++] = (pawl_held_output){at->held, at->payload, at->payload_size};
    }
    pawli_send_pump_lend(delivery);
    if (count > 0)
        st = pawl_queue_ack_outputs(delivery->store, delivery->owner, items, count, NULL, err);
    while (pawli_store_error_is_refusal(st) && divide(count) > 0) {
        count = divide(count);
        st = pawl_queue_ack_outputs(delivery->store, delivery->owner, items, count, NULL, err);
    }
    pawli_send_pump_reclaim(delivery);
    if (pawli_store_error_is_refusal(st)) {
        refused(delivery, first_that(delivery, has_output), err);
        return PAWL_OK;
    }
    if (st == PAWL_OK)
        finish(delivery, NULL, has_output, count);
    return st;
}

pawl_status pawli_delivery_tell_others(pawl_delivery *delivery, pawl_error *err)
{
    pawl_status st = PAWL_OK;
    pawli_flight *at = delivery->landed.first;

    while (at && st == PAWL_OK) {
        if (is_plain_ack(at)) {
            at = at->next;
        } else if (at->fate == PAWLI_FATE_NONE) {
            pawli_flight_done(at);
            at = delivery->landed.first;
        } else if (has_output(at)) {
            st = tell_outputs(delivery, err);
            at = delivery->landed.first;
        } else {
            st = wants_response(at) ? respond(delivery, at, err) : tell_group(delivery, at, err);
            at = delivery->landed.first;
        }
    }
    return st;
}

/* ---- acknowledgements ---- */

pawl_status pawli_delivery_acks(pawl_delivery *delivery, pawl_held **ret_items, size_t *ret_count,
                                pawl_error *err)
{
    return gather(NULL, is_plain_ack, &delivery->landed, PAWL_BATCH_MAX, ret_items, ret_count, err);
}

void pawli_delivery_acked(pawl_delivery *delivery, size_t count)
{
    finish(delivery, NULL, is_plain_ack, count);
}

/* As many as the database takes at once, or the one that it refuses. */
static pawl_status tell_some_done(pawl_delivery *delivery, size_t *ret_count, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_held *items = NULL;
    size_t count = 0;
    pawl_status st = pawli_delivery_acks(delivery, &items, &count, err);

    *ret_count = count;
    if (st != PAWL_OK || count == 0)
        return st;
    pawli_send_pump_lend(delivery);
    st = pawl_queue_ack(delivery->store, delivery->owner, items, count, NULL, err);
    while (pawli_store_error_is_refusal(st) && divide(count) > 0) {
        count = divide(count);
        st = pawl_queue_ack(delivery->store, delivery->owner, items, count, NULL, err);
    }
    pawli_send_pump_reclaim(delivery);
    if (pawli_store_error_is_refusal(st)) {
        refused(delivery, first_that(delivery, is_plain_ack), err);
        return PAWL_OK;
    }
    if (st == PAWL_OK)
        pawli_delivery_acked(delivery, count);
    return st;
}

pawl_status pawli_delivery_tell_done(pawl_delivery *delivery, pawl_error *err)
{
    pawl_status st;
    size_t count;

    do
        st = tell_some_done(delivery, &count, err);
    while (st == PAWL_OK && count > 0);
    return st;
}

/* ---- leases ---- */

pawl_mono pawli_delivery_renew_at(const pawl_delivery *delivery)
{
    pawl_mono at = {INT64_MAX};

    for (const pawli_flight *flight = delivery->air.first; flight; flight = flight->next)
        if (!flight->lost && flight->renew_at.us < at.us)
            at = flight->renew_at;
    return at;
}

static bool is_held(const pawl_messages *list, pawl_held held)
{
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *message = pawl_messages_at(list, i);
        if (pawl_message_work_id(message).value == held.id.value &&
            pawl_message_fence(message) == held.fence)
            return true;
    }
    return false;
}

/* Fewer were renewed than asked for: whose? */
static pawl_status find_lost(pawl_delivery *delivery, pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) list = NULL;

    pawli_send_pump_lend(delivery);
    pawl_status st = pawl_queue_held(delivery->store, delivery->owner, &list, err);
    pawli_send_pump_reclaim(delivery);
    for (pawli_flight *at = delivery->air.first; st == PAWL_OK && at; at = at->next) {
        if (at->lost || is_held(list, at->held))
            continue;
        at->lost = true;
        if (at->send)
            pawl_carrier_cancel(delivery->carrier, at->send);
    }
    return st;
}

pawl_status pawli_delivery_renew(pawl_delivery *delivery, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_held *items = NULL;
    pawl_mono now = pawli_mono_now();
    size_t count = 0, changed = 0;
    pawl_status st;

    if (pawli_delivery_renew_at(delivery).us > now.us)
        return PAWL_OK;
    items = calloc(delivery->air.count + 1, sizeof *items);
    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu leases", delivery->air.count);
    for (pawli_flight *at = delivery->air.first; at && count < PAWL_BATCH_MAX; at = at->next) {
        if (at->lost || at->renew_at.us > now.us)
            continue;
        items[count++] = at->held;
        at->renew_at = pawli_mono_after(now, RENEW_AGAIN_US); /* unless it succeeds */
    }
    pawli_send_pump_lend(delivery);
    st = pawl_queue_renew(delivery->store, delivery->owner, items, count,
                          delivery->options.lease_ms, &changed, err);
    pawli_send_pump_reclaim(delivery);
    if (st != PAWL_OK)
        return st;
    for (pawli_flight *at = delivery->air.first; at; at = at->next) {
        if (at->renew_at.us != now.us + RENEW_AGAIN_US)
            continue;
        at->renew_at = pawli_mono_after(now, at->lease_us / 3);
        at->lease_end = pawli_mono_after(now, at->lease_us); /* from before the call */
    }
    return changed < count ? find_lost(delivery, err) : PAWL_OK;
}
