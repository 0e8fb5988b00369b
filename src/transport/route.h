/* src/transport/route.h - what a delivery knows of one destination: its places, its breaker. */
#ifndef PAWLI_ROUTE_H
#define PAWLI_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/delivery.h>

#include "breaker.h"

typedef struct pawli_route {
    pawl_destination_stats stats; /* its name is `name` */
    pawli_breaker breaker;
    pawl_mono quiet_until; /* the destination asked for it */
    bool wanted;           /* something was waiting for it when last asked */
    char name[];
} pawli_route;

/* By name. Only the delivery's thread changes them, under its lock; so it reads without. */
typedef struct pawli_routes {
    pawli_route **items;
    size_t count;
    size_t capacity;
} pawli_routes;

void pawli_routes_done(pawli_routes *routes);
/* The route of this name; made if there is none. NULL: out of memory. */
pawli_route *pawli_routes_get(pawli_routes *routes, const char *name,
                              const pawli_breaker_policy *policy);

/* How many messages may be claimed for it now; asking may half-open its breaker. */
size_t pawli_route_room(pawli_route *route, const pawl_services *services, pawl_mono now);
/* When there may be room again though nothing has ended; INT64_MAX: no such time. */
pawl_mono pawli_route_ready_at(const pawli_route *route);

#endif
