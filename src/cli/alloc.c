/* src/cli/alloc.c - memory for a short-lived program: running out ends it with exit code 71. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <pawl/error.h>

#include "alloc.h"

static void *checked_block(void *block)
{
    if (!block) {
        fputs("pawl: out of memory\n", stderr);
        exit(pawl_status_exit(PAWL_E_NOMEM));
    }
    return block;
}

void *cli_alloc(size_t count, size_t size)
{
    return checked_block(calloc(count ? count : 1, size ? size : 1));
}

void *cli_grow(void *block, size_t count, size_t size)
{
    return checked_block(reallocarray(block, count ? count : 1, size));
}

char *cli_copy(const char *text)
{
    return cli_copy_bytes(text, strlen(text));
}

char *cli_copy_bytes(const void *bytes, size_t size)
{
    char *copy = cli_alloc(size + 1, 1);

    if (size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

char *cli_print(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return checked_block(text);
}
