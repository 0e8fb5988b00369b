/* src/worker/lease_renewer.c - the lease renewer, and lease times by the local clock. */
#include "lease_renewer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fail.h"
#include "finish.h"
#include "lease_clock.h"
#include "log.h"
#include "platform.h"
#include "thread_deadline.h"
#include "worker_private.h"

/* ---- renewing the leases of tasks in flight ---- */

#define FAILURES_MAX 3
#define FIRST_ROOM 64
/* A renewal without a response within this time has failed, however long the lease is. */
#define TRY_LEAST_US INT64_C(1000000)

static pawl_status renewal_make_room(pawli_lease_renewer *renewer, size_t count, pawl_error *err)
{
    if (count <= renewer->room)
        return PAWL_OK;
    pawl_task **due = malloc(count * sizeof(pawl_task *));
    pawl_receipt *items = malloc(count * sizeof *items);
    bool *renewed = malloc(count * sizeof *renewed);
    if (!due || !items || !renewed) {
        free(due);
        free(items);
        free(renewed);
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for renewing %zu leases", count);
    }
    free(renewer->due);
    free(renewer->items);
    free(renewer->renewed);
    renewer->due = due;
    renewer->items = items;
    renewer->renewed = renewed;
    renewer->room = count;
    return PAWL_OK;
}

pawl_status pawli_lease_renewer_init(pawli_lease_renewer *renewer, pawl_error *err)
{
    atomic_init(&renewer->leave, false);
    renewer->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (renewer->fd < 0)
        return pawli_fail_code(err, PAWL_E_NOMEM, errno,
                               "no file descriptor is available for the worker: %s",
                               strerror(errno));
    return renewal_make_room(renewer, FIRST_ROOM, err);
}

void pawli_lease_renewer_done(pawli_lease_renewer *renewer)
{
    if (renewer->fd >= 0)
        close(renewer->fd);
    renewer->fd = -1;
    free(renewer->due);
    free(renewer->items);
    free(renewer->renewed);
}

/* ---- what is due; with the lock of pawli_inflight held ---- */

static bool is_kept(const pawl_task *task)
{
    return task->phase != PAWLI_PHASE_STORING && !pawli_task_lost(task);
}

/* The lease of a handler that has timed out is not renewed. */
static bool is_renewed(const pawl_task *task)
{
    return is_kept(task) && task->cause != PAWLI_CAUSE_TIMEOUT;
}

static pawl_mono time_up(const pawl_task *task)
{
    if (task->phase != PAWLI_PHASE_RUNNING || task->timeout_us == 0 ||
        task->cause != PAWLI_CAUSE_NONE)
        return (pawl_mono){INT64_MAX};
    return pawli_mono_after(task->started, task->timeout_us);
}

/* Check deadlines first: a task that has passed one need not be renewed. */
static bool check_clocks(pawli_inflight *inflight, pawl_mono now)
{
    bool due = false;
    pawl_task *next;

    for (pawl_task *task = inflight->all; task; task = next) {
        next = task->next;
        if (!is_kept(task))
            continue;
        if (task->deadline.us <= now.us)
            pawli_inflight_lose(inflight, task);
        else if (time_up(task).us <= now.us)
            pawli_inflight_time_out(task);
        due |= is_renewed(task) && task->renew_at.us <= now.us;
    }
    return due;
}

/* When one renewal is due, those due soon are included; either dead letters or others. */
static size_t renewal_collect(pawl_worker *worker, pawl_mono now, bool dead)
{
    pawli_inflight *inflight = &worker->inflight;
    pawli_lease_renewer *renewer = &worker->renewer;
    size_t count = 0;

    pthread_mutex_lock(&inflight->lock);
    size_t wanted = inflight->count;
    pthread_mutex_unlock(&inflight->lock);
    (void)renewal_make_room(renewer, wanted,
                            NULL); /* without it, some tasks wait for the next pass */
    pthread_mutex_lock(&inflight->lock);
    if (check_clocks(inflight, now)) {
        for (pawl_task *task = inflight->all; task && count < renewer->room; task = task->next) {
            if (task->dead != dead || !is_renewed(task) ||
                task->renew_at.us > now.us + task->lease_us / 8)
                continue;
            task->pins++;
            renewer->items[count] = task->receipt;
            renewer->due[count++] = task;
        }
    }
    pthread_mutex_unlock(&inflight->lock);
    return count;
}

static pawl_mono renewal_next_check(pawl_worker *worker, pawl_mono now)
{
    pawli_inflight *inflight = &worker->inflight;
    /* If nothing is in flight, nothing will be due before this. */
    pawl_mono next = pawli_mono_after(now, worker->options.lease_ms * 1000 / 3);

    pthread_mutex_lock(&inflight->lock);
    for (pawl_task *task = inflight->all; task; task = task->next) {
        if (!is_kept(task))
            continue;
        pawl_mono times[] = {task->deadline, time_up(task),
                             is_renewed(task) ? task->renew_at : task->deadline};
        for (int i = 0; i < 3; i++)
            next = times[i].us < next.us ? times[i] : next;
    }
    inflight->renewer_at = next;
    pthread_mutex_unlock(&inflight->lock);
    return next;
}

/* ---- renewing ---- */

/* Tasks whose result is being stored, or has been, are not lost. */
static void renewal_renewed(pawl_worker *worker, pawl_task **tasks, const bool *renewed,
                            size_t count, pawl_mono asked_at)
{
    pthread_mutex_lock(&worker->inflight.lock);
    for (size_t i = 0; i < count; i++) {
        if (renewed[i])
            pawli_lease_start(tasks[i], asked_at);
        else if (!tasks[i]->gone && is_kept(tasks[i]))
            pawli_inflight_lose(&worker->inflight, tasks[i]);
    }
    pthread_mutex_unlock(&worker->inflight.lock);
}

