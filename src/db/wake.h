/* src/db/wake.h - in-process wake-ups: signals waiting threads that a message was enqueued. */
#ifndef PAWLI_WAKE_H
#define PAWLI_WAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <pawl/clock.h>

/* For a thread that waits in poll(): an eventfd that becomes readable. */
typedef struct pawli_wake_fd {
    int fd;           /* an eventfd */
    bool wants_sends; /* false: only interrupts; this and the next are guarded by the wake's lock */
    bool signaled;    /* signaled since the last pawli_wake_clear(); not signaled again */
    struct pawli_wake_fd *next;
} pawli_wake_fd;

typedef struct pawli_wake {
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t signal;
    uint64_t sent;    /* counts signals */
    uint64_t stopped; /* counts interrupts */
    pawli_wake_fd *wake_fds;
} pawli_wake;

void pawli_wake_init(pawli_wake *wake);
void pawli_wake_done(pawli_wake *wake);
void pawli_wake_signal(pawli_wake *wake);
void pawli_wake_interrupt(pawli_wake *wake);
uint64_t pawli_wake_sent(pawli_wake *wake);
uint64_t pawli_wake_stopped(pawli_wake *wake);
/* Waits until a message was enqueued after `seen`, or the deadline; false when interrupted. */
bool pawli_wake_wait(pawli_wake *wake, uint64_t seen, pawl_mono deadline);

/* The counters at one moment. */
typedef struct pawli_wake_counts {
    uint64_t sent;
    uint64_t stopped;
} pawli_wake_counts;

/*
 * Registers `wake_fd`, which the caller must keep until it is unregistered. False: no descriptor
 * available.
 */
bool pawli_wake_register(pawli_wake *wake, pawli_wake_fd *wake_fd);
void pawli_wake_unregister(pawli_wake *wake, pawli_wake_fd *wake_fd);
/* Clears the eventfd and returns the counters: later signals make it readable again. */
pawli_wake_counts pawli_wake_clear(pawli_wake *wake, pawli_wake_fd *wake_fd, bool wants_sends);
/* Signals only this one. Any thread. */
void pawli_wake_signal_one(pawli_wake *wake, pawli_wake_fd *wake_fd);

#endif
