/* src/server/address.c - "ADDRESS:PORT", as one writes where to listen. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <pawl/receiver.h>

#include "address.h"
#include "fail.h"

static pawl_status address_refuse(const char *text, pawl_error *err)
{
    return pawli_fail(err, PAWL_E_INVALID,
                      "an address looks like 127.0.0.1:7295 or [::1]:7295, not '%.80s'", text);
}

static bool parse_port(const char *text, in_port_t *ret_port)
{
    long port = 0;

    if (*text == '\0' || strlen(text) > 5)
        return false;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        port = port * 10 + (*text - '0');
    }
    *ret_port = htons((uint16_t)port);
    return port <= 65535;
}

static bool parse_4(const char *host, in_port_t port, pawli_address *address)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&address->socket;

    if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
        return false;
    in->sin_family = AF_INET;
    in->sin_port = port;
    address->size = sizeof *in;
    address->is_loopback = (ntohl(in->sin_addr.s_addr) >> 24) == 127;
    return true;
}

static bool parse_6(const char *host, in_port_t port, pawli_address *address)
{
    struct sockaddr_in6 *in = (struct sockaddr_in6 *)(void *)&address->socket;

    if (inet_pton(AF_INET6, host, &in->sin6_addr) != 1)
        return false;
    in->sin6_family = AF_INET6;
    in->sin6_port = port;
    address->size = sizeof *in;
    address->is_loopback = IN6_IS_ADDR_LOOPBACK(&in->sin6_addr);
    return true;
}

pawl_status pawli_address_parse(const char *text, pawli_address *ret_address, pawl_error *err)
{
    pawli_address address = {.size = 0};
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN] = "";
    in_port_t port = 0;
    bool six = text[0] == '[' && colon && colon > text && colon[-1] == ']';
    size_t length = colon ? (size_t)(colon - text) - (six ? 2 : 0) : 0;

    if (!colon || !parse_port(colon + 1, &port) || length >= sizeof host)
        return address_refuse(text, err);
    memcpy(host, text + (six ? 1 : 0), length);
    if (length == 0 || strcmp(host, "localhost") == 0)
        memcpy(host, "127.0.0.1", sizeof "127.0.0.1");
    if (six ? !parse_6(host, port, &address) : !parse_4(host, port, &address))
        return address_refuse(text, err);
    *ret_address = address;
    return PAWL_OK;
}

pawl_status pawl_address_check(const char *address, bool *ret_loopback, pawl_error *err)
{
    pawli_address parsed = {.size = 0};
    pawl_status st;

    if (!address || !ret_loopback)
        return pawli_fail(err, PAWL_E_INVALID, "address and ret_loopback must not be NULL");
    st = pawli_address_parse(address, &parsed, err);
    if (st == PAWL_OK)
        *ret_loopback = parsed.is_loopback;
    return st;
}
