/* include/pawl/receiver.h - the receiver: accepts messages from other services over HTTP, on TCP
 * and unix sockets.
 *
 * Part of libpawl-net. POST /_rf/receive takes an envelope (docs/wire.md): the receiver checks its
 * signature, the inbox (pawl/inbox.h) removes duplicates, a handler processes the message, and the
 * response is an acknowledgement. GET /health and /_rf/health report the receiver's health.
 * docs/internals/receiver.md lists every response and its meaning.
 */
#ifndef PAWL_RECEIVER_H
#define PAWL_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/delivery.h>
#include <pawl/envelope.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/inbox.h>
#include <pawl/log.h>
#include <pawl/result.h>
#include <pawl/services.h>
#include <pawl/store.h>
#include <pawl/transport.h>
#include <pawl/tx.h>
#include <pawl/worker.h>

PAWL_BEGIN_DECLS

typedef struct pawl_receiver pawl_receiver; /* opaque */

/* ---- the message that a handler processes ---- */

/* Valid only during the handler's call, and only on its thread. */
typedef struct pawl_receive_task pawl_receive_task;

typedef enum pawl_receive_mode {
    /* The handler writes through pawl_receive_task_tx(): its rows, its further messages and the
     * inbox record are one commit. The effect happens exactly once. On SQLite the transaction may
     * last PAWL_SQLITE_TX_MAX_MS. */
    PAWL_RECEIVE_ATOMIC = 0,
    /* No transaction is open; the message is leased, and the lease is renewed while the handler
     * runs. There are never two calls at once while the lease lasts; after a crash the call is
     * repeated with the same key. */
    PAWL_RECEIVE_CALL_OUT = 1
} pawl_receive_mode;

/*
 * Processes one new message. The receiver calls it on one of its handler threads, while pawl
 * holds no lock. All signals except those for faults are blocked on that thread. It returns
 * PAWL_DONE (the sender gets 200), PAWL_RETRY (500: the sender will send it again; dead after
 * max_attempts), PAWL_FAIL (422: dead, never accepted again) or PAWL_RELEASE (503: not by this
 * process).
 */
typedef pawl_result (*pawl_receive_handler)(pawl_receive_task *task, void *context);

PAWL_API const pawl_envelope *pawl_receive_task_envelope(const pawl_receive_task *task);
PAWL_API pawl_store *pawl_receive_task_store(const pawl_receive_task *task);
/* Atomic: the open transaction; write through it, but do not end it. Call-out: NULL. */
PAWL_API pawl_tx *pawl_receive_task_tx(const pawl_receive_task *task);
/* 1 for the first attempt. */
PAWL_API int pawl_receive_task_attempt(const pawl_receive_task *task);
PAWL_API int64_t pawl_receive_task_fence(const pawl_receive_task *task);
/* The idempotency key: the same for every attempt, different for any two messages. */
PAWL_API const char *pawl_receive_task_key(const pawl_receive_task *task);
/*
 * Returns whether the result is no longer needed: the timeout has passed, another delivery has
 * taken the message over, or the receiver is shutting down and its grace period has ended. Return
 * soon, with PAWL_RETRY.
 */
PAWL_API bool pawl_receive_task_cancelled(const pawl_receive_task *task);
/*
 * For a handler that waits in poll(): readable when pawl_receive_task_cancelled() becomes true. Do
 * not read or close it.
 */
PAWL_API int pawl_receive_task_cancel_fd(const pawl_receive_task *task);

/*
 * Sets the payload of the response for PAWL_DONE. Copied; stored with the inbox record for
 * duplicates.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receive_task_respond(pawl_receive_task *task,
                                                               const void *payload, size_t size,
                                                               pawl_error *err);
/*
 * Sets the error text for any other result: stored with the inbox record and sent to the sender.
 * Truncated to 4 KB.
 */
PAWL_API void pawl_receive_task_set_error(pawl_receive_task *task, const char *error);

/* ---- the receiver ---- */

