/* include/pawl/receiver.h - receiving what other services send: HTTP on TCP and unix sockets.
 *
 * Part of libpawl-net. POST /_rf/receive takes an envelope (docs/wire.md): its signature is
 * checked, the inbox (pawl/inbox.h) lets it have its effect once, a handler processes it, and the
 * answer is an acknowledgement. GET /health and /_rf/health say how the receiver is.
 * docs/internals/receiver.md has every answer and its meaning.
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
#include <pawl/services.h>
#include <pawl/store.h>
#include <pawl/transport.h>
#include <pawl/tx.h>
#include <pawl/worker.h>

PAWL_BEGIN_DECLS

typedef struct pawl_receiver pawl_receiver; /* opaque */

/* ---- one message in a handler's hands ---- */

/* Valid during the handler's call, and used by its thread only. */
typedef struct pawl_reception pawl_reception;

typedef enum pawl_receive_mode {
    /* The handler writes through pawl_reception_tx(): its rows, its further messages and the
     * record are one commit. The effect happens once. On SQLite it has PAWL_TURN_MAX_MS. */
    PAWL_RECEIVE_ATOMIC = 0,
    /* No transaction is open; the message is held under a lease that is prolonged while the
     * handler runs. Never two calls at once while the lease holds; again after a crash, with the
     * same key. */
    PAWL_RECEIVE_CALL_OUT = 1
} pawl_receive_mode;

/*
 * Called for one message that is new, on one of the receiver's threads, with no lock held. All
 * signals but those of faults are blocked on that thread. It answers PAWL_DONE (the sender gets
 * 200), PAWL_RETRY (500: it will send it again; dead after max_attempts), PAWL_FAIL (422: dead, it
 * will never be taken again) or PAWL_RELEASE (503: not by this process).
 */
typedef pawl_verdict (*pawl_receive_handler)(pawl_reception *reception, void *context);

PAWL_API const pawl_envelope *pawl_reception_envelope(const pawl_reception *reception);
PAWL_API pawl_store *pawl_reception_store(const pawl_reception *reception);
/* Atomic: the open transaction; write through it, do not end it. Call-out: NULL. */
PAWL_API pawl_tx *pawl_reception_tx(const pawl_reception *reception);
/* 1 for the first try. */
PAWL_API int pawl_reception_attempt(const pawl_reception *reception);
PAWL_API int64_t pawl_reception_fence(const pawl_reception *reception);
/* The idempotency key: the same for every attempt, different for any two messages. */
PAWL_API const char *pawl_reception_key(const pawl_reception *reception);
/*
 * Whether the result is no longer wanted: its time is up, somebody else has taken the message over,
 * or the receiver stops and its grace period has ended. Return soon, with PAWL_RETRY.
 */
PAWL_API bool pawl_reception_cancelled(const pawl_reception *reception);
/* For a handler that waits in poll(): readable when that becomes true. Not to be read or closed. */
PAWL_API int pawl_reception_cancel_fd(const pawl_reception *reception);

/* The answer's payload, with PAWL_DONE: copied; kept with the record for duplicates. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_reception_respond(pawl_reception *reception,
                                                            const void *payload, size_t size,
                                                            pawl_error *err);
/* Why not, with any other verdict: kept with the record and told to the sender. Cut to 4 KB. */
PAWL_API void pawl_reception_explain(pawl_reception *reception, const char *error);

/* ---- the receiver ---- */

