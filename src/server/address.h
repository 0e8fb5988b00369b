/* src/server/address.h - listen addresses: "ADDRESS:PORT". */
#ifndef PAWLI_ADDRESS_H
#define PAWLI_ADDRESS_H

#include <stdbool.h>

#include <sys/socket.h>

#include <pawl/error.h>

typedef struct pawli_address {
    struct sockaddr_storage socket;
    socklen_t size;
    bool is_loopback;
} pawli_address;

/*
 * "127.0.0.1:7295", "[::1]:7295", ":7295" and "localhost:7295" (loopback), "0.0.0.0:0". Names are
 * not resolved. The message of PAWL_E_INVALID says what is allowed.
 */
pawl_status pawli_address_parse(const char *text, pawli_address *ret_address, pawl_error *err);

#endif
