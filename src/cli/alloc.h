/* src/cli/alloc.h - allocation for a short-lived program: running out of memory exits with
 * code 71. */
#ifndef CLI_ALLOC_H
#define CLI_ALLOC_H

#include <stddef.h>
#include <stdlib.h>

#include <pawl/export.h>

#include "scope.h"

/* Zeroed. Never NULL. */
void *cli_alloc(size_t count, size_t size);
void *cli_grow(void *block, size_t count, size_t size);
char *cli_copy(const char *text);
char *cli_copy_bytes(const void *bytes, size_t size); /* and a zero byte */
char *cli_print(const char *format, ...) PAWL_PRINTF(1, 2);

#endif
