/* src/transport/recipient.h - a destination's state in a delivery: its concurrency, its circuit
 * breaker.
 */
#ifndef PAWLI_RECIPIENT_H
#define PAWLI_RECIPIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/delivery.h>

#include "breaker.h"

typedef struct pawli_recipient {
    pawl_destination_stats stats; /* its name is `name` */
    pawli_breaker breaker;
    pawl_mono quiet_until; /* requested by the destination */
    pawl_mono answered_at; /* the last response of any kind */
    int64_t woken;         /* the last pawl_destinations_woken() seen; -1: none yet */
    bool wanted;           /* messages were waiting for it when last read */
    bool unsendable;       /* the current map prevented a send; guarded by the delivery's lock */
    size_t users;          /* sends, including ended ones whose result is not stored */
    pawl_mono used_at;     /* when it was last in use; INT64_MIN: never */
    char name[];
} pawli_recipient;

/*
 * Sorted by name. Only the delivery's thread changes them, under its lock, so it may read without.
 */
typedef struct pawli_recipients {
    pawli_recipient **items;
    size_t count;
    size_t capacity;
} pawli_recipients;

void pawli_recipients_done(pawli_recipients *recipients);
/* The destination of this name; created if there is none. NULL: out of memory. */
pawli_recipient *pawli_recipients_get(pawli_recipients *recipients, const char *name,
                                      const pawli_breaker_policy *policy);

/* Processes a value of pawl_destinations_woken(). True: the destination is to be retried now. */
bool pawli_recipient_heed(pawli_recipient *recipient, int64_t woken);
/*
 * Ends its pauses. The next pawl_destinations_woken() is only recorded, because it is this
 * delivery's own.
 */
void pawli_recipient_wake(pawli_recipient *recipient);
/*
 * Drops destinations that were not in use for `idle_us`: no message waits for them, no send is in
 * flight or has an unstored result, and there is no pause, requested or by the circuit breaker. So
 * there are only as many as were in use within that time. Called often; use between two calls
 * counts as in use. Returns how many were dropped.
 */
size_t pawli_recipients_forget(pawli_recipients *recipients, pawl_mono now, int64_t idle_us);

/* How many messages may be claimed for it now; the call may half-open its circuit breaker. */
size_t pawli_recipient_room(pawli_recipient *recipient, const pawl_services *services,
                            pawl_mono now);
/* When there may be room again although no send has ended; INT64_MAX: no such time. */
pawl_mono pawli_recipient_ready_at(const pawli_recipient *recipient);

#endif
