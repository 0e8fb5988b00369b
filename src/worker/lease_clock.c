/* src/worker/lease_clock.c - how long a lease lasts by our own clock. */
#include "lease_clock.h"

#include "worker_private.h"
#include "platform.h"

/* Lost this long before the end: what we do then must reach the store in time. */
static int64_t margin_us(int64_t lease_us)
{
    int64_t margin = lease_us / 100 > 50000 ? lease_us / 100 : 50000;

    return margin < lease_us / 4 ? margin : lease_us / 4;
}

void pawli_lease_start(pawl_task *task, pawl_mono from)
{
    int64_t heartbeat_us = task->dead ? 0 : pawl_message_heartbeat_ms(task->message) * 1000;

    task->failures = 0;
    if (heartbeat_us <= 0 || heartbeat_us >= task->lease_us - margin_us(task->lease_us))
        heartbeat_us = task->lease_us / 3;
    task->renew_at = pawli_mono_after(from, heartbeat_us);
    task->deadline = pawli_mono_after(from, task->lease_us - margin_us(task->lease_us));
}

static void lease_clock_set(pawl_task *task, int64_t lease_us, pawl_mono from)
{
    task->lease_us = lease_us > 1000 ? lease_us : 1000;
    pawli_lease_start(task, from);
}

/* Whether all of them have the worker's own lease, as far as the clocks tell. */
static bool lease_clock_fits(const pawli_lease_clock *clock, const pawl_task *tasks, size_t count,
                             pawl_mono asked_at, int64_t lease_us)
{
    int64_t slack_us = margin_us(lease_us);

    if (!clock->known)
        return false;
    for (size_t i = 0; i < count; i++) {
        int64_t until_us = pawl_message_lease_until(tasks[i].message).us - clock->ahead_us;
        int64_t off_us = until_us - asked_at.us - lease_us;
        if (off_us > slack_us || off_us < -slack_us)
            return false;
    }
    return true;
}

static void measure_by_store(pawl_worker *worker, pawl_task *tasks, size_t count,
                             pawl_mono asked_at)
{
    pawli_lease_clock *clock = &worker->claim_loop.clock;
    pawl_mono before = pawli_mono_now();
    pawl_wall now;

    clock->known = pawl_store_now(worker->store, &now, NULL) == PAWL_OK;
    if (clock->known)
        clock->ahead_us = now.us - (before.us + pawli_mono_now().us) / 2;
    for (size_t i = 0; i < count; i++) {
        if (clock->known)
            lease_clock_set(&tasks[i], pawl_message_lease_until(tasks[i].message).us - now.us,
                            before);
        else
            lease_clock_set(&tasks[i], worker->options.lease_ms * 1000, asked_at);
    }
}

void pawli_lease_measure(pawl_worker *worker, pawl_task *tasks, size_t count, pawl_mono asked_at)
{
    pawli_lease_clock *clock = &worker->claim_loop.clock;
    int64_t lease_us = worker->options.lease_ms * 1000;

    if (count == 0)
        return;
    if (atomic_load(&worker->mode) == PAWLI_MODE_STEP) { /* our clock is the store's */
        for (size_t i = 0; i < count; i++)
            lease_clock_set(&tasks[i], pawl_message_lease_until(tasks[i].message).us - asked_at.us,
                            asked_at);
    } else if (lease_clock_fits(clock, tasks, count, asked_at, lease_us)) {
        int64_t began_us = pawl_message_lease_until(tasks[0].message).us - lease_us;
        clock->ahead_us = began_us - (asked_at.us + pawli_mono_now().us) / 2;
        for (size_t i = 0; i < count; i++)
            lease_clock_set(&tasks[i], lease_us, asked_at);
    } else {
        measure_by_store(worker, tasks, count, asked_at);
    }
}
