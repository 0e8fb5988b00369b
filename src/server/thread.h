/* src/server/thread.h - the library's own threads, and waiting with a deadline. */
#ifndef PAWLI_SERVER_THREAD_H
#define PAWLI_SERVER_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include <pawl/clock.h>

/*
 * Blocks all signals except those for faults: threads started now do not get the application's
 * signals.
 */
void pawli_signals_block(sigset_t *ret_before);
void pawli_signals_restore(const sigset_t *before);

/* Starts a thread with signals blocked. False: it could not be created. */
bool pawli_thread_begin(pthread_t *ret_thread, void *(*body)(void *), void *context);

/*
 * A condition variable that uses the clock of pawl_mono; spurious wake-ups are possible. The lock
 * is held.
 */
void pawli_wait_init(pthread_cond_t *cond);
void pawli_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, pawl_mono deadline);

#endif
