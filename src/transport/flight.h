/* src/transport/flight.h - the send of one claimed message, from its claim until its result is
 * stored.
 */
#ifndef PAWLI_FLIGHT_H
#define PAWLI_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/queue.h>

#include "recipient.h"

/* The messages of one claim; freed with the last send that uses one. */
typedef struct pawli_load {
    pawl_messages *list;
    size_t users;
} pawli_load;

/* The result for the message. */
typedef enum pawli_fate {
    PAWLI_FATE_DONE,  /* acknowledged */
    PAWLI_FATE_RETRY, /* retried, counted as an attempt */
    PAWLI_FATE_DEFER, /* retried, not counted */
    PAWLI_FATE_FAIL,  /* failed permanently */
    PAWLI_FATE_NONE   /* it has another owner: nothing is stored */
} pawli_fate;

typedef struct pawli_flight {
    struct pawli_flight *previous, *next; /* in the list that contains it */
    pawl_delivery *delivery;
    pawli_recipient *recipient;
    pawli_load *load;
    const pawl_message *message;
    pawl_held held;
    pawl_services *services; /* a reference, while it is in flight */
    pawl_envelope *envelope;
    pawl_send *send; /* NULL: not in flight (any more) */
    pawl_mono began;
    int64_t lease_us; /* duration of a lease */
    pawl_mono renew_at;
    pawl_mono lease_end; /* by the local clock; no other owner can have it before that */
    bool lost;           /* the lease is lost, and so is the result */
    bool late; /* the lease has expired by the local clock: dropped, unless it is still owned */
    bool breaker_was_closed; /* when the send began */
    /* Set when the send has ended: */
    pawli_fate fate;
    pawl_backoff policy;   /* for a retry: the message's own, or the service's */
    int limit;             /* maximum counted attempts; 0: no limit */
    bool cancelled;        /* by this side */
    bool unsendable;       /* the service map prevented it */
    int64_t delay_ms;      /* or PAWL_DELAY_BY_POLICY */
    char *error;           /* may be NULL, also if memory ran out */
    bool answered;         /* `error` contains text of the peer */
    bool stripped;         /* the peer's text was left out because the database rejected it */
    int status;            /* HTTP status of the response; 0: none */
    void *payload;         /* of the acknowledgement */
    size_t payload_size;   /* 0 and no payload: none */
    pawl_message_id reply; /* id of the response message, constant across retries */
} pawli_flight;

/* In the order in which they were added. */
typedef struct pawli_flights {
    pawli_flight *first, *last;
    size_t count;
} pawli_flights;

void pawli_flights_add(pawli_flights *flights, pawli_flight *flight);
void pawli_flights_remove(pawli_flights *flights, pawli_flight *flight);

/*
 * Sends the message: afterwards it is in the delivery's list `air`, or in `landed` if the send
 * ended at once. False: out of memory, nothing was done.
 */
bool pawli_flight_begin(pawl_delivery *delivery, pawli_load *load, const pawl_message *message,
                        pawl_mono claimed_at);
/* It must not be in flight, nor in a list. */
void pawli_flight_free(pawli_flight *flight);
/* Removes it from the list `landed` and frees it. */
void pawli_flight_done(pawli_flight *flight);

#endif
