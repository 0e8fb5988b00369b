/* src/db/clock.c - telling the log of a store whose clock is ahead of the machine's. */
#include "db_private.h"
#include "log.h"

void pawli_clock_init(pawli_clock_memory *clock)
{
    pthread_mutex_init(&clock->lock, NULL);
    clock->resets = -1;
    atomic_init(&clock->ahead_us, 0);
    atomic_init(&clock->told, false);
}

void pawli_clock_done(pawli_clock_memory *clock)
{
    pthread_mutex_destroy(&clock->lock);
}

void pawli_clock_log(pawli_db *db)
{
    int64_t ahead_us = atomic_load_explicit(&db->clock.ahead_us, memory_order_relaxed);
    bool ahead = ahead_us > 0;

    if (atomic_load_explicit(&db->clock.told, memory_order_relaxed) == ahead ||
        atomic_exchange(&db->clock.told, ahead) == ahead)
        return;
    if (ahead)
        pawli_log(&db->log, PAWL_LOG_ERROR, "store",
                  "the store's clock is %lld s ahead of this machine's, because the machine's was "
                  "ahead once: the store's goes on by the boot clock; if the machine's is right "
                  "now, stop all workers and run 'pawl migrate --reset-clock'",
                  (long long)(ahead_us / 1000000));
    else
        pawli_log(&db->log, PAWL_LOG_INFO, "store", "the store's clock is the machine's again");
}
