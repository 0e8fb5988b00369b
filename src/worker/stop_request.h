/*
 * src/worker/stop_request.h - stop requests, from any thread and from signal handlers.
 *
 * A signal handler can do little more than write to an eventfd, so one thread waits on it and wakes
 * the threads that wait in other ways. It does nothing else, so that it is never late.
 */
#ifndef PAWLI_STOP_REQUEST_H
#define PAWLI_STOP_REQUEST_H

#include <pthread.h>
#include <stdatomic.h>

#include <pawl/worker.h>

typedef struct pawli_stop {
    int fd; /* an eventfd */
    atomic_int calls;
    atomic_bool leave; /* ends the thread */
    pthread_t thread;
} pawli_stop;

pawl_status pawli_stop_init(pawli_stop *stop, pawl_error *err);
void pawli_stop_done(pawli_stop *stop);
pawl_status pawli_stop_start(pawl_worker *worker, pawl_error *err);
/* Ends the thread, and clears the stop request. */
void pawli_stop_end(pawl_worker *worker);

bool pawli_stop_asked(const pawli_stop *stop);
bool pawli_stop_forced(const pawli_stop *stop);

#endif
