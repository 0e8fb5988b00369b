/* src/cli/size.c - sizes in bytes as people write and read them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "size.h"

static const struct {
    const char *name;
    int64_t bytes;
} units[] = {{"GiB", INT64_C(1) << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}};
#define UNIT_COUNT (sizeof units / sizeof units[0])

bool cli_size_parse(const char *text, int64_t *ret_bytes)
{
    int64_t number = 0;
    const char *at = text;

    for (; isdigit((unsigned char)*at); at++) {
        number = number * 10 + (*at - '0');
        if (number > (INT64_C(1) << 40))
            return false;
    }
    if (at == text)
        return false;
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (strcmp(at, units[i].name) == 0) {
            *ret_bytes = number * units[i].bytes;
            return *ret_bytes <= INT64_C(1) << 50;
        }
    return false;
}

const char *cli_size_text(int64_t bytes, char ret_text[CLI_WHEN_SIZE])
{
    size_t i = 0;

    while (bytes == 0 ? units[i].bytes > 1 : bytes % units[i].bytes != 0)
        i++;
    snprintf(ret_text, CLI_WHEN_SIZE, "%" PRId64 "%s", bytes / units[i].bytes, units[i].name);
    return ret_text;
}
