/* tests/harness/activity.c - waiting until something is true that other threads bring about. */
#include "activity.h"

#include <pthread.h>
#include <time.h>

#define LOOK_AGAIN_NS 10000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t reported = PTHREAD_COND_INITIALIZER;
static uint64_t reports;

void activity_report(void)
{
    pthread_mutex_lock(&lock);
    reports++;
    pthread_cond_broadcast(&reported);
    pthread_mutex_unlock(&lock);
}

uint64_t activity_count(void)
{
    pthread_mutex_lock(&lock);
    uint64_t count = reports;
    pthread_mutex_unlock(&lock);
    return count;
}

void activity_await(uint64_t seen)
{
    struct timespec until;
    int waited = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_AGAIN_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&lock);
    while (reports == seen && waited == 0)
        waited = pthread_cond_timedwait(&reported, &lock, &until);
    pthread_mutex_unlock(&lock);
}
