/* src/transport/send_policy.h - which sends count as attempts, and how many there may be. */
#ifndef PAWLI_SEND_POLICY_H
#define PAWLI_SEND_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/backoff.h>
#include <pawl/message.h>
#include <pawl/services.h>
#include <pawl/transport.h>

/* What is known of a send that has ended and was neither acknowledged nor refused for good. */
typedef struct pawli_send_facts {
    bool breaker_was_closed; /* when it began */
    bool others_answered;    /* the destination has answered another message since it began */
    pawl_count count;        /* the message's or the service's */
} pawli_send_facts;

/*
 * Whether the send is an attempt. Unavailability is bounded by time, refusal by count: what says
 * nothing of the message is not counted, and so is a pause that the destination asked for.
 */
bool pawli_send_counts(const pawl_send_outcome *outcome, const pawli_send_facts *facts);

/* What the message asks for, or else the service. `service` may be NULL; never the default. */
pawl_count pawli_send_count(const pawl_message *message, const pawl_service *service);
/* Counted sends that there may be; 0: no limit but the time to live. */
int pawli_send_limit(const pawl_message *message, const pawl_service *service);
/* The message's own policy, else the service's. */
pawl_backoff pawli_send_backoff(const pawl_message *message, const pawl_service *service);

/* "350ms", "4s", "5m", "1h 30m": how people write it. Returns `room`, of at least this size. */
#define PAWLI_SPAN_SIZE 48
const char *pawli_span_words(int64_t ms, char room[PAWLI_SPAN_SIZE]);

#endif
