/* src/transport/flight.c - one claimed message on its way, from the claim to the answer. */
#include "flight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delivery_private.h"
#include "fail.h"
#include "log.h"
#include "send_policy.h"
#include "world.h"

void pawli_flights_add(pawli_flights *flights, pawli_flight *flight)
{
    flight->previous = flights->last;
    flight->next = NULL;
    if (flights->last)
        flights->last->next = flight;
    else
        flights->first = flight;
    flights->last = flight;
    flights->count++;
}

void pawli_flights_remove(pawli_flights *flights, pawli_flight *flight)
{
    if (flight->previous)
        flight->previous->next = flight->next;
    else
        flights->first = flight->next;
    if (flight->next)
        flight->next->previous = flight->previous;
    else
        flights->last = flight->previous;
    flight->previous = flight->next = NULL;
    flights->count--;
}

static void drop_load(pawli_load *load)
{
    if (!load || --load->users > 0)
        return;
    pawl_messages_free(load->list);
    free(load);
}

void pawli_flight_free(pawli_flight *flight)
{
    if (!flight)
        return;
    flight->recipient->users--;
    drop_load(flight->load);
    pawl_envelope_free(flight->envelope);
    pawl_services_unref(flight->services);
    free(flight->error);
    free(flight->payload);
    free(flight);
}

void pawli_flight_done(pawli_flight *flight)
{
    pawli_flights_remove(&flight->delivery->landed, flight);
    pawli_flight_free(flight);
}

/* ---- landing ---- */

static void say(const pawli_flight *flight, pawl_log_level level, const char *what)
{
    char id[PAWL_UUID_TEXT_SIZE];

    pawl_message_id_format(pawl_message_get_id(flight->message), id);
    pawli_log(&flight->delivery->options.log, level, "outbox", "message %s to %s %s", id,
              flight->recipient->name, what);
}

/* The other side's words may repeat the payload: they belong into the record, not into the log. */
static const char *reason_to_log(const pawli_flight *flight, char *room, size_t size)
{
    if (!flight->answered)
        return flight->error ? flight->error : "out of memory for the reason";
    if (flight->status > 0)
        snprintf(room, size, "HTTP %d; the record has the answer's words", flight->status);
    else
        snprintf(room, size, "refused; the record has the answer's words");
    return room;
}

/* When it is due again but for the jitter: what the database will compute, or was told. */
static int64_t nominal_delay_ms(const pawli_flight *flight)
{
    const pawl_message *message = flight->message;

    if (flight->delay_ms != PAWL_DELAY_BY_POLICY)
        return flight->delay_ms;
    return pawl_backoff_delay_ms(
        &flight->policy, pawl_message_retries(message) + pawl_message_deferrals(message), 0);
}

/* "attempt 2 of 6, retrying in about 4s" (the database adds the jitter), "not counted, ..." */
static void explain_retry(const pawli_flight *flight, char *room, size_t size)
{
    char span[PAWLI_SPAN_SIZE], which[48];

    if (flight->fate == PAWLI_FATE_DEFER)
        snprintf(which, sizeof which, "deferred, not counted as an attempt");
    else if (flight->limit > 0)
        snprintf(which, sizeof which, "attempt %d of %d", pawl_message_attempt(flight->message),
                 flight->limit);
    else
        snprintf(which, sizeof which, "attempt %d", pawl_message_attempt(flight->message));
    bool jitters = flight->delay_ms == PAWL_DELAY_BY_POLICY && flight->policy.jitter_ms != 0;
    snprintf(room, size, "not sent, %s, retrying in %s%s", which, jitters ? "about " : "",
             pawli_span_words(nominal_delay_ms(flight), span));
}

