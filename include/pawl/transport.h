/* include/pawl/transport.h - carrying envelopes to where a URL says.
 *
 * Part of libpawl-net. Known from the beginning: http, https, unix, pipe, inproc; see
 * docs/internals/transport.md. One of your own: pawl/sys/transport.h.
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

struct pawl_ack;

/* ---- one send and its end ---- */

typedef enum pawl_sent {
    PAWL_SENT_ACKNOWLEDGED = 0, /* the receiver has it, and has processed it */
    PAWL_SENT_DUPLICATE = 1,    /* the same, from an earlier send */
    PAWL_SENT_REFUSED = 2,      /* for good: the same bytes will never be taken */
    PAWL_SENT_RETRY = 3,        /* not now, or nobody knows: send the same again later */
    PAWL_SENT_CANCELLED = 4     /* given up here; the receiver may have had it */
} pawl_sent;

/* "acknowledged", "duplicate", "refused", "retry", "cancelled". Never NULL. */
PAWL_API const char *pawl_sent_name(pawl_sent sent);

typedef struct pawl_send_request {
    size_t size; /* set by PAWL_SEND_REQUEST_INIT, never by hand */
    const char *url;
    const pawl_service *service; /* required: timeouts and limits; see pawl_services_find() */
    const pawl_envelope *envelope;
    int64_t timeout_ms; /* 0: the service's; else for this send, if that is shorter */
} pawl_send_request;
#define PAWL_SEND_REQUEST_INIT                                                                     \
    {                                                                                              \
        sizeof(pawl_send_request), NULL, NULL, NULL, 0                                             \
    }

/* What became of a send. Borrowed until the call that was given it returns. */
typedef struct pawl_send_outcome {
    size_t size;
    pawl_sent sent;
    int status;             /* HTTP's; 0: there was none */
    int64_t retry_after_ms; /* the receiver asked for at least this much; -1: it did not */
    bool reached;           /* an answer of any kind came: the destination is alive */
    const void *payload;    /* of the acknowledgement; NULL: none */
    size_t payload_size;
    const char *error; /* one line for people, maybe in the receiver's words: not for a log; NULL if
                          acknowledged */
    bool sent_whole;   /* the request left whole: without an answer the receiver may have it */
    bool ours; /* it was not sent because of this side's configuration, which `error` names */
} pawl_send_outcome;
#define PAWL_SEND_OUTCOME_INIT                                                                     \
    {                                                                                              \
        sizeof(pawl_send_outcome), PAWL_SENT_RETRY, 0, -1, false, NULL, 0, NULL, false, false      \
    }

typedef void (*pawl_send_end)(void *context, const pawl_send_outcome *outcome);

/* ---- the transports that are known ---- */

/* Shared by all threads, once everything is registered. */
typedef struct pawl_transports pawl_transports;

typedef struct pawl_transports_options {
    size_t size;                   /* set by PAWL_TRANSPORTS_OPTIONS_INIT, never by hand */
    const char *pipe_directory;    /* of pipe://NAME; NULL: see docs/wire.md */
    const char *user_agent;        /* NULL: "pawl/VERSION" */
    int idle_connections;          /* of one carrier, kept open for the next send: 1 .. 10000 */
    int connections_per_host_port; /* 0: as many as there are sends */
} pawl_transports_options;
#define PAWL_TRANSPORTS_OPTIONS_INIT                                                               \
    {                                                                                              \
        sizeof(pawl_transports_options), NULL, NULL, 256, 0                                        \
    }

/* *ret_transports is the caller's (pawl_transports_free, after its carriers). */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_transports_new(const pawl_transports_options *opts,
                                                         pawl_transports **ret_transports,
                                                         pawl_error *err);
/* NULL is fine. Waits for inproc receivers that are at work. */
PAWL_API void pawl_transports_free(pawl_transports *transports);

/*
 * A receiver in this process, for inproc://NAME. Called on one of `threads` (1 .. 64) threads of
 * its own, with no lock held and signals blocked. It answers with pawl_reply_give(); without that,
 * the send ends with PAWL_SENT_RETRY.
 */
typedef struct pawl_reply pawl_reply;
typedef void (*pawl_inproc_receiver)(void *context, const pawl_envelope *envelope,
                                     pawl_reply *reply);
/* Once, and before the receiver returns. `outcome` and what it points to are copied. */
PAWL_API void pawl_reply_give(pawl_reply *reply, const pawl_send_outcome *outcome);
/*
 * Before any carrier is opened (PAWL_E_MISUSE). PAWL_E_INVALID: the name is taken, or is none; or
 * `threads`. PAWL_E_NOMEM: they cannot be started.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_transports_add_inproc(pawl_transports *transports,
                                                                const char *name, int threads,
                                                                pawl_inproc_receiver receiver,
                                                                void *context, pawl_error *err);

/* ---- sending: all transports behind one descriptor ---- */

/* Used by one thread at a time. Connections are kept open from send to send. */
typedef struct pawl_carrier pawl_carrier;

/* A send that has not ended. */
typedef struct pawl_send pawl_send;

/* *ret_carrier is the caller's (pawl_carrier_close). `transports` must outlive it. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_carrier_open(pawl_transports *transports,
                                                       pawl_carrier **ret_carrier, pawl_error *err);

/**
 * Begin to send.
 *
 * Ownership: what `request` points to must live until `end` is called. *ret_send (may be NULL) is
 *            the carrier's, and gone when `end` returns.
 * Threads:   the carrier's. `end` is called inside pawl_carrier_turn() or pawl_carrier_close(),
 *            exactly once, never inside this call; it may call this and pawl_carrier_cancel().
 * Blocks:    no; names are resolved on a thread of the library's own.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID: for good (a URL that is none, a scheme that is not known).
 *            PAWL_E_DENIED (a local destination that is not allowed), PAWL_E_NOT_FOUND (no such
 *            receiver in this process): until the configuration is changed. PAWL_E_NOMEM,
 * PAWL_E_IO: try again. `end` is then not called.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_carrier_send(pawl_carrier *carrier,
                                                       const pawl_send_request *request,
                                                       pawl_send_end end, void *context,
                                                       pawl_send **ret_send, pawl_error *err);
/* The next turn ends it with PAWL_SENT_CANCELLED. */
PAWL_API void pawl_carrier_cancel(pawl_carrier *carrier, pawl_send *send);
/* For poll() or epoll: readable when pawl_carrier_turn() has something to do. Never changes. */
PAWL_API int pawl_carrier_fd(pawl_carrier *carrier);
/* The longest time to wait for that; -1: any; 0: do not wait. */
PAWL_API int64_t pawl_carrier_timeout_ms(pawl_carrier *carrier);
/* Do what can be done without waiting. PAWL_E_NOMEM, PAWL_E_IO: call again soon. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_carrier_turn(pawl_carrier *carrier, pawl_error *err);
/* Sends that have not ended. */
PAWL_API size_t pawl_carrier_in_flight(const pawl_carrier *carrier);
/* NULL is fine. Ends what has not ended with PAWL_SENT_CANCELLED. */
PAWL_API void pawl_carrier_close(pawl_carrier *carrier);

PAWL_END_DECLS

#endif
