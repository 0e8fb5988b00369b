/* src/base/text.c - UTF-8: counting characters, validating, truncating at a character boundary. */
#include "text.h"

#include <stdint.h>
#include <string.h>

/* The length of the well-formed sequence at `at`, 0 if there is none (RFC 3629, table 3-7). */
static size_t sequence_length(const unsigned char *at, size_t left)
{
    unsigned char first = at[0];
    unsigned char low = 0x80, high = 0xbf; /* bounds of the second byte */
    size_t length;

    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        length = 2;
    else if (first >= 0xe0 && first <= 0xef)
        length = 3;
    else if (first >= 0xf0 && first <= 0xf4)
        length = 4;
    else
        return 0;
    if (first == 0xe0)
        low = 0xa0; /* no overlong forms */
    if (first == 0xed)
        high = 0x9f; /* no surrogates */
    if (first == 0xf0)
        low = 0x90;
    if (first == 0xf4)
        high = 0x8f; /* nothing beyond U+10FFFF */
    if (left < length || at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

size_t pawli_utf8_next(const char *text, size_t size, uint32_t *ret_point)
{
    static const uint8_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = size > 0 ? sequence_length(bytes, size) : 0;

    if (length == 0)
        return 0;
    *ret_point = bytes[0] & first_bits[length];
    for (size_t i = 1; i < length; i++)
        *ret_point = *ret_point << 6 | (bytes[i] & 0x3f);
    return length;
}

bool pawli_utf8_check(const char *text, size_t size, size_t *ret_characters)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t characters = 0;

    for (size_t i = 0; i < size; characters++) {
        size_t length = sequence_length(bytes + i, size - i);
        if (length == 0)
            return false;
        i += length;
    }
    if (ret_characters)
        *ret_characters = characters;
    return true;
}

size_t pawli_utf8_prefix(const char *text, size_t size, size_t limit)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t kept = 0;

    /* Steps over whole sequences. A stray byte counts as one, so that the loop ends for any
     * input. */
    while (kept < size) {
        size_t length = sequence_length(bytes + kept, size - kept);
        if (length == 0) {
            if (bytes[kept] >= 0xc2 && size - kept < 4)
                break; /* a character that is cut off at the end */
            length = 1;
        }
        if (kept + length > limit)
            break;
        kept += length;
    }
    return kept;
}

size_t pawli_utf8_clean(const char *text, char *ret_clean, size_t room)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t size = strlen(text);
    size_t used = 0;

    for (size_t i = 0; i < size;) {
        size_t length = sequence_length(bytes + i, size - i);
        if (used + (length ? length : 1) >= room)
            break;
        if (length) {
            memcpy(ret_clean + used, text + i, length);
            used += length;
            i += length;
        } else {
            ret_clean[used++] = '?';
            i++;
        }
    }
    ret_clean[used] = '\0';
    return used;
}