static void log_landing(const pawli_flight *flight, bool duplicate)
{
    char room[64], retry[128];
    const char *why = reason_to_log(flight, room, sizeof room);
    char what[sizeof(pawl_error) + sizeof retry];
    long long ms = (pawli_mono_now().us - flight->began.us) / 1000;

    switch (flight->fate) {
    case PAWLI_FATE_DONE:
        snprintf(what, sizeof what, "sent in %lld ms%s", ms,
                 duplicate ? ", where it had been before" : "");
        say(flight, PAWL_LOG_INFO, what);
        break;
    case PAWLI_FATE_RETRY:
    case PAWLI_FATE_DEFER:
        explain_retry(flight, retry, sizeof retry);
        snprintf(what, sizeof what, "%s: %s", retry, why);
        say(flight, PAWL_LOG_WARNING, what);
        break;
    case PAWLI_FATE_FAIL:
        snprintf(what, sizeof what, "failed for good at attempt %d: %s",
                 pawl_message_attempt(flight->message), why);
        say(flight, PAWL_LOG_ERROR, what);
        break;
    case PAWLI_FATE_NONE:
        say(flight, PAWL_LOG_WARNING, "dropped: its lease is lost");
        break;
    }
}

static void count(pawli_flight *flight, bool duplicate)
{
    pawl_destination_stats *stats = &flight->recipient->stats;

    stats->sent += flight->fate == PAWLI_FATE_DONE;
    stats->duplicate += flight->fate == PAWLI_FATE_DONE && duplicate;
    stats->retried += flight->fate == PAWLI_FATE_RETRY ||
                      (flight->fate == PAWLI_FATE_DEFER && !flight->cancelled);
    stats->deferred += flight->fate == PAWLI_FATE_DEFER && !flight->cancelled;
    stats->failed += flight->fate == PAWLI_FATE_FAIL;
}

static void land(pawli_flight *flight, pawli_fate fate, const char *error, bool duplicate)
{
    pawl_delivery *delivery = flight->delivery;

    flight->fate = flight->lost ? PAWLI_FATE_NONE : fate;
    if (error && *error)
        flight->error = strdup(error);
    pthread_mutex_lock(&delivery->lock);
    flight->recipient->stats.in_flight--;
    flight->recipient->unsendable |= flight->unsendable;
    /* The map that prevented it is no longer in use: try again, by the one that is. */
    delivery->map_changed |= flight->unsendable && flight->services != delivery->services;
    count(flight, duplicate);
    flight->recipient->stats.breaker = (pawl_breaker_state)flight->recipient->breaker.state;
    pthread_mutex_unlock(&delivery->lock);
    pawli_flights_remove(&delivery->air, flight);
    pawli_flights_add(&delivery->landed, flight);
    log_landing(flight, duplicate);
}

/* ---- the destination's fault, or not ---- */

static void note_failure(pawli_flight *flight, pawl_mono now)
{
    pawli_breaker *breaker = &flight->recipient->breaker;

    /* What was under way when it opened says nothing new. */
    if (breaker->state == PAWLI_BREAKER_OPEN)
        return;
    bool opens = pawli_breaker_failed(breaker, now, pawli_random_u64());
    if (breaker->state != PAWLI_BREAKER_OPEN)
        return;
    char span[PAWLI_SPAN_SIZE];
    pawli_log(&flight->delivery->options.log, opens ? PAWL_LOG_WARNING : PAWL_LOG_INFO, "outbox",
              "%s: circuit breaker %s after %d consecutive failures, next probe in %s",
              flight->recipient->name, opens ? "opened" : "stays open", breaker->failures,
              pawli_span_words((breaker->retry_at.us - now.us) / 1000, span));
}

static void note_success(pawli_flight *flight)
{
    if (pawli_breaker_succeeded(&flight->recipient->breaker))
        pawli_log(&flight->delivery->options.log, PAWL_LOG_INFO, "outbox", "%s answers again",
                  flight->recipient->name);
}

static void judge(pawli_flight *flight, const pawl_send_outcome *outcome, pawl_mono now)
{
    if (outcome->sent == PAWL_SENT_CANCELLED || outcome->ours)
        return;
    if (outcome->reached)
        flight->recipient->answered_at = now;
    if (outcome->sent == PAWL_SENT_RETRY && (!outcome->reached || outcome->status >= 500))
        note_failure(flight, now);
    else
        note_success(flight);
}

