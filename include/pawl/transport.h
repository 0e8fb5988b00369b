/* include/pawl/transport.h - transports: send envelopes to a URL.
 *
 * Part of libpawl-net. Built in: http, https, unix, pipe, inproc; see docs/internals/transport.md.
 * To add your own: pawl/sys/transport.h.
 */
#ifndef PAWL_TRANSPORT_H
#define PAWL_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/envelope.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/services.h>

PAWL_BEGIN_DECLS

/* ---- one send and its result ---- */

/*
 * What the receiver said about one send. This is not the result for the message (pawl_result): a
 * transport knows neither the attempts of the message nor the circuit breaker of its destination,
 * by which the delivery decides whether PAWL_SEND_RETRY is a retry, a deferral or a failure; and
 * to a caller without a store, duplicate and cancelled matter. The delivery maps the one to the
 * other in one function, send_op_result() in src/transport/send_op.c.
 */
typedef enum pawl_send_result {
    PAWL_SEND_ACKNOWLEDGED = 0, /* the receiver has processed it */
    PAWL_SEND_DUPLICATE = 1,    /* the receiver had already processed it */
    PAWL_SEND_REJECTED = 2,     /* permanent: the same bytes will never be accepted */
    PAWL_SEND_RETRY = 3,        /* temporary or unknown: send the same bytes again later */
    PAWL_SEND_CANCELLED = 4     /* cancelled by the sender; the receiver may have processed it */
} pawl_send_result;

/* "acknowledged", "duplicate", "rejected", "retry", "cancelled". Never NULL. */
PAWL_API const char *pawl_send_result_name(pawl_send_result sent);

typedef struct pawl_send_request {
    size_t size; /* set by PAWL_SEND_REQUEST_INIT, never by hand */
    const char *url;
    const pawl_service *service; /* required: timeouts and limits; see pawl_services_find() */
    const pawl_envelope *envelope;
    int64_t timeout_ms; /* 0: the service's; otherwise for this send, if shorter */
} pawl_send_request;
#define PAWL_SEND_REQUEST_INIT                                                                     \
    {                                                                                              \
        sizeof(pawl_send_request), NULL, NULL, NULL, 0                                             \
    }

/* The result of a send. Borrowed until the callback that receives it returns. */
typedef struct pawl_send_report {
    size_t size;
    pawl_send_result sent;
    int status;             /* HTTP status; 0: none */
    int64_t retry_after_ms; /* minimum delay requested by the receiver; -1: none */
    bool reached;           /* a response of any kind was received: the destination is alive */
    const void *payload;    /* of the acknowledgement; NULL: none */
    size_t payload_size;
    /* One line of text, possibly the receiver's: do not log it. NULL if acknowledged. */
    const char *error;
    bool sent_whole; /* the whole request was sent: without a response the receiver may have
                        processed it */
    bool ours;       /* not sent because of this side's configuration; `error` names it */
} pawl_send_report;
#define PAWL_SEND_REPORT_INIT                                                                      \
    {                                                                                              \
        sizeof(pawl_send_report), PAWL_SEND_RETRY, 0, -1, false, NULL, 0, NULL, false, false       \
    }

typedef void (*pawl_send_end)(void *context, const pawl_send_report *outcome);

/* ---- the registry of transports ---- */

/* May be shared by all threads once everything is registered. */
typedef struct pawl_transports pawl_transports;

typedef struct pawl_transports_options {
    size_t size;                   /* set by PAWL_TRANSPORTS_OPTIONS_INIT, never by hand */
    const char *pipe_directory;    /* of pipe://NAME; NULL: see docs/wire.md */
    const char *user_agent;        /* NULL: "pawl/VERSION" */
    int idle_connections;          /* per client, kept open for later sends: 1 .. 10000 */
    int connections_per_host_port; /* 0: no limit */
} pawl_transports_options;
#define PAWL_TRANSPORTS_OPTIONS_INIT                                                               \
    {                                                                                              \
        sizeof(pawl_transports_options), NULL, NULL, 256, 0                                        \
    }

/* *ret_transports is the caller's (pawl_transports_free, after its clients). */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_transports_new(const pawl_transports_options *opts,
                                                         pawl_transports **ret_transports,
                                                         pawl_error *err);
/* Waits for inproc receivers that are still running. NULL is allowed. */
PAWL_API void pawl_transports_free(pawl_transports *transports);

/*
 * A receiver in this process, for inproc://NAME. It is called on one of its own `threads` (1 .. 64)
 * threads, with no lock held and signals blocked. It responds with pawl_reply_send(); without a
 * response the send ends with PAWL_SEND_RETRY.
 */
typedef struct pawl_reply pawl_reply;
typedef void (*pawl_inproc_receiver)(void *context, const pawl_envelope *envelope,
                                     pawl_reply *reply);
/* Call it once, before the receiver returns. `outcome` and the data it points to are copied. */
PAWL_API void pawl_reply_send(pawl_reply *reply, const pawl_send_report *outcome);
/*
 * Call it before any client is opened (otherwise PAWL_E_MISUSE). PAWL_E_INVALID: the name is taken
 * or invalid, or `threads` is out of range. PAWL_E_NOMEM: the threads cannot be created.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_transports_add_inproc(pawl_transports *transports,
                                                                const char *name, int threads,
                                                                pawl_inproc_receiver receiver,
                                                                void *context, pawl_error *err);

PAWL_END_DECLS

#endif
