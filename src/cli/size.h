/* src/cli/size.h - parsing and formatting sizes in bytes. */
#ifndef CLI_SIZE_H
#define CLI_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "when.h"

/* Parses "512", "64KiB", "1MiB", "2GiB". "MB" is rejected because it is ambiguous. */
bool cli_size_parse(const char *text, int64_t *ret_bytes);
/* Formats exactly, in the largest unit that is exact; written into `ret_text` and returned. */
const char *cli_size_text(int64_t bytes, char ret_text[CLI_WHEN_SIZE]);

#endif
