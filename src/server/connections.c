/* src/server/connections.c - the open connections, their limits and their deadlines. */
#include "connections.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "thread.h"
#include "platform.h"

struct pawli_peer {
    pawli_peer *next; /* in its hash bucket */
    uint8_t address[16];
    size_t count; /* of connections that are not closed */
    size_t open;  /* of connections that the server has not shut down */
    size_t held;  /* bytes of bodies that are arriving */
    bool is_free; /* exempt from the limit per address */
    pawli_connection_queue waited_for;
};

/* ---- lists; with the lock held ---- */

static void connections_append(pawli_connection_queue *queue, pawli_connection *connection,
                               pawli_which which)
{
    connection->previous[which] = queue->last;
    connection->next[which] = NULL;
    if (queue->last)
        queue->last->next[which] = connection;
    else
        queue->first = connection;
    queue->last = connection;
}

static void connections_take_out(pawli_connection_queue *queue, pawli_connection *connection,
                                 pawli_which which)
{
    pawli_connection *previous = connection->previous[which];
    pawli_connection *next = connection->next[which];

    if (previous)
        previous->next[which] = next;
    else
        queue->first = next;
    if (next)
        next->previous[which] = previous;
    else
        queue->last = previous;
}

static bool is_waited_for(pawli_connection_state state)
{
    return state != PAWLI_WORKING && state != PAWLI_CUT;
}

static bool is_busy(pawli_connection_state state)
{
    return state == PAWLI_WORKING || state == PAWLI_LEAVING;
}

/* All entries have the same time limit, so the last one added has the last deadline. */
static void connections_enter(pawli_connections *connections, pawli_connection *connection,
                              pawli_connection_state state)
{
    connection->state = state;
    if (is_busy(state))
        connections->busy++;
    if (state == PAWLI_ARRIVING && connection->peer)
        connection->peer->held += connection->body_bytes;
    if (!is_waited_for(state))
        return;
    connection->deadline =
        pawli_mono_after(pawli_mono_now(), connections->limits.timeout_ms * 1000);
    connections_append(&connections->waited_for, connection, PAWLI_OF_ALL);
    if (connection->peer)
        connections_append(&connection->peer->waited_for, connection, PAWLI_OF_PEER);
    if (connections->waited_for.first == connection)
        pthread_cond_broadcast(&connections->changed);
}

static void connections_leave(pawli_connections *connections, pawli_connection *connection)
{
    if (is_busy(connection->state) && --connections->busy == 0)
        pthread_cond_broadcast(&connections->changed);
    if (connection->state == PAWLI_ARRIVING && connection->peer)
        connection->peer->held -= connection->body_bytes;
    if (!is_waited_for(connection->state))
        return;
    connections_take_out(&connections->waited_for, connection, PAWLI_OF_ALL);
    if (connection->peer)
        connections_take_out(&connection->peer->waited_for, connection, PAWLI_OF_PEER);
}

/* ---- peers; with the lock held ---- */

