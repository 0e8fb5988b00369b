/* src/transport/transports.h - the registry of transports, for clients. */
#ifndef PAWLI_TRANSPORTS_H
#define PAWLI_TRANSPORTS_H

#include <stdatomic.h>

#include <pawl/sys/transport.h>

#include "inproc.h"

typedef struct pawli_known {
    const pawl_transport *transport;
    void *self;
    struct pawli_known *next; /* older */
} pawli_known;

struct pawl_transports {
    pawli_known *newest;
    pawli_inproc *inproc;
    atomic_size_t clients; /* while there are any, the registry does not change */
};

/* PAWL_E_INVALID: not a URL, or an unknown scheme. */
pawl_status pawli_transports_find(const pawl_transports *transports, const char *url,
                                  const pawli_known **ret_known, pawl_error *err);

#endif
