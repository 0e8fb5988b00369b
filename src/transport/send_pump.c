/* src/transport/send_pump.c - keeps sends on time while a database call is slow. */
#include "send_pump.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "delivery_private.h"
#include "fail.h"
#include "log.h"
#include "platform.h"
#include "transport_client.h"

/* How often the pump thread runs while sends are in flight. */
#define TICK_MS 100
/* A database call that has lasted this long is slow. */
#define SLOW_US INT64_C(50000)
/* After this many ticks without a database call the thread sleeps until the next one: waking it
 * costs more than a tick. */
#define QUIET_TICKS 20

pawl_status pawli_send_pump_init(pawli_send_pump *pump, pawl_error *err)
{
    pthread_mutex_init(&pump->lock, NULL);
    pump->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pump->completed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pump->wake_fd < 0 || pump->completed_fd < 0)
        return pawli_fail_code(err, PAWL_E_IO, errno,
                               "no file descriptor is available for a delivery: raise the limit of "
                               "open files (ulimit -n)");
    return PAWL_OK;
}

static void pump_ring(int fd)
{
    (void)eventfd_write(fd, 1); /* fails only if it is readable already */
}

static void pump_hush(int fd)
{
    eventfd_t ignored;

    (void)eventfd_read(fd, &ignored);
}

void pawli_send_pump_done(pawli_send_pump *pump)
{
    if (pump->runs) {
        atomic_store(&pump->stop, true);
        pump_ring(pump->wake_fd);
        pthread_join(pump->thread, NULL);
    }
    if (pump->wake_fd >= 0)
        close(pump->wake_fd);
    if (pump->completed_fd >= 0)
        close(pump->completed_fd);
    pthread_mutex_destroy(&pump->lock);
}

void pawli_send_pump_drop_late(pawl_delivery *delivery)
{
    for (pawli_send_op *at = delivery->in_flight.first; at; at = at->next) {
        if (at->late || at->lost || !at->send || !pawli_mono_passed(at->lease_end))
            continue;
        at->late = true;
        pawli_transport_client_cancel(delivery->client, at->send);
    }
}

/* ---- the pump thread ---- */

/* Runs with the lock while the delivery's thread waits for the database. */
static void process_client(pawl_delivery *delivery)
{
    pawl_error why = PAWL_ERROR_INIT;
    size_t completed = delivery->completed.count;

    pawli_send_pump_drop_late(delivery);
    if (pawli_transport_client_process(delivery->client, &why) != PAWL_OK)
        pawli_log(&delivery->options.log, PAWL_LOG_WARNING, "outbox",
                  "sends are delayed, retrying: {error}", pawli_logged("error", why.message));
    if (delivery->completed.count > completed)
        pump_ring(delivery->pump.completed_fd);
}

static bool call_is_slow(pawli_send_pump *pump)
{
    int64_t began = (int64_t)atomic_load(&pump->called);

    return began != 0 && pawli_mono_now().us - began >= SLOW_US;
}

/* A database call that starts just now either finds this undone, or wakes this thread. */
static int stop_ticking(pawli_send_pump *pump)
{
    atomic_store(&pump->ticks, false);
    if (atomic_load(&pump->called) != 0)
        atomic_store(&pump->ticks, true);
    return 0;
}

static void *run_pump(void *context)
{
    pawl_delivery *delivery = context;
    pawli_send_pump *pump = &delivery->pump;
    int quiet = 0;

    while (!atomic_load(&pump->stop)) {
        struct pollfd sleep = {.fd = pump->wake_fd, .events = POLLIN};
        if (poll(&sleep, 1, atomic_load(&pump->ticks) ? TICK_MS : -1) > 0)
            pump_hush(pump->wake_fd);
        if (!call_is_slow(pump)) {
            quiet = atomic_load(&pump->called) == 0 ? quiet + 1 : 0;
            if (quiet >= QUIET_TICKS)
                quiet = stop_ticking(pump);
            continue;
        }
        quiet = 0;
        pthread_mutex_lock(&pump->lock);
        if (atomic_load(&pump->called) != 0)
            process_client(delivery);
        pthread_mutex_unlock(&pump->lock);
    }
    return NULL;
}

/* Signals are for the application's threads. Without this thread sends may be late, but still
 * work. */
static void pump_start(pawl_delivery *delivery)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    delivery->pump.runs = pthread_create(&delivery->pump.thread, NULL, run_pump, delivery) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the delivery's thread ---- */

void pawli_send_pump_enter(pawl_delivery *delivery)
{
    pthread_mutex_lock(&delivery->pump.lock);
}

void pawli_send_pump_pause(pawl_delivery *delivery)
{
    pump_hush(delivery->pump.completed_fd);
}

void pawli_send_pump_leave(pawl_delivery *delivery)
{
    pthread_mutex_unlock(&delivery->pump.lock);
}

void pawli_send_pump_lend(pawl_delivery *delivery)
{
    pawli_send_pump *pump = &delivery->pump;

    if (delivery->in_flight.count == 0) /* nothing is in flight */
        return;
    if (!pump->runs)
        pump_start(delivery);
    atomic_store(&pump->called, (int_fast64_t)pawli_mono_now().us);
    if (!atomic_exchange(&pump->ticks, true))
        pump_ring(pump->wake_fd);
    pthread_mutex_unlock(&pump->lock);
}

void pawli_send_pump_reclaim(pawl_delivery *delivery)
{
    pawli_send_pump *pump = &delivery->pump;

    if (atomic_load(&pump->called) == 0)
        return;
    pthread_mutex_lock(&pump->lock);
    atomic_store(&pump->called, 0);
}
