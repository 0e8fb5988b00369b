/*
 * src/server/receive_pool.h - the handler pool: the threads that process messages, so that those
 * that read requests never wait; and the queue in front of them.
 */
#ifndef PAWLI_RECEIVE_POOL_H
#define PAWLI_RECEIVE_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "response.h"
#include "route.h"

/* A received message until its response. Part of the object that received it. */
struct pawli_request {
    pawli_request *next;
    char *body; /* the received bytes; freed by the object that received them */
    size_t body_size;
    pawl_envelope *envelope; /* once it has been decoded; freed when the job is done */
    pawli_route *route;      /* once it is known */
    bool is_next;            /* it is the next suspect to process */
    pawli_response response;
    void (*done)(
        pawli_request *job); /* the response is ready; called on a pool thread, no lock held */
};

/*
 * The functions that the pool calls for a job; each runs on one of its threads, with no lock held.
 */
typedef struct pawli_receive_pool_work {
    /* Decodes it and finds its route; false: the response is ready. */
    bool (*read)(void *context, pawli_request *job);
    /* Processes it and sets the response; false: it is a suspect (pawl/inbox.h), and must wait. */
    bool (*process)(void *context, pawli_request *job);
    /* Sets the response of a job that will not be processed because the pool is closed. */
    void (*reject)(void *context, pawli_request *job);
    void *context;
} pawli_receive_pool_work;

/* Suspects of one mode: one is processed, the others wait without a thread. */
typedef struct pawli_suspects {
    bool is_busy;
    pawli_request *first;
    pawli_request *last;
} pawli_suspects;

typedef struct pawli_receive_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* there is work, or `closed`, or all threads are idle */
    pawli_receive_pool_work work;
    pawli_request *first;
    pawli_request *last;
    pawli_suspects suspects[PAWLI_MODE_COUNT];
    size_t waiting; /* queued, blocked, and suspects */
    size_t most_waiting;
    size_t working; /* threads that have a job */
    size_t running; /* of those, in process() */
    bool closed;
    bool ending;
    pthread_t *threads;
    size_t count;
} pawli_receive_pool;

/* Its lock exists from here until _destroy, whether it is started or not. */
void pawli_receive_pool_init(pawli_receive_pool *pool);
void pawli_receive_pool_destroy(pawli_receive_pool *pool);

pawl_status pawli_receive_pool_start(pawli_receive_pool *pool, const pawli_receive_pool_work *work,
                                     size_t threads, size_t most_waiting, pawl_error *err);
/* False: too many are waiting, or it is closed; `done` is then not called. */
bool pawli_receive_pool_take(pawli_receive_pool *pool, pawli_request *job);
/* Accepts no more jobs; waiting ones are rejected within this call. */
void pawli_receive_pool_close(pawli_receive_pool *pool, pawli_routes *routes);
/* Waits until all threads are idle; false: the deadline came first. */
bool pawli_receive_pool_wait(pawli_receive_pool *pool, pawl_mono deadline);
/* Call it after pawli_receive_pool_close(); waits for its threads. No-op if it was not started. */
void pawli_receive_pool_done(pawli_receive_pool *pool);

/*
 * For a message that does not come through the queue (inproc): whether there is room on its route.
 * If so, call _leave afterwards.
 */
bool pawli_receive_pool_enter(pawli_receive_pool *pool, pawli_route *route);
void pawli_receive_pool_leave(pawli_receive_pool *pool, pawli_route *route);
void pawli_receive_pool_count(pawli_receive_pool *pool, int64_t *ret_running, int64_t *ret_waiting);

#endif
