/* src/transport/http/public_address.h - checking whether an IP address is public. */
#ifndef PAWLI_PUBLIC_ADDRESS_H
#define PAWLI_PUBLIC_ADDRESS_H

#include <stdbool.h>

struct sockaddr;

/*
 * Whether it is an address of the public internet. Not public: this machine, private networks,
 * link-local, shared, documentation, multicast, reserved; and addresses that embed such an IPv4
 * address.
 */
bool pawli_address_is_public(const struct sockaddr *address);
/* The same for its text, "127.0.0.1" or "::1"; false for anything else. */
bool pawli_address_text_is_public(const char *text);

#endif
