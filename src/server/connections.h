/*
 * src/server/connections.h - who is connected, and which of them takes too long.
 *
 * A connection that is waited for (its request is arriving, its answer is being taken, it is idle)
 * has a deadline, however steadily it trickles. When there are more connections than allowed, all
 * together or from one address, the one that has been waited for longest is cut, so that slow
 * clients cannot keep others out. When request bodies take more memory than allowed (shed.c), it is
 * the request that has been arriving longest from the address whose requests hold most. One whose
 * message is being processed is never cut. What is cut is told why, if it still can be.
 */
#ifndef PAWLI_CONNECTIONS_H
#define PAWLI_CONNECTIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <pawl/clock.h>

#include "networks.h"
#include "refusals.h"

typedef enum pawli_connection_state {
    PAWLI_ARRIVING, /* of its first request, or of one that has begun */
    PAWLI_IDLE,     /* between two requests */
    PAWLI_WORKING,  /* has no deadline */
    PAWLI_LEAVING,  /* the answer is on its way */
    PAWLI_CUT       /* shut down; its end has not been noticed yet */
} pawli_connection_state;

/* All connections of one address. */
typedef struct pawli_peer pawli_peer;

/* The lists a connection can be in, oldest first. */
typedef enum pawli_connection_list { PAWLI_OF_ALL, PAWLI_OF_PEER, PAWLI_LIST_COUNT } pawli_which;

typedef struct pawli_connection pawli_connection;
struct pawli_connection {
    pawli_connection *previous[PAWLI_LIST_COUNT];
    pawli_connection *next[PAWLI_LIST_COUNT];
    pawli_peer *peer;  /* NULL: memory ran out */
    size_t held_bytes; /* of the body that is arriving, or has arrived */
    pawl_mono deadline;
    pawli_connection_state state;
    bool can_be_told; /* plain HTTP: a last answer can be written to the socket */
    int fd;
};

typedef struct pawli_connection_queue {
    pawli_connection *first;
    pawli_connection *last;
} pawli_connection_queue;

#define PAWLI_PEER_BUCKETS 1024

/* Zero: none of it. */
typedef struct pawli_connection_limits {
    int64_t timeout_ms;
    size_t most;
    size_t most_per_peer;
    const pawli_networks *trusted; /* addresses that most_per_peer is not for */
    pawli_refusals *refusals;
} pawli_connection_limits;

typedef struct pawli_connections {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* the first deadline, or who is busy, or `ending` */
    pawli_connection_queue waited_for;
    pawli_peer *peers[PAWLI_PEER_BUCKETS];
    uint64_t seed; /* of the hash, so that nobody can choose his bucket */
    pawli_connection_limits limits;
    size_t open; /* those that are not cut */
    size_t busy; /* WORKING or LEAVING */
    int64_t cut; /* so far */
    bool ending;
    bool has_thread;
    pthread_t thread;
} pawli_connections;

/* Its lock lives from here to the end, whether it is started or not. */
void pawli_connections_init(pawli_connections *connections);
void pawli_connections_destroy(pawli_connections *connections);

/* False: no thread could be started. */
bool pawli_connections_start(pawli_connections *connections, const pawli_connection_limits *limits);
/* After the last connection has been closed. Fine if it was not started. */
void pawli_connections_done(pawli_connections *connections);

/* A new one; NULL: out of memory. `address` may be NULL: all of those count as one address, which
 * most_per_peer is not for. Any thread, as all of these. */
pawli_connection *pawli_connection_open(pawli_connections *connections, int fd, bool can_be_told,
                                        const struct sockaddr *address);
/* Moves it to another state; the deadline begins anew, except for PAWLI_ARRIVING after
 * PAWLI_ARRIVING. False: it has been cut. */
bool pawli_connection_move(pawli_connections *connections, pawli_connection *connection,
                           pawli_connection_state state);
/* Before its descriptor is closed; frees it. NULL is fine. */
void pawli_connection_close(pawli_connections *connections, pawli_connection *connection);

/* So many bytes more of the body that is arriving; false: it has been cut. */
bool pawli_connection_add_bytes(pawli_connections *connections, pawli_connection *connection,
                                size_t size);
/* Its body is gone; how many bytes it had, or 0 if it was cut for their sake. */
size_t pawli_connection_drop_bytes(pawli_connections *connections, pawli_connection *connection);
/* How much the requests hold that are arriving from the address that holds most. */
size_t pawli_connections_most_bytes(pawli_connections *connections);
/* Cut the one of those that has been arriving longest; how many bytes it held, 0: there is none. */
size_t pawli_connections_shed(pawli_connections *connections);

void pawli_connections_count(pawli_connections *connections, int64_t *ret_open, int64_t *ret_cut);

/* Cut those that are idle now, and wait until nobody is busy, or until the deadline. */
void pawli_connections_drain(pawli_connections *connections, pawl_mono deadline);

#endif
