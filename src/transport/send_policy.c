/* src/transport/send_policy.c - which sends count as attempts, and how many there may be. */
#include "send_policy.h"

#include <stdio.h>

/* The answer is about the destination, or about now; not about the message. */
static bool says_later(int status)
{
    switch (status) {
    case 408:
    case 409:
    case 425:
    case 429:
    case 502:
    case 503:
    case 504:
        return true;
    default:
        return false;
    }
}

bool pawli_send_counts(const pawl_send_report *outcome, const pawli_send_facts *facts)
{
    if (outcome->ours || outcome->sent == PAWL_SEND_CANCELLED)
        return false; /* the destination has no part in it */
    if (facts->count == PAWL_COUNT_ALL)
        return true;
    if (!facts->breaker_was_closed || outcome->retry_after_ms >= 0)
        return false;
    if (outcome->reached)
        return !says_later(outcome->status);
    return outcome->sent_whole && facts->others_answered;
}

pawl_count pawli_send_count(const pawl_message *message, const pawl_service *service)
{
    if (pawl_message_count(message) != PAWL_COUNT_DEFAULT)
        return pawl_message_count(message);
    return service ? pawl_service_count(service) : PAWL_COUNT_ANSWERED;
}

int pawli_send_limit(const pawl_message *message, const pawl_service *service)
{
    int limit = pawl_message_max_attempts(message);
    int most = service ? pawl_service_max_attempts(service) : 0;

    if (most > 0 && (limit == 0 || most < limit))
        limit = most;
    if (limit == 0 && pawli_send_count(message, service) == PAWL_COUNT_ALL)
        limit = PAWL_MAX_ATTEMPTS_ALL;
    return limit;
}

pawl_backoff pawli_send_backoff(const pawl_message *message, const pawl_service *service)
{
    static const pawl_backoff usual = PAWL_BACKOFF_REMOTE;
    pawl_backoff own = pawl_message_backoff(message);

    if (own.base_ms > 0)
        return own;
    return service ? pawl_service_backoff(service) : usual;
}

const char *pawli_span_text(int64_t ms, char room[PAWLI_SPAN_SIZE])
{
    long long seconds = (ms + 500) / 1000, minutes = seconds / 60;

    if (ms < 1000)
        snprintf(room, PAWLI_SPAN_SIZE, "%lldms", (long long)ms);
    else if (seconds < 60)
        snprintf(room, PAWLI_SPAN_SIZE, "%llds", seconds);
    else if (minutes < 60 && seconds % 60 == 0)
        snprintf(room, PAWLI_SPAN_SIZE, "%lldm", minutes);
    else if (minutes < 60)
        snprintf(room, PAWLI_SPAN_SIZE, "%lldm %llds", minutes, seconds % 60);
    else if (minutes % 60 == 0)
        snprintf(room, PAWLI_SPAN_SIZE, "%lldh", minutes / 60);
    else
        snprintf(room, PAWLI_SPAN_SIZE, "%lldh %lldm", minutes / 60, minutes % 60);
    return room;
}
