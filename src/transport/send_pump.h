/* src/transport/send_pump.h - keeping sends to their time while a call of the database is slow.
 *
 * A delivery is one thread, so nothing would end a send while that thread waits for the database.
 * It therefore lends the carrier and the flights for the time of every call; a call that takes long
 * is noticed by a second thread, which then gives the carrier its turns.
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
    bool runs;            /* the thread was started; the delivery's thread's */
    int wake_fd;          /* ends the second thread's sleep */
    int landed_fd;        /* readable when it has ended sends */
    pthread_mutex_t lock; /* who has it may use the carrier and the flights */
    atomic_bool stop;
    atomic_bool ticks;          /* it looks now and then; else it sleeps until it is woken */
    atomic_int_fast64_t called; /* when the call began that lasts; 0: none does */
} pawli_send_pump;

/* PAWL_E_IO: no descriptor is left. */
pawl_status pawli_send_pump_init(pawli_send_pump *pump, pawl_error *err);
/* Waits for the thread. Also after a failed init. */
void pawli_send_pump_done(pawli_send_pump *pump);

/* The delivery's thread, around everything that is not a call of the database: it has the flights.
 */
void pawli_send_pump_enter(pawl_delivery *delivery);
void pawli_send_pump_leave(pawl_delivery *delivery);
/* The same thread, around each call. */
void pawli_send_pump_lend(pawl_delivery *delivery);
void pawli_send_pump_reclaim(pawl_delivery *delivery);

/* The delivery's thread looks at what has landed now. */
void pawli_send_pump_hush(pawl_delivery *delivery);
/* Cancel sends whose lease is over by our own clock: another delivery may have them. Has the lock.
 */
void pawli_send_pump_drop_late(pawl_delivery *delivery);

#endif
