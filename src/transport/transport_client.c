/* src/transport/transport_client.c - all transports behind one descriptor; each is opened on
 * first use. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fail.h"
#include "options.h"
#include "scope.h"
#include "transports.h"
#include "transport_client.h"

/* An opened transport. */
typedef struct instance {
    const pawli_known *known;
    void *inner;
    struct instance *next;
} instance;

struct pawli_transport_client {
    pawl_transports *transports;
    int epoll;
    instance *instances;
    size_t in_flight;
};

struct pawli_transport_send {
    pawli_transport_client *client;
    const instance *by;
    void *inner;
    pawl_send_end end;
    void *context;
};

void pawli_transport_client_close(pawli_transport_client *client)
{
    if (!client)
        return;
    while (client->instances) {
        instance *at = client->instances;
        client->instances = at->next;
        at->known->transport->close(at->inner);
        free(at);
    }
    if (client->epoll >= 0)
        close(client->epoll);
    atomic_fetch_sub(&client->transports->clients, 1);
    free(client);
}

pawl_status pawli_transport_client_open(pawl_transports *transports,
                                        pawli_transport_client **ret_client, pawl_error *err)
{
    pawli_transport_client *client;

    if (!transports || !ret_client)
        return pawli_fail(err, PAWL_E_INVALID, "transports and ret_client must not be NULL");
    client = calloc(1, sizeof *client);
    if (!client)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a transport client");
    client->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (client->epoll < 0) {
        int code = errno;
        free(client);
        return pawli_fail_code(err, PAWL_E_IO, code,
                               "no file descriptor is available for a transport client: raise the "
                               "limit of open files (ulimit -n)");
    }
    client->transports = transports;
    atomic_fetch_add(&transports->clients, 1);
    *ret_client = client;
    return PAWL_OK;
}

static pawl_status open_instance(pawli_transport_client *client, const pawli_known *known,
                                 instance **ret_instance, pawl_error *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    instance *opened = malloc(sizeof *opened);
    pawl_status st;

    if (!opened)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a transport");
    *opened = (instance){known, NULL, NULL};
    st = known->transport->open(known->self, &opened->inner, err);
    if (st != PAWL_OK) {
        free(opened);
        return st;
    }
    if (epoll_ctl(client->epoll, EPOLL_CTL_ADD, known->transport->fd(opened->inner), &event) != 0) {
        (void)pawli_fail_code(err, PAWL_E_IO, errno,
                              "a transport's file descriptor cannot be added to epoll");
        known->transport->close(opened->inner);
        free(opened);
        return PAWL_E_IO;
    }
    opened->next = client->instances;
    client->instances = opened;
    *ret_instance = opened;
    return PAWL_OK;
}

/* Schemes served by one transport share an instance. */
static pawl_status find_instance(pawli_transport_client *client, const char *url,
                                 instance **ret_instance, pawl_error *err)
{
    const pawli_known *known = NULL;
    pawl_status st = pawli_transports_find(client->transports, url, &known, err);

    if (st != PAWL_OK)
        return st;
    for (instance *at = client->instances; at; at = at->next) {
        if (at->known->transport->open == known->transport->open &&
            at->known->self == known->self) {
            *ret_instance = at;
            return PAWL_OK;
        }
    }
    return open_instance(client, known, ret_instance, err);
}

static void client_ended(void *context, const pawl_send_report *outcome)
{
    pawli_transport_send *send = context;

    send->client->in_flight--;
    send->end(send->context, outcome);
    free(send);
}

pawl_status pawli_transport_client_send(pawli_transport_client *client,
                                        const pawl_send_request *given, pawl_send_end end,
                                        void *context, pawli_transport_send **ret_send,
                                        pawl_error *err)
{
    pawl_send_request request = PAWL_SEND_REQUEST_INIT;
    instance *by = NULL;
    pawli_transport_send *send;
    pawl_status st;

    if (!client || !given || !end)
        return pawli_fail(err, PAWL_E_INVALID, "client, request and end must not be NULL");
    st = pawli_options_copy(&request, sizeof request, given, err);
    if (st != PAWL_OK)
        return st;
    if (!request.url || !request.service || !request.envelope || request.timeout_ms < 0)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "a request needs url, service and envelope, and timeout_ms must not be negative");
    st = find_instance(client, request.url, &by, err);
    if (st != PAWL_OK || !by)
        return st;
    send = malloc(sizeof *send);
    if (!send)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a send");
    *send = (pawli_transport_send){client, by, NULL, end, context};
    st = by->known->transport->send(by->inner, &request, client_ended, send, &send->inner, err);
    if (st != PAWL_OK) {
        free(send);
        return st;
    }
    client->in_flight++;
    if (ret_send)
        *ret_send = send;
    return PAWL_OK;
}

void pawli_transport_client_cancel(pawli_transport_client *client, pawli_transport_send *send)
{
    (void)client;
    send->by->known->transport->cancel(send->by->inner, send->inner);
}

int pawli_transport_client_fd(pawli_transport_client *client)
{
    return client->epoll;
}

int64_t pawli_transport_client_timeout_ms(pawli_transport_client *client)
{
    int64_t soonest = -1;

    for (const instance *at = client->instances; at; at = at->next) {
        int64_t timeout_ms = at->known->transport->timeout_ms(at->inner);
        if (timeout_ms >= 0 && (soonest < 0 || timeout_ms < soonest))
            soonest = timeout_ms;
    }
    return soonest;
}

/* Processes every transport, even after one failed; returns the first error. */
pawl_status pawli_transport_client_process(pawli_transport_client *client, pawl_error *err)
{
    pawl_status first = PAWL_OK;

    for (const instance *at = client->instances; at; at = at->next) {
        pawl_status st = at->known->transport->perform(at->inner, first == PAWL_OK ? err : NULL);
        if (first == PAWL_OK)
            first = st;
    }
    return first;
}

size_t pawli_transport_client_in_flight(const pawli_transport_client *client)
{
    return client->in_flight;
}
