/* src/cli/tail.c - the last bytes of something that may be long. */
#include "tail.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void cli_tail_add(cli_tail *tail, const char *bytes, size_t size)
{
    size_t kept;

    if (size == 0 || tail->limit == 0)
        return;
    if (!tail->bytes)
        tail->bytes = cli_alloc(tail->limit, 1);
    if (size > tail->limit) {
        bytes += size - tail->limit;
        size = tail->limit;
    }
    kept = tail->size < tail->limit - size ? tail->size : tail->limit - size;
    memmove(tail->bytes, tail->bytes + tail->size - kept, kept);
    memcpy(tail->bytes + kept, bytes, size);
    tail->size = kept + size;
}

const char *cli_tail_text(const cli_tail *tail, size_t *ret_size)
{
    const char *start = tail->bytes ? tail->bytes : "";
    size_t size = tail->size;

    while (size > 0 && tail->size == tail->limit && ((unsigned char)*start & 0xc0) == 0x80) {
        start++;
        size--;
    }
    *ret_size = size;
    return start;
}

void cli_tail_done(cli_tail *tail)
{
    free(tail->bytes);
    *tail = (cli_tail){NULL, 0, 0};
}
