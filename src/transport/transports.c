/* src/transport/transports.c - the registry of transports. */
#include "transports.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "http.h"
#include "options.h"
#include "scheme.h"
#include "scope.h"

/* ---- the registered transports, by URL scheme ---- */

#define CONNECTIONS_MAX 10000

void pawl_transports_free(pawl_transports *transports)
{
    if (!transports)
        return;
    while (transports->newest) {
        pawli_known *known = transports->newest;
        transports->newest = known->next;
        if (known->transport->free)
            known->transport->free(known->self);
        free(known);
    }
    free(transports);
}
PAWLI_AUTO_DEFINE(pawl_transports, pawl_transports_free);

static pawl_status not_any_more(const pawl_transports *transports, pawl_error *err)
{
    if (atomic_load(&transports->clients) > 0)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the transports are in use: add transports before a client is opened");
    return PAWL_OK;
}

static bool transports_is_whole(const pawl_transport *transport)
{
    return transport->scheme && transport->open && transport->send && transport->cancel &&
           transport->fd && transport->timeout_ms && transport->perform && transport->close;
}

pawl_status pawl_transports_register(pawl_transports *transports, const pawl_transport *transport,
                                     void *take_self, pawl_error *err)
{
    char url[PAWLI_SCHEME_SIZE + 4], scheme[PAWLI_SCHEME_SIZE];
    pawli_known *known;
    pawl_status st;

    if (!transports || !transport)
        return pawli_fail(err, PAWL_E_INVALID, "transports and transport must not be NULL");
    if (transport->version != PAWL_TRANSPORT_VERSION || !transports_is_whole(transport))
        return pawli_fail(err, PAWL_E_INVALID, "a transport must have version %d and all functions",
                          PAWL_TRANSPORT_VERSION);
    snprintf(url, sizeof url, "%s://", transport->scheme);
    if (!pawli_scheme_of(url, scheme) || strcmp(scheme, transport->scheme) != 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a transport's scheme must be a letter followed by lower-case letters, "
                          "digits, '+', '-' and '.', at most %d characters in total",
                          PAWLI_SCHEME_SIZE - 1);
    st = not_any_more(transports, err);
    if (st != PAWL_OK)
        return st;
    known = malloc(sizeof *known);
    if (!known)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a transport");
    *known = (pawli_known){transport, take_self, transports->newest};
    transports->newest = known;
    return PAWL_OK;
}

/* The first one takes ownership of `settings`, even if registering the others fails. */
static pawl_status register_http(pawl_transports *transports, const pawl_transports_options *opts,
                                 pawl_error *err)
{
    pawli_http_settings *settings = NULL;
    pawl_status st = pawli_http_settings_new(opts, &settings, err);

    for (size_t i = 0; i < PAWLI_COUNT(pawli_http_transports) && st == PAWL_OK; i++) {
        st = pawl_transports_register(transports, &pawli_http_transports[i], settings, err);
        if (st != PAWL_OK && i == 0)
            pawli_http_transports[0].free(settings);
    }
    return st;
}

static pawl_status register_inproc(pawl_transports *transports, pawl_error *err)
{
    pawl_status st = pawli_inproc_new(&transports->inproc, err);

    if (st != PAWL_OK)
        return st;
    st = pawl_transports_register(transports, &pawli_inproc_transport, transports->inproc, err);
    if (st != PAWL_OK)
        pawli_inproc_free(transports->inproc);
    return st;
}

pawl_status pawl_transports_new(const pawl_transports_options *given,
                                pawl_transports **ret_transports, pawl_error *err)
{
    pawl_transports_options opts = PAWL_TRANSPORTS_OPTIONS_INIT;
    PAWLI_AUTO(pawl_transports) transports = NULL;
    pawl_status st;

    if (!ret_transports)
        return pawli_fail(err, PAWL_E_INVALID, "ret_transports must not be NULL");
    st = pawli_options_copy(&opts, sizeof opts, given, err);
    if (st != PAWL_OK)
        return st;
    if (opts.idle_connections < 1 || opts.idle_connections > CONNECTIONS_MAX ||
        opts.connections_per_host_port < 0 || opts.connections_per_host_port > CONNECTIONS_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "idle_connections must be 1 to %d, connections_per_host_port 0 to %d",
                          CONNECTIONS_MAX, CONNECTIONS_MAX);
    transports = calloc(1, sizeof *transports);
    if (!transports)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transports");
    st = register_http(transports, &opts, err);
    if (st == PAWL_OK)
        st = register_inproc(transports, err);
    if (st != PAWL_OK)
        return st;
    *ret_transports = pawl_transports_take(&transports);
    return PAWL_OK;
}

pawl_status pawl_transports_add_inproc(pawl_transports *transports, const char *name, int threads,
                                       pawl_inproc_receiver receiver, void *context,
                                       pawl_error *err)
{
    pawl_status st;

    if (!transports)
        return pawli_fail(err, PAWL_E_INVALID, "transports must not be NULL");
    st = not_any_more(transports, err);
    if (st != PAWL_OK)
        return st;
    return pawli_inproc_add(transports->inproc, name, threads, receiver, context, err);
}

pawl_status pawli_transports_find(const pawl_transports *transports, const char *url,
                                  const pawli_known **ret_known, pawl_error *err)
{
    char scheme[PAWLI_SCHEME_SIZE];

    if (!pawli_scheme_of(url, scheme))
        return pawli_fail(err, PAWL_E_INVALID, "the destination is not a URL");
    for (const pawli_known *at = transports->newest; at; at = at->next) {
        if (strcmp(at->transport->scheme, scheme) == 0) {
            *ret_known = at;
            return PAWL_OK;
        }
    }
    return pawli_fail(err, PAWL_E_INVALID,
                      "unknown scheme %s://: available are http, https, unix, pipe, inproc and "
                      "registered transports",
                      scheme);
}

/* ---- URL schemes ---- */

bool pawli_scheme_of(const char *url, char ret_scheme[PAWLI_SCHEME_SIZE])
{
    char scheme[PAWLI_SCHEME_SIZE];
    size_t size = 0;

    for (; url[size] && url[size] != ':'; size++) {
        char c = url[size];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        bool letter = c >= 'a' && c <= 'z';
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if ((!letter && (!other || size == 0)) || size + 1 == PAWLI_SCHEME_SIZE)
            return false;
        scheme[size] = c;
    }
    if (size == 0 || strncmp(url + size, "://", 3) != 0)
        return false;
    memcpy(ret_scheme, scheme, size);
    ret_scheme[size] = '\0';
    return true;
}

bool pawli_scheme_is_local(const char *scheme)
{
    return strcmp(scheme, "unix") == 0 || strcmp(scheme, "pipe") == 0;
}

const char *pawli_scheme_rest(const char *url)
{
    return strstr(url, "://") + 3;
}