typedef struct pawl_receiver_options {
    size_t size;              /* set by PAWL_RECEIVER_OPTIONS_INIT, never by hand */
    int threads;              /* that read requests and write answers, per socket: 1 .. 64 */
    int handlers;             /* messages processed at once, each on a thread: 1 .. 1000 */
    int waiting;              /* may wait for one of those; beyond it 429: 0 .. 100000 */
    int connections;          /* at once, per socket; beyond it the slowest is cut: 1 .. 100000 */
    int connections_per_ip;   /* the same for one address, but for trusted_proxies */
    size_t max_body_bytes;    /* beyond it 413: 1 KiB .. 64 MiB */
    size_t max_header_bytes;  /* beyond it 431: 4 KiB .. 1 MiB */
    size_t max_held_bytes;    /* of all requests together; beyond it the slowest is cut: >= 1 MiB */
    int64_t request_ms;       /* from the first byte to the last, or 408: 100 .. 3600000 */
    int64_t grace_ms;         /* of pawl_receiver_stop(), until handlers are cancelled */
    int64_t replay_window_ms; /* see pawl_signature_options */
    int64_t lease_ms;         /* call-out: prolonged while the handler runs */
    int max_attempts;         /* then the message is dead: 1 .. 1000 */
    int64_t keep_ms;          /* see pawl_inbox_options; at least twice replay_window_ms */
    size_t max_response_bytes; /* of a handler; more is a failure */
    pawl_log_sink log;         /* the store writes its own */
    /* Addresses and networks of reverse proxies, "10.0.0.7, 192.168.0.0/16, ::1":
     * connections_per_ip is not for them. Up to 64; NULL: none; copied. Unix sockets need not be
     * named. */
    const char *trusted_proxies;
} pawl_receiver_options;
#define PAWL_RECEIVER_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(pawl_receiver_options), 2, 16, 256, 1000, 200, (size_t)4 * 1024 * 1024,             \
            (size_t)16 * 1024, (size_t)256 * 1024 * 1024, 30000, 30000, PAWL_REPLAY_WINDOW_MS,     \
            30000, 10, 0, (size_t)1024 * 1024, {NULL, NULL, PAWL_LOG_INFO}, NULL                   \
    }

/**
 * A receiver for `store`, not running yet: register handlers, say where to listen, start it.
 *
 * Ownership: *ret_receiver is the caller's (pawl_receiver_free); untouched on failure. `store` must
 *            outlive it. It keeps a reference to `services`, the peers and their secrets. `opts`
 *            may be NULL: all defaults.
 * Threads:   all calls on a receiver by one thread at a time, except where said.
 * Blocks:    no.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID (an option out of range), PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_new(pawl_store *store, pawl_services *services,
                                                       const pawl_receiver_options *opts,
                                                       pawl_receiver **ret_receiver,
                                                       pawl_error *err);
/* NULL is fine. Stops it first, if it runs. */
PAWL_API void pawl_receiver_free(pawl_receiver *receiver);

typedef struct pawl_receive_options {
    size_t size;          /* set by PAWL_RECEIVE_OPTIONS_INIT, never by hand */
    int64_t timeout_ms;   /* a call that lasts longer is cancelled; 0: none */
    int concurrency;      /* calls at once; 0: only the receiver's own limit */
    int max_attempts;     /* 0: the receiver's */
    void (*free)(void *); /* of the context, when the receiver is freed; NULL: none */
} pawl_receive_options;
#define PAWL_RECEIVE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(pawl_receive_options), 0, 0, 0, NULL                                                \
    }

