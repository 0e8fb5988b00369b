/* src/transport/destination.h - a destination's state in a delivery: its concurrency, its circuit
 * breaker.
 */
#ifndef PAWLI_DESTINATION_H
#define PAWLI_DESTINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/delivery.h>
#include <pawl/log.h>
#include <pawl_private/delivery_store.h>

#include "breaker.h"

typedef struct pawli_destination {
    pawl_destination_stats stats; /* its name is `name` */
    pawli_breaker breaker;
    pawl_mono quiet_until; /* requested by the destination */
    pawl_mono answered_at; /* the last response of any kind */
    int64_t woken;         /* the last pawl_destinations_woken() seen; -1: none yet */
    bool wanted;           /* messages were waiting for it when last read */
    bool unsendable;       /* the current map prevented a send; guarded by the delivery's lock */
    bool is_inherited;     /* messages may be deferred because of an earlier process's map */
    size_t users;          /* sends, including ended ones whose result is not stored */
    pawl_mono used_at;     /* when it was last in use; INT64_MIN: never */
    char name[];
} pawli_destination;

/*
 * Sorted by name. Only the delivery's thread changes them, under its lock, so it may read without.
 */
typedef struct pawli_destinations {
    pawli_destination **items;
    size_t count;
    size_t capacity;
} pawli_destinations;

void pawli_destinations_done(pawli_destinations *destinations);
/* The destination of this name; created if there is none. NULL: out of memory. */
pawli_destination *pawli_destinations_get(pawli_destinations *destinations, const char *name,
                                          const pawli_breaker_policy *policy);

/* Processes a value of pawl_destinations_woken(). True: the destination is to be retried now. */
bool pawli_destination_read_wake(pawli_destination *destination, int64_t woken);
/*
 * Ends its pauses. The next pawl_destinations_woken() is only recorded, because it is this
 * delivery's own.
 */
void pawli_destination_wake(pawli_destination *destination);
/*
 * Drops destinations that were not in use for `idle_us`: no message waits for them, no send is in
 * flight or has an unstored result, and there is no pause, requested or by the circuit breaker. So
 * there are only as many as were in use within that time. Called often; use between two calls
 * counts as in use. Returns how many were dropped.
 */
size_t pawli_destinations_forget(pawli_destinations *destinations, pawl_mono now, int64_t idle_us);

/* How many messages may be claimed for it now; the call may half-open its circuit breaker. */
size_t pawli_destination_room(pawli_destination *destination, const pawl_services *services,
                              pawl_mono now);
/* When there may be room again although no send has ended; INT64_MAX: no such time. */
pawl_mono pawli_destination_ready_at(const pawli_destination *destination);

/* Logs `pattern`, with {destination} in it, at level info. */
void pawli_destination_log(const pawli_destination *destination, const pawl_log_sink *log,
                           const char *pattern);

#endif
