/* src/transport/send_op.c - one send, from the claim of its message to its result. */
#include "send_op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delivery_private.h"
#include "fail.h"
#include "log.h"
#include "send_policy.h"
#include "platform.h"

void pawli_send_ops_add(pawli_send_ops *ops, pawli_send_op *op)
{
    op->previous = ops->last;
    op->next = NULL;
    if (ops->last)
        ops->last->next = op;
    else
        ops->first = op;
    ops->last = op;
    ops->count++;
}

void pawli_send_ops_remove(pawli_send_ops *ops, pawli_send_op *op)
{
    if (op->previous)
        op->previous->next = op->next;
    else
        ops->first = op->next;
    if (op->next)
        op->next->previous = op->previous;
    else
        ops->last = op->previous;
    op->previous = op->next = NULL;
    ops->count--;
}

static void drop_batch(pawli_claim_batch *batch)
{
    if (!batch || --batch->users > 0)
        return;
    pawl_messages_free(batch->list);
    free(batch);
}

void pawli_send_op_free(pawli_send_op *op)
{
    if (!op)
        return;
    op->destination->users--;
    drop_batch(op->batch);
    pawl_envelope_free(op->envelope);
    pawl_services_unref(op->services);
    free(op->error);
    free(op->payload);
    free(op);
}

void pawli_send_op_done(pawli_send_op *op)
{
    pawli_send_ops_remove(&op->delivery->completed, op);
    pawli_send_op_free(op);
}

/* ---- completing a send ---- */

static void send_op_say(const pawli_send_op *op, pawl_log_level level, const char *what)
{
    char id[PAWL_UUID_TEXT_SIZE];

    pawl_uuid_format(pawl_message_id(op->message), id);
    pawli_log(&op->delivery->options.log, level, "outbox", "message %s to %s %s", id,
              op->destination->name, what);
}

/* The peer's text may repeat the payload, so it is stored with the message but not logged. */
static const char *reason_to_log(const pawli_send_op *op, char *room, size_t size)
{
    if (!op->answered)
        return op->error ? op->error : "out of memory for the reason";
    if (op->status > 0)
        snprintf(room, size, "HTTP %d; see the message record for the response text", op->status);
    else
        snprintf(room, size, "rejected; see the message record for the response text");
    return room;
}

/* The delay until the next attempt, without jitter: as the database will compute it, or as
 * requested. */
static int64_t nominal_delay_ms(const pawli_send_op *op)
{
    const pawl_message *message = op->message;

    if (op->delay_ms != PAWL_DELAY_BY_POLICY)
        return op->delay_ms;
    return pawl_backoff_delay_ms(
        &op->policy, pawl_message_retries(message) + pawl_message_deferrals(message), 0);
}

/* Formats "attempt 2 of 6, retrying in about 4s" (the database adds the jitter), or "deferred,
 * ..." */
static void explain_retry(const pawli_send_op *op, char *room, size_t size)
{
    char span[PAWLI_SPAN_SIZE], which[48];

    if (op->result == PAWLI_RESULT_DEFER)
        snprintf(which, sizeof which, "deferred, not counted as an attempt");
    else if (op->limit > 0)
        snprintf(which, sizeof which, "attempt %d of %d", pawl_message_attempt(op->message),
                 op->limit);
    else
        snprintf(which, sizeof which, "attempt %d", pawl_message_attempt(op->message));
    bool jitters = op->delay_ms == PAWL_DELAY_BY_POLICY && op->policy.jitter_ms != 0;
    snprintf(room, size, "not sent, %s, retrying in %s%s", which, jitters ? "about " : "",
             pawli_span_text(nominal_delay_ms(op), span));
}

