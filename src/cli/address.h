/* src/cli/address.h - "ADDRESS:PORT", as one writes where to listen. */
#ifndef CLI_ADDRESS_H
#define CLI_ADDRESS_H

#include <stdbool.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <pawl/error.h>

#define CLI_SOCKET_PATH_MAX ((int)sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

typedef struct cli_address {
    struct sockaddr_storage socket;
    socklen_t size;
    bool is_loopback;
} cli_address;

/* "127.0.0.1:7295", "[::1]:7295", ":7295" and "localhost:7295" (loopback), "0.0.0.0:0". Names are
 * not resolved. PAWL_E_INVALID says what is allowed. */
pawl_status cli_address_parse(const char *text, cli_address *ret_address, pawl_error *err);

#endif
