/* src/server/route.h - routes: the handler of each topic. */
#ifndef PAWLI_ROUTE_H
#define PAWLI_ROUTE_H

#include <pawl/receiver.h>

typedef struct pawli_request pawli_request;

#define PAWLI_MODE_COUNT (PAWL_RECEIVE_CALL_OUT + 1)

/*
 * One registered handler. Constant while the receiver runs, except for the fields of the handler
 * pool.
 */
typedef struct pawli_route {
    char *topic; /* NULL: all topics without a route of their own */
    pawl_receive_mode mode;
    pawl_receive_handler handler;
    void *context;
    pawl_receive_options options;
    /* Owned by the handler pool, under its lock. */
    int running;
    pawli_request *blocked; /* jobs blocked by `options.concurrency`, oldest first */
    pawli_request *last_blocked;
} pawli_route;

typedef struct pawli_routes {
    pawli_route **items; /* sorted by topic, the default route first */
    size_t count;
} pawli_routes;

/* PAWL_E_INVALID, PAWL_E_NOMEM; the context then stays the caller's. */
pawl_status pawli_routes_add(pawli_routes *routes, const char *topic, pawl_receive_mode mode,
                             pawl_receive_handler handler, void *context,
                             const pawl_receive_options *options, pawl_error *err);
/* NULL: there is no route. */
pawli_route *pawli_routes_find(const pawli_routes *routes, const char *topic);
void pawli_routes_done(pawli_routes *routes);

#endif