static void log_landing(const pawli_send_op *op, bool duplicate)
{
    char room[64], retry[128];
    const char *why = reason_to_log(op, room, sizeof room);
    char what[sizeof(pawl_error) + sizeof retry];
    long long ms = (pawli_mono_now().us - op->began.us) / 1000;

    switch (op->result) {
    case PAWLI_RESULT_DONE:
        snprintf(what, sizeof what, "sent in %lld ms%s", ms,
                 duplicate ? ", already processed earlier" : "");
        send_op_say(op, PAWL_LOG_INFO, what);
        break;
    case PAWLI_RESULT_RETRY:
    case PAWLI_RESULT_DEFER:
        explain_retry(op, retry, sizeof retry);
        snprintf(what, sizeof what, "%s: %s", retry, why);
        send_op_say(op, PAWL_LOG_WARNING, what);
        break;
    case PAWLI_RESULT_FAIL:
        snprintf(what, sizeof what, "failed permanently at attempt %d: %s",
                 pawl_message_attempt(op->message), why);
        send_op_say(op, PAWL_LOG_ERROR, what);
        break;
    case PAWLI_RESULT_NONE:
        send_op_say(op, PAWL_LOG_WARNING, "dropped: its lease is lost");
        break;
    }
}

static void send_op_count(pawli_send_op *op, bool duplicate)
{
    pawl_destination_stats *stats = &op->destination->stats;

    stats->sent += op->result == PAWLI_RESULT_DONE;
    stats->duplicate += op->result == PAWLI_RESULT_DONE && duplicate;
    stats->retried +=
        op->result == PAWLI_RESULT_RETRY || (op->result == PAWLI_RESULT_DEFER && !op->cancelled);
    stats->deferred += op->result == PAWLI_RESULT_DEFER && !op->cancelled;
    stats->failed += op->result == PAWLI_RESULT_FAIL;
}

static void send_op_land(pawli_send_op *op, pawli_result result, const char *error, bool duplicate)
{
    pawl_delivery *delivery = op->delivery;

    op->result = op->lost ? PAWLI_RESULT_NONE : result;
    if (error && *error)
        op->error = strdup(error);
    pthread_mutex_lock(&delivery->lock);
    op->destination->stats.in_flight--;
    op->destination->unsendable |= op->unsendable;
    /* The service map that prevented the send was replaced: retry with the current one. */
    delivery->map_changed |= op->unsendable && op->services != delivery->services;
    send_op_count(op, duplicate);
    op->destination->stats.breaker = (pawl_breaker_state)op->destination->breaker.state;
    pthread_mutex_unlock(&delivery->lock);
    pawli_send_ops_remove(&delivery->in_flight, op);
    pawli_send_ops_add(&delivery->completed, op);
    log_landing(op, duplicate);
}

/* ---- the destination's circuit breaker ---- */

static void note_failure(pawli_send_op *op, pawl_mono now)
{
    pawli_breaker *breaker = &op->destination->breaker;

    /* Results of sends that were in flight when it opened are ignored. */
    if (breaker->state == PAWLI_BREAKER_OPEN)
        return;
    bool opens = pawli_breaker_failed(breaker, now, pawli_random_u64());
    if (breaker->state != PAWLI_BREAKER_OPEN)
        return;
    char span[PAWLI_SPAN_SIZE];
    pawli_log(&op->delivery->options.log, opens ? PAWL_LOG_WARNING : PAWL_LOG_INFO, "outbox",
              "%s: circuit breaker %s after %d consecutive failures, next probe in %s",
              op->destination->name, opens ? "opened" : "stays open", breaker->failures,
              pawli_span_text((breaker->retry_at.us - now.us) / 1000, span));
}

static void note_success(pawli_send_op *op)
{
    if (pawli_breaker_succeeded(&op->destination->breaker))
        pawli_log(&op->delivery->options.log, PAWL_LOG_INFO, "outbox", "%s: circuit breaker closed",
                  op->destination->name);
}

static void send_op_judge(pawli_send_op *op, const pawl_send_report *outcome, pawl_mono now)
{
    if (outcome->sent == PAWL_SEND_CANCELLED || outcome->ours)
        return;
    if (outcome->reached)
        op->destination->answered_at = now;
    if (outcome->sent == PAWL_SEND_RETRY && (!outcome->reached || outcome->status >= 500))
        note_failure(op, now);
    else
        note_success(op);
}

/* Waits at least as long as the destination requested; if the destination is overloaded, so do
 * all its other messages. */
