/* src/server/route.h - which handler takes which messages. */
#ifndef PAWLI_ROUTE_H
#define PAWLI_ROUTE_H

#include <pawl/receiver.h>

typedef struct pawli_job pawli_job;

#define PAWLI_MODE_COUNT (PAWL_RECEIVE_CALL_OUT + 1)

/* One registered handler. Does not change while the receiver runs, but for the crew's fields. */
typedef struct pawli_route {
    char *topic; /* NULL: whatever has no route of its own */
    pawl_receive_mode mode;
    pawl_receive_handler handler;
    void *context;
    pawl_receive_options options;
    /* The crew's, under its lock. */
    int running;
    pawli_job *parked; /* jobs for which `options.concurrency` leaves no room, oldest first */
    pawli_job *last_parked;
} pawli_route;

typedef struct pawli_routes {
    pawli_route **items; /* sorted by topic, that of all others first */
    size_t count;
} pawli_routes;

/* PAWL_E_INVALID, PAWL_E_NOMEM; then the context stays the caller's. */
pawl_status pawli_routes_add(pawli_routes *routes, const char *topic, pawl_receive_mode mode,
                             pawl_receive_handler handler, void *context,
                             const pawl_receive_options *options, pawl_error *err);
/* NULL: nobody takes it. */
pawli_route *pawli_routes_find(const pawli_routes *routes, const char *topic);
void pawli_routes_done(pawli_routes *routes);

#endif