static void renewal_failed(pawl_worker *worker, pawl_task **tasks, size_t count)
{
    pawl_mono now = pawli_worker_now(worker);

    pthread_mutex_lock(&worker->inflight.lock);
    for (size_t i = 0; i < count; i++) {
        pawl_task *task = tasks[i];
        task->renew_at = pawli_mono_after(now, task->lease_us / 6);
        if (++task->failures >= FAILURES_MAX && !task->gone && is_kept(task))
            pawli_inflight_lose(&worker->inflight, task);
    }
    pthread_mutex_unlock(&worker->inflight.lock);
}

static pawl_status renewal_renew(pawl_worker *worker, size_t first, size_t count, pawl_error *err)
{
    pawli_lease_renewer *renewer = &worker->renewer;
    pawl_task **tasks = renewer->due + first;
    pawl_mono asked_at = pawli_worker_now(worker);
    size_t changed = 0;
    pawli_changed ret = {&changed, renewer->renewed};
    pawl_status st;

    if (tasks[0]->dead)
        st = pawli_dead_renew(worker->store, worker->owner, renewer->items + first, count,
                              worker->options.lease_ms, ret, err);
    else
        st = pawli_queue_renew(worker->store, worker->owner, renewer->items + first, count,
                               worker->options.lease_ms, ret, err);
    if (st != PAWL_OK) {
        renewal_failed(worker, tasks, count);
        return st;
    }
    renewal_renewed(worker, tasks, renewer->renewed, count, asked_at);
    pawli_worker_count(worker, &worker->stats.renewals, changed);
    return PAWL_OK;
}

/* Three attempts must fit into a lease, so none may wait for the store's whole timeout. */
static void renewal_limit_try(pawl_worker *worker, size_t count)
{
    pawl_mono now = pawli_mono_now();
    int64_t try_us = worker->options.lease_ms * 1000 / 6;

    for (size_t i = 0; i < count; i++)
        if (worker->renewer.due[i]->lease_us / 6 < try_us)
            try_us = worker->renewer.due[i]->lease_us / 6;
    pawli_thread_deadline_begin(
        pawli_mono_after(now, try_us > TRY_LEAST_US ? try_us : TRY_LEAST_US));
}

static pawl_status renew_due(pawl_worker *worker, pawl_mono now, bool dead, pawl_error *err)
{
    pawl_error why = PAWL_ERROR_INIT;
    size_t count = renewal_collect(worker, now, dead);
    pawl_status st = PAWL_OK;

    if (count == 0)
        return PAWL_OK;
    renewal_limit_try(worker, count);
    for (size_t first = 0; first < count; first += PAWL_BATCH_MAX) {
        size_t part = count - first < PAWL_BATCH_MAX ? count - first : PAWL_BATCH_MAX;
        pawl_status one = renewal_renew(worker, first, part, &why);
        st = st != PAWL_OK ? st : one;
    }
    pawli_thread_deadline_end();
    pthread_mutex_lock(&worker->inflight.lock);
    for (size_t i = 0; i < count; i++)
        pawli_inflight_unpin(worker->renewer.due[i]);
    pthread_mutex_unlock(&worker->inflight.lock);
    if (st != PAWL_OK)
        pawli_log(&worker->log, PAWL_LOG_WARNING, "worker",
                  "{count} leases could not be renewed: {error}",
                  pawli_logged_number("count", (int64_t)count), pawli_logged("error", why.message));
    if (st != PAWL_OK && err)
        *err = why;
    return st;
}

static pawl_status renewal_turn(pawl_worker *worker, pawl_mono now, pawl_error *err)
{
    pawl_status st = renew_due(worker, now, false, err);
    pawl_status dead = PAWL_OK;

    if (!pawli_handlers_empty(&worker->dead_handlers))
        dead = renew_due(worker, now, true, st == PAWL_OK ? err : NULL);
    return st != PAWL_OK ? st : dead;
}

pawl_status pawli_lease_renewer_step(pawl_worker *worker, pawl_error *err)
{
    pawl_status st = pawli_worker_read_clock(worker, err);

    return st == PAWL_OK ? renewal_turn(worker, pawli_worker_now(worker), err) : st;
}

/* Thread: its own. */
static void *renewal_keep(void *context)
{
    pawl_worker *worker = context;
    struct pollfd fd = {.fd = worker->renewer.fd, .events = POLLIN};
    eventfd_t count;

    while (!atomic_load(&worker->renewer.leave)) {
        (void)renewal_turn(worker, pawli_mono_now(), NULL);
        pawl_mono next = renewal_next_check(worker, pawli_mono_now());
        (void)poll(&fd, 1, pawli_mono_left_ms(next));
        (void)eventfd_read(fd.fd, &count);
    }
    return NULL;
}

pawl_status pawli_lease_renewer_start(pawl_worker *worker, pawl_error *err)
{
    atomic_store(&worker->renewer.leave, false);
    worker->inflight.renewer_fd = worker->renewer.fd;
    return pawli_thread_start(&worker->renewer.thread, renewal_keep, worker, err);
}

void pawli_lease_renewer_end(pawl_worker *worker)
{
    atomic_store(&worker->renewer.leave, true);
    (void)eventfd_write(worker->renewer.fd, 1);
    pthread_join(worker->renewer.thread, NULL);
    worker->inflight.renewer_fd = -1;
}

/* ---- how long a lease lasts by the local clock ---- */

/* A lease counts as lost this long before it expires, so that what follows still reaches the
 * store in time. */
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

/* Whether all tasks have the worker's own lease time, as far as the clocks show. */
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