typedef struct pawl_receiver_options {
    size_t size;     /* set by PAWL_RECEIVER_OPTIONS_INIT, never by hand */
    int threads;     /* threads that read requests and write responses, per socket: 1 .. 64 */
    int handlers;    /* handler threads: 1 .. 1000 */
    int waiting;     /* messages that may wait for a handler; beyond it 429: 0 .. 100000 */
    int connections; /* per socket; beyond it the slowest is closed: 1 .. 100000 */
    int connections_per_ip;    /* the same per client address, except trusted_proxies */
    size_t max_body_bytes;     /* beyond it 413: 1 KiB .. 64 MiB */
    size_t max_header_bytes;   /* beyond it 431: 4 KiB .. 1 MiB */
    size_t max_buffered_bytes; /* of all requests together; beyond it the slowest is closed: >= 1
                                  MiB */
    int64_t request_ms;        /* from the first byte to the last, or 408: 100 .. 3600000 */
    int64_t grace_ms;         /* shutdown: from pawl_receiver_stop() until handlers are cancelled */
    int64_t replay_window_ms; /* how far rf-timestamp may differ, both ways */
    int64_t lease_ms;         /* call-out: renewed while the handler runs */
    int max_attempts;         /* attempts before the message is dead: 1 .. 1000 */
    int64_t keep_ms;          /* see pawl_inbox_options; at least twice replay_window_ms */
    size_t max_response_bytes; /* of a handler; a larger response is a failure */
    pawl_log_sink log;         /* the store logs to its own sink */
    /* Addresses and networks of reverse proxies, "10.0.0.7, 192.168.0.0/16, ::1", to which
     * connections_per_ip does not apply. Up to 64; NULL: none; copied. Unix sockets need not be
     * listed. */
    const char *trusted_proxies;
} pawl_receiver_options;
#define PAWL_RECEIVER_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(pawl_receiver_options), 2, 16, 256, 1000, 200, (size_t)4 * 1024 * 1024,             \
            (size_t)16 * 1024, (size_t)256 * 1024 * 1024, 30000, 30000, PAWL_REPLAY_WINDOW_MS,     \
            30000, 10, 0, (size_t)1024 * 1024, {NULL, NULL, PAWL_LOG_INFO}, NULL                   \
    }

/**
 * Creates a receiver for `store`. It does not run yet: register handlers, add listeners, then start
 * it.
 *
 * Ownership: *ret_receiver is the caller's (pawl_receiver_free); untouched on failure. `store` must
 *            outlive it. It keeps a reference to `services`, the peers and their secrets. `opts`
 *            may be NULL: all defaults.
 * Threads:   calls on one receiver must come from one thread at a time, except where noted.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (an option out of range), PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_new(pawl_store *store, pawl_services *services,
                                                       const pawl_receiver_options *opts,
                                                       pawl_receiver **ret_receiver,
                                                       pawl_error *err);
/* Stops it first if it runs. NULL is allowed. */
PAWL_API void pawl_receiver_free(pawl_receiver *receiver);

typedef struct pawl_receive_options {
    size_t size;          /* set by PAWL_RECEIVE_OPTIONS_INIT, never by hand */
    int64_t timeout_ms;   /* a longer call is cancelled; 0: no timeout */
    int concurrency;      /* maximum concurrent calls; 0: only the receiver's own limit */
    int max_attempts;     /* 0: the receiver's */
    void (*free)(void *); /* frees the context when the receiver is freed; NULL: nothing to free */
} pawl_receive_options;
#define PAWL_RECEIVE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(pawl_receive_options), 0, 0, 0, NULL                                                \
    }