/* Not before the destination wants it; and if it is too busy, nothing else either. */
static void obey_retry_after(pawli_flight *flight, const pawl_send_outcome *outcome, pawl_mono now)
{
    const pawl_delivery_options *options = &flight->delivery->options;
    int64_t asked_ms = outcome->retry_after_ms, policy_ms;

    flight->delay_ms = PAWL_DELAY_BY_POLICY;
    if (outcome->sent != PAWL_SENT_RETRY || asked_ms < 0)
        return;
    if (asked_ms > options->retry_after_max_ms)
        asked_ms = options->retry_after_max_ms;
    /* A 409 or 425 is about this message only. */
    if (outcome->status == 0 || outcome->status == 429 || outcome->status == 503)
        flight->recipient->quiet_until = pawli_mono_after(now, asked_ms * 1000);
    policy_ms = pawl_backoff_delay_ms(&flight->policy,
                                      pawl_message_retries(flight->message) +
                                          pawl_message_deferrals(flight->message),
                                      pawli_random_u64());
    flight->delay_ms = asked_ms > policy_ms ? asked_ms : policy_ms;
    if (flight->delay_ms < 1)
        flight->delay_ms = 1;
}

/* A probe's message waits as long as the breaker does, so that there is one for the next probe. */
static void wait_for_breaker(pawli_flight *flight, pawl_mono now)
{
    const pawli_breaker *breaker = &flight->recipient->breaker;

    if (flight->delay_ms == PAWL_DELAY_BY_POLICY && breaker->state == PAWLI_BREAKER_OPEN &&
        breaker->retry_at.us > now.us)
        flight->delay_ms = (breaker->retry_at.us - now.us + 999) / 1000;
}

/* Neither acknowledged nor refused. At the last attempt "put off" is "failed". */
static void put_off(pawli_flight *flight, const pawl_service *service,
                    const pawl_send_outcome *outcome, pawl_mono now)
{
    pawli_send_facts facts = {flight->breaker_was_closed,
                              flight->recipient->answered_at.us > flight->began.us,
                              pawli_send_count(flight->message, service)};
    bool last = flight->limit > 0 && pawl_message_attempt(flight->message) >= flight->limit;

    if (!pawli_send_counts(outcome, &facts)) {
        wait_for_breaker(flight, now);
        land(flight, PAWLI_FATE_DEFER, outcome->error, false);
    } else {
        land(flight, last ? PAWLI_FATE_FAIL : PAWLI_FATE_RETRY, outcome->error, false);
    }
}

/* Given up by us: another delivery may take it at once. */
static void give_back(pawli_flight *flight)
{
    flight->delay_ms = 0;
    flight->cancelled = true;
    land(flight, PAWLI_FATE_DEFER,
         flight->late ? "its lease ran out before the answer came"
                      : "the delivery was stopped before the answer came",
         false);
}

static void keep_payload(pawli_flight *flight, const pawl_send_outcome *outcome)
{
    if (!outcome->payload)
        return;
    flight->payload = malloc(outcome->payload_size + 1);
    if (!flight->payload)
        return;
    memcpy(flight->payload, outcome->payload, outcome->payload_size);
    flight->payload_size = outcome->payload_size;
}

static void on_end(void *context, const pawl_send_outcome *outcome)
{
    pawli_flight *flight = context;
    pawl_mono now = pawli_mono_now();
    bool duplicate = outcome->sent == PAWL_SENT_DUPLICATE;
    const pawl_service *service = NULL;
    const char *url = NULL;

    flight->send = NULL;
    flight->answered = outcome->reached;
    flight->status = outcome->status;
    flight->unsendable = outcome->ours;
    if (pawl_services_find(flight->services, flight->recipient->name, &service, &url, NULL) !=
        PAWL_OK)
        service = NULL;
    judge(flight, outcome, now);
    obey_retry_after(flight, outcome, now);
    switch (outcome->sent) {
    case PAWL_SENT_ACKNOWLEDGED:
    case PAWL_SENT_DUPLICATE:
        keep_payload(flight, outcome);
        land(flight, PAWLI_FATE_DONE, NULL, duplicate);
        break;
    case PAWL_SENT_REFUSED:
        land(flight, PAWLI_FATE_FAIL, outcome->error, false);
        break;
    case PAWL_SENT_RETRY:
        put_off(flight, service, outcome, now);
        break;
    case PAWL_SENT_CANCELLED:
        give_back(flight);
        break;
    }
}

