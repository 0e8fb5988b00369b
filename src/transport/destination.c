/* src/transport/destination.c - destinations of a delivery: room, retry policy, statistics. */
#include "destination.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/delivery.h>

#include "arena.h"
#include "delivery_private.h"
#include "fail.h"
#include "log.h"
#include "scope.h"
#include "send_policy.h"

/* ---- one destination: its room and its circuit breaker ---- */

void pawli_destinations_done(pawli_destinations *destinations)
{
    for (size_t i = 0; i < destinations->count; i++)
        free(destinations->items[i]);
    free(destinations->items);
    *destinations = (pawli_destinations){0};
}

static size_t destination_place_of(const pawli_destinations *destinations, const char *name)
{
    size_t low = 0, high = destinations->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(destinations->items[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool destination_grow(pawli_destinations *destinations)
{
    size_t capacity = destinations->capacity ? destinations->capacity * 2 : 16;

    if (destinations->count < destinations->capacity)
        return true;
    pawli_destination **items = realloc(destinations->items, capacity * sizeof *items);
    if (!items)
        return false;
    destinations->items = items;
    destinations->capacity = capacity;
    return true;
}

pawli_destination *pawli_destinations_get(pawli_destinations *destinations, const char *name,
                                          const pawli_breaker_policy *policy)
{
    size_t at = destination_place_of(destinations, name), size = strlen(name) + 1;

    if (at < destinations->count && strcmp(destinations->items[at]->name, name) == 0)
        return destinations->items[at];
    pawli_destination *destination =
        destination_grow(destinations) ? calloc(1, sizeof *destination + size) : NULL;
    if (!destination)
        return NULL;
    memcpy(destination->name, name, size);
    destination->stats.destination = destination->name;
    destination->quiet_until.us = destination->answered_at.us = destination->used_at.us = INT64_MIN;
    destination->woken = -1;
    pawli_breaker_init(&destination->breaker, policy);
    memmove(&destinations->items[at + 1], &destinations->items[at],
            (destinations->count - at) * sizeof *destinations->items);
    destinations->items[at] = destination;
    destinations->count++;
    return destination;
}

/*
 * An open circuit breaker matters until its next probe is due. After that, with nothing to send,
 * it would stay half-open forever if the destination is gone and its messages have expired.
 */
static bool is_idle(pawli_destination *destination, pawl_mono now, int64_t idle_us)
{
    bool spared = now.us < destination->quiet_until.us ||
                  (destination->breaker.state != PAWLI_BREAKER_CLOSED &&
                   now.us < destination->breaker.retry_at.us);

    if (destination->wanted || destination->users > 0 || spared ||
        destination->used_at.us == INT64_MIN)
        destination->used_at = now;
    return now.us - destination->used_at.us >= idle_us;
}

size_t pawli_destinations_forget(pawli_destinations *destinations, pawl_mono now, int64_t idle_us)
{
    size_t kept = 0, count = destinations->count;

    for (size_t i = 0; i < count; i++) {
        if (is_idle(destinations->items[i], now, idle_us))
            free(destinations->items[i]);
        else
            destinations->items[kept++] = destinations->items[i];
    }
    destinations->count = kept;
    if (kept < destinations->capacity / 4) {
        pawli_destination **items = realloc(destinations->items, (kept + 16) * sizeof *items);
        if (items) {
            destinations->items = items;
            destinations->capacity = kept + 16;
        }
    }
    return count - kept;
}

static size_t concurrency_of(const pawli_destination *destination, const pawl_services *services)
{
    static const pawl_service_options usual = PAWL_SERVICE_OPTIONS_INIT;
    const pawl_service *service = NULL;
    const char *url = NULL;

    /* The destination is unknown: its messages are claimed in order to fail them. */
    if (pawl_services_find(services, destination->name, &service, &url, NULL) != PAWL_OK)
        return (size_t)usual.concurrency;
    return (size_t)pawl_service_concurrency(service);
}

static void end_pauses(pawli_destination *destination)
{
    destination->quiet_until.us = INT64_MIN;
    pawli_breaker_wake(&destination->breaker);
}

bool pawli_destination_read_wake(pawli_destination *destination, int64_t woken)
{
    bool is_new = destination->woken >= 0 && woken > destination->woken;

    if (woken > destination->woken)
        destination->woken = woken;
    if (!is_new)
        return false;
    end_pauses(destination);
    return true;
}

void pawli_destination_wake(pawli_destination *destination)
{
    end_pauses(destination);
    destination->woken = -1;
}

size_t pawli_destination_room(pawli_destination *destination, const pawl_services *services,
                              pawl_mono now)
{
    if (now.us < destination->quiet_until.us || !pawli_breaker_allows(&destination->breaker, now))
        return 0;
    if (destination->breaker.state == PAWLI_BREAKER_HALF_OPEN)
        return destination->stats.in_flight == 0;
    size_t places = concurrency_of(destination, services);
    return places > destination->stats.in_flight ? places - destination->stats.in_flight : 0;
}

pawl_mono pawli_destination_ready_at(const pawli_destination *destination)
{
    int64_t at = destination->quiet_until.us;

    if (destination->breaker.retry_at.us > at)
        at = destination->breaker.retry_at.us;
    return (pawl_mono){destination->wanted && at != INT64_MIN ? at : INT64_MAX};
}

/* ---- which sends count as attempts, and the maximum number of attempts ---- */

/* Whether the status is about the destination's current state, not about the message. */
static bool is_temporary_status(int status)
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
        return false; /* independent of the destination */
    if (facts->count == PAWL_COUNT_ALL)
        return true;
    if (!facts->breaker_was_closed || outcome->retry_after_ms >= 0)
        return false;
    if (outcome->reached)
        return !is_temporary_status(outcome->status);
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

/* ---- statistics per destination ---- */

struct pawl_delivery_stats {
    pawl_destination_stats *items;
    size_t count;
    pawli_arena names;
};
PAWLI_AUTO_DEFINE(pawl_delivery_stats, pawl_delivery_stats_free);

/* With the lock held. */
static bool copy_destinations(const pawli_destinations *destinations, pawl_delivery_stats *stats)
{
    stats->items = calloc(destinations->count + 1, sizeof *stats->items);
    if (!stats->items)
        return false;
    for (size_t i = 0; i < destinations->count; i++) {
        const pawli_destination *destination = destinations->items[i];
        stats->items[i] = destination->stats;
        stats->items[i].destination =
            pawli_arena_copy(&stats->names, destination->name, strlen(destination->name));
        if (!stats->items[i].destination)
            return false;
        stats->count++;
    }
    return true;
}

pawl_status pawl_delivery_get_stats(pawl_delivery *delivery, pawl_delivery_stats **ret_stats,
                                    pawl_error *err)
{
    PAWLI_AUTO(pawl_delivery_stats) stats = NULL;

    if (!delivery || !ret_stats)
        return pawli_fail(err, PAWL_E_INVALID, "delivery and ret_stats must not be NULL");
    stats = calloc(1, sizeof *stats);
    pthread_mutex_lock(&delivery->lock);
    bool copied = stats && copy_destinations(&delivery->destinations, stats);
    pthread_mutex_unlock(&delivery->lock);
    if (!copied)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the statistics");
    *ret_stats = pawl_delivery_stats_take(&stats);
    return PAWL_OK;
}

size_t pawl_delivery_stats_count(const pawl_delivery_stats *stats)
{
    return stats ? stats->count : 0;
}

const pawl_destination_stats *pawl_delivery_stats_at(const pawl_delivery_stats *stats, size_t index)
{
    return stats && index < stats->count ? &stats->items[index] : NULL;
}

void pawl_delivery_stats_free(pawl_delivery_stats *stats)
{
    if (!stats)
        return;
    pawli_arena_done(&stats->names);
    free(stats->items);
    free(stats);
}

void pawli_destination_log(const pawli_destination *destination, const pawl_log_sink *log,
                           const char *pattern)
{
    pawli_log_fields fields = {0};

    pawli_log_text(&fields, "destination", destination->name);
    pawli_log_record(log, PAWL_LOG_INFO, "outbox", &fields, pattern);
}
