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
    pawli_inproc_send *send;
};

void pawli_inproc_send_free(pawli_inproc_send *send)
{
    if (!send)
        return;
    /* Releases the reference taken by pawli_envelope_borrow(). */
    pawl_envelope_free((pawl_envelope *)(uintptr_t)send->envelope);
    free((void *)(uintptr_t)send->outcome.payload);
    free((void *)(uintptr_t)send->outcome.error);
    free(send);
}

void pawli_inproc_send_unqueue(pawli_inproc_send *send)
{
    pawli_receiver *receiver = send->receiver;
    pawli_inproc_send **slot = &receiver->first;

    while (*slot != send)
        slot = &(*slot)->next_waiting;
    *slot = send->next_waiting;
    if (receiver->last == &send->next_waiting)
        receiver->last = slot;
}

/* ---- the receiver's reply ---- */

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

/* Thread: the receiver's, while the send runs. */
void pawl_reply_send(pawl_reply *reply, const pawl_send_report *outcome)
{
    pawli_inproc_send *send = reply->send;
    pawl_send_report *own = &send->outcome;
    bool failed = false;

    if (send->replied)
        return;
    send->replied = true;
    own->sent = outcome->sent;
    own->status = outcome->status;
    own->retry_after_ms = outcome->retry_after_ms;
    own->reached = true;
    if (outcome->payload)
        own->payload = copy_of(outcome->payload, outcome->payload_size, &failed);
    own->payload_size = own->payload ? outcome->payload_size : 0;
    if (outcome->error)
        own->error = copy_of(outcome->error, strlen(outcome->error), &failed);
    /* Without its reply the send must not count as done; the receiver will detect the duplicate. */
    if (failed)
        own->sent = PAWL_SEND_RETRY;
}

/* ---- the threads ---- */

/* With the lock held; it is released while the receiver works. */
static void inproc_serve(pawli_inproc *inproc, pawli_receiver *receiver, pawli_inproc_send *send)
{
    pawl_reply reply = {send};

    send->state = PAWLI_INPROC_SEND_RUNNING;
    pthread_mutex_unlock(&inproc->lock);
    receiver->receive(receiver->context, send->envelope, &reply);
    pthread_mutex_lock(&inproc->lock);
    send->state = PAWLI_INPROC_SEND_DONE;
    if (send->post)
        pawli_inproc_send_done(send);
    else
        pawli_inproc_send_free(send);
}

static void *inproc_run(void *context)
{
    pawli_receiver *receiver = context;
    pawli_inproc *inproc = receiver->inproc;

    pthread_mutex_lock(&inproc->lock);
    while (!inproc->stopping) {
        pawli_inproc_send *send = receiver->first;
        if (!send) {
            pthread_cond_wait(&receiver->wake, &inproc->lock);
            continue;
        }
        pawli_inproc_send_unqueue(send);
        inproc_serve(inproc, receiver, send);
    }
    pthread_mutex_unlock(&inproc->lock);
    return NULL;
}

/* Library threads block all signals except those of faults. */
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

/* ---- registering and freeing receivers ---- */

/* Call it with `stopping` set. */
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
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transports");
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
            return pawli_fail(err, PAWL_E_INVALID, "inproc://%s is already in use", name);
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
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a receiver");
    receiver->inproc = inproc;
    receiver->receive = receive;
    receiver->context = context;
    receiver->last = &receiver->first;
    pthread_cond_init(&receiver->wake, NULL);
    receiver->name = strdup(name);
    if (!receiver->name || !inproc_start_threads(receiver, threads)) {
        pthread_mutex_lock(&inproc->lock);
        inproc->stopping = true; /* ends the threads that were started */
        pthread_cond_broadcast(&receiver->wake);
        pthread_mutex_unlock(&inproc->lock);
        free_receiver(receiver);
        inproc->stopping = false;
        return pawli_fail(err, PAWL_E_NOMEM, "cannot start the threads of inproc://%s", name);
    }
    receiver->next = inproc->receivers;
    inproc->receivers = receiver;
    return PAWL_OK;
}