/* ---- starting ---- */

/* *ret_ours: the URL is the map's, so what is wrong with it is not the message's fault. */
static pawl_status send(pawli_flight *flight, const pawl_service *service, const char *url,
                        bool *ret_ours, pawl_error *err)
{
    pawl_delivery *delivery = flight->delivery;
    pawl_envelope_options envelope = PAWL_ENVELOPE_OPTIONS_INIT;
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    pawl_status st;

    envelope.source = delivery->options.source;
    envelope.secrets = pawl_service_secrets(service);
    envelope.scheme = pawl_service_scheme(service);
    st = pawl_envelope_encode(flight->message, &envelope, &flight->envelope, err);
    if (st != PAWL_OK)
        return st;
    *ret_ours = *pawl_service_name(service) != '\0';
    request.url = url;
    request.service = service;
    request.envelope = flight->envelope;
    return pawl_carrier_send(delivery->carrier, &request, on_end, flight, &flight->send, err);
}

/* Where to, and off. What cannot be begun has landed: deferred, unless the message itself is wrong.
 */
static void take_off(pawli_flight *flight)
{
    pawl_error err = PAWL_ERROR_INIT;
    const pawl_service *service = NULL;
    const char *url = NULL;
    pawl_status st =
        pawl_services_find(flight->services, flight->recipient->name, &service, &url, &err);

    bool ours = st != PAWL_OK; /* the map's fault, not the message's */
    flight->policy = pawli_send_backoff(flight->message, service);
    flight->limit = pawli_send_limit(flight->message, service);
    if (st == PAWL_OK)
        st = send(flight, service, url, &ours, &err);
    if (st == PAWL_OK)
        return;
    flight->unsendable = ours; /* by the map, not for want of memory */
    ours = ours || st != PAWL_E_INVALID;
    land(flight, ours ? PAWLI_FATE_DEFER : PAWLI_FATE_FAIL, err.message, false);
}

/* A message may have a shorter lease of its own; the store's clock tells. */
static int64_t lease_us(const pawl_delivery *delivery, const pawl_message *message,
                        pawl_mono claimed_at)
{
    int64_t given_us = delivery->options.lease_ms * 1000;
    int64_t own_us =
        pawl_message_lease_until(message).us - (claimed_at.us + delivery->clock_ahead_us);

    return own_us > 0 && own_us < given_us ? own_us : given_us;
}

bool pawli_flight_begin(pawl_delivery *delivery, pawli_load *load, const pawl_message *message,
                        pawl_mono claimed_at)
{
    const char *destination = pawl_message_destination(message);
    pawli_recipient *recipient = pawli_delivery_recipient(delivery, destination ? destination : "");
    pawli_flight *flight = recipient ? calloc(1, sizeof *flight) : NULL;

    if (!flight)
        return false;
    flight->delivery = delivery;
    flight->recipient = recipient;
    recipient->users++;
    flight->load = load;
    load->users++;
    flight->message = message;
    flight->held = (pawl_held){pawl_message_work_id(message), pawl_message_fence(message)};
    flight->delay_ms = PAWL_DELAY_BY_POLICY;
    flight->services = pawli_delivery_services(delivery);
    flight->began = pawli_mono_now();
    flight->lease_us = lease_us(delivery, message, claimed_at);
    flight->renew_at = pawli_mono_after(claimed_at, flight->lease_us / 3);
    flight->lease_end = pawli_mono_after(claimed_at, flight->lease_us);
    flight->late = pawli_mono_passed(flight->lease_end); /* the claim's answer took that long */
    flight->breaker_was_closed = recipient->breaker.state == PAWLI_BREAKER_CLOSED;
    pthread_mutex_lock(&delivery->lock);
    recipient->stats.in_flight++;
    pthread_mutex_unlock(&delivery->lock);
    pawli_flights_add(&delivery->air, flight);
    if (flight->late)
        give_back(flight);
    else
        take_off(flight);
    return true;
}
