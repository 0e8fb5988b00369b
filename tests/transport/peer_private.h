/* tests/transport/peer_private.h - declarations shared by all kinds of peers. */
#ifndef PAWL_TEST_PEER_PRIVATE_H
#define PAWL_TEST_PEER_PRIVATE_H

#include <pthread.h>

#include "peer.h"

struct test_peer {
    const char *kind;
    const char *url;
    const char *ca_file;
    const char *pipe_directory;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool released;
    int receipt;
    int requests;
    int connections;
    int event;    /* written to when a request is blocked */
    void *server; /* the HTTP server's own */
    void *own;    /* of the transport written here */
};

/* The response that an endpoint selects, for endpoints that every transport knows. */
typedef struct behaviour {
    const char *endpoint;
    pawl_send_result sent;
    int status;
    int64_t retry_after_ms;
    const char *error;
} behaviour;
/* NULL: it is not. "block" is "ok" by the time it is asked for. */
const behaviour *behaviour_of(const char *endpoint);

/* Lock not held: counts a blocked request, and notifies the test. */
void peer_block(test_peer *peer);

void server_start(test_peer *peer);
/* Blocked requests continue. */
void server_release(test_peer *peer);
void server_stop(test_peer *peer);
/* Writes a key and a certificate for localhost that is its own authority. PEM, test_note()s. */
void certificate_make(const char **ret_key, const char **ret_certificate);

extern const pawl_transport own_transport;
void own_receive(test_peer *peer, const pawl_envelope *envelope, pawl_send_report *outcome);
void own_release(test_peer *peer);

#endif
