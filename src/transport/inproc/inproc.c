/* src/transport/inproc/inproc.c - receivers in this process and their threads. */
#include "inproc.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "fail.h"
#include "inproc_private.h"

#define THREADS_MAX 64

struct pawl_reply {
    pawli_parcel *parcel;
};

void pawli_parcel_free(pawli_parcel *parcel)
{
    if (!parcel)
        return;
    /* Ends what pawli_envelope_borrow() began. */
    pawl_envelope_free((pawl_envelope *)(uintptr_t)parcel->envelope);
    free((void *)(uintptr_t)parcel->outcome.payload);
    free((void *)(uintptr_t)parcel->outcome.error);
    free(parcel);
}

void pawli_parcel_unqueue(pawli_parcel *parcel)
{
    pawli_receiver *receiver = parcel->receiver;
    pawli_parcel **slot = &receiver->first;

    while (*slot != parcel)
        slot = &(*slot)->next_waiting;
    *slot = parcel->next_waiting;
    if (receiver->last == &parcel->next_waiting)
        receiver->last = slot;
}

/* ---- what a receiver answers ---- */

static void *copy_of(const void *bytes, size_t size, bool *failed)
{
    char *copy = malloc(size + 1);

    if (!copy) {
        *failed = true;
        return NULL;
    }
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

/* Thread: the receiver's, while the parcel runs. */
void pawl_reply_send(pawl_reply *reply, const pawl_send_report *outcome)
{
    pawli_parcel *parcel = reply->parcel;
    pawl_send_report *own = &parcel->outcome;
    bool failed = false;

    if (parcel->replied)
        return;
    parcel->replied = true;
    own->sent = outcome->sent;
    own->status = outcome->status;
    own->retry_after_ms = outcome->retry_after_ms;
    own->reached = true;
    if (outcome->payload)
        own->payload = copy_of(outcome->payload, outcome->payload_size, &failed);
    own->payload_size = own->payload ? outcome->payload_size : 0;
    if (outcome->error)
        own->error = copy_of(outcome->error, strlen(outcome->error), &failed);
    /* Without its answer nobody may take it for done; the receiver will recognise it. */
    if (failed)
        own->sent = PAWL_SEND_RETRY;
}

/* ---- the threads ---- */

/* Lock held; let go of while the receiver works. */
static void inproc_serve(pawli_inproc *inproc, pawli_receiver *receiver, pawli_parcel *parcel)
{
    pawl_reply reply = {parcel};

    parcel->state = PAWLI_PARCEL_RUNNING;
    pthread_mutex_unlock(&inproc->lock);
    receiver->receive(receiver->context, parcel->envelope, &reply);
    pthread_mutex_lock(&inproc->lock);
    parcel->state = PAWLI_PARCEL_DONE;
    if (parcel->post)
        pawli_parcel_done(parcel);
    else
        pawli_parcel_free(parcel);
}

static void *inproc_run(void *context)
{
    pawli_receiver *receiver = context;
    pawli_inproc *inproc = receiver->inproc;

    pthread_mutex_lock(&inproc->lock);
    while (!inproc->stopping) {
        pawli_parcel *parcel = receiver->first;
        if (!parcel) {
            pthread_cond_wait(&receiver->wake, &inproc->lock);
            continue;
        }
        pawli_parcel_unqueue(parcel);
        inproc_serve(inproc, receiver, parcel);
    }
    pthread_mutex_unlock(&inproc->lock);
    return NULL;
}

/* Threads of a library take no signals; those of faults come anyway. */
static bool inproc_start_threads(pawli_receiver *receiver, int count)
{
    sigset_t all, before;

    receiver->threads = calloc((size_t)count, sizeof *receiver->threads);
    if (!receiver->threads)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (receiver->thread_count < count &&
           pthread_create(&receiver->threads[receiver->thread_count], NULL, inproc_run, receiver) ==
               0)
        receiver->thread_count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return receiver->thread_count == count;
}

/* ---- all receivers ---- */

/* `stopping` is set. */
static void free_receiver(pawli_receiver *receiver)
{
    for (int i = 0; i < receiver->thread_count; i++)
        pthread_join(receiver->threads[i], NULL);
    pthread_cond_destroy(&receiver->wake);
    free(receiver->threads);
    free(receiver->name);
    free(receiver);
}

void pawli_inproc_free(void *self)
{
    pawli_inproc *inproc = self;

    pthread_mutex_lock(&inproc->lock);
    inproc->stopping = true;
    for (pawli_receiver *at = inproc->receivers; at; at = at->next)
        pthread_cond_broadcast(&at->wake);
    pthread_mutex_unlock(&inproc->lock);
    while (inproc->receivers) {
        pawli_receiver *receiver = inproc->receivers;
        inproc->receivers = receiver->next;
        free_receiver(receiver);
    }
    pthread_mutex_destroy(&inproc->lock);
    free(inproc);
}

pawl_status pawli_inproc_new(pawli_inproc **ret_inproc, pawl_error *err)
{
    pawli_inproc *inproc = calloc(1, sizeof *inproc);

    if (!inproc)
        return pawli_fail(err, PAWL_E_NOMEM, "no memory for the transports");
    pthread_mutex_init(&inproc->lock, NULL);
    *ret_inproc = inproc;
    return PAWL_OK;
}

static pawl_status inproc_check(const pawli_inproc *inproc, const char *name, int threads,
                                pawl_inproc_receiver receiver, pawl_error *err)
{
    if (!name || !*name || strchr(name, '/') || pawli_has_controls(name) ||
        strlen(name) > PAWL_SERVICE_NAME_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a receiver's name must be 1 to %d bytes without '/' and control "
                          "characters",
                          PAWL_SERVICE_NAME_MAX);
    if (threads < 1 || threads > THREADS_MAX || !receiver)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a receiver needs a function and 1 to %d threads, not %d", THREADS_MAX,
                          threads);
    for (const pawli_receiver *at = inproc->receivers; at; at = at->next)
        if (strcmp(at->name, name) == 0)
            return pawli_fail(err, PAWL_E_INVALID, "inproc://%s is taken", name);
    return PAWL_OK;
}

pawl_status pawli_inproc_add(pawli_inproc *inproc, const char *name, int threads,
                             pawl_inproc_receiver receive, void *context, pawl_error *err)
{
    pawli_receiver *receiver;
    pawl_status st = inproc_check(inproc, name, threads, receive, err);

    if (st != PAWL_OK)
        return st;
    receiver = calloc(1, sizeof *receiver);
    if (!receiver)
        return pawli_fail(err, PAWL_E_NOMEM, "no memory for a receiver");
    receiver->inproc = inproc;
    receiver->receive = receive;
    receiver->context = context;
    receiver->last = &receiver->first;
    pthread_cond_init(&receiver->wake, NULL);
    receiver->name = strdup(name);
    if (!receiver->name || !inproc_start_threads(receiver, threads)) {
        pthread_mutex_lock(&inproc->lock);
        inproc->stopping = true; /* for the threads that have started */
        pthread_cond_broadcast(&receiver->wake);
        pthread_mutex_unlock(&inproc->lock);
        free_receiver(receiver);
        inproc->stopping = false;
        return pawli_fail(err, PAWL_E_NOMEM, "the threads of inproc://%s cannot be started", name);
    }
    receiver->next = inproc->receivers;
    inproc->receivers = receiver;
    return PAWL_OK;
}
