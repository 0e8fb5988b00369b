/* src/db/cond.h - condition variables and semaphores with pawl's deadlines. */
#ifndef PAWLI_COND_H
#define PAWLI_COND_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include <pawl/clock.h>

void pawli_cond_init(pthread_cond_t *cond);
/* Waits until signaled or the deadline; may wake early. The lock is held. */
void pawli_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, pawl_mono deadline);

void pawli_sem_wait(sem_t *semaphore);
/* False: the deadline came first. */
bool pawli_sem_wait_until(sem_t *semaphore, pawl_mono deadline);

#endif
