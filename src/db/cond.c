/* src/db/cond.c - condition variables that wait until one of pawl's deadlines. */
#include "cond.h"

#include <time.h>

#include "world.h"

void pawli_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

void pawli_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, pawl_mono deadline)
{
    struct timespec until;
    int64_t left = pawli_mono_left(deadline);

    /* Condition variables do not know CLOCK_BOOTTIME; the caller looks at its deadline again. */
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += left / 1000000;
    until.tv_nsec += left % 1000000 * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(cond, lock, &until);
}