/* Returns false if it is not an IP address. */
static bool address_of(const struct sockaddr *address, uint8_t ret_address[16])
{
    memset(ret_address, 0, 16);
    if (address && address->sa_family == AF_INET) {
        ret_address[10] = ret_address[11] = 0xff;
        memcpy(ret_address + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return true;
    }
    if (address && address->sa_family == AF_INET6) {
        memcpy(ret_address, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
        return true;
    }
    return false;
}

static pawli_peer **connections_bucket_of(pawli_connections *connections, const uint8_t address[16])
{
    uint64_t hash = connections->seed;

    for (size_t i = 0; i < 16; i++)
        hash = (hash ^ address[i]) * UINT64_C(0x100000001b3);
    return &connections->peers[(hash ^ hash >> 32) % PAWLI_PEER_BUCKETS];
}

static pawli_peer *find_peer(pawli_connections *connections, const uint8_t address[16])
{
    pawli_peer **bucket = connections_bucket_of(connections, address);
    pawli_peer *peer = *bucket;

    while (peer && memcmp(peer->address, address, 16) != 0)
        peer = peer->next;
    if (peer)
        return peer;
    peer = calloc(1, sizeof *peer);
    if (peer) {
        memcpy(peer->address, address, 16);
        peer->is_free = pawli_networks_have(connections->limits.trusted, address);
        peer->next = *bucket;
        *bucket = peer;
    }
    return peer;
}

static void let_go_of_peer(pawli_connections *connections, pawli_peer *peer)
{
    pawli_peer **link = connections_bucket_of(connections, peer->address);

    if (--peer->count > 0)
        return;
    while (*link != peer)
        link = &(*link)->next;
    *link = peer->next;
    free(peer);
}

/* ---- closing connections; with the lock held, so that the descriptor is still this
 * connection's ---- */

/* No other thread writes to the socket: its request has not arrived yet. */
static void connections_send_rejection(const pawli_connection *connection, pawli_rejection why)
{
    char response[PAWLI_REJECTION_RESPONSE_SIZE];
    size_t size;

    if (connection->state != PAWLI_ARRIVING || !connection->can_be_told)
        return;
    size = pawli_rejection_response(why, response);
    (void)!send(connection->fd, response, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void connections_shut(pawli_connections *connections, pawli_connection *connection)
{
    connections_leave(connections, connection);
    connection->state = PAWLI_CUT;
    connections->open--;
    connections->cut++;
    if (connection->peer)
        connection->peer->open--;
    shutdown(connection->fd, SHUT_RDWR);
}

/* An idle connection has no request to reject: it is closed without a response. */
static void connections_cut(pawli_connections *connections, pawli_connection *connection,
                            pawli_rejection why)
{
    if (why != PAWLI_REJECTED_TIMEOUT || connection->state == PAWLI_ARRIVING)
        pawli_rejections_add(connections->limits.rejections, why);
    connections_send_rejection(connection, why);
    connections_shut(connections, connection);
}

/* ---- the thread that enforces deadlines ---- */

static void *connections_enforce(void *context)
{
    pawli_connections *connections = context;

    pthread_mutex_lock(&connections->lock);
    while (!connections->ending) {
        pawli_connection *first = connections->waited_for.first;
        if (!first)
            pthread_cond_wait(&connections->changed, &connections->lock);
        else if (pawli_mono_passed(first->deadline))
            connections_cut(connections, first, PAWLI_REJECTED_TIMEOUT);
        else
            pawli_wait_until(&connections->changed, &connections->lock, first->deadline);
    }
    pthread_mutex_unlock(&connections->lock);
    return NULL;
}

void pawli_connections_init(pawli_connections *connections)
{
    pthread_mutex_init(&connections->lock, NULL);
    pawli_wait_init(&connections->changed);
}

void pawli_connections_destroy(pawli_connections *connections)
{
    pthread_cond_destroy(&connections->changed);
    pthread_mutex_destroy(&connections->lock);
}

void pawli_connections_count(pawli_connections *connections, int64_t *ret_open, int64_t *ret_cut)
{
    pthread_mutex_lock(&connections->lock);
    *ret_open = (int64_t)connections->open;
    *ret_cut = connections->cut;
    pthread_mutex_unlock(&connections->lock);
}

bool pawli_connections_start(pawli_connections *connections, const pawli_connection_limits *limits)
{
    connections->limits = *limits;
    connections->seed = pawli_random_u64();
    connections->has_thread =
        pawli_thread_begin(&connections->thread, connections_enforce, connections);
    return connections->has_thread;
}

void pawli_connections_done(pawli_connections *connections)
{
    if (!connections->has_thread)
        return;
    pthread_mutex_lock(&connections->lock);
    connections->ending = true;
    pthread_cond_broadcast(&connections->changed);
    pthread_mutex_unlock(&connections->lock);
    pthread_join(connections->thread, NULL);
    connections->has_thread = false;
}

/* ---- opening, moving and closing a connection ---- */

static void connections_make_room(pawli_connections *connections, const pawli_peer *peer)
{
    if (peer && !peer->is_free && peer->open > connections->limits.most_per_peer &&
        peer->waited_for.first)
        connections_cut(connections, peer->waited_for.first, PAWLI_REJECTED_CONNECTIONS_PER_IP);
    else if (connections->open > connections->limits.most && connections->waited_for.first)
        connections_cut(connections, connections->waited_for.first, PAWLI_REJECTED_CONNECTIONS);
}

pawli_connection *pawli_connection_open(pawli_connections *connections, int fd, bool can_be_told,
                                        const struct sockaddr *address)
{
    pawli_connection *connection = calloc(1, sizeof *connection);
    uint8_t bytes[16];

    if (!connection)
        return NULL;
    connection->fd = fd;
    connection->can_be_told = can_be_told;
    pthread_mutex_lock(&connections->lock);
    bool has_address = address_of(address, bytes);
    connection->peer = find_peer(connections, bytes);
    if (connection->peer) {
        connection->peer->is_free |= !has_address;
        connection->peer->count++;
        connection->peer->open++;
    }
    connections->open++;
    connections_enter(connections, connection, PAWLI_ARRIVING);
    connections_make_room(connections, connection->peer);
    pthread_mutex_unlock(&connections->lock);
    return connection;
}

bool pawli_connection_move(pawli_connections *connections, pawli_connection *connection,
                           pawli_connection_state state)
{
    bool alive;

    pthread_mutex_lock(&connections->lock);
    alive = connection->state != PAWLI_CUT;
    if (alive && connection->state != state) {
        connections_leave(connections, connection);
        connections_enter(connections, connection, state);
    }
    pthread_mutex_unlock(&connections->lock);
    return alive;
}

void pawli_connection_close(pawli_connections *connections, pawli_connection *connection)
{
    if (!connection)
        return;
    pthread_mutex_lock(&connections->lock);
    if (connection->state != PAWLI_CUT) {
        connections_leave(connections, connection);
        connections->open--;
        if (connection->peer)
            connection->peer->open--;
    }
    if (connection->peer)
        let_go_of_peer(connections, connection->peer);
    pthread_mutex_unlock(&connections->lock);
    free(connection);
}

/* ---- the memory of request bodies ---- */

bool pawli_connection_add_bytes(pawli_connections *connections, pawli_connection *connection,
                                size_t size)
{
    bool alive;

    pthread_mutex_lock(&connections->lock);
    alive = connection->state == PAWLI_ARRIVING;
    if (alive) {
        connection->body_bytes += size;
        if (connection->peer)
            connection->peer->held += size;
    }
    pthread_mutex_unlock(&connections->lock);
    return alive;
}

size_t pawli_connection_drop_bytes(pawli_connections *connections, pawli_connection *connection)
{
    size_t held;

    pthread_mutex_lock(&connections->lock);
    held = connection->body_bytes;
    if (connection->state == PAWLI_ARRIVING && connection->peer)
        connection->peer->held -= held;
    connection->body_bytes = 0;
    pthread_mutex_unlock(&connections->lock);
    return held;
}

/* With the lock held. */
static pawli_peer *most_bytes_peer(const pawli_connections *connections)
{
    pawli_peer *most = NULL;

    for (size_t i = 0; i < PAWLI_PEER_BUCKETS; i++)
        for (pawli_peer *peer = connections->peers[i]; peer; peer = peer->next)
            if (peer->held > (most ? most->held : 0))
                most = peer;
    return most;
}

size_t pawli_connections_most_bytes(pawli_connections *connections)
{
    pawli_peer *most;
    size_t held;

    pthread_mutex_lock(&connections->lock);
    most = most_bytes_peer(connections);
    held = most ? most->held : 0;
    pthread_mutex_unlock(&connections->lock);
    return held;
}

size_t pawli_connections_shed(pawli_connections *connections)
{
    pawli_connection *oldest = NULL;
    pawli_peer *most;
    size_t held = 0;

    pthread_mutex_lock(&connections->lock);
    most = most_bytes_peer(connections);
    if (most)
        for (oldest = most->waited_for.first;
             oldest && (oldest->state != PAWLI_ARRIVING || oldest->body_bytes == 0);)
            oldest = oldest->next[PAWLI_OF_PEER];
    if (oldest) {
        held = oldest->body_bytes;
        connections_cut(connections, oldest, PAWLI_REJECTED_MEMORY);
        oldest->body_bytes = 0; /* so that its thread does not subtract them again */
    }
    pthread_mutex_unlock(&connections->lock);
    return held;
}

void pawli_connections_drain(pawli_connections *connections, pawl_mono deadline)
{
    pawli_connection *next;

    pthread_mutex_lock(&connections->lock);
    for (pawli_connection *at = connections->waited_for.first; at; at = next) {
        next = at->next[PAWLI_OF_ALL];
        if (at->state == PAWLI_IDLE)
            connections_shut(connections, at);
    }
    while (connections->busy > 0 && !pawli_mono_passed(deadline))
        pawli_wait_until(&connections->changed, &connections->lock, deadline);
    pthread_mutex_unlock(&connections->lock);
}
