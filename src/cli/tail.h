/* src/cli/tail.h - a buffer of the last bytes of a long output. */
#ifndef CLI_TAIL_H
#define CLI_TAIL_H

#include <stddef.h>

typedef struct cli_tail {
    char *bytes; /* NULL while there are none */
    size_t size;
    size_t limit; /* 0: nothing is kept */
} cli_tail;

void cli_tail_add(cli_tail *tail, const char *bytes, size_t size);
/*
 * The kept bytes, from the start of a character on, because the first one may have been cut.
 * Borrowed.
 */
const char *cli_tail_text(const cli_tail *tail, size_t *ret_size);
void cli_tail_done(cli_tail *tail);

#endif
