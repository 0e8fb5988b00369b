/* tests/transport/desk.h - sending to a peer, and waiting for what becomes of it. */
#ifndef PAWL_TEST_DESK_H
#define PAWL_TEST_DESK_H

#include "peer.h"

#define DESK_SENDS_MAX 256

/* What became of a send, copied; strings live until the test ends. */
typedef struct desk_end {
    int count; /* how often `end` was called */
    pawl_send_outcome outcome;
} desk_end;

typedef struct test_desk {
    test_peer *peer;
    pawl_transports *transports;
    pawl_services *services;
    const pawl_service *service;
    pawl_carrier *carrier;
    int64_t timeout_ms; /* of the sends from now on; 0: the service's */
    size_t sent;
    desk_end ends[DESK_SENDS_MAX];
    pawl_envelope *envelopes[DESK_SENDS_MAX];
} test_desk;

/* The usual: private addresses allowed, the peer's certificate trusted. */
pawl_service_options desk_service(const test_peer *peer);
/* With a carrier for this service (NULL: the usual). Closed when the test ends. */
test_desk *desk_open(test_peer *peer, const pawl_service_options *service);
/* Close the carrier now. */
void desk_close(test_desk *desk);
/* Begin to send a message to `endpoint`; its number. */
size_t desk_send(test_desk *desk, const char *url, const char *endpoint, pawl_send **ret_send);
/* One round: wait for the carrier, or `extra_fd` (-1: none), and give it its turn. */
void desk_turn(test_desk *desk, int extra_fd);
/* Until `number` has ended. */
const pawl_send_outcome *desk_wait(test_desk *desk, size_t number);
/* Until so many are held by the peer. */
void desk_wait_held(test_desk *desk, int count);
/* Send and wait. */
const pawl_send_outcome *desk_ask(test_desk *desk, const char *url, const char *endpoint);

#define DESK_PAYLOAD "{ \"a\" : [1, 2.50] }"

#endif
