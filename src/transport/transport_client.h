/* src/transport/transport_client.h - sending: all transports behind one file descriptor. */
#ifndef PAWLI_TRANSPORT_CLIENT_H
#define PAWLI_TRANSPORT_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include <pawl/transport.h>

/* A transport client. Used by one thread at a time. Connections are reused between sends. */
typedef struct pawli_transport_client pawli_transport_client;

/* A send in flight. */
typedef struct pawli_transport_send pawli_transport_send;

/* *ret_client is the caller's (pawli_transport_client_close). `transports` must outlive it. */
PAWL_MUST_CHECK pawl_status pawli_transport_client_open(pawl_transports *transports,
                                                        pawli_transport_client **ret_client,
                                                        pawl_error *err);

/**
 * Starts a send.
 *
 * Ownership: the data that `request` points to must live until `end` is called. *ret_send (may be
 *            NULL) belongs to the client and is invalid once `end` returns.
 * Threads:   the client's. `end` is called inside pawli_transport_client_process() or
 *            pawli_transport_client_close(), exactly once, never inside this call; it may call this
 *            function and pawli_transport_client_cancel().
 * Blocks:    no; names are resolved on one of the library's threads.
 * Durable:   nothing is written.
 * Errors:    PAWL_E_INVALID: permanent (an invalid URL, an unknown scheme). PAWL_E_DENIED (a local
 *            destination that is not allowed), PAWL_E_NOT_FOUND (no such receiver in this process):
 *            until the configuration is changed. PAWL_E_NOMEM, PAWL_E_IO: retry. On failure `end`
 *            is not called.
 */
PAWL_MUST_CHECK pawl_status pawli_transport_client_send(pawli_transport_client *client,
                                                        const pawl_send_request *request,
                                                        pawl_send_end end, void *context,
                                                        pawli_transport_send **ret_send,
                                                        pawl_error *err);
/* Cancels a send: the next pawli_transport_client_process() ends it with PAWL_SEND_CANCELLED. */
void pawli_transport_client_cancel(pawli_transport_client *client, pawli_transport_send *send);
/* For poll() or epoll: readable when pawli_transport_client_process() has work to do. It never
 * changes. */
int pawli_transport_client_fd(pawli_transport_client *client);
/* The maximum time to wait for that; -1: no limit; 0: do not wait. */
int64_t pawli_transport_client_timeout_ms(pawli_transport_client *client);
/* Does all work that is possible without waiting. PAWL_E_NOMEM, PAWL_E_IO: call again soon. */
PAWL_MUST_CHECK pawl_status pawli_transport_client_process(pawli_transport_client *client,
                                                           pawl_error *err);
/* The number of sends in flight. */
size_t pawli_transport_client_in_flight(const pawli_transport_client *client);
/* Ends all sends in flight with PAWL_SEND_CANCELLED. NULL is allowed. */
void pawli_transport_client_close(pawli_transport_client *client);

#endif
