/* src/cli/payload.h - the payload of a message to send. */
#ifndef CLI_PAYLOAD_H
#define CLI_PAYLOAD_H

#include <stddef.h>

#include <pawl/error.h>

/* Reads all of stdin, bytes unchanged; *ret_bytes is the caller's (free()). */
pawl_status cli_payload_read_stdin(char **ret_bytes, size_t *ret_size, pawl_error *err);

#endif
