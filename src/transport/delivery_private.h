/* src/transport/delivery_private.h - the internals of pawl_delivery, for the files that implement
 * it.
 *
 * Everything belongs to the thread that runs it, except `stop` and the fields guarded by the lock.
 */
#ifndef PAWLI_DELIVERY_PRIVATE_H
#define PAWLI_DELIVERY_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include <pawl/delivery.h>
#include <pawl/queue.h>
#include <pawl/tx.h>
#include <pawl/waiter.h>
#include <pawl_private/delivery_store.h>

#include "send_op.h"
#include "scope.h"
#include "destination.h"
#include "send_pump.h"
#include "transport_client.h"

PAWLI_AUTO_DEFINE(pawl_destinations, pawl_destinations_free);
PAWLI_AUTO_DEFINE(pawl_messages, pawl_messages_free);
PAWLI_AUTO_DEFINE(pawl_services, pawl_services_unref);
PAWLI_AUTO_DEFINE(pawl_tx, pawl_tx_free);

/* The stored error of a message that this side's configuration prevented from being sent begins
 * with this. */
#define PAWLI_CONFIGURATION_ERROR "configuration: "

struct pawl_delivery {
    pawl_store *store;
    pawl_delivery_options options; /* its strings are copies */
    pawl_owner owner;
    pawl_transports *own_transports; /* NULL: the caller's */
    pawli_transport_client *client;
    pawl_waiter *waiter;
    int stop_fd;      /* readable when it should stop */
    int events;       /* epoll: the client's descriptor and stop_fd */
    atomic_int stops; /* calls of pawl_delivery_request_stop() */
    atomic_bool running;
    pawli_breaker_policy policy; /* of the destinations */

    pthread_mutex_t lock;
    pawl_services *services; /* guarded by the lock */
    bool map_changed; /* destinations that could not be sent to are not woken yet; guarded by the
                         lock */
    pawli_destinations destinations; /* changed under the lock, by the delivery's thread only */

    pawli_send_pump pump; /* its lock guards the client and the sends in flight */
    pawli_send_ops in_flight;
    pawli_send_ops completed; /* ended; results not stored yet */
    pawli_breaker health;     /* circuit breaker of the database */
    bool worked;              /* the database has responded at least once */
    int64_t clock_ahead_us;   /* the store's clock minus the local clock */
    pawl_mono clock_at;       /* when that was measured */
    bool in_doubt;            /* the response to a claim was lost */
    pawl_mono ask_until;      /* until then the claim may still commit */
    pawl_mono claimed_at;
    pawl_mono destinations_at; /* when the destinations were last read */
    bool has_inherited;        /* the destinations that were there at the start have been read */
    size_t rotation;           /* rotates which destination comes first */
    bool drained;              /* the last claim found less than there was room for */
    bool armed;
    pawl_mono armed_at;
    const char **left_out; /* destinations that the waiter does not wait for */
    size_t left_out_count;
    size_t left_out_capacity;
    size_t moved; /* claimed, or result stored, in this iteration */
};

/* ---- delivery.c ---- */

/* The current map; the caller unrefs it. */
pawl_services *pawli_delivery_services(pawl_delivery *delivery);
pawli_destination *pawli_delivery_recipient(pawl_delivery *delivery, const char *name);

/* ---- delivery_claim.c ---- */

/*
 * Claims as many messages as there is room for and sends them; acknowledges finished ones in the
 * same call.
 */
pawl_status pawli_delivery_claim(pawl_delivery *delivery, bool may_arm, pawl_error *err);
/* After a claim whose response was lost: adopts the messages it claimed. */
pawl_status pawli_delivery_resume(pawl_delivery *delivery, pawl_error *err);
/* At the start, and after the map was replaced: retries now what the old one prevented. */
pawl_status pawli_delivery_wake_unsendable(pawl_delivery *delivery, pawl_error *err);
bool pawli_delivery_in_doubt(const pawl_delivery *delivery);

/* ---- delivery_results.c ---- */

/* Stores the results of ended sends, except those that a claim can acknowledge. */
pawl_status pawli_delivery_store_others(pawl_delivery *delivery, pawl_error *err);
/* Stores those, too. */
pawl_status pawli_delivery_store_done(pawl_delivery *delivery, pawl_error *err);
/* The messages to acknowledge: *ret_items is the caller's to free. */
pawl_status pawli_delivery_acks(pawl_delivery *delivery, pawl_receipt **ret_items,
                                size_t *ret_count, pawl_error *err);
void pawli_delivery_acked(pawl_delivery *delivery, size_t count);
/* Renews leases that are half over; sends whose message is no longer owned are cancelled. */
pawl_status pawli_delivery_renew(pawl_delivery *delivery, pawl_error *err);
pawl_mono pawli_delivery_renew_at(const pawl_delivery *delivery);

#endif
