/* src/db/deadline.c - thread deadlines, and condition variables that wait until a deadline. */
#include "thread_deadline.h"

#include <errno.h>
#include <time.h>

#include "cond.h"
#include "platform.h"

/* ---- a deadline for all calls that this thread makes on any store ---- */

static _Thread_local pawl_mono limit = {INT64_MAX};

void pawli_thread_deadline_begin(pawl_mono deadline)
{
    limit = deadline;
}

void pawli_thread_deadline_end(void)
{
    limit = (pawl_mono){INT64_MAX};
}

pawl_mono pawli_thread_deadline_apply(pawl_mono deadline)
{
    return limit.us < deadline.us ? limit : deadline;
}

/* ---- condition variables and semaphores with pawl's deadlines ---- */

void pawli_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* These functions cannot wait by CLOCK_BOOTTIME, so callers check their deadline again. */
static struct timespec cond_monotonic(pawl_mono deadline)
{
    struct timespec until;
    int64_t left = pawli_mono_left(deadline);

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += left / 1000000;
    until.tv_nsec += left % 1000000 * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

void pawli_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, pawl_mono deadline)
{
    struct timespec until = cond_monotonic(deadline);

    pthread_cond_timedwait(cond, lock, &until);
}

void pawli_sem_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        continue;
}

bool pawli_sem_wait_until(sem_t *semaphore, pawl_mono deadline)
{
    struct timespec until = cond_monotonic(deadline);

    while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &until) != 0) {
        if (errno != EINTR)
            return false;
    }
    return true;
}
