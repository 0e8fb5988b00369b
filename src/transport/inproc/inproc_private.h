/* src/transport/inproc/inproc_private.h - receivers and their queues of sends. */
#ifndef PAWLI_INPROC_PRIVATE_H
#define PAWLI_INPROC_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include <pawl/clock.h>

#include "inproc.h"

typedef enum pawli_inproc_send_state {
    PAWLI_INPROC_SEND_WAITING, /* in its receiver's queue */
    PAWLI_INPROC_SEND_RUNNING, /* being processed by a receiver */
    PAWLI_INPROC_SEND_DONE     /* the next perform() of its instance ends it */
} pawli_inproc_send_state;

/*
 * One send. All of it is guarded by the lock, except `envelope` and the reply, which belong to the
 * receiver while it runs.
 */
typedef struct pawli_inproc_send {
    struct pawli_post *post; /* the instance; NULL: cancelled, the reply is discarded */
    struct pawli_receiver *receiver;
    const pawl_envelope *envelope; /* borrowed */
    pawli_inproc_send_state state;
    bool cancelled;
    pawl_mono deadline;
    pawl_send_end end;
    void *context;
    bool replied;
    pawl_send_report outcome; /* payload and error are owned copies */
    struct pawli_inproc_send *next_waiting;
    struct pawli_inproc_send *previous; /* of the instance */
    struct pawli_inproc_send *next;
} pawli_inproc_send;

typedef struct pawli_receiver {
    pawli_inproc *inproc;
    char *name;
    pawl_inproc_receiver receive;
    void *context;
    pthread_cond_t wake;
    pawli_inproc_send *first; /* waiting */
    pawli_inproc_send **last;
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
void pawli_inproc_send_unqueue(pawli_inproc_send *send);
/* Releases the envelope. */
void pawli_inproc_send_free(pawli_inproc_send *send);
/* Its receiver has returned: notifies the instance, which must exist. Lock held. */
void pawli_inproc_send_done(pawli_inproc_send *send);

#endif
