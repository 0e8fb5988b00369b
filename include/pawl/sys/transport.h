/* include/pawl/sys/transport.h - writing a transport of your own.
 *
 * For people who extend pawl: it may change more often than the other headers, and then says so by
 * its version. Part of libpawl-net.
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
 * A transport. The table must outlive all that use it; it only ever grows at its end.
 *
 * An instance is used by one thread at a time, and belongs to whoever opened it: its user waits
 * until fd() is readable or timeout_ms() has passed, and then calls turn(). None of these functions
 * blocks. Transports that were registered with the same open() and self are one with several
 * schemes: one instance serves them all.
 */
typedef struct pawl_transport {
    uint32_t version;   /* PAWL_TRANSPORT_VERSION */
    const char *scheme; /* "carrier-pigeon": what stands before "://", in lower case */
    /* `self` is what it was registered with. */
    pawl_status (*open)(void *self, void **ret_instance, pawl_error *err);
    /*
     * Begin to send. Answers at once; on PAWL_OK `end` will be called exactly once with what became
     * of it, by turn() or close(), never by send() itself. On failure it is not called, and the
     * send is over: PAWL_E_INVALID means for good, any other status try again. `request` is
     * borrowed during the call; what its fields point to lives until `end`. *ret_send is what
     * cancel() takes, never NULL.
     */
    pawl_status (*send)(void *instance, const pawl_send_request *request, pawl_send_end end,
                        void *context, void **ret_send, pawl_error *err);
    /*
     * Give up a send that has not ended: the next turn() ends it with PAWL_SENT_CANCELLED. The
     * receiver may have had it all the same.
     */
    void (*cancel)(void *instance, void *send);
    /* One descriptor for poll(), the same for the life of the instance. */
    int (*fd)(void *instance);
    /* When turn() is wanted even if nothing is readable; 0: now; -1: no such time. */
    int64_t (*timeout_ms)(void *instance);
    /* Do what can be done without waiting, and end what has ended. */
    pawl_status (*turn)(void *instance, pawl_error *err);
    /* Ends every send that has not, with PAWL_SENT_CANCELLED, and frees the instance. */
    void (*close)(void *instance);
    /* When the registry is freed, and no instance is left. May be NULL. */
    void (*free)(void *self);
} pawl_transport;

/*
 * Make a transport known to `transports`, before any carrier is opened with them (PAWL_E_MISUSE).
 * Its scheme may be one that is known: then it takes its place. PAWL_E_INVALID: another version, a
 * function missing, a scheme that is none. On failure `take_self` stays the caller's.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_transports_register(pawl_transports *transports,
                                                              const pawl_transport *transport,
                                                              void *take_self, pawl_error *err);

/* ---- what a transport over HTTP needs to do as pawl does ---- */

/*
 * What an answer with this HTTP status and body means: 2xx with an acknowledgement is acknowledged
 * or duplicate; 4xx other than 408, 409, 425 and 429 is refused for good; anything else is tried
 * again. `retry_after` is the header's value or NULL: seconds, or an HTTP date, which is compared
 * with this machine's clock. *ret_ack (NULL if the body was none) owns what *ret_outcome points to,
 * but for `error_room`, at least PAWL_SEND_ERROR_SIZE bytes of the caller's.
 */
#define PAWL_SEND_ERROR_SIZE 512
PAWL_API void pawl_send_outcome_of_http(int status, const char *retry_after, const void *body,
                                        size_t body_size, char *error_room,
                                        pawl_send_outcome *ret_outcome, struct pawl_ack **ret_ack);

PAWL_END_DECLS

#endif
