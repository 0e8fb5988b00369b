/* src/transport/http/address.h - is this an address that everybody may be sent to? */
#ifndef PAWLI_ADDRESS_H
#define PAWLI_ADDRESS_H

#include <stdbool.h>

struct sockaddr;

/*
 * Whether it is an address of the public internet. Not: this machine, private networks, link-local,
 * shared, documentation, multicast, reserved; nor what carries such an IPv4 address inside.
 */
bool pawli_address_is_public(const struct sockaddr *address);
/* The same from its text, "127.0.0.1" or "::1"; false for anything else. */
bool pawli_address_text_is_public(const char *text);

#endif
