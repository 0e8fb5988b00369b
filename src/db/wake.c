/* src/db/wake.c - wakes waiting threads of this process when a message was enqueued. */
#include "wake.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "cond.h"
#include "platform.h"

void pawli_wake_init(pawli_wake *wake)
{
    pthread_mutex_init(&wake->lock, NULL);
    pawli_cond_init(&wake->signal);
    wake->sent = 0;
    wake->stopped = 0;
    wake->wake_fds = NULL;
}

void pawli_wake_done(pawli_wake *wake)
{
    pthread_cond_destroy(&wake->signal);
    pthread_mutex_destroy(&wake->lock);
}

/* Called with the lock held. */
static void wake_fd_signal(pawli_wake_fd *wake_fd)
{
    if (!wake_fd->signaled)
        (void)eventfd_write(wake_fd->fd, 1); /* fails only if it is already readable */
    wake_fd->signaled = true;
}

void pawli_wake_signal(pawli_wake *wake)
{
    pthread_mutex_lock(&wake->lock);
    wake->sent++;
    for (pawli_wake_fd *wake_fd = wake->wake_fds; wake_fd; wake_fd = wake_fd->next)
        if (wake_fd->wants_sends)
            wake_fd_signal(wake_fd);
    pthread_cond_broadcast(&wake->signal);
    pthread_mutex_unlock(&wake->lock);
}

void pawli_wake_interrupt(pawli_wake *wake)
{
    pthread_mutex_lock(&wake->lock);
    wake->stopped++;
    for (pawli_wake_fd *wake_fd = wake->wake_fds; wake_fd; wake_fd = wake_fd->next)
        wake_fd_signal(wake_fd);
    pthread_cond_broadcast(&wake->signal);
    pthread_mutex_unlock(&wake->lock);
}

uint64_t pawli_wake_sent(pawli_wake *wake)
{
    pthread_mutex_lock(&wake->lock);
    uint64_t sent = wake->sent;
    pthread_mutex_unlock(&wake->lock);
    return sent;
}

uint64_t pawli_wake_stopped(pawli_wake *wake)
{
    pthread_mutex_lock(&wake->lock);
    uint64_t stopped = wake->stopped;
    pthread_mutex_unlock(&wake->lock);
    return stopped;
}

bool pawli_wake_wait(pawli_wake *wake, uint64_t seen, pawl_mono deadline)
{
    pthread_mutex_lock(&wake->lock);
    uint64_t stopped = wake->stopped;
    while (wake->sent == seen && wake->stopped == stopped && !pawli_mono_passed(deadline))
        pawli_cond_wait_until(&wake->signal, &wake->lock, deadline);
    bool quiet = wake->stopped == stopped;
    pthread_mutex_unlock(&wake->lock);
    return quiet;
}

bool pawli_wake_register(pawli_wake *wake, pawli_wake_fd *wake_fd)
{
    *wake_fd = (pawli_wake_fd){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (wake_fd->fd < 0)
        return false;
    pthread_mutex_lock(&wake->lock);
    wake_fd->next = wake->wake_fds;
    wake->wake_fds = wake_fd;
    pthread_mutex_unlock(&wake->lock);
    return true;
}

void pawli_wake_unregister(pawli_wake *wake, pawli_wake_fd *wake_fd)
{
    pthread_mutex_lock(&wake->lock);
    for (pawli_wake_fd **at = &wake->wake_fds; *at; at = &(*at)->next) {
        if (*at == wake_fd) {
            *at = wake_fd->next;
            break;
        }
    }
    pthread_mutex_unlock(&wake->lock);
    if (wake_fd->fd >= 0)
        close(wake_fd->fd);
    wake_fd->fd = -1;
}

pawli_wake_counts pawli_wake_clear(pawli_wake *wake, pawli_wake_fd *wake_fd, bool wants_sends)
{
    eventfd_t count;

    pthread_mutex_lock(&wake->lock);
    if (wake_fd->signaled)
        (void)eventfd_read(wake_fd->fd, &count);
    wake_fd->signaled = false;
    wake_fd->wants_sends = wants_sends;
    pawli_wake_counts counts = {wake->sent, wake->stopped};
    pthread_mutex_unlock(&wake->lock);
    return counts;
}

void pawli_wake_signal_one(pawli_wake *wake, pawli_wake_fd *wake_fd)
{
    pthread_mutex_lock(&wake->lock);
    wake_fd_signal(wake_fd);
    pthread_mutex_unlock(&wake->lock);
}
