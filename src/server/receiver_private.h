/* src/server/receiver_private.h - the internals of pawl_receiver. */
#ifndef PAWLI_RECEIVER_PRIVATE_H
#define PAWLI_RECEIVER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <pawl/delivery.h>
#include <pawl/receiver.h>

#include "buffer.h"
#include "connections.h"
#include "receive_pool.h"
#include "receive_renewer.h"
#include "networks.h"
#include "rejections.h"
#include "route.h"

struct MHD_Daemon;

/* A listener: its socket and the threads that serve it. */
typedef struct pawli_listener {
    struct pawli_listener *next;
    struct MHD_Daemon *daemon; /* NULL: not started */
    int fd;                    /* -1: none */
    int daemon_fd;             /* a duplicate for the daemon */
    bool is_local;             /* only this machine can reach it */
    char *unix_path;           /* removed at shutdown; NULL: not a unix socket */
    uint64_t unix_inode;
    char *tls_cert; /* PEM text, not a path */
    char *tls_key;
    pawl_receiver *receiver;
    pawli_connections connections;
} pawli_listener;

typedef enum pawli_receiver_state {
    PAWLI_RECEIVER_NEW,
    PAWLI_RECEIVER_RUNS,
    PAWLI_RECEIVER_STOPS,
    PAWLI_RECEIVER_STOPPED
} pawli_receiver_state;

typedef struct pawli_receiver_counts {
    _Atomic int64_t received;
    _Atomic int64_t processed;
    _Atomic int64_t duplicates;
    _Atomic int64_t unsigned_;
    _Atomic int64_t refused;
    _Atomic int64_t failed;
} pawli_receiver_counts;

struct pawl_receiver {
    pawl_store *store;
    pawl_receiver_options options;
    pawli_routes routes; /* constant while it runs */
    pawli_listener *listeners;
    _Atomic(pawli_receiver_state) state;
    pthread_mutex_t services_lock;
    pawl_services *services;
    pawl_worker *worker;     /* for GET /health; NULL: none */
    pawl_delivery *delivery; /* as above */
    pawli_receive_pool pool;
    pawli_receive_renewer renewer;
    pawli_receiver_counts counts;
    pawli_rejections rejections;
    pawli_networks trusted;   /* reverse proxies */
    atomic_size_t body_bytes; /* of requests that are arriving or waiting */
};

struct pawl_receive_task {
    pawl_receiver *receiver;
    const pawl_envelope *envelope;
    pawl_inbox_task *inbox_task;
    pawl_receive_mode mode;
    pawl_mono began; /* before the inbox call: the lease lasts at least from here */
    pawli_handler_call call;
    bool has_response;
    bool too_large; /* the response is too large */
    pawli_buffer response;
    char error[4097];
};

/* ---- process.c: from an envelope to its response; any thread, no lock held ---- */

/* The functions of pawli_receive_pool_work (see receive_pool.h); the context is the receiver. */
bool pawli_process_read(void *context, pawli_request *job);
bool pawli_process(void *context, pawli_request *job);
void pawli_process_reject(void *context, pawli_request *job);
/* Counts a response to POST /_rf/receive. */
void pawli_process_count(pawl_receiver *receiver, const pawli_response *response);

/* ---- http_server.c: the requests of a listener ---- */

/* Starts the listener's threads, which accept at once. */
pawl_status pawli_http_start(pawli_listener *listener, pawl_error *err);
/* Stops accepting. */
void pawli_http_quiesce(pawli_listener *listener);
/* No request may be suspended any more. */
void pawli_http_stop(pawli_listener *listener);

/* ---- listener.c: the memory of request bodies ---- */

/*
 * Reserves `size` more bytes for the body that is arriving on this connection; false: there is no
 * room, or the connection was closed. May close other connections to make room. No lock is held.
 */
bool pawli_body_reserve(pawli_listener *listener, pawli_connection *connection, size_t size);
void pawli_body_release(pawli_listener *listener, pawli_connection *connection);

/* ---- health.c ---- */

void pawli_respond_health(const pawli_listener *listener, pawli_response *response);

/* ---- listener.c: sockets ---- */

/* Stops listening and frees it. */
void pawli_listener_free(pawli_listener *listener);

#endif