/*
 * Registers `handler` for messages whose endpoint is exactly `topic`. NULL: for all topics that
 * have no handler of their own; without such a handler, those messages get 404.
 * PAWL_E_INVALID: a second handler of a topic, an option out of range; PAWL_E_MISUSE once it runs.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_handle(
    pawl_receiver *receiver, const char *topic, pawl_receive_mode mode,
    pawl_receive_handler handler, void *context, const pawl_receive_options *opts, pawl_error *err);

/*
 * Atomic: enqueues messages of `topic` in the outbox, under `to_topic` (NULL: their own) and for
 * `destination` (NULL: a local handler), in the transaction that stores their inbox record.
 * Payload, type, headers and correlation id (if there is none: the message id) are kept. Strings
 * are copied.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_enqueue(pawl_receiver *receiver,
                                                           const char *topic, const char *to_topic,
                                                           const char *destination,
                                                           const pawl_receive_options *opts,
                                                           pawl_error *err);

/*
 * Call-out: posts the payload to an application at "http://127.0.0.1:3000/path" or, on a unix
 * socket, "unix:///run/app.sock:/path". The request has Idempotency-Key, pawl-attempt, pawl-fence,
 * pawl-message-id, pawl-source, pawl-topic, and the sender's traceparent. 2xx: done, the body is
 * the response; 4xx other than 408, 409, 425, 429: failed permanently; anything else: retry.
 * Redirects are not followed.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_forward(pawl_receiver *receiver,
                                                           const char *topic, const char *url,
                                                           const pawl_receive_options *opts,
                                                           pawl_error *err);

/*
 * Adds a listener on "127.0.0.1:7295", "[::1]:7295" or "localhost:7295"; port 0: any free port,
 * returned in *ret_port (may be NULL). With `tls_cert` and `tls_key` (PEM files; both or neither)
 * it uses TLS. Any client that can reach the port can send requests, so any address other than
 * loopback should use TLS. PAWL_E_INVALID, PAWL_E_IO, PAWL_E_DENIED (the port), PAWL_E_UNSUPPORTED
 * (no TLS built in).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_listen(pawl_receiver *receiver,
                                                          const char *address, const char *tls_cert,
                                                          const char *tls_key, int *ret_port,
                                                          pawl_error *err);
/*
 * Adds a listener on a unix socket, created with mode 0660. An existing socket file without a
 * listener is replaced; one that is in use is PAWL_E_IO; any other file of that name is
 * PAWL_E_INVALID. The socket is removed when the receiver stops.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_listen_unix(pawl_receiver *receiver,
                                                               const char *path, pawl_error *err);
/*
 * Checks that this is a valid listen address, and whether only this machine can reach it.
 * PAWL_E_INVALID.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_address_check(const char *address, bool *ret_loopback,
                                                        pawl_error *err);
/*
 * Checks whether this process can listen on the address now. Nothing stays open, so that a program
 * can check this before it does anything else. PAWL_E_IO: another process listens there, or the
 * machine does not have the address; PAWL_E_DENIED; PAWL_E_INVALID.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_address_try(const char *address, pawl_error *err);

/* Checks that this is a valid address or network for trusted_proxies. PAWL_E_INVALID. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_network_check(const char *network, pawl_error *err);

/*
 * Starts accepting connections. The library's own threads run until pawl_receiver_stop().
 * PAWL_E_MISUSE: it runs, or has run; PAWL_E_NOMEM, PAWL_E_IO.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_start(pawl_receiver *receiver, pawl_error *err);

/*
 * Includes this worker and delivery in GET /health; NULL for either if there is none. They must
 * outlive the receiver. PAWL_E_MISUSE once it runs.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_set_health_sources(pawl_receiver *receiver,
                                                                      pawl_worker *worker,
                                                                      pawl_delivery *delivery,
                                                                      pawl_error *err);

/**
 * Shuts the receiver down: stops accepting, responds to the requests that have arrived, then stops.
 *
 * Ownership: -
 * Threads:   any thread except a handler's.
 * Blocks:    until every handler has returned and every response is sent off: handlers are
 *            cancelled after grace_ms. A handler that ignores cancellation delays the return.
 * Durable:   everything that was acknowledged; nothing is left half done. A message that was still
 *            waiting for a handler gets 503 and leaves no record.
 * Errors:    none.
 */
PAWL_API void pawl_receiver_stop(pawl_receiver *receiver);

/*
 * Ends the grace period of pawl_receiver_stop() early: cancels the handlers, and those that begin
 * from now on at once. Returns at once. Any thread.
 */
PAWL_API void pawl_receiver_cancel_handlers(pawl_receiver *receiver);

/* Replaces the peers and their secrets. Any thread, also while it runs. */
PAWL_API void pawl_receiver_set_services(pawl_receiver *receiver, pawl_services *services);

/*
 * A pawl_inproc_receiver whose context is a started receiver, for pawl_transports_add_inproc(). No
 * signature is required, because sender and receiver are the same process.
 */
PAWL_API void pawl_receiver_inproc(void *receiver, const pawl_envelope *envelope,
                                   pawl_reply *reply);

typedef struct pawl_receiver_stats {
    size_t size;         /* set by PAWL_RECEIVER_STATS_INIT, never by hand */
    int64_t received;    /* envelopes received, whatever the result */
    int64_t processed;   /* processed by a handler and acknowledged */
    int64_t duplicates;  /* acknowledged again */
    int64_t unsigned_;   /* 401 */
    int64_t refused;     /* any other 4xx */
    int64_t failed;      /* 5xx */
    int64_t cut;         /* connections closed because they were too slow or too many */
    int64_t running;     /* now: handlers being called */
    int64_t waiting;     /* now: messages waiting for a handler */
    int64_t connections; /* now */
} pawl_receiver_stats;
#define PAWL_RECEIVER_STATS_INIT                                                                   \
    {                                                                                              \
        sizeof(pawl_receiver_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                  \
    }
/* Any thread. */
PAWL_API void pawl_receiver_get_stats(pawl_receiver *receiver, pawl_receiver_stats *ret_stats);

PAWL_END_DECLS

#endif
