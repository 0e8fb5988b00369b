/* src/transport/inproc/post.c - sending to receivers in this process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "envelope.h"
#include "fail.h"
#include "inproc_private.h"
#include "scheme.h"
#include "platform.h"

/* An instance. `sends` are those not ended yet, completed ones first; guarded by the lock. */
typedef struct pawli_post {
    pawli_inproc *inproc;
    int event;
    pawli_inproc_send *sends;
} pawli_post;

static void post_enter(pawli_post *post, pawli_inproc_send *send)
{
    send->previous = NULL;
    send->next = post->sends;
    if (send->next)
        send->next->previous = send;
    post->sends = send;
}

static void post_leave(pawli_post *post, pawli_inproc_send *send)
{
    if (send->previous)
        send->previous->next = send->next;
    else
        post->sends = send->next;
    if (send->next)
        send->next->previous = send->previous;
}

void pawli_inproc_send_done(pawli_inproc_send *send)
{
    pawli_post *post = send->post;
    uint64_t one = 1;

    post_leave(post, send);
    post_enter(post, send);
    if (write(post->event, &one, sizeof one) < 0)
        return; /* the counter is full, so it is readable */
}

static pawl_status open_post(void *self, void **ret_instance, pawl_error *err)
{
    pawli_post *post = calloc(1, sizeof *post);

    if (!post)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a transport");
    post->inproc = self;
    post->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (post->event < 0) {
        int code = errno;
        free(post);
        return pawli_fail_code(err, PAWL_E_IO, code,
                               "no file descriptor is available for a transport: raise the limit "
                               "of open files (ulimit -n)");
    }
    *ret_instance = post;
    return PAWL_OK;
}

