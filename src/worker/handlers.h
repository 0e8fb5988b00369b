/* src/worker/handlers.h - the handler of each topic. */
#ifndef PAWLI_HANDLERS_H
#define PAWLI_HANDLERS_H

#include <pawl/worker.h>

typedef struct pawli_handler {
    char *topic; /* NULL: the default */
    pawl_handler call;
    void *context;
    int limit;          /* maximum concurrent calls; 0: no limit of its own */
    int64_t timeout_us; /* 0: none */
    /* Guarded by the lock of pawli_inflight: */
    int running;
    int in_flight; /* queued or running */
} pawli_handler;

#define PAWLI_HANDLERS_MAX 1000 /* the maximum number of topics in one claim */

/* Zero-initialize it. Changes only while the worker does not run. */
typedef struct pawli_handlers {
    pawli_handler **items; /* sorted by topic */
    size_t count;
    pawli_handler *fallback;
} pawli_handlers;

void pawli_handlers_done(pawli_handlers *handlers);
/* `topic` NULL: the default. `opts` may be NULL. */
pawl_status pawli_handlers_add(pawli_handlers *handlers, const char *topic, pawl_handler call,
                               void *context, const pawl_handler_options *opts, pawl_error *err);
/* The topic's own or the default; NULL if there is neither. */
pawli_handler *pawli_handlers_find(const pawli_handlers *handlers, const char *topic);
/* The topic's own, or NULL. */
pawli_handler *pawli_handlers_own(const pawli_handlers *handlers, const char *topic);
bool pawli_handlers_empty(const pawli_handlers *handlers);

#endif
