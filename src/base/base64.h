/* src/base/base64.h - bytes as text: RFC 4648, section 4, with padding. */
#ifndef PAWLI_BASE64_H
#define PAWLI_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Characters that `size` bytes become, without a terminating zero. */
static inline size_t pawli_base64_length(size_t size)
{
    return (size + 2) / 3 * 4;
}

/* Writes exactly pawli_base64_length(size) characters, no zero after them. */
void pawli_base64_encode(const void *bytes, size_t size, char *ret_text);

/*
 * The reverse into `room`, of at least length / 4 * 3 bytes. Strict: no line ends, padding where it
 * belongs, no bits left over, so that one text stands for some bytes and no other does. False: it
 * is not base64; `room` may have been written to.
 */
bool pawli_base64_decode(const char *text, size_t length, void *room, size_t *ret_size);

#endif
