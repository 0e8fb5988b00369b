/* src/server/response.h - the response to a request. */
#ifndef PAWLI_RESPONSE_H
#define PAWLI_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/export.h>

/* Zero-initialize it. */
typedef struct pawli_response {
    int status;          /* HTTP status; 0: no response yet */
    int64_t retry_after; /* seconds; 0: no Retry-After header */
    bool close;          /* close the connection */
    bool duplicate;      /* it had been acknowledged before */
    char *body;          /* JSON, malloc'ed; NULL: out of memory, only the status is sent */
    size_t body_size;
} pawli_response;

void pawli_response_done(pawli_response *response);

/* An acknowledgement (docs/wire.md): processed now, or before. `payload` may be NULL. */
void pawli_response_acknowledge(pawli_response *response, bool duplicate, const void *payload,
                                size_t size);
/* Not acknowledged, with one sentence that gives the reason. */
void pawli_response_reject(pawli_response *response, int status, const char *format, ...)
    PAWL_PRINTF(3, 4);

#endif
