/* src/db/wake.c - telling waiting threads of this process that something was sent. */
#include "wake.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "cond.h"
#include "world.h"

void pawli_wake_init(pawli_wake *wake)
{
    pthread_mutex_init(&wake->lock, NULL);
    pawli_cond_init(&wake->signal);
    wake->sent = 0;
    wake->stopped = 0;
    wake->bells = NULL;
}

void pawli_wake_done(pawli_wake *wake)
{
    pthread_cond_destroy(&wake->signal);
    pthread_mutex_destroy(&wake->lock);
}

/* Called with the lock held. */
static void ring(pawli_bell *bell)
{
    if (!bell->rung)
        (void)eventfd_write(bell->fd, 1); /* fails only when it is readable already */
    bell->rung = true;
}

void pawli_wake_signal(pawli_wake *wake)
{
    pthread_mutex_lock(&wake->lock);
    wake->sent++;
    for (pawli_bell *bell = wake->bells; bell; bell = bell->next)
        if (bell->wants_sends)
            ring(bell);
    pthread_cond_broadcast(&wake->signal);
    pthread_mutex_unlock(&wake->lock);
}

void pawli_wake_interrupt(pawli_wake *wake)
{
    pthread_mutex_lock(&wake->lock);
    wake->stopped++;
    for (pawli_bell *bell = wake->bells; bell; bell = bell->next)
        ring(bell);
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

bool pawli_wake_hang(pawli_wake *wake, pawli_bell *bell)
{
    *bell = (pawli_bell){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (bell->fd < 0)
        return false;
    pthread_mutex_lock(&wake->lock);
    bell->next = wake->bells;
    wake->bells = bell;
    pthread_mutex_unlock(&wake->lock);
    return true;
}

void pawli_wake_take_down(pawli_wake *wake, pawli_bell *bell)
{
    pthread_mutex_lock(&wake->lock);
    for (pawli_bell **at = &wake->bells; *at; at = &(*at)->next) {
        if (*at == bell) {
            *at = bell->next;
            break;
        }
    }
    pthread_mutex_unlock(&wake->lock);
    if (bell->fd >= 0)
        close(bell->fd);
    bell->fd = -1;
}

pawli_wake_counts pawli_wake_answer(pawli_wake *wake, pawli_bell *bell, bool wants_sends)
{
    eventfd_t count;

    pthread_mutex_lock(&wake->lock);
    if (bell->rung)
        (void)eventfd_read(bell->fd, &count);
    bell->rung = false;
    bell->wants_sends = wants_sends;
    pawli_wake_counts counts = {wake->sent, wake->stopped};
    pthread_mutex_unlock(&wake->lock);
    return counts;
}

void pawli_wake_ring(pawli_wake *wake, pawli_bell *bell)
{
    pthread_mutex_lock(&wake->lock);
    ring(bell);
    pthread_mutex_unlock(&wake->lock);
}
