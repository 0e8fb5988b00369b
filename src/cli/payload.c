/* src/cli/payload.c - the payload of a message to send. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "memory.h"
#include "payload.h"

/* No database takes more; stops reading from something endless. */
#define MOST_BYTES ((size_t)1 << 30)
#define FIRST_BYTES ((size_t)65536)

pawl_status cli_payload_read_stdin(char **ret_bytes, size_t *ret_size, pawl_error *err)
{
    CLI_AUTO_FREE char *bytes = cli_alloc(FIRST_BYTES, 1);
    size_t capacity = FIRST_BYTES;
    size_t size = 0;

    if (isatty(STDIN_FILENO) == 1)
        cli_note("reading the payload from the terminal; end it with Ctrl-D");
    for (;;) {
        ssize_t got = read(STDIN_FILENO, bytes + size, capacity - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cli_fail(err, PAWL_E_IO, "cannot read the payload from stdin: %s",
                            strerror(errno));
        if (got == 0)
            break;
        size += (size_t)got;
        if (size > MOST_BYTES)
            return cli_fail(err, PAWL_E_TOO_LARGE, "the payload on stdin is larger than 1 GiB");
        if (size == capacity)
            bytes = cli_grow(bytes, capacity *= 2, 1);
    }
    *ret_bytes = bytes;
    *ret_size = size;
    bytes = NULL;
    return PAWL_OK;
}
