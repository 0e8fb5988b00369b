/* src/transport/flight.h - one claimed message on its way, from the claim to the answer. */
#ifndef PAWLI_FLIGHT_H
#define PAWLI_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/queue.h>

#include "recipient.h"

/* Messages that came by one claim; gone with the last flight that uses one. */
typedef struct pawli_load {
    pawl_messages *list;
    size_t users;
} pawli_load;

/* What is to become of the message. */
typedef enum pawli_fate {
    PAWLI_FATE_DONE,  /* acknowledged */
    PAWLI_FATE_RETRY, /* put off, counted as an attempt */
    PAWLI_FATE_DEFER, /* put off, not counted */
    PAWLI_FATE_FAIL,  /* for good */
    PAWLI_FATE_NONE   /* it is somebody else's: nothing is answered */
} pawli_fate;

typedef struct pawli_flight {
    struct pawli_flight *previous, *next; /* in the list it is in */
    pawl_delivery *delivery;
    pawli_recipient *recipient;
    pawli_load *load;
    const pawl_message *message;
    pawl_held held;
    pawl_services *services; /* a reference, while it is in the air */
    pawl_envelope *envelope;
    pawl_send *send; /* NULL: not in the air (any more) */
    pawl_mono began;
    int64_t lease_us; /* how long a lease lasts */
    pawl_mono renew_at;
    pawl_mono lease_end;     /* by our own clock; nobody else has it before that */
    bool lost;               /* the lease is gone, so is the result */
    bool late;               /* the lease is over by our clock: given up, unless it is still ours */
    bool breaker_was_closed; /* when it began */
    /* When it has landed: */
    pawli_fate fate;
    pawl_backoff policy;   /* of a retry: the message's own, or the service's */
    int limit;             /* counted attempts that there may be; 0: any number */
    bool cancelled;        /* by us */
    bool unsendable;       /* the map prevented it */
    int64_t delay_ms;      /* or PAWL_DELAY_BY_POLICY */
    char *error;           /* may be NULL, also for want of memory */
    bool answered;         /* `error` has words of the other side */
    bool stripped;         /* what the other side said was left out: the database refused it */
    int status;            /* of that answer, HTTP's; 0: none */
    void *payload;         /* of the acknowledgement */
    size_t payload_size;   /* 0 and no payload: none */
    pawl_message_id reply; /* the id of the response, the same however often it is tried */
} pawli_flight;

/* In the order in which they were added. */
typedef struct pawli_flights {
    pawli_flight *first, *last;
    size_t count;
} pawli_flights;

void pawli_flights_add(pawli_flights *flights, pawli_flight *flight);
void pawli_flights_remove(pawli_flights *flights, pawli_flight *flight);

/*
 * Send the message: it is in the delivery's list `air` afterwards, or in `landed` if that ended at
 * once. False: out of memory, nothing was done.
 */
bool pawli_flight_begin(pawl_delivery *delivery, pawli_load *load, const pawl_message *message,
                        pawl_mono claimed_at);
/* It must not be in the air, nor in a list. */
void pawli_flight_free(pawli_flight *flight);
/* Free it; it is in the list `landed`. */
void pawli_flight_done(pawli_flight *flight);

#endif