static void obey_retry_after(pawli_send_op *op, const pawl_send_report *outcome, pawl_mono now)
{
    const pawl_delivery_options *options = &op->delivery->options;
    int64_t asked_ms = outcome->retry_after_ms, policy_ms;

    op->delay_ms = PAWL_DELAY_BY_POLICY;
    if (outcome->sent != PAWL_SEND_RETRY || asked_ms < 0)
        return;
    if (asked_ms > options->retry_after_max_ms)
        asked_ms = options->retry_after_max_ms;
    /* A 409 or 425 is about this message only. */
    if (outcome->status == 0 || outcome->status == 429 || outcome->status == 503)
        op->destination->quiet_until = pawli_mono_after(now, asked_ms * 1000);
    policy_ms = pawl_backoff_delay_ms(
        &op->policy, pawl_message_retries(op->message) + pawl_message_deferrals(op->message),
        pawli_random_u64());
    op->delay_ms = asked_ms > policy_ms ? asked_ms : policy_ms;
    if (op->delay_ms < 1)
        op->delay_ms = 1;
}

/* A probe's message waits as long as the circuit breaker does, so that a message is available
 * for the next probe. */
static void wait_for_breaker(pawli_send_op *op, pawl_mono now)
{
    const pawli_breaker *breaker = &op->destination->breaker;

    if (op->delay_ms == PAWL_DELAY_BY_POLICY && breaker->state == PAWLI_BREAKER_OPEN &&
        breaker->retry_at.us > now.us)
        op->delay_ms = (breaker->retry_at.us - now.us + 999) / 1000;
}

/* Neither acknowledged nor rejected. After the last attempt, a retry becomes a failure. */
static void send_op_put_off(pawli_send_op *op, const pawl_service *service,
                            const pawl_send_report *outcome, pawl_mono now)
{
    pawli_send_facts facts = {op->breaker_was_closed,
                              op->destination->answered_at.us > op->began.us,
                              pawli_send_count(op->message, service)};
    bool last = op->limit > 0 && pawl_message_attempt(op->message) >= op->limit;

    if (!pawli_send_counts(outcome, &facts)) {
        wait_for_breaker(op, now);
        send_op_land(op, PAWLI_RESULT_DEFER, outcome->error, false);
    } else {
        send_op_land(op, last ? PAWLI_RESULT_FAIL : PAWLI_RESULT_RETRY, outcome->error, false);
    }
}

/* Cancelled by us: another delivery may send it at once. */
static void send_op_give_back(pawli_send_op *op)
{
    op->delay_ms = 0;
    op->cancelled = true;
    send_op_land(op, PAWLI_RESULT_DEFER,
                 op->late ? "its lease expired before the response arrived"
                          : "the delivery was stopped before the response arrived",
                 false);
}

static void keep_payload(pawli_send_op *op, const pawl_send_report *outcome)
{
    if (!outcome->payload)
        return;
    op->payload = malloc(outcome->payload_size + 1);
    if (!op->payload)
        return;
    memcpy(op->payload, outcome->payload, outcome->payload_size);
    op->payload_size = outcome->payload_size;
}

static void on_end(void *context, const pawl_send_report *outcome)
{
    pawli_send_op *op = context;
    pawl_mono now = pawli_mono_now();
    bool duplicate = outcome->sent == PAWL_SEND_DUPLICATE;
    const pawl_service *service = NULL;
    const char *url = NULL;

    op->send = NULL;
    op->answered = outcome->reached;
    op->status = outcome->status;
    op->unsendable = outcome->ours;
    if (pawl_services_find(op->services, op->destination->name, &service, &url, NULL) != PAWL_OK)
        service = NULL;
    send_op_judge(op, outcome, now);
    obey_retry_after(op, outcome, now);
    switch (outcome->sent) {
    case PAWL_SEND_ACKNOWLEDGED:
    case PAWL_SEND_DUPLICATE:
        keep_payload(op, outcome);
        send_op_land(op, PAWLI_RESULT_DONE, NULL, duplicate);
        break;
    case PAWL_SEND_REJECTED:
        send_op_land(op, PAWLI_RESULT_FAIL, outcome->error, false);
        break;
    case PAWL_SEND_RETRY:
        send_op_put_off(op, service, outcome, now);
        break;
    case PAWL_SEND_CANCELLED:
        send_op_give_back(op);
        break;
    }
}

