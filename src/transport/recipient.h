/* src/transport/recipient.h - what a delivery knows of one destination: its places, its breaker. */
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
    pawl_mono quiet_until; /* the destination asked for it */
    pawl_mono answered_at; /* the last answer of any kind */
    int64_t woken;         /* the last pawl_destinations_woken() seen; -1: none yet */
    bool wanted;           /* something was waiting for it when last asked */
    bool unsendable; /* the map prevented a send, and is the same; guarded by the delivery's lock */
    size_t users;    /* flights, also those that have landed */
    pawl_mono used_at; /* when one of the two was last seen; INT64_MIN: not yet */
    char name[];
} pawli_recipient;

/* By name. Only the delivery's thread changes them, under its lock; so it reads without. */
typedef struct pawli_recipients {
    pawli_recipient **items;
    size_t count;
    size_t capacity;
} pawli_recipients;

void pawli_recipients_done(pawli_recipients *recipients);
/* The recipient of this name; made if there is none. NULL: out of memory. */
pawli_recipient *pawli_recipients_get(pawli_recipients *recipients, const char *name,
                                      const pawli_breaker_policy *policy);

/* What pawl_destinations_woken() says of it. True: somebody wants it to be tried now. */
bool pawli_recipient_heed(pawli_recipient *recipient, int64_t woken);
/* End its pauses. The next pawl_destinations_woken() is only noted: it is our own. */
void pawli_recipient_wake(pawli_recipient *recipient);
/*
 * Forget those that were not in use for `idle_us`: nothing waits for them, nothing is under way or
 * still to be answered, no pause that it asked for or that its breaker makes. So there are as many
 * as destinations were in use within that time. Asked often; what is used in between two calls
 * counts as in use. Returns how many went.
 */
size_t pawli_recipients_forget(pawli_recipients *recipients, pawl_mono now, int64_t idle_us);

/* How many messages may be claimed for it now; asking may half-open its breaker. */
size_t pawli_recipient_room(pawli_recipient *recipient, const pawl_services *services,
                            pawl_mono now);
/* When there may be room again though nothing has ended; INT64_MAX: no such time. */
pawl_mono pawli_recipient_ready_at(const pawli_recipient *recipient);

#endif
