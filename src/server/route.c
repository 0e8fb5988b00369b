/* src/server/route.c - routes: the handler of each topic. */
#include "route.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "scope.h"
#include "text.h"

#define ATTEMPTS_MAX 1000
#define CONCURRENCY_MAX 1000
#define ROUTES_MAX 10000

/* The default route sorts first. */
static int route_compare(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

/* Its index, or the index where it would be inserted. */
static size_t route_place_of(const pawli_routes *routes, const char *topic)
{
    size_t low = 0;
    size_t high = routes->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (route_compare(routes->items[middle]->topic, topic) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static pawl_status route_check(const char *topic, const pawl_receive_options *options,
                               pawl_error *err)
{
    size_t characters = 0;

    if (topic && (!pawli_utf8_check(topic, strlen(topic), &characters) || characters < 1 ||
                  characters > PAWL_TOPIC_MAX))
        return pawli_fail(err, PAWL_E_INVALID, "a topic must be 1 to %d characters of UTF-8",
                          PAWL_TOPIC_MAX);
    if (options->timeout_ms < 0 || options->concurrency < 0 ||
        options->concurrency > CONCURRENCY_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "timeout_ms must be 0 or more, concurrency 0 to %d",
                          CONCURRENCY_MAX);
    if (options->max_attempts < 0 || options->max_attempts > ATTEMPTS_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "max_attempts must be 0 to %d", ATTEMPTS_MAX);
    return PAWL_OK;
}

static void route_free(pawli_route *route)
{
    if (route)
        free(route->topic);
    free(route);
}
PAWLI_AUTO_DEFINE(pawli_route, route_free);

static pawl_status route_insert(pawli_routes *routes, pawli_route **take_route, size_t place,
                                pawl_error *err)
{
    pawli_route **items = reallocarray(routes->items, routes->count + 1, sizeof(pawli_route *));

    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the handler");
    routes->items = items;
    memmove(items + place + 1, items + place, (routes->count - place) * sizeof(pawli_route *));
    items[place] = pawli_route_take(take_route);
    routes->count++;
    return PAWL_OK;
}

pawl_status pawli_routes_add(pawli_routes *routes, const char *topic, pawl_receive_mode mode,
                             pawl_receive_handler handler, void *context,
                             const pawl_receive_options *options, pawl_error *err)
{
    PAWLI_AUTO(pawli_route) route = NULL;
    size_t place = route_place_of(routes, topic);
    pawl_status st = route_check(topic, options, err);

    if (st != PAWL_OK)
        return st;
    if (place < routes->count && route_compare(routes->items[place]->topic, topic) == 0)
        return pawli_fail(err, PAWL_E_INVALID, "'%s' already has a handler", topic ? topic : "*");
    if (routes->count >= ROUTES_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "too many handlers: the maximum is %d", ROUTES_MAX);
    route = calloc(1, sizeof *route);
    if (route && topic)
        route->topic = strdup(topic);
    if (!route || (topic && !route->topic))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the handler");
    route->mode = mode;
    route->handler = handler;
    route->context = context;
    route->options = *options;
    return route_insert(routes, &route, place, err);
}

pawli_route *pawli_routes_find(const pawli_routes *routes, const char *topic)
{
    size_t place = route_place_of(routes, topic);

    if (place < routes->count && route_compare(routes->items[place]->topic, topic) == 0)
        return routes->items[place];
    if (routes->count > 0 && !routes->items[0]->topic)
        return routes->items[0];
    return NULL;
}

void pawli_routes_done(pawli_routes *routes)
{
    for (size_t i = 0; i < routes->count; i++) {
        if (routes->items[i]->options.free)
            routes->items[i]->options.free(routes->items[i]->context);
        route_free(routes->items[i]);
    }
    free(routes->items);
    *routes = (pawli_routes){NULL, 0};
}
