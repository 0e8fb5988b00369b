/* src/transport/destination.c - what a delivery knows of one destination: its places, its breaker.
 */
#include "destination.h"

#include <stdlib.h>
#include <string.h>

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
 * An open breaker matters until its next trial is due. After that, with nothing to send, it would
 * stay half-open for ever: that of a destination which is gone, and whose messages have expired.
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

    /* One that nobody knows: its messages are claimed to be failed. */
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
    bool news = destination->woken >= 0 && woken > destination->woken;

    if (woken > destination->woken)
        destination->woken = woken;
    if (!news)
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
