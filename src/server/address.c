/* src/server/address.c - listen addresses and networks. */
#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/receiver.h>

#include "address.h"
#include "fail.h"
#include "networks.h"

/* ---- listen addresses: "ADDRESS:PORT" ---- */

static pawl_status address_refuse(const char *text, pawl_error *err)
{
    return pawli_fail(
        err, PAWL_E_INVALID,
        "invalid address '%.80s': use ADDRESS:PORT, such as 127.0.0.1:7295 or [::1]:7295", text);
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

/* ---- lists of addresses and networks ---- */

#define WORD_MAX 64

/* "ADDRESS" or "ADDRESS/BITS". */
static bool parse_one(char *word, uint8_t ret_address[16], int *ret_bits)
{
    char *slash = strchr(word, '/');
    char *end = NULL;
    long bits = -1;
    int most = 128;

    if (slash) {
        *slash = '\0';
        bits = strtol(slash + 1, &end, 10);
        if (slash[1] < '0' || slash[1] > '9' || *end != '\0')
            return false;
    }
    memset(ret_address, 0, 16);
    if (inet_pton(AF_INET, word, ret_address + 12) == 1) {
        ret_address[10] = ret_address[11] = 0xff;
        most = 32;
    } else if (inet_pton(AF_INET6, word, ret_address) != 1) {
        return false;
    }
    if (bits > most)
        return false;
    *ret_bits = bits < 0 ? 128 : (int)bits + 128 - most;
    return true;
}

pawl_status pawli_networks_parse(const char *text, pawli_networks *ret_networks, pawl_error *err)
{
    static const char between[] = ", \t";
    pawli_networks networks = {.count = 0};

    for (const char *at = text ? text + strspn(text, between) : ""; *at;
         at += strspn(at, between)) {
        size_t size = strcspn(at, between);
        char word[WORD_MAX] = "";

        if (networks.count == PAWLI_NETWORKS_MAX)
            return pawli_fail(err, PAWL_E_INVALID, "too many addresses: the maximum is %d",
                              PAWLI_NETWORKS_MAX);
        if (size < sizeof word)
            memcpy(word, at, size);
        if (!parse_one(word, networks.items[networks.count].address,
                       &networks.items[networks.count].bits))
            return pawli_fail(err, PAWL_E_INVALID,
                              "invalid address or network '%.*s': use an address such as 10.0.0.7 "
                              "or ::1, or a network such as 10.0.0.0/8",
                              (int)(size < WORD_MAX ? size : WORD_MAX), at);
        networks.count++;
        at += size;
    }
    *ret_networks = networks;
    return PAWL_OK;
}

pawl_status pawl_network_check(const char *network, pawl_error *err)
{
    pawli_networks one = {0};
    pawl_status st = pawli_networks_parse(network, &one, err);

    if (st == PAWL_OK && one.count != 1)
        st = pawli_fail(err, PAWL_E_INVALID,
                        "the list must contain at least one address or network");
    return st;
}

static bool address_is_in(const uint8_t address[16], const uint8_t network[16], int bits)
{
    int whole = bits / 8;
    int rest = bits % 8;

    if (memcmp(address, network, (size_t)whole) != 0)
        return false;
    return rest == 0 || (address[whole] ^ network[whole]) >> (8 - rest) == 0;
}

bool pawli_networks_have(const pawli_networks *networks, const uint8_t address[16])
{
    for (size_t i = 0; i < networks->count; i++)
        if (address_is_in(address, networks->items[i].address, networks->items[i].bits))
            return true;
    return false;
}
