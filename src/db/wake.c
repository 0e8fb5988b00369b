/* src/db/wake.c - telling waiting threads of this process that something was sent. */
#include "wake.h"

#include "cond.h"
#include "world.h"

void pawli_wake_init(pawli_wake *wake)
{
    pthread_mutex_init(&wake->lock, NULL);
    pawli_cond_init(&wake->signal);
    wake->sent = 0;
    wake->stopped = 0;
}

void pawli_wake_done(pawli_wake *wake)
{
    pthread_cond_destroy(&wake->signal);
    pthread_mutex_destroy(&wake->lock);
}

void pawli_wake_signal(pawli_wake *wake)
{
    pthread_mutex_lock(&wake->lock);
    wake->sent++;
    pthread_cond_broadcast(&wake->signal);
    pthread_mutex_unlock(&wake->lock);
}

void pawli_wake_interrupt(pawli_wake *wake)
{
    pthread_mutex_lock(&wake->lock);
    wake->stopped++;
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
