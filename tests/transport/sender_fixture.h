/* tests/transport/sender_fixture.h - sending to a peer, and waiting for what becomes of it. */
#ifndef PAWL_TEST_SENDER_FIXTURE_H
#define PAWL_TEST_SENDER_FIXTURE_H

#include "peer.h"
#include "transport_client.h"

#define SENDER_SENDS_MAX 256

/* The result of a send, copied; strings are valid until the test ends. */
typedef struct sender_end {
    int count; /* how often `end` was called */
    pawl_send_report outcome;
} sender_end;

typedef struct sender_fixture {
    test_peer *peer;
    pawl_transports *transports;
    pawl_services *services;
    const pawl_service *service;
    pawli_transport_client *carrier;
    int64_t timeout_ms; /* of the sends from now on; 0: the service's */
    size_t sent;
    sender_end ends[SENDER_SENDS_MAX];
    pawl_envelope *envelopes[SENDER_SENDS_MAX];
} sender_fixture;

/* The usual: private addresses allowed, the peer's certificate trusted. */
pawl_service_options sender_service(const test_peer *peer);
/* With a carrier for this service (NULL: the usual). Closed when the test ends. */
sender_fixture *sender_open(test_peer *peer, const pawl_service_options *service);
/* Close the carrier now. */
void sender_close(sender_fixture *sender);
/* Begin to send a message to `endpoint`; its number. */
size_t sender_send(sender_fixture *sender, const char *url, const char *endpoint,
                   pawli_transport_send **ret_send);
/* One step: waits for the client, or `extra_fd` (-1: none), and calls its perform(). */
void sender_run_step(sender_fixture *sender, int extra_fd);
/* Until `number` has ended. */
const pawl_send_report *sender_wait(sender_fixture *sender, size_t number);
/* Until the peer blocks this many. */
void sender_wait_blocked(sender_fixture *sender, int count);
/* Send and wait. */
const pawl_send_report *sender_ask(sender_fixture *sender, const char *url, const char *endpoint);

#define SENDER_PAYLOAD "{ \"a\" : [1, 2.50] }"

#endif
