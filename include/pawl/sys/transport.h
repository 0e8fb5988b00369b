/* include/pawl/sys/transport.h - implementing a custom transport.
 *
 * For extensions of pawl: this header may change more often than the others; its version number
 * then changes. Part of libpawl-net.
 */
#ifndef PAWL_SYS_TRANSPORT_H
#define PAWL_SYS_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include <pawl/envelope.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/services.h>
#include <pawl/transport.h>

PAWL_BEGIN_DECLS

#define PAWL_TRANSPORT_VERSION 1

/*
 * A transport. The table must outlive all its users; new members are only added at its end.
 *
 * An instance is used by one thread at a time and belongs to the caller that opened it: the caller
 * waits until fd() is readable or timeout_ms() has passed, and then calls perform(). None of these
 * functions blocks. Registrations with the same open() and self are one transport with several
 * schemes: one instance serves them all.
 */
typedef struct pawl_transport {
    uint32_t version;   /* PAWL_TRANSPORT_VERSION */
    const char *scheme; /* the part of the URL before "://", in lower case, e.g. "carrier-pigeon" */
    /* `self` is the pointer it was registered with. */
    pawl_status (*open)(void *self, void **ret_instance, pawl_error *err);
    /*
     * Starts a send and returns at once. On PAWL_OK, `end` is called exactly once with the result,
     * by perform() or close(), never by send() itself. On failure it is not called, and the send is
     * over: PAWL_E_INVALID is permanent, any other status means retry. `request` is borrowed during
     * the call; the data its fields point to lives until `end`. *ret_send is the argument for
     * cancel(), never NULL.
     */
    pawl_status (*send)(void *instance, const pawl_send_request *request, pawl_send_end end,
                        void *context, void **ret_send, pawl_error *err);
    /*
     * Cancels a send in flight: the next perform() ends it with PAWL_SEND_CANCELLED. The receiver
     * may have received it anyway.
     */
    void (*cancel)(void *instance, void *send);
    /* One descriptor for poll(), constant for the life of the instance. */
    int (*fd)(void *instance);
    /* When perform() must be called even if fd() is not readable; 0: now; -1: no limit. */
    int64_t (*timeout_ms)(void *instance);
    /* Does all work that is possible without waiting, and ends the sends that have finished. */
    pawl_status (*perform)(void *instance, pawl_error *err);
    /* Ends every send in flight with PAWL_SEND_CANCELLED, and frees the instance. */
    void (*close)(void *instance);
    /* Called when the registry is freed, after all instances. May be NULL. */
    void (*free)(void *self);
} pawl_transport;

/*
 * Registers a transport with `transports`, before any client is opened with them (otherwise
 * PAWL_E_MISUSE). A transport with the same scheme is replaced. PAWL_E_INVALID: another version, a
 * function missing, an invalid scheme. On failure `take_self` stays the caller's.
 */
PAWL_API PAWL_EXPERIMENTAL PAWL_MUST_CHECK pawl_status pawl_transports_register(
    pawl_transports *transports, const pawl_transport *transport, void *take_self, pawl_error *err);

/* ---- helper for HTTP transports, so that they behave as pawl's own ---- */

/*
 * Interprets an HTTP response: 2xx with an acknowledgement is acknowledged or duplicate; 4xx other
 * than 408, 409, 425 and 429 is refused permanently; anything else is retried. `retry_after` is the
 * header's value or NULL: seconds, or an HTTP date, which is compared with this machine's clock.
 * *ret_body (pawl_send_body_free; NULL if the body was not an acknowledgement) owns the data that
 * *ret_outcome points to, except for `error_room`, at least PAWL_SEND_ERROR_SIZE bytes of the
 * caller's. A transport that is not HTTP, too, may pass an acknowledgement here, with status 200.
 */
#define PAWL_SEND_ERROR_SIZE 512
typedef struct pawl_send_body pawl_send_body; /* opaque */
PAWL_API PAWL_EXPERIMENTAL void pawl_send_report_of_http(int status, const char *retry_after,
                                                         const void *body, size_t body_size,
                                                         char *error_room,
                                                         pawl_send_report *ret_outcome,
                                                         pawl_send_body **ret_body);
PAWL_API PAWL_EXPERIMENTAL void pawl_send_body_free(pawl_send_body *body); /* NULL is allowed */

PAWL_END_DECLS

#endif
