/* tests/transport/own_transport.c - a transport of one's own, as an application would write it. No
 * threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "peer_private.h"
#include "platform.h"

typedef struct own_letter {
    const pawl_envelope *envelope;
    pawl_send_end end;
    void *context;
    pawl_mono deadline;
    bool cancelled;
    struct own_letter *next;
} own_letter;

typedef struct own_bag {
    test_peer *peer;
    int event;
    own_letter *letters;
} own_bag;

static void wake(own_bag *bag)
{
    uint64_t one = 1;

    if (write(bag->event, &one, sizeof one) < 0)
        abort();
}

static pawl_status open_bag(void *self, void **ret_instance, pawl_error *err)
{
    own_bag *opened = calloc(1, sizeof *opened);

    (void)err;
    if (!opened)
        return PAWL_E_NOMEM;
    opened->peer = self;
    opened->peer->own = opened;
    opened->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *ret_instance = opened;
    return PAWL_OK;
}

static pawl_status send_letter(void *instance, const pawl_send_request *request, pawl_send_end end,
                               void *context, void **ret_send, pawl_error *err)
{
    own_bag *bag = instance;
    own_letter *sent = calloc(1, sizeof *sent);
    int64_t timeout_ms =
        request->timeout_ms ? request->timeout_ms : pawl_service_timeout_ms(request->service);

    (void)err;
    if (!sent)
        return PAWL_E_NOMEM;
    *sent = (own_letter){.envelope = request->envelope,
                         .end = end,
                         .context = context,
                         .deadline = pawli_mono_after(pawli_mono_now(), timeout_ms * 1000),
                         .next = bag->letters};
    bag->letters = sent;
    bag->peer->requests++;
    if (strcmp(pawl_envelope_endpoint(sent->envelope), "block") == 0)
        peer_block(bag->peer);
    wake(bag);
    *ret_send = sent;
    return PAWL_OK;
}

static void cancel_letter(void *instance, void *send)
{
    ((own_letter *)send)->cancelled = true;
    wake(instance);
}

static int fd_of(void *instance)
{
    return ((own_bag *)instance)->event;
}

static int64_t timeout_of(void *instance)
{
    int64_t soonest = -1;

    for (const own_letter *at = ((own_bag *)instance)->letters; at; at = at->next)
        if (soonest < 0 || pawli_mono_left_ms(at->deadline) < soonest)
            soonest = pawli_mono_left_ms(at->deadline);
    return soonest;
}

/* Whether its end has come. */
static bool ends(own_bag *bag, const own_letter *letter, pawl_send_report *outcome)
{
    const behaviour *how = behaviour_of(pawl_envelope_endpoint(letter->envelope));

    if (letter->cancelled) {
        outcome->sent = PAWL_SEND_CANCELLED;
        outcome->error = "cancelled";
        return true;
    }
    if (strcmp(how->endpoint, "block") == 0 && !bag->peer->released) {
        outcome->error = "late";
        return pawli_mono_passed(letter->deadline);
    }
    outcome->sent = how->sent;
    outcome->retry_after_ms = how->retry_after_ms;
    outcome->error = how->error;
    outcome->reached = true;
    if (how->sent <= PAWL_SEND_DUPLICATE)
        outcome->payload = pawl_envelope_payload(letter->envelope, &outcome->payload_size);
    return true;
}

/* One at a time, from the start: `end` may send and cancel. */
static bool end_one(own_bag *bag)
{
    for (own_letter **slot = &bag->letters; *slot; slot = &(*slot)->next) {
        own_letter *letter = *slot;
        pawl_send_report outcome = PAWL_SEND_REPORT_INIT;
        if (!ends(bag, letter, &outcome))
            continue;
        *slot = letter->next;
        letter->end(letter->context, &outcome);
        free(letter);
        return true;
    }
    return false;
}

static pawl_status perform(void *instance, pawl_error *err)
{
    own_bag *bag = instance;
    uint64_t ignored;

    (void)err;
    if (read(bag->event, &ignored, sizeof ignored) < 0 && errno != EAGAIN)
        return PAWL_E_IO;
    while (end_one(bag))
        continue;
    return PAWL_OK;
}

static void close_bag(void *instance)
{
    own_bag *bag = instance;

    for (own_letter *at = bag->letters; at; at = at->next)
        at->cancelled = true;
    while (end_one(bag))
        continue;
    bag->peer->own = NULL;
    close(bag->event);
    free(bag);
}

void own_release(test_peer *peer)
{
    wake(peer->own);
}

const pawl_transport own_transport = {PAWL_TRANSPORT_VERSION,
                                      "own",
                                      open_bag,
                                      send_letter,
                                      cancel_letter,
                                      fd_of,
                                      timeout_of,
                                      perform,
                                      close_bag,
                                      NULL};
