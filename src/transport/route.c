/* src/transport/route.c - what a delivery knows of one destination: its places, its breaker. */
#include "route.h"

#include <stdlib.h>
#include <string.h>

void pawli_routes_done(pawli_routes *routes)
{
    for (size_t i = 0; i < routes->count; i++)
        free(routes->items[i]);
    free(routes->items);
    *routes = (pawli_routes){0};
}

static size_t place_of(const pawli_routes *routes, const char *name)
{
    size_t low = 0, high = routes->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(routes->items[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool grow(pawli_routes *routes)
{
    size_t capacity = routes->capacity ? routes->capacity * 2 : 16;

    if (routes->count < routes->capacity)
        return true;
    pawli_route **items = realloc(routes->items, capacity * sizeof *items);
    if (!items)
        return false;
    routes->items = items;
    routes->capacity = capacity;
    return true;
}

pawli_route *pawli_routes_get(pawli_routes *routes, const char *name,
                              const pawli_breaker_policy *policy)
{
    size_t at = place_of(routes, name), size = strlen(name) + 1;

    if (at < routes->count && strcmp(routes->items[at]->name, name) == 0)
        return routes->items[at];
    pawli_route *route = grow(routes) ? calloc(1, sizeof *route + size) : NULL;
    if (!route)
        return NULL;
    memcpy(route->name, name, size);
    route->stats.destination = route->name;
    route->quiet_until.us = INT64_MIN;
    pawli_breaker_init(&route->breaker, policy);
    memmove(&routes->items[at + 1], &routes->items[at],
            (routes->count - at) * sizeof *routes->items);
    routes->items[at] = route;
    routes->count++;
    return route;
}

static size_t concurrency_of(const pawli_route *route, const pawl_services *services)
{
    static const pawl_service_options usual = PAWL_SERVICE_OPTIONS_INIT;
    const pawl_service *service = NULL;
    const char *url = NULL;

    /* One that nobody knows: its messages are claimed to be failed. */
    if (pawl_services_find(services, route->name, &service, &url, NULL) != PAWL_OK)
        return (size_t)usual.concurrency;
    return (size_t)pawl_service_concurrency(service);
}

size_t pawli_route_room(pawli_route *route, const pawl_services *services, pawl_mono now)
{
    if (now.us < route->quiet_until.us || !pawli_breaker_allows(&route->breaker, now))
        return 0;
    if (route->breaker.state == PAWLI_BREAKER_HALF_OPEN)
        return route->stats.in_flight == 0;
    size_t places = concurrency_of(route, services);
    return places > route->stats.in_flight ? places - route->stats.in_flight : 0;
}

pawl_mono pawli_route_ready_at(const pawli_route *route)
{
    int64_t at = route->quiet_until.us;

    if (route->breaker.retry_at.us > at)
        at = route->breaker.retry_at.us;
    return (pawl_mono){route->wanted && at != INT64_MIN ? at : INT64_MAX};
}
