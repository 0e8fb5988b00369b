/* src/transport/target.c - what a delivery knows of one destination: its places, its breaker. */
#include "target.h"

#include <stdlib.h>
#include <string.h>

void pawli_targets_done(pawli_targets *targets)
{
    for (size_t i = 0; i < targets->count; i++)
        free(targets->items[i]);
    free(targets->items);
    *targets = (pawli_targets){0};
}

static size_t place_of(const pawli_targets *targets, const char *name)
{
    size_t low = 0, high = targets->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(targets->items[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool grow(pawli_targets *targets)
{
    size_t capacity = targets->capacity ? targets->capacity * 2 : 16;

    if (targets->count < targets->capacity)
        return true;
    pawli_target **items = realloc(targets->items, capacity * sizeof *items);
    if (!items)
        return false;
    targets->items = items;
    targets->capacity = capacity;
    return true;
}

pawli_target *pawli_targets_get(pawli_targets *targets, const char *name,
                                const pawli_breaker_policy *policy)
{
    size_t at = place_of(targets, name), size = strlen(name) + 1;

    if (at < targets->count && strcmp(targets->items[at]->name, name) == 0)
        return targets->items[at];
    pawli_target *target = grow(targets) ? calloc(1, sizeof *target + size) : NULL;
    if (!target)
        return NULL;
    memcpy(target->name, name, size);
    target->stats.destination = target->name;
    target->quiet_until.us = INT64_MIN;
    pawli_breaker_init(&target->breaker, policy);
    memmove(&targets->items[at + 1], &targets->items[at],
            (targets->count - at) * sizeof *targets->items);
    targets->items[at] = target;
    targets->count++;
    return target;
}

static size_t concurrency_of(const pawli_target *target, const pawl_services *services)
{
    static const pawl_service_options usual = PAWL_SERVICE_OPTIONS_INIT;
    const pawl_service *service = NULL;
    const char *url = NULL;

    /* One that nobody knows: its messages are claimed to be failed. */
    if (pawl_services_find(services, target->name, &service, &url, NULL) != PAWL_OK)
        return (size_t)usual.concurrency;
    return (size_t)pawl_service_concurrency(service);
}

size_t pawli_target_room(pawli_target *target, const pawl_services *services, pawl_mono now)
{
    if (now.us < target->quiet_until.us || !pawli_breaker_allows(&target->breaker, now))
        return 0;
    if (target->breaker.state == PAWLI_BREAKER_HALF_OPEN)
        return target->stats.in_flight == 0;
    size_t places = concurrency_of(target, services);
    return places > target->stats.in_flight ? places - target->stats.in_flight : 0;
}

pawl_mono pawli_target_ready_at(const pawli_target *target)
{
    int64_t at = target->quiet_until.us;

    if (target->breaker.retry_at.us > at)
        at = target->breaker.retry_at.us;
    return (pawl_mono){target->wanted && at != INT64_MIN ? at : INT64_MAX};
}
