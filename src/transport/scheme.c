/* src/transport/scheme.c - what stands before "://". */
#include "scheme.h"

#include <stddef.h>
#include <string.h>

bool pawli_scheme_of(const char *url, char ret_scheme[PAWLI_SCHEME_SIZE])
{
    char scheme[PAWLI_SCHEME_SIZE];
    size_t size = 0;

    for (; url[size] && url[size] != ':'; size++) {
        char c = url[size];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        bool letter = c >= 'a' && c <= 'z';
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if ((!letter && (!other || size == 0)) || size + 1 == PAWLI_SCHEME_SIZE)
            return false;
        scheme[size] = c;
    }
    if (size == 0 || strncmp(url + size, "://", 3) != 0)
        return false;
    memcpy(ret_scheme, scheme, size);
    ret_scheme[size] = '\0';
    return true;
}

bool pawli_scheme_is_local(const char *scheme)
{
    return strcmp(scheme, "unix") == 0 || strcmp(scheme, "pipe") == 0;
}

const char *pawli_scheme_rest(const char *url)
{
    return strstr(url, "://") + 3;
}
