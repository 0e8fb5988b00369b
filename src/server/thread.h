/* src/server/thread.h - threads of the library's own, and waiting until one of its deadlines. */
#ifndef PAWLI_SERVER_THREAD_H
#define PAWLI_SERVER_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include <pawl/clock.h>

/* The application's signals are for its own threads: those that start now have them blocked. */
void pawli_signals_block(sigset_t *ret_before);
void pawli_signals_restore(const sigset_t *before);

/* With signals blocked. False: there is no thread left. */
bool pawli_thread_begin(pthread_t *ret_thread, void *(*body)(void *), void *context);

/* A condition variable by the clock of pawl_mono; waiting may end early. The lock is held. */
void pawli_wait_init(pthread_cond_t *cond);
void pawli_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, pawl_mono deadline);

#endif
