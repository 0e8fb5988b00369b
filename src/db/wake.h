/* src/db/wake.h - telling waiting threads of this process that something was sent. */
#ifndef PAWLI_WAKE_H
#define PAWLI_WAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <pawl/clock.h>

/* For a thread that waits with poll(): the descriptor becomes readable. */
typedef struct pawli_bell {
    int fd;           /* an eventfd */
    bool wants_sends; /* or only interrupts; this and the next are guarded by the wake's lock */
    bool rung;        /* since it was last answered; not rung again */
    struct pawli_bell *next;
} pawli_bell;

typedef struct pawli_wake {
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t signal;
    uint64_t sent;    /* counts signals */
    uint64_t stopped; /* counts interrupts */
    pawli_bell *bells;
} pawli_wake;

void pawli_wake_init(pawli_wake *wake);
void pawli_wake_done(pawli_wake *wake);
void pawli_wake_signal(pawli_wake *wake);
void pawli_wake_interrupt(pawli_wake *wake);
uint64_t pawli_wake_sent(pawli_wake *wake);
uint64_t pawli_wake_stopped(pawli_wake *wake);
/* Until something was sent after `seen`, or the deadline; false when interrupted. */
bool pawli_wake_wait(pawli_wake *wake, uint64_t seen, pawl_mono deadline);

/* What was counted so far. */
typedef struct pawli_wake_counts {
    uint64_t sent;
    uint64_t stopped;
} pawli_wake_counts;

/* `bell` is the caller's until it is taken down. False: there was no descriptor left. */
bool pawli_wake_hang(pawli_wake *wake, pawli_bell *bell);
void pawli_wake_take_down(pawli_wake *wake, pawli_bell *bell);
/* Stop it ringing, and say how much was counted by then: what is counted later rings it again. */
pawli_wake_counts pawli_wake_answer(pawli_wake *wake, pawli_bell *bell, bool wants_sends);
/* Any thread: ring just this one. */
void pawli_wake_ring(pawli_wake *wake, pawli_bell *bell);

#endif
