/* src/worker/auto_stop.c - when a worker ends by itself, because its options say that it is enough.
 */
#include "auto_stop.h"

#include "worker_private.h"
#include "platform.h"

size_t pawli_auto_stop_left(const pawl_worker *worker)
{
    int64_t most = worker->options.max_messages;

    if (most == 0)
        return SIZE_MAX;
    return worker->claim_loop.taken < most ? (size_t)(most - worker->claim_loop.taken) : 0;
}

/* Only the intake takes out of the hand, so what is empty now was so when the claim was made. */
static bool auto_stop_owns_nothing(pawl_worker *worker)
{
    pthread_mutex_lock(&worker->inflight.lock);
    bool nothing = worker->inflight.count == 0;
    pthread_mutex_unlock(&worker->inflight.lock);
    return nothing;
}

/* Where topics are claimed by their names, the names must have been read since. */
static bool saw_all_topics(pawl_worker *worker)
{
    const pawli_claim_plan *plan = &worker->claim_loop.plan;
    pawl_mono now = pawli_mono_now();

    if (!plan->by_name)
        return true;
    if (worker->claim_loop.empty_at.us > now.us)
        worker->claim_loop.empty_at = now;
    return plan->topic_cache.read_at.us > worker->claim_loop.empty_at.us;
}

/* Whether the last claim asked for all there is, and got nothing. */
static bool saw_everything(pawl_worker *worker)
{
    const pawli_claim_loop *claim_loop = &worker->claim_loop;

    if (pawli_handlers_empty(&worker->handlers))
        return true; /* it is here for dead letters */
    return claim_loop->plan.count > 0 && claim_loop->drained && saw_all_topics(worker);
}

/* What is due, but not seen by a claim: leases that ended, and dead letters. True: there was some.
 */
static bool auto_stop_sweep(pawl_worker *worker)
{
    size_t reaped = 0, dead = 0;
    pawli_maintenance_result result = {0};

    if (worker->options.maintenance_interval_ms[PAWL_MAINTENANCE_REAP] > 0)
        do {
            (void)pawli_maintenance_run(worker, PAWL_MAINTENANCE_REAP, &result, NULL);
            reaped += result.changed;
        } while (result.scan.more && !pawli_stop_asked(&worker->stop));
    pawli_dead_letters_claim_soon(&worker->dead);
    (void)pawli_dead_letters_claim(worker, &dead, NULL);
    return reaped + dead > 0;
}

/*
 * The claim that finds nothing must have been made after sweeping, whatever that found: our own
 * chores may have swept between the claim before and now.
 */
static bool auto_stop_is_empty(pawl_worker *worker)
{
    pawli_claim_loop *claim_loop = &worker->claim_loop;

    if (!saw_everything(worker))
        return false;
    if (claim_loop->swept)
        return true;
    bool more = auto_stop_sweep(worker);
    if (pawli_handlers_empty(&worker->handlers))
        return !more;
    claim_loop->swept = true;
    claim_loop->drained = false; /* claim again, instead of falling asleep */
    return false;
}

bool pawli_auto_stop_reached(pawl_worker *worker, size_t found)
{
    pawli_claim_loop *claim_loop = &worker->claim_loop;

    if (!worker->options.until_empty && worker->options.max_messages == 0)
        return false;
    if (found > 0 || !auto_stop_owns_nothing(worker)) {
        claim_loop->empty_at = (pawl_mono){INT64_MAX};
        claim_loop->swept = false;
        return false;
    }
    if (pawli_auto_stop_left(worker) == 0)
        return true;
    return worker->options.until_empty && !pawli_claim_loop_in_doubt(worker) &&
           auto_stop_is_empty(worker);
}
