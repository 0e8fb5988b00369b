/* src/transport/http/address.c - is this an address that everybody may be sent to? */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "scope.h"

/* From IANA's registry of special-purpose addresses; 224/3 is multicast and what was reserved. */
static const struct {
    uint32_t network;
    int bits;
} special_v4[] = {
    {0x00000000, 8},  /* this network */
    {0x0a000000, 8},  /* private */
    {0x64400000, 10}, /* shared by providers */
    {0x7f000000, 8},  /* loopback */
    {0xa9fe0000, 16}, /* link-local: cloud metadata lives here */
    {0xac100000, 12}, /* private */
    {0xc0000000, 24}, /* protocol assignments */
    {0xc0000200, 24}, /* documentation */
    {0xc0586300, 24}, /* 6to4 relay */
    {0xc0a80000, 16}, /* private */
    {0xc6120000, 15}, /* benchmarks */
    {0xc6336400, 24}, /* documentation */
    {0xcb007100, 24}, /* documentation */
    {0xe0000000, 3},
};

static bool v4_is_public(uint32_t address)
{
    for (size_t i = 0; i < PAWLI_COUNT(special_v4); i++)
        if ((address ^ special_v4[i].network) >> (32 - special_v4[i].bits) == 0)
            return false;
    return true;
}

/* Of the whole space only 2000::/3 is in use as public; these parts of it are not. */
static const struct {
    uint8_t start[4];
    int bits;
} special_v6[] = {
    {{0x20, 0x01, 0x00, 0x00}, 23}, /* protocol assignments, Teredo among them */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x20, 0x02, 0x00, 0x00}, 16}, /* 6to4: any IPv4 address inside */
    {{0x3f, 0xff, 0x00, 0x00}, 20}, /* documentation */
};

static uint32_t word_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool v6_is_public(const uint8_t bytes[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};

    if (memcmp(bytes, mapped, sizeof mapped) == 0 || memcmp(bytes, nat64, sizeof nat64) == 0)
        return v4_is_public(word_at(bytes + 12));
    if (bytes[0] >> 5 != 1)
        return false;
    for (size_t i = 0; i < PAWLI_COUNT(special_v6); i++)
        if ((word_at(bytes) ^ word_at(special_v6[i].start)) >> (32 - special_v6[i].bits) == 0)
            return false;
    return true;
}

bool pawli_address_is_public(const struct sockaddr *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    switch (address->sa_family) {
    case AF_INET:
        memcpy(&v4, address, sizeof v4);
        return v4_is_public(ntohl(v4.sin_addr.s_addr));
    case AF_INET6:
        memcpy(&v6, address, sizeof v6);
        return v6_is_public(v6.sin6_addr.s6_addr);
    default:
        return false;
    }
}

bool pawli_address_text_is_public(const char *text)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, text, &v4) == 1)
        return v4_is_public(ntohl(v4.s_addr));
    return inet_pton(AF_INET6, text, &v6) == 1 && v6_is_public(v6.s6_addr);
}
