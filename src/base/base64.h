/* src/base/base64.h - base64: RFC 4648, section 4, with padding. */
#ifndef PAWLI_BASE64_H
#define PAWLI_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* The number of characters for `size` bytes, without a terminating zero. */
static inline size_t pawli_base64_length(size_t size)
{
    return (size + 2) / 3 * 4;
}

/* Writes exactly pawli_base64_length(size) characters, without a terminating zero. */
void pawli_base64_encode(const void *bytes, size_t size, char *ret_text);

/*
 * Decodes into `room`, of at least length / 4 * 3 bytes. Strict: no line ends, correct padding, no
 * leftover bits, so that every byte string has exactly one encoding. False: it is not base64;
 * `room` may have been written to.
 */
bool pawli_base64_decode(const char *text, size_t length, void *room, size_t *ret_size);

#endif
