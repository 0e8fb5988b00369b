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
#include "transport_client.h"
#include "envelope.h"
#include "services.h"

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

/* `error` may be NULL; `pattern` is what comes after "message M to D ". */
static void send_op_say(const pawli_send_op *op, pawl_log_level level, const char *error,
                        const char *pattern)
{
    const pawl_log_sink *log = &op->delivery->options.log;
    pawli_log_fields fields = {0};
    char whole[256];

    if (!pawli_log_enabled(log, level))
        return;
    pawli_log_id(&fields, "message_id", pawl_message_id(op->message));
    pawli_log_text(&fields, "topic", pawl_message_topic(op->message));
    pawli_log_text(&fields, "destination", op->destination->name);
    pawli_log_number(&fields, "attempt", pawl_message_attempt(op->message));
    pawli_log_number(&fields, "duration_ms", (pawli_mono_now().us - op->began.us) / 1000);
    if (op->limit > 0)
        pawli_log_number(&fields, "max_attempts", op->limit);
    if (op->result == PAWL_RETRY || op->result == PAWL_DEFER)
        pawli_log_number(&fields, "retry_after_ms", nominal_delay_ms(op));
    pawli_log_text(&fields, "error", error);
    snprintf(whole, sizeof whole, "message {message_id} to {destination} %s", pattern);
    pawli_log_record(log, level, "outbox", &fields, whole);
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

/* The pattern of "attempt 2 of 6, retrying in about 4s" (the database adds the jitter), or of
 * "deferred, ..." */
static void explain_retry(const pawli_send_op *op, char *room, size_t size)
{
    char span[PAWLI_SPAN_SIZE], which[48];

    if (op->result == PAWL_DEFER)
        snprintf(which, sizeof which, "deferred, not counted as an attempt");
    else if (op->limit > 0)
        snprintf(which, sizeof which, "attempt {attempt} of {max_attempts}");
    else
        snprintf(which, sizeof which, "attempt {attempt}");
    bool jitters = op->delay_ms == PAWL_DELAY_BY_POLICY && op->policy.jitter_ms != 0;
    snprintf(room, size, "not sent, %s, retrying in %s%s", which, jitters ? "about " : "",
             pawli_span_text(nominal_delay_ms(op), span));
}

static void log_landing(const pawli_send_op *op, bool duplicate)
{
    char room[64], retry[128], pattern[sizeof retry + 16];
    const char *why = reason_to_log(op, room, sizeof room);

    switch (op->result) {
    case PAWL_DONE:
        send_op_say(op, PAWL_LOG_INFO, NULL,
                    duplicate ? "sent in {duration_ms} ms, already processed earlier"
                              : "sent in {duration_ms} ms");
        break;
    case PAWL_RETRY:
    case PAWL_DEFER:
        explain_retry(op, retry, sizeof retry);
        snprintf(pattern, sizeof pattern, "%s: {error}", retry);
        send_op_say(op, PAWL_LOG_WARNING, why, pattern);
        break;
    case PAWL_FAIL:
        send_op_say(op, PAWL_LOG_ERROR, why, "failed permanently at attempt {attempt}: {error}");
        break;
    default:
        send_op_say(op, PAWL_LOG_WARNING, NULL, "dropped: its lease is lost");
        break;
    }
}

static void send_op_count(pawli_send_op *op, bool duplicate)
{
    pawl_destination_stats *stats = &op->destination->stats;

    stats->sent += op->result == PAWL_DONE;
    stats->duplicate += op->result == PAWL_DONE && duplicate;
    stats->retried += op->result == PAWL_RETRY || (op->result == PAWL_DEFER && !op->cancelled);
    stats->deferred += op->result == PAWL_DEFER && !op->cancelled;
    stats->failed += op->result == PAWL_FAIL;
}

/* Whoever runs next with another map must know what the map prevented. */
static char *stored_error(const pawli_send_op *op, const char *error)
{
    char *text = NULL;

    if (!error || !*error)
        return NULL;
    if (op->result != PAWL_DEFER || !op->unsendable)
        return strdup(error);
    return asprintf(&text, PAWLI_CONFIGURATION_ERROR "%s", error) < 0 ? NULL : text;
}

static void send_op_complete(pawli_send_op *op, pawl_result result, const char *error,
                             bool duplicate)
{
    pawl_delivery *delivery = op->delivery;

    op->result = op->lost ? PAWL_LOST : result;
    op->error = stored_error(op, error);
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
    char span[PAWLI_SPAN_SIZE], pattern[160];
    pawli_log_fields fields = {0};
    pawli_log_text(&fields, "destination", op->destination->name);
    pawli_log_number(&fields, "failures", breaker->failures);
    pawli_log_number(&fields, "retry_after_ms", (breaker->retry_at.us - now.us) / 1000);
    snprintf(pattern, sizeof pattern,
             "{destination}: circuit breaker %s after {failures} consecutive failures, next probe "
             "in %s",
             opens ? "opened" : "stays open",
             pawli_span_text((breaker->retry_at.us - now.us) / 1000, span));
    pawli_log_record(&op->delivery->options.log, opens ? PAWL_LOG_WARNING : PAWL_LOG_INFO, "outbox",
                     &fields, pattern);
}

static void note_success(pawli_send_op *op)
{
    if (pawli_breaker_succeeded(&op->destination->breaker))
        pawli_destination_log(op->destination, &op->delivery->options.log,
                              "{destination}: circuit breaker closed");
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

/*
 * What the result of the send means for the message. At the last attempt a retry is a failure; a
 * cancelled send, and one that does not count as an attempt, is deferred.
 */
static pawl_result send_op_result(const pawli_send_op *op, const pawl_service *service,
                                  const pawl_send_report *outcome)
{
    pawli_send_facts facts = {op->breaker_was_closed,
                              op->destination->answered_at.us > op->began.us,
                              pawli_send_count(op->message, service)};

    if (outcome->sent == PAWL_SEND_ACKNOWLEDGED || outcome->sent == PAWL_SEND_DUPLICATE)
        return PAWL_DONE;
    if (outcome->sent == PAWL_SEND_REJECTED)
        return PAWL_FAIL;
    if (outcome->sent == PAWL_SEND_CANCELLED || !pawli_send_counts(outcome, &facts))
        return PAWL_DEFER;
    return op->limit > 0 && pawl_message_attempt(op->message) >= op->limit ? PAWL_FAIL : PAWL_RETRY;
}

/* Cancelled by us: another delivery may send it at once. */
static void send_op_give_back(pawli_send_op *op)
{
    op->delay_ms = 0;
    op->cancelled = true;
    send_op_complete(op, PAWL_DEFER,
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

static void send_op_on_end(void *context, const pawl_send_report *outcome)
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
    if (outcome->sent == PAWL_SEND_CANCELLED) {
        send_op_give_back(op);
        return;
    }
    pawl_result result = send_op_result(op, service, outcome);
    if (result == PAWL_DONE)
        keep_payload(op, outcome);
    if (result == PAWL_DEFER)
        wait_for_breaker(op, now);
    send_op_complete(op, result, result == PAWL_DONE ? NULL : outcome->error, duplicate);
}

/* ---- starting ---- */

/* *ret_ours: the URL comes from the service map, so an error in it is not the message's fault. */
static pawl_status send_op_send(pawli_send_op *op, const pawl_service *service, const char *url,
                                bool *ret_ours, pawl_error *err)
{
    pawl_delivery *delivery = op->delivery;
    pawli_envelope_options envelope = PAWLI_ENVELOPE_OPTIONS_INIT;
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    pawl_status st;

    envelope.source = delivery->options.source;
    envelope.secrets = pawli_service_secrets(service);
    envelope.scheme = pawl_service_scheme(service);
    st = pawli_envelope_encode(op->message, &envelope, &op->envelope, err);
    if (st != PAWL_OK)
        return st;
    *ret_ours = *pawl_service_name(service) != '\0';
    request.url = url;
    request.service = service;
    request.envelope = op->envelope;
    return pawli_transport_client_send(delivery->client, &request, send_op_on_end, op, &op->send,
                                       err);
}

/* Resolves the destination and starts the send. A send that cannot be started is completed:
 * deferred, unless the message itself is invalid. */
static void send_op_start(pawli_send_op *op)
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
    send_op_complete(op, ours ? PAWL_DEFER : PAWL_FAIL, err.message, false);
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
        send_op_start(op);
    return true;
}
