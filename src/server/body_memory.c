/*
 * src/server/body_memory.c - the memory of request bodies, and which request is cut when it is
 * full.
 *
 * Anyone may send a body, signed or not, so a few clients that send slowly could hold all the
 * memory for as long as a request may take. What is full therefore makes room: the request is cut
 * that has been arriving longest from the address whose requests hold most.
 */
#include "receiver_private.h"

/* How many bytes that gave; 0: nothing that is still arriving holds any. */
static size_t shed_one(pawl_receiver *receiver)
{
    pawli_listener *fullest = NULL;
    size_t most = 0;

    for (pawli_listener *listener = receiver->listeners; listener; listener = listener->next) {
        size_t held = pawli_connections_most_bytes(&listener->connections);
        if (held > most) {
            most = held;
            fullest = listener;
        }
    }
    return fullest ? pawli_connections_shed(&fullest->connections) : 0;
}

bool pawli_body_reserve(pawli_listener *listener, pawli_connection *connection, size_t size)
{
    pawl_receiver *receiver = listener->receiver;
    size_t all;
    size_t freed;

    /* Before the connection has them, since whoever cuts it takes them from this sum. */
    all = atomic_fetch_add(&receiver->body_bytes, size) + size;
    if (!pawli_connection_add_bytes(&listener->connections, connection, size)) {
        atomic_fetch_sub(&receiver->body_bytes, size);
        return false;
    }
    while (all > receiver->options.max_held_bytes) {
        freed = shed_one(receiver);
        if (freed == 0) {
            pawli_body_release(listener, connection);
            return false;
        }
        all = atomic_fetch_sub(&receiver->body_bytes, freed) - freed;
    }
    return pawli_connection_add_bytes(&listener->connections, connection,
                                      0); /* or it was this one */
}

void pawli_body_release(pawli_listener *listener, pawli_connection *connection)
{
    atomic_fetch_sub(&listener->receiver->body_bytes,
                     pawli_connection_drop_bytes(&listener->connections, connection));
}
