/* src/worker/ending.c - when a worker ends by itself, because its options say that it is enough. */
#include "ending.h"

#include "worker_private.h"
#include "world.h"

size_t pawli_ending_left(const pawl_worker *worker)
{
    int64_t most = worker->options.max_messages;

    if (most == 0)
        return SIZE_MAX;
    return worker->intake.taken < most ? (size_t)(most - worker->intake.taken) : 0;
}

/* Only the intake takes out of the hand, so what is empty now was so when the claim was made. */
static bool holds_nothing(pawl_worker *worker)
{
    pthread_mutex_lock(&worker->hand.lock);
    bool nothing = worker->hand.count == 0;
    pthread_mutex_unlock(&worker->hand.lock);
    return nothing;
}

/* Where topics are claimed by their names, the names must have been read since. */
static bool saw_all_topics(pawl_worker *worker)
{
    const pawli_wants *wants = &worker->intake.wants;
    pawl_mono now = pawli_mono_now();

    if (!wants->by_name)
        return true;
    if (worker->intake.empty_at.us > now.us)
        worker->intake.empty_at = now;
    return wants->names.read_at.us > worker->intake.empty_at.us;
}

/* Whether the last claim asked for all there is, and got nothing. */
static bool saw_everything(pawl_worker *worker)
{
    const pawli_intake *intake = &worker->intake;

    if (pawli_handlers_empty(&worker->handlers))
        return true; /* it is here for dead letters */
    return intake->wants.count > 0 && intake->drained && saw_all_topics(worker);
}

/* What is due, but not seen by a claim: leases that ended, and dead letters. True: there was some.
 */
static bool sweep(pawl_worker *worker)
{
    size_t reaped = 0, dead = 0;
    pawli_chore_result result = {0};

    if (worker->options.chore_every_ms[PAWL_CHORE_REAP] > 0)
        do {
            (void)pawli_chore_do(worker, PAWL_CHORE_REAP, &result, NULL);
            reaped += result.changed;
        } while (result.scan.more && !pawli_stop_asked(&worker->stop));
    pawli_dead_hurry(&worker->dead);
    (void)pawli_dead_look(worker, &dead, NULL);
    return reaped + dead > 0;
}

/*
 * The claim that finds nothing must have been made after sweeping, whatever that found: our own
 * chores may have swept between the claim before and now.
 */
static bool is_empty(pawl_worker *worker)
{
    pawli_intake *intake = &worker->intake;

    if (!saw_everything(worker))
        return false;
    if (intake->swept)
        return true;
    bool more = sweep(worker);
    if (pawli_handlers_empty(&worker->handlers))
        return !more;
    intake->swept = true;
    intake->drained = false; /* claim again, instead of falling asleep */
    return false;
}

bool pawli_ending_reached(pawl_worker *worker, size_t found)
{
    pawli_intake *intake = &worker->intake;

    if (!worker->options.until_empty && worker->options.max_messages == 0)
        return false;
    if (found > 0 || !holds_nothing(worker)) {
        intake->empty_at = (pawl_mono){INT64_MAX};
        intake->swept = false;
        return false;
    }
    if (pawli_ending_left(worker) == 0)
        return true;
    return worker->options.until_empty && !pawli_intake_is_asking(worker) && is_empty(worker);
}
