/* src/transport/carrier.c - all transports behind one descriptor; each is opened when it is needed.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fail.h"
#include "options.h"
#include "scope.h"
#include "transports.h"

/* An opened transport. */
typedef struct instance {
    const pawli_known *known;
    void *inner;
    struct instance *next;
} instance;

struct pawl_carrier {
    pawl_transports *transports;
    int epoll;
    instance *instances;
    size_t in_flight;
};

struct pawl_send {
    pawl_carrier *carrier;
    const instance *by;
    void *inner;
    pawl_send_end end;
    void *context;
};

void pawl_carrier_close(pawl_carrier *carrier)
{
    if (!carrier)
        return;
    while (carrier->instances) {
        instance *at = carrier->instances;
        carrier->instances = at->next;
        at->known->transport->close(at->inner);
        free(at);
    }
    if (carrier->epoll >= 0)
        close(carrier->epoll);
    atomic_fetch_sub(&carrier->transports->carriers, 1);
    free(carrier);
}

pawl_status pawl_carrier_open(pawl_transports *transports, pawl_carrier **ret_carrier,
                              pawl_error *err)
{
    pawl_carrier *carrier;

    if (!transports || !ret_carrier)
        return pawli_fail(err, PAWL_E_INVALID, "transports and ret_carrier must not be NULL");
    carrier = calloc(1, sizeof *carrier);
    if (!carrier)
        return pawli_fail(err, PAWL_E_NOMEM, "no memory for a carrier");
    carrier->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (carrier->epoll < 0) {
        int code = errno;
        free(carrier);
        return pawli_fail_code(err, PAWL_E_IO, code, "no descriptor is left for a carrier");
    }
    carrier->transports = transports;
    atomic_fetch_add(&transports->carriers, 1);
    *ret_carrier = carrier;
    return PAWL_OK;
}

static pawl_status open_instance(pawl_carrier *carrier, const pawli_known *known,
                                 instance **ret_instance, pawl_error *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    instance *opened = malloc(sizeof *opened);
    pawl_status st;

    if (!opened)
        return pawli_fail(err, PAWL_E_NOMEM, "no memory for a transport");
    *opened = (instance){known, NULL, NULL};
    st = known->transport->open(known->self, &opened->inner, err);
    if (st != PAWL_OK) {
        free(opened);
        return st;
    }
    if (epoll_ctl(carrier->epoll, EPOLL_CTL_ADD, known->transport->fd(opened->inner), &event) !=
        0) {
        (void)pawli_fail_code(err, PAWL_E_IO, errno,
                              "a transport's descriptor cannot be waited for");
        known->transport->close(opened->inner);
        free(opened);
        return PAWL_E_IO;
    }
    opened->next = carrier->instances;
    carrier->instances = opened;
    *ret_instance = opened;
    return PAWL_OK;
}

/* Schemes that are one transport under several names share an instance. */
static pawl_status find_instance(pawl_carrier *carrier, const char *url, instance **ret_instance,
                                 pawl_error *err)
{
    const pawli_known *known = NULL;
    pawl_status st = pawli_transports_find(carrier->transports, url, &known, err);

    if (st != PAWL_OK)
        return st;
    for (instance *at = carrier->instances; at; at = at->next) {
        if (at->known->transport->open == known->transport->open &&
            at->known->self == known->self) {
            *ret_instance = at;
            return PAWL_OK;
        }
    }
    return open_instance(carrier, known, ret_instance, err);
}

static void ended(void *context, const pawl_send_outcome *outcome)
{
    pawl_send *send = context;

    send->carrier->in_flight--;
    send->end(send->context, outcome);
    free(send);
}

pawl_status pawl_carrier_send(pawl_carrier *carrier, const pawl_send_request *given,
                              pawl_send_end end, void *context, pawl_send **ret_send,
                              pawl_error *err)
{
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    instance *by = NULL;
    pawl_send *send;
    pawl_status st;

    if (!carrier || !given || !end)
        return pawli_fail(err, PAWL_E_INVALID, "carrier, request and end must not be NULL");
    st = pawli_options_copy(&request, sizeof request, given, err);
    if (st != PAWL_OK)
        return st;
    if (!request.url || !request.service || !request.envelope || request.timeout_ms < 0)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "a request needs url, service and envelope, and a timeout_ms not below 0");
    st = find_instance(carrier, request.url, &by, err);
    if (st != PAWL_OK || !by)
        return st;
    send = malloc(sizeof *send);
    if (!send)
        return pawli_fail(err, PAWL_E_NOMEM, "no memory for a send");
    *send = (pawl_send){carrier, by, NULL, end, context};
    st = by->known->transport->send(by->inner, &request, ended, send, &send->inner, err);
    if (st != PAWL_OK) {
        free(send);
        return st;
    }
    carrier->in_flight++;
    if (ret_send)
        *ret_send = send;
    return PAWL_OK;
}

void pawl_carrier_cancel(pawl_carrier *carrier, pawl_send *send)
{
    (void)carrier;
    send->by->known->transport->cancel(send->by->inner, send->inner);
}

int pawl_carrier_fd(pawl_carrier *carrier)
{
    return carrier->epoll;
}

int64_t pawl_carrier_timeout_ms(pawl_carrier *carrier)
{
    int64_t soonest = -1;

    for (const instance *at = carrier->instances; at; at = at->next) {
        int64_t timeout_ms = at->known->transport->timeout_ms(at->inner);
        if (timeout_ms >= 0 && (soonest < 0 || timeout_ms < soonest))
            soonest = timeout_ms;
    }
    return soonest;
}

/* Each gets its turn, also after one that failed; the first failure is told. */
pawl_status pawl_carrier_turn(pawl_carrier *carrier, pawl_error *err)
{
    pawl_status first = PAWL_OK;

    for (const instance *at = carrier->instances; at; at = at->next) {
        pawl_status st = at->known->transport->turn(at->inner, first == PAWL_OK ? err : NULL);
        if (first == PAWL_OK)
            first = st;
    }
    return first;
}

size_t pawl_carrier_in_flight(const pawl_carrier *carrier)
{
    return carrier->in_flight;
}
