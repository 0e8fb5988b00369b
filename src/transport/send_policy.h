/* src/transport/send_policy.h - which sends count as attempts, and the limit of attempts. */
#ifndef PAWLI_SEND_POLICY_H
#define PAWLI_SEND_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/backoff.h>
#include <pawl/message.h>
#include <pawl/services.h>
#include <pawl/transport.h>

/* The facts about a send that was neither acknowledged nor permanently refused. */
typedef struct pawli_send_facts {
    bool breaker_was_closed; /* when the send began */
    bool others_answered;    /* the destination has responded to another message since it began */
    pawl_count count;        /* the message's or the service's */
} pawli_send_facts;

/*
 * Whether the send counts as an attempt. Unavailability is limited by time, refusal by count: a
 * failure that says nothing about the message is not counted, nor is a pause that the destination
 * requested.
 */
bool pawli_send_counts(const pawl_send_report *outcome, const pawli_send_facts *facts);

/* The message's setting, otherwise the service's. `service` may be NULL; never the default. */
pawl_count pawli_send_count(const pawl_message *message, const pawl_service *service);
/* The maximum number of counted sends; 0: no limit except the time to live. */
int pawli_send_limit(const pawl_message *message, const pawl_service *service);
/* The message's own policy, otherwise the service's. */
pawl_backoff pawli_send_backoff(const pawl_message *message, const pawl_service *service);

/*
 * Formats a duration for humans: "350ms", "4s", "5m", "1h 30m". Returns `room`, of at least this
 * size.
 */
#define PAWLI_SPAN_SIZE 48
const char *pawli_span_text(int64_t ms, char room[PAWLI_SPAN_SIZE]);

#endif
