/*
 * src/server/connections.h - the open connections and their deadlines.
 *
 * A connection that the server waits for (its request is arriving, its response is being sent, or
 * it is idle) has a deadline, however steadily data trickles in. When there are more connections
 * than allowed, in total or from one address, the one that the server has waited for longest is
 * closed, so that slow clients cannot keep others out. When request bodies use more memory than
 * allowed (listener.c), the server closes the request that has been arriving longest from the
 * address whose requests use the most memory. A connection whose message is being processed is
 * never closed. A closed connection gets a response with the reason, if possible.
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
#include "rejections.h"

typedef enum pawli_connection_state {
    PAWLI_ARRIVING, /* its first request, or one that has begun, is arriving */
    PAWLI_IDLE,     /* between two requests */
    PAWLI_WORKING,  /* its message is being processed: no deadline */
    PAWLI_LEAVING,  /* the response is being sent */
    PAWLI_CUT       /* shut down; libmicrohttpd has not noticed yet */
} pawli_connection_state;

/* All connections of one address. */
typedef struct pawli_peer pawli_peer;

/* The lists that can contain a connection, oldest first. */
typedef enum pawli_connection_list { PAWLI_OF_ALL, PAWLI_OF_PEER, PAWLI_LIST_COUNT } pawli_which;

typedef struct pawli_connection pawli_connection;
struct pawli_connection {
    pawli_connection *previous[PAWLI_LIST_COUNT];
    pawli_connection *next[PAWLI_LIST_COUNT];
    pawli_peer *peer;  /* NULL: out of memory */
    size_t body_bytes; /* of the body that is arriving or has arrived */
    pawl_mono deadline;
    pawli_connection_state state;
    bool can_be_told; /* plain HTTP: a final response can be written to the socket */
    int fd;
};

typedef struct pawli_connection_queue {
    pawli_connection *first;
    pawli_connection *last;
} pawli_connection_queue;

#define PAWLI_PEER_BUCKETS 1024

/* Zero: no limit. */
typedef struct pawli_connection_limits {
    int64_t timeout_ms;
    size_t most;
    size_t most_per_peer;
    const pawli_networks *trusted; /* addresses to which most_per_peer does not apply */
    pawli_rejections *rejections;
} pawli_connection_limits;

typedef struct pawli_connections {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* the first deadline, the number of busy ones, or `ending` */
    pawli_connection_queue waited_for;
    pawli_peer *peers[PAWLI_PEER_BUCKETS];
    uint64_t seed; /* of the hash, so that clients cannot choose their bucket */
    pawli_connection_limits limits;
    size_t open; /* not closed by the server */
    size_t busy; /* WORKING or LEAVING */
    int64_t cut; /* total */
    bool ending;
    bool has_thread;
    pthread_t thread;
} pawli_connections;

/* Its lock exists from here until _destroy, whether it is started or not. */
void pawli_connections_init(pawli_connections *connections);
void pawli_connections_destroy(pawli_connections *connections);

/* False: the thread could not be created. */
bool pawli_connections_start(pawli_connections *connections, const pawli_connection_limits *limits);
/* Call it after the last connection has been closed. No-op if it was not started. */
void pawli_connections_done(pawli_connections *connections);

/*
 * Adds a connection; NULL: out of memory. `address` may be NULL: all of those count as one address,
 * to which most_per_peer does not apply. Any thread, as for all of these.
 */
pawli_connection *pawli_connection_open(pawli_connections *connections, int fd, bool can_be_told,
                                        const struct sockaddr *address);
/*
 * Moves it to another state; the deadline starts again, except for PAWLI_ARRIVING after
 * PAWLI_ARRIVING. False: the server has closed it.
 */
bool pawli_connection_move(pawli_connections *connections, pawli_connection *connection,
                           pawli_connection_state state);
/* Call it before its descriptor is closed; frees it. NULL is allowed. */
void pawli_connection_close(pawli_connections *connections, pawli_connection *connection);

/* Adds `size` bytes of the body that is arriving; false: the server has closed it. */
bool pawli_connection_add_bytes(pawli_connections *connections, pawli_connection *connection,
                                size_t size);
/* Its body was freed; returns its size, or 0 if the connection was closed because of it. */
size_t pawli_connection_drop_bytes(pawli_connections *connections, pawli_connection *connection);
/* The memory used by the arriving requests of the address that uses most. */
size_t pawli_connections_most_bytes(pawli_connections *connections);
/* Closes the one of those that has been arriving longest; returns its size, 0: there is none. */
size_t pawli_connections_shed(pawli_connections *connections);

void pawli_connections_count(pawli_connections *connections, int64_t *ret_open, int64_t *ret_cut);

/* Closes idle connections, and waits until none is busy, or until the deadline. */
void pawli_connections_drain(pawli_connections *connections, pawl_mono deadline);

#endif