/*
 * Call `handler` for messages whose endpoint is `topic`: exactly that text. NULL: for all that have
 * none of their own; without such a handler they are answered with 404. PAWL_E_INVALID: a second
 * handler of a topic, an option out of range; PAWL_E_MISUSE once it runs.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_handle(
    pawl_receiver *receiver, const char *topic, pawl_receive_mode mode,
    pawl_receive_handler handler, void *context, const pawl_receive_options *opts, pawl_error *err);

/*
 * Atomic: put messages of `topic` into the outbox, under `to_topic` (NULL: their own) and for
 * `destination` (NULL: a local handler), in the transaction that remembers them. Payload, type,
 * headers and correlation id (without one: the message id) go along. Texts are copied.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_enqueue(pawl_receiver *receiver,
                                                           const char *topic, const char *to_topic,
                                                           const char *destination,
                                                           const pawl_receive_options *opts,
                                                           pawl_error *err);

/*
 * Call-out: post the payload to an application of yours at "http://127.0.0.1:3000/path" or, on a
 * unix socket, "unix:///run/app.sock:/path". The request has Idempotency-Key, pawl-attempt,
 * pawl-fence, pawl-message-id, pawl-source, pawl-topic, and the sender's traceparent. 2xx: done,
 * the body is the response; 4xx other than 408, 409, 425, 429: never again; anything else: retry.
 * Redirects are not followed.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_forward(pawl_receiver *receiver,
                                                           const char *topic, const char *url,
                                                           const pawl_receive_options *opts,
                                                           pawl_error *err);

/*
 * Listen on "127.0.0.1:7295", "[::1]:7295" or "localhost:7295"; port 0: any free one, *ret_port
 * (may be NULL) says which. With `tls_cert` and `tls_key` (files, PEM; both or neither) over TLS.
 * Whoever reaches the port can send, so anything but loopback should have TLS. PAWL_E_INVALID,
 * PAWL_E_IO, PAWL_E_DENIED (the port), PAWL_E_UNSUPPORTED (no TLS built in).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_listen(pawl_receiver *receiver,
                                                          const char *address, const char *tls_cert,
                                                          const char *tls_key, int *ret_port,
                                                          pawl_error *err);
/*
 * Listen on a unix socket, made with mode 0660. A socket file that nobody listens on is replaced;
 * one that is in use is PAWL_E_IO; anything else of that name is PAWL_E_INVALID. It is
 * removed when the receiver stops.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_listen_unix(pawl_receiver *receiver,
                                                               const char *path, pawl_error *err);
/* Is this an address to listen on, and can only this machine reach it? PAWL_E_INVALID. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_address_check(const char *address, bool *ret_loopback,
                                                        pawl_error *err);
/*
 * Could one listen on this address now? Nothing stays open, so that a program can find out before
 * it makes anything else. PAWL_E_IO: another process listens there, or the machine does not have
 * the address; PAWL_E_DENIED; PAWL_E_INVALID.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_address_try(const char *address, pawl_error *err);

/* Is this an address or a network for trusted_proxies? PAWL_E_INVALID. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_network_check(const char *network, pawl_error *err);

/*
 * Begin to accept. Threads of the library's own run until pawl_receiver_stop(). PAWL_E_MISUSE: it
 * runs, or has run; PAWL_E_NOMEM, PAWL_E_IO.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_start(pawl_receiver *receiver, pawl_error *err);

/*
 * GET /health tells of these, too: NULL for what there is none of. They must outlive the receiver.
 * PAWL_E_MISUSE once it runs.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_receiver_tell_of(pawl_receiver *receiver,
                                                           pawl_worker *worker,
                                                           pawl_delivery *delivery,
                                                           pawl_error *err);

/**
 * Accept no more, answer what has arrived, stop.
 *
 * Ownership: -
 * Threads:   any one but a handler's.
 * Blocks:    until every handler has returned and every answer is on its way: handlers are
 *            cancelled after grace_ms. One that ignores its cancellation holds this up.
 * Durable:   what was answered is; nothing is left half done. A message that was still waiting for
 *            a handler is answered with 503 and leaves no trace.
 * Errors:    none.
 */
PAWL_API void pawl_receiver_stop(pawl_receiver *receiver);

/*
 * For a pawl_receiver_stop() that shall not wait for the rest of the grace period: handlers are
 * cancelled, those that begin from now on at once. Returns at once. Any thread.
 */
PAWL_API void pawl_receiver_hurry(pawl_receiver *receiver);

/* From now on these peers and secrets: any thread, while it runs. */
PAWL_API void pawl_receiver_replace_services(pawl_receiver *receiver, pawl_services *services);

/*
 * A pawl_inproc_receiver whose context is a started receiver: for pawl_transports_add_inproc(). No
 * signature is asked for, since sender and receiver are one process.
 */
PAWL_API void pawl_receiver_inproc(void *receiver, const pawl_envelope *envelope,
                                   pawl_reply *reply);

typedef struct pawl_receiver_stats {
    size_t size;         /* set by PAWL_RECEIVER_STATS_INIT, never by hand */
    int64_t received;    /* envelopes that came, whatever became of them */
    int64_t processed;   /* by a handler, and acknowledged */
    int64_t duplicates;  /* acknowledged again */
    int64_t unsigned_;   /* 401 */
    int64_t refused;     /* any other 4xx */
    int64_t failed;      /* 5xx */
    int64_t cut;         /* connections that were too slow, or too many */
    int64_t running;     /* now: handlers */
    int64_t waiting;     /* now: messages that wait for one */
    int64_t connections; /* now */
} pawl_receiver_stats;
#define PAWL_RECEIVER_STATS_INIT                                                                   \
    {                                                                                              \
        sizeof(pawl_receiver_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                  \
    }
/* Any thread. */
PAWL_API void pawl_receiver_read_stats(pawl_receiver *receiver, pawl_receiver_stats *ret_stats);

PAWL_END_DECLS

#endif
