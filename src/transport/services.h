/* src/transport/services.h - the internals of an entry of the service map. */
#ifndef PAWLI_SERVICES_H
#define PAWLI_SERVICES_H

#include <pawl/services.h>

#include "signature.h"

struct pawl_service {
    const char *name; /* "": the entry for URLs */
    const char *url;
    pawli_secrets *secrets;
    int scheme;
    int64_t connect_timeout_ms;
    int64_t timeout_ms;
    int concurrency;
    pawl_backoff backoff;
    int max_attempts;
    pawl_count count;
    bool allow_private;
    size_t response_max_bytes;
    const char *ca_file;
    const char *proxy;
};

#endif
