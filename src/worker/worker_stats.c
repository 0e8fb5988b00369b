/* src/worker/worker_stats.c - how a worker is doing. */
#include <string.h>

#include "worker_private.h"

_Static_assert((int)PAWL_BREAKER_CLOSED == (int)PAWLI_BREAKER_CLOSED &&
                   (int)PAWL_BREAKER_OPEN == (int)PAWLI_BREAKER_OPEN &&
                   (int)PAWL_BREAKER_HALF_OPEN == (int)PAWLI_BREAKER_HALF_OPEN,
               "the breaker's states are public");

void pawli_worker_count(pawl_worker *worker, int64_t *counter, size_t count)
{
    if (count == 0)
        return;
    pthread_mutex_lock(&worker->stats_lock);
    *counter += (int64_t)count;
    pthread_mutex_unlock(&worker->stats_lock);
}

void pawl_worker_get_stats(pawl_worker *worker, pawl_worker_stats *ret_stats)
{
    pawl_worker_stats stats;
    size_t size = ret_stats->size < sizeof stats ? ret_stats->size : sizeof stats;

    pthread_mutex_lock(&worker->stats_lock);
    stats = worker->stats;
    pthread_mutex_unlock(&worker->stats_lock);
    pthread_mutex_lock(&worker->inflight.lock);
    stats.in_flight = (int64_t)worker->inflight.count;
    stats.running = (int64_t)worker->inflight.running;
    pthread_mutex_unlock(&worker->inflight.lock);
    stats.breaker = (pawl_breaker_state)atomic_load(&worker->health.state);
    stats.size = ret_stats->size;
    memcpy(ret_stats, &stats, size);
}
