/* tests/transport/peer.c - a receiver: starting, stopping, and its responses. */
#include "peer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "peer_private.h"
#include "test.h"

#define INPROC_THREADS 4

static const behaviour behaviours[] = {
    {"ok", PAWL_SEND_ACKNOWLEDGED, 200, -1, NULL},
    {"block", PAWL_SEND_ACKNOWLEDGED, 200, -1, NULL},
    {"duplicate", PAWL_SEND_DUPLICATE, 200, -1, NULL},
    {"refuse", PAWL_SEND_REJECTED, 422, -1, "never"},
    {"busy", PAWL_SEND_RETRY, 429, 7000, "busy"},
    {"error", PAWL_SEND_RETRY, 500, -1, "later"},
};

const behaviour *behaviour_of(const char *endpoint)
{
    for (size_t i = 0; i < sizeof behaviours / sizeof behaviours[0]; i++)
        if (strcmp(behaviours[i].endpoint, endpoint) == 0)
            return &behaviours[i];
    return NULL;
}

void peer_block(test_peer *peer)
{
    uint64_t one = 1;

    pthread_mutex_lock(&peer->lock);
    peer->receipt++;
    pthread_mutex_unlock(&peer->lock);
    if (write(peer->event, &one, sizeof one) < 0)
        abort();
    activity_report();
}

/* Thread: one of the receiver's. */
static void receive_inproc(void *context, const pawl_envelope *envelope, pawl_reply *reply)
{
    test_peer *peer = context;
    const behaviour *how = behaviour_of(pawl_envelope_endpoint(envelope));
    pawl_send_report outcome = PAWL_SEND_REPORT_INIT;

    if (strcmp(how->endpoint, "block") == 0)
        peer_block(peer);
    pthread_mutex_lock(&peer->lock);
    peer->requests++;
    while (strcmp(how->endpoint, "block") == 0 && !peer->released)
        pthread_cond_wait(&peer->changed, &peer->lock);
    pthread_mutex_unlock(&peer->lock);
    outcome.sent = how->sent;
    outcome.retry_after_ms = how->retry_after_ms;
    outcome.error = how->error;
    if (how->sent <= PAWL_SEND_DUPLICATE)
        outcome.payload = pawl_envelope_payload(envelope, &outcome.payload_size);
    pawl_reply_send(reply, &outcome);
}

void peer_register(test_peer *peer, pawl_transports *transports)
{
    pawl_error err = PAWL_ERROR_INIT;

    if (strcmp(peer->kind, "inproc") == 0)
        assert_ok(pawl_transports_add_inproc(transports, "peer", INPROC_THREADS, receive_inproc,
                                             peer, &err),
                  &err);
    if (strcmp(peer->kind, "own") == 0)
        assert_ok(pawl_transports_register(transports, &own_transport, peer, &err), &err);
}

bool peer_is_http(const test_peer *peer)
{
    return strcmp(peer->kind, "inproc") != 0 && strcmp(peer->kind, "own") != 0;
}

bool peer_is_tcp(const test_peer *peer)
{
    return strncmp(peer->kind, "http", 4) == 0;
}

static void stop_peer(void *context)
{
    test_peer *peer = context;

    peer_release(peer);
    if (peer->server)
        server_stop(peer);
    close(peer->event);
    pthread_cond_destroy(&peer->changed);
    pthread_mutex_destroy(&peer->lock);
    free(peer);
}

static const char *transport(void)
{
    const char *kind = getenv("PAWL_TEST_TRANSPORT");

    return kind && *kind ? kind : "http";
}

bool test_on_tcp(void)
{
    return strcmp(transport(), "http") == 0 || test_on_https();
}

bool test_on_https(void)
{
    return strcmp(transport(), "https") == 0;
}

bool test_on_built_in(void)
{
    return strcmp(transport(), "own") != 0;
}

test_peer *peer_start(void)
{
    test_peer *peer = calloc(1, sizeof *peer);

    if (!peer)
        abort();
    peer->kind = transport();
    pthread_mutex_init(&peer->lock, NULL);
    pthread_cond_init(&peer->changed, NULL);
    peer->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    test_defer(stop_peer, peer);
    if (peer_is_http(peer))
        server_start(peer);
    else
        peer->url = test_note("%s://peer", peer->kind);
    return peer;
}

void peer_release(test_peer *peer)
{
    pthread_mutex_lock(&peer->lock);
    peer->released = true;
    pthread_cond_broadcast(&peer->changed);
    pthread_mutex_unlock(&peer->lock);
    if (peer->server)
        server_release(peer);
    if (peer->own)
        own_release(peer);
}

const char *peer_url(const test_peer *peer)
{
    return peer->url;
}

const char *peer_ca_file(const test_peer *peer)
{
    return peer->ca_file;
}

const char *peer_pipe_directory(const test_peer *peer)
{
    return peer->pipe_directory;
}

int peer_max_blocked(const test_peer *peer)
{
    return strcmp(peer->kind, "inproc") == 0 ? INPROC_THREADS : 10000;
}

int peer_blocked_fd(const test_peer *peer)
{
    return peer->event;
}

static int locked(test_peer *peer, const int *number)
{
    pthread_mutex_lock(&peer->lock);
    int copy = *number;
    pthread_mutex_unlock(&peer->lock);
    return copy;
}

int peer_blocked(test_peer *peer)
{
    return locked(peer, &peer->receipt);
}

int peer_requests(test_peer *peer)
{
    return locked(peer, &peer->requests);
}

int peer_connections(test_peer *peer)
{
    return locked(peer, &peer->connections);
}
