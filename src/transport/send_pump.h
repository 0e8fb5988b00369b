/* src/transport/send_pump.h - enforcing send timeouts while a database call is slow.
 *
 * A delivery is one thread, so no send would end while that thread waits for the database. It
 * therefore lends the client and the sends for the duration of every database call; if a call
 * takes long, a second thread drives the client meanwhile.
 */
#ifndef PAWLI_SEND_PUMP_H
#define PAWLI_SEND_PUMP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <pawl/delivery.h>

typedef struct pawli_send_pump {
    pthread_t thread;
    bool runs;            /* the thread was started; delivery's thread only */
    int wake_fd;          /* wakes the second thread */
    int completed_fd;     /* readable when it has ended sends */
    pthread_mutex_t lock; /* its owner may use the client and the sends */
    atomic_bool stop;
    atomic_bool ticks;          /* it checks periodically; otherwise it sleeps until it is woken */
    atomic_int_fast64_t called; /* when the current call began; 0: no call in progress */
} pawli_send_pump;

/* PAWL_E_IO: no descriptor is available. */
pawl_status pawli_send_pump_init(pawli_send_pump *pump, pawl_error *err);
/* Waits for the thread. Also after a failed init. */
void pawli_send_pump_done(pawli_send_pump *pump);

/* For the delivery's thread, around everything that is not a database call: it owns the sends. */
void pawli_send_pump_enter(pawl_delivery *delivery);
void pawli_send_pump_leave(pawl_delivery *delivery);
/* For the same thread, around each database call. */
void pawli_send_pump_lend(pawl_delivery *delivery);
void pawli_send_pump_reclaim(pawl_delivery *delivery);

/* The delivery's thread processes the ended sends now. */
void pawli_send_pump_pause(pawl_delivery *delivery);
/*
 * Cancels sends whose lease has expired by the local clock, because another delivery may own them.
 * With the lock held.
 */
void pawli_send_pump_drop_late(pawl_delivery *delivery);

#endif