/* ---- starting ---- */

/* *ret_ours: the URL comes from the service map, so an error in it is not the message's fault. */
static pawl_status send_op_send(pawli_send_op *op, const pawl_service *service, const char *url,
                                bool *ret_ours, pawl_error *err)
{
    pawl_delivery *delivery = op->delivery;
    pawl_envelope_options envelope = PAWL_ENVELOPE_OPTIONS_INIT;
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    pawl_status st;

    envelope.source = delivery->options.source;
    envelope.secrets = pawl_service_secrets(service);
    envelope.scheme = pawl_service_scheme(service);
    st = pawl_envelope_encode(op->message, &envelope, &op->envelope, err);
    if (st != PAWL_OK)
        return st;
    *ret_ours = *pawl_service_name(service) != '\0';
    request.url = url;
    request.service = service;
    request.envelope = op->envelope;
    return pawl_transport_client_send(delivery->client, &request, on_end, op, &op->send, err);
}

/* Resolves the destination and starts the send. A send that cannot be started is completed:
 * deferred, unless the message itself is invalid. */
static void take_off(pawli_send_op *op)
{
    pawl_error err = PAWL_ERROR_INIT;
    const pawl_service *service = NULL;
    const char *url = NULL;
    pawl_status st = pawl_services_find(op->services, op->destination->name, &service, &url, &err);

    bool ours = st != PAWL_OK; /* the service map's fault, not the message's */
    op->policy = pawli_send_backoff(op->message, service);
    op->limit = pawli_send_limit(op->message, service);
    if (st == PAWL_OK)
        st = send_op_send(op, service, url, &ours, &err);
    if (st == PAWL_OK)
        return;
    op->unsendable = ours; /* because of the service map, not because memory ran out */
    ours = ours || st != PAWL_E_INVALID;
    send_op_land(op, ours ? PAWLI_RESULT_DEFER : PAWLI_RESULT_FAIL, err.message, false);
}

/* A message may have a shorter lease of its own, which the store's clock determines. */
static int64_t lease_us(const pawl_delivery *delivery, const pawl_message *message,
                        pawl_mono claimed_at)
{
    int64_t given_us = delivery->options.lease_ms * 1000;
    int64_t own_us =
        pawl_message_lease_until(message).us - (claimed_at.us + delivery->clock_ahead_us);

    return own_us > 0 && own_us < given_us ? own_us : given_us;
}

bool pawli_send_op_begin(pawl_delivery *delivery, pawli_claim_batch *batch,
                         const pawl_message *message, pawl_mono claimed_at)
{
    const char *destination_name = pawl_message_destination(message);
    pawli_destination *destination =
        pawli_delivery_recipient(delivery, destination_name ? destination_name : "");
    pawli_send_op *op = destination ? calloc(1, sizeof *op) : NULL;

    if (!op)
        return false;
    op->delivery = delivery;
    op->destination = destination;
    destination->users++;
    op->batch = batch;
    batch->users++;
    op->message = message;
    op->receipt = (pawl_receipt){pawl_message_work_id(message), pawl_message_fence(message)};
    op->delay_ms = PAWL_DELAY_BY_POLICY;
    op->services = pawli_delivery_services(delivery);
    op->began = pawli_mono_now();
    op->lease_us = lease_us(delivery, message, claimed_at);
    op->renew_at = pawli_mono_after(claimed_at, op->lease_us / 3);
    op->lease_end = pawli_mono_after(claimed_at, op->lease_us);
    op->late = pawli_mono_passed(op->lease_end); /* the claim took so long that the lease has
                                                  * expired */
    op->breaker_was_closed = destination->breaker.state == PAWLI_BREAKER_CLOSED;
    pthread_mutex_lock(&delivery->lock);
    destination->stats.in_flight++;
    pthread_mutex_unlock(&delivery->lock);
    pawli_send_ops_add(&delivery->in_flight, op);
    if (op->late)
        send_op_give_back(op);
    else
        take_off(op);
    return true;
}
