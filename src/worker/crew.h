/* src/worker/crew.h - the handler pool: the threads that call handlers. */
#ifndef PAWLI_CREW_H
#define PAWLI_CREW_H

#include <pthread.h>

#include <pawl/worker.h>

typedef struct pawli_crew {
    pthread_t *threads;
    size_t count; /* started */
} pawli_crew;

/* Starts a thread on which only signals for faults are delivered. */
pawl_status pawli_thread_start(pthread_t *ret_thread, void *(*body)(void *), void *context,
                               pawl_error *err);

/* Starts all threads or none. */
pawl_status pawli_crew_start(pawl_worker *worker, pawl_error *err);
/* Waits until every handler has returned; queued tasks are not touched. */
void pawli_crew_end(pawl_worker *worker);

#endif
