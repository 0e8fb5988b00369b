/* src/worker/handler_pool.h - the handler pool: the threads that call handlers. */
#ifndef PAWLI_HANDLER_POOL_H
#define PAWLI_HANDLER_POOL_H

#include <pthread.h>

#include <pawl/worker.h>

typedef struct pawli_handler_pool {
    pthread_t *threads;
    size_t count; /* started */
} pawli_handler_pool;

/* Starts a thread on which only signals for faults are delivered. */
pawl_status pawli_thread_start(pthread_t *ret_thread, void *(*body)(void *), void *context,
                               pawl_error *err);

/* Starts all threads or none. */
pawl_status pawli_handler_pool_start(pawl_worker *worker, pawl_error *err);
/* Waits until every handler has returned; queued tasks are not touched. */
void pawli_handler_pool_end(pawl_worker *worker);

#endif
