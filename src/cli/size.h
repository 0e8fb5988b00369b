/* src/cli/size.h - sizes in bytes as people write and read them. */
#ifndef CLI_SIZE_H
#define CLI_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "when.h"

/* "512", "64KiB", "1MiB", "2GiB". "MB" is refused: people mean two things by it. */
bool cli_size_parse(const char *text, int64_t *ret_bytes);
/* Exact, in the largest unit that is; written into `ret_text` and returned. */
const char *cli_size_text(int64_t bytes, char ret_text[CLI_WHEN_SIZE]);

#endif
