/* src/db/wake.h - telling waiting threads of this process that something was sent. */
#ifndef PAWLI_WAKE_H
#define PAWLI_WAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <pawl/clock.h>

typedef struct pawli_wake {
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t signal;
    uint64_t sent;    /* counts signals */
    uint64_t stopped; /* counts interrupts */
} pawli_wake;

void pawli_wake_init(pawli_wake *wake);
void pawli_wake_done(pawli_wake *wake);
void pawli_wake_signal(pawli_wake *wake);
void pawli_wake_interrupt(pawli_wake *wake);
uint64_t pawli_wake_sent(pawli_wake *wake);
/* Until something was sent after `seen`, or the deadline; false when interrupted. */
bool pawli_wake_wait(pawli_wake *wake, uint64_t seen, pawl_mono deadline);

#endif
