/* src/transport/inproc/inproc_private.h - receivers and their queues of sends. */
#ifndef PAWLI_INPROC_PRIVATE_H
#define PAWLI_INPROC_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include <pawl/clock.h>

#include "inproc.h"

typedef enum pawli_parcel_state {
    PAWLI_PARCEL_WAITING, /* in its receiver's queue */
    PAWLI_PARCEL_RUNNING, /* being processed by a receiver */
    PAWLI_PARCEL_DONE     /* the next turn() of its instance ends it */
} pawli_parcel_state;

/*
 * One send. All of it is guarded by the lock, except `envelope` and the reply, which belong to the
 * receiver while it runs.
 */
typedef struct pawli_parcel {
    struct pawli_post *post; /* the instance; NULL: cancelled, the reply is discarded */
    struct pawli_receiver *receiver;
    const pawl_envelope *envelope; /* borrowed */
    pawli_parcel_state state;
    bool cancelled;
    pawl_mono deadline;
    pawl_send_end end;
    void *context;
    bool replied;
    pawl_send_report outcome; /* payload and error are owned copies */
    struct pawli_parcel *next_waiting;
    struct pawli_parcel *previous; /* of the instance */
    struct pawli_parcel *next;
} pawli_parcel;

typedef struct pawli_receiver {
    pawli_inproc *inproc;
    char *name;
    pawl_inproc_receiver receive;
    void *context;
    pthread_cond_t wake;
    pawli_parcel *first; /* waiting */
    pawli_parcel **last;
    pthread_t *threads;
    int thread_count;
    struct pawli_receiver *next;
} pawli_receiver;

struct pawli_inproc {
    pthread_mutex_t lock;
    bool stopping;
    pawli_receiver *receivers;
};

/* Removes it from the queue of its receiver. Lock held. */
void pawli_parcel_unqueue(pawli_parcel *parcel);
/* Releases the envelope. */
void pawli_parcel_free(pawli_parcel *parcel);
/* Its receiver has returned: notifies the instance, which must exist. Lock held. */
void pawli_parcel_done(pawli_parcel *parcel);

#endif
