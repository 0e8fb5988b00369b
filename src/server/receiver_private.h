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
#include "crew.h"
#include "keeper.h"
#include "networks.h"
#include "refusals.h"
#include "route.h"

struct MHD_Daemon;

/* A listener: its socket and the threads that serve it. */
typedef struct pawli_door {
    struct pawli_door *next;
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
} pawli_door;

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
    pawli_door *doors;
    _Atomic(pawli_receiver_state) state;
    pthread_mutex_t services_lock;
    pawl_services *services;
    pawl_worker *worker;     /* for GET /health; NULL: none */
    pawl_delivery *delivery; /* as above */
    pawli_server_crew crew;
    pawli_server_keeper keeper;
    pawli_receiver_counts counts;
    pawli_refusals refusals;
    pawli_networks trusted;   /* reverse proxies */
    atomic_size_t held_bytes; /* of requests that are arriving or waiting */
};

struct pawl_reception {
    pawl_receiver *receiver;
    const pawl_envelope *envelope;
    pawl_arrival *arrival;
    pawl_receive_mode mode;
    pawl_mono began; /* before the inbox call: the lease lasts at least from here */
    pawli_ward ward;
    bool has_response;
    bool too_large; /* the response is too large */
    pawli_buffer response;
    char error[4097];
};

/* ---- process.c: from an envelope to its response; any thread, no lock held ---- */

/* The functions of pawli_server_crew_work (see crew.h); the context is the receiver. */
bool pawli_process_read(void *context, pawli_job *job);
bool pawli_process(void *context, pawli_job *job);
void pawli_process_turn_away(void *context, pawli_job *job);
/* Counts a response to POST /_rf/receive. */
void pawli_process_count(pawl_receiver *receiver, const pawli_answer *answer);

/* ---- http.c: the requests of a listener ---- */

/* Starts the listener's threads, which accept at once. */
pawl_status pawli_http_start(pawli_door *door, pawl_error *err);
/* Stops accepting. */
void pawli_http_quiesce(pawli_door *door);
/* No request may be suspended any more. */
void pawli_http_stop(pawli_door *door);

/* ---- shed.c: the memory of request bodies ---- */

/*
 * Reserves `size` more bytes for the body that is arriving on this connection; false: there is no
 * room, or the connection was closed. May close other connections to make room. No lock is held.
 */
bool pawli_body_take(pawli_door *door, pawli_connection *connection, size_t size);
void pawli_body_let_go(pawli_door *door, pawli_connection *connection);

/* ---- health.c ---- */

void pawli_health_answer(const pawli_door *door, pawli_answer *answer);

/* ---- listen.c: sockets ---- */

/* Stops listening and frees it. */
void pawli_door_free(pawli_door *door);

#endif
