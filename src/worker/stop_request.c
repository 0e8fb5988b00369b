/* src/worker/stop_request.c - being told to stop, from anywhere, a signal handler included. */
#include "stop_request.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fail.h"
#include "worker_private.h"

pawl_status pawli_stop_init(pawli_stop *stop, pawl_error *err)
{
    atomic_init(&stop->calls, 0);
    atomic_init(&stop->leave, false);
    stop->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop->fd < 0)
        return pawli_fail_code(err, PAWL_E_NOMEM, errno, "no descriptor is left for the worker: %s",
                               strerror(errno));
    return PAWL_OK;
}

void pawli_stop_done(pawli_stop *stop)
{
    if (stop->fd >= 0)
        close(stop->fd);
    stop->fd = -1;
}

/* Async-signal-safe: an atomic number and write(), errno kept. */
void pawl_worker_request_stop(pawl_worker *worker)
{
    int kept = errno;
    uint64_t one = 1;

    if (!worker)
        return;
    atomic_fetch_add(&worker->stop.calls, 1);
    /* Fails only when it is readable already. */
    ssize_t written = write(worker->stop.fd, &one, sizeof one);
    (void)written;
    errno = kept;
}

bool pawli_stop_asked(const pawli_stop *stop)
{
    return atomic_load(&stop->calls) > 0;
}

bool pawli_stop_forced(const pawli_stop *stop)
{
    return atomic_load(&stop->calls) > 1;
}

/* Thread: its own. */
static void *pass_on(void *context)
{
    pawl_worker *worker = context;
    struct pollfd fd = {.fd = worker->stop.fd, .events = POLLIN};
    eventfd_t count;

    while (!atomic_load(&worker->stop.leave)) {
        (void)poll(&fd, 1, -1);
        (void)eventfd_read(worker->stop.fd, &count);
        pawli_inflight_wake(&worker->inflight);
    }
    return NULL;
}

pawl_status pawli_stop_start(pawl_worker *worker, pawl_error *err)
{
    atomic_store(&worker->stop.leave, false);
    return pawli_thread_start(&worker->stop.thread, pass_on, worker, err);
}

void pawli_stop_end(pawl_worker *worker)
{
    atomic_store(&worker->stop.leave, true);
    (void)eventfd_write(worker->stop.fd, 1);
    pthread_join(worker->stop.thread, NULL);
    atomic_store(&worker->stop.calls, 0);
}
