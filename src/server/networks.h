/* src/server/networks.h - a list of addresses and networks, and matching an address against it. */
#ifndef PAWLI_NETWORKS_H
#define PAWLI_NETWORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>

#define PAWLI_NETWORKS_MAX 64

typedef struct pawli_networks {
    struct {
        uint8_t address[16]; /* an IPv4 address as ::ffff:A.B.C.D */
        int bits;
    } items[PAWLI_NETWORKS_MAX];
    size_t count;
} pawli_networks;

/* "10.0.0.7, 192.168.0.0/16, ::1"; NULL: none. PAWL_E_INVALID. */
pawl_status pawli_networks_parse(const char *text, pawli_networks *ret_networks, pawl_error *err);
bool pawli_networks_have(const pawli_networks *networks, const uint8_t address[16]);

#endif