static pawli_receiver *post_find(pawli_inproc *inproc, const char *url)
{
    const char *name = pawli_scheme_rest(url);

    for (pawli_receiver *at = inproc->receivers; at; at = at->next)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

static void post_enqueue(pawli_post *post, pawli_inproc_send *send)
{
    pawli_receiver *receiver = send->receiver;

    pthread_mutex_lock(&post->inproc->lock);
    post_enter(post, send);
    *receiver->last = send;
    receiver->last = &send->next_waiting;
    pthread_cond_signal(&receiver->wake);
    pthread_mutex_unlock(&post->inproc->lock);
}

static pawl_status send_post(void *instance, const pawl_send_request *request, pawl_send_end end,
                             void *context, void **ret_send, pawl_error *err)
{
    pawli_post *post = instance;
    pawli_receiver *receiver = post_find(post->inproc, request->url);
    int64_t timeout_ms = pawl_service_timeout_ms(request->service);
    pawli_inproc_send *send;

    if (!receiver)
        return pawli_fail(err, PAWL_E_NOT_FOUND,
                          "url = %s in [service %s]: this process has no such receiver; add it "
                          "with pawl_transports_add_inproc() (pawl serve has none)",
                          request->url,
                          *pawl_service_name(request->service) ? pawl_service_name(request->service)
                                                               : "*");
    send = calloc(1, sizeof *send);
    if (!send)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a message");
    if (request->timeout_ms > 0 && request->timeout_ms < timeout_ms)
        timeout_ms = request->timeout_ms;
    pawli_envelope_borrow(request->envelope);
    *send = (pawli_inproc_send){.post = post,
                                .receiver = receiver,
                                .envelope = request->envelope,
                                .deadline = pawli_mono_after(pawli_mono_now(), timeout_ms * 1000),
                                .end = end,
                                .context = context,
                                .outcome = PAWL_SEND_REPORT_INIT};
    post_enqueue(post, send);
    *ret_send = send;
    return PAWL_OK;
}

static void cancel_post(void *instance, void *token)
{
    pawli_post *post = instance;
    pawli_inproc_send *send = token;

    pthread_mutex_lock(&post->inproc->lock);
    send->cancelled = true;
    post_leave(post, send);
    post_enter(post, send);
    pthread_mutex_unlock(&post->inproc->lock);
}

static int fd_post(void *instance)
{
    return ((pawli_post *)instance)->event;
}

static int64_t timeout_post(void *instance)
{
    pawli_post *post = instance;
    int64_t soonest_us = INT64_MAX;

    pthread_mutex_lock(&post->inproc->lock);
    for (const pawli_inproc_send *at = post->sends; at; at = at->next) {
        if (at->cancelled || at->state == PAWLI_INPROC_SEND_DONE)
            soonest_us = 0;
        if (at->deadline.us < soonest_us)
            soonest_us = at->deadline.us;
    }
    pthread_mutex_unlock(&post->inproc->lock);
    return soonest_us == INT64_MAX ? -1 : pawli_mono_left_ms((pawl_mono){soonest_us});
}

/* How to end one send, while no other thread can access it. */
typedef struct ending {
    pawli_inproc_send *send; /* NULL: its receiver still uses it, and will free it */
    pawl_send_end end;
    void *context;
    pawl_send_report outcome;
} ending;

/* With the lock held. Removes the send from the instance, and from the queue if it is still
 * queued. */
static ending post_detach(pawli_post *post, pawli_inproc_send *send, pawl_send_result sent,
                          const char *error)
{
    ending e = {send, send->end, send->context, PAWL_SEND_REPORT_INIT};

    post_leave(post, send);
    if (send->state == PAWLI_INPROC_SEND_WAITING)
        pawli_inproc_send_unqueue(send);
    if (send->state == PAWLI_INPROC_SEND_RUNNING) {
        send->post = NULL;
        e.send = NULL;
    }
    if (send->state == PAWLI_INPROC_SEND_DONE && !send->cancelled) {
        e.outcome = send->outcome;
        if (!send->replied) {
            e.outcome.error = "the receiver returned no reply";
            e.outcome.sent_whole = true;
        }
        return e;
    }
    e.outcome.sent = sent;
    e.outcome.error = error;
    e.outcome.sent_whole = true; /* an inproc send is always complete */
    return e;
}

/* With the lock held. Takes one send that has ended; false: there is none. */
static bool next_ending(pawli_post *post, ending *ret_ending)
{
    for (pawli_inproc_send *at = post->sends; at; at = at->next) {
        bool late = pawli_mono_passed(at->deadline);
        if (at->state != PAWLI_INPROC_SEND_DONE && !at->cancelled && !late)
            continue;
        *ret_ending = at->cancelled ? post_detach(post, at, PAWL_SEND_CANCELLED, "cancelled")
                                    : post_detach(post, at, PAWL_SEND_RETRY,
                                                  "no response within the service's timeout");
        return true;
    }
    return false;
}

static pawl_status process_post(void *instance, pawl_error *err)
{
    pawli_post *post = instance;
    uint64_t ignored;
    ending e;

    if (read(post->event, &ignored, sizeof ignored) < 0 && errno != EAGAIN)
        return pawli_fail_code(err, PAWL_E_IO, errno, "an event descriptor failed");
    for (;;) {
        pthread_mutex_lock(&post->inproc->lock);
        bool found = next_ending(post, &e);
        pthread_mutex_unlock(&post->inproc->lock);
        if (!found)
            return PAWL_OK;
        e.end(e.context, &e.outcome);
        pawli_inproc_send_free(e.send);
    }
}

static void close_post(void *instance)
{
    pawli_post *post = instance;

    for (;;) {
        ending e;
        pthread_mutex_lock(&post->inproc->lock);
        bool found = post->sends != NULL;
        if (found) {
            post->sends->cancelled = true;
            e = post_detach(post, post->sends, PAWL_SEND_CANCELLED, "cancelled");
        }
        pthread_mutex_unlock(&post->inproc->lock);
        if (!found)
            break;
        e.end(e.context, &e.outcome);
        pawli_inproc_send_free(e.send);
    }
    close(post->event);
    free(post);
}

const pawl_transport pawli_inproc_transport = {
    PAWL_TRANSPORT_VERSION, "inproc",     open_post,  send_post,        cancel_post, fd_post,
    timeout_post,           process_post, close_post, pawli_inproc_free};
