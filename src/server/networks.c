/* src/server/networks.c - a list of addresses and networks. */
#include "networks.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/receiver.h>

#include "fail.h"

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
            return pawli_fail(err, PAWL_E_INVALID, "there may be %d addresses at most",
                              PAWLI_NETWORKS_MAX);
        if (size < sizeof word)
            memcpy(word, at, size);
        if (!parse_one(word, networks.items[networks.count].address,
                       &networks.items[networks.count].bits))
            return pawli_fail(
                err, PAWL_E_INVALID,
                "an address looks like 10.0.0.7 or ::1, a network like 10.0.0.0/8, not '%.*s'",
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
        st = pawli_fail(err, PAWL_E_INVALID, "one address or network is wanted");
    return st;
}

static bool begins_with(const uint8_t address[16], const uint8_t network[16], int bits)
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
        if (begins_with(address, networks->items[i].address, networks->items[i].bits))
            return true;
    return false;
}
