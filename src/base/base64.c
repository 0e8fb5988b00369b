/* src/base/base64.c - base64: RFC 4648, section 4, with padding. */
#include "base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void pawli_base64_encode(const void *bytes, size_t size, char *ret_text)
{
    const uint8_t *at = bytes;

    for (; size >= 3; at += 3, size -= 3) {
        uint32_t word = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *ret_text++ = alphabet[word >> shift & 63];
    }
    if (size == 0)
        return;
    uint32_t word = (uint32_t)at[0] << 16 | (size == 2 ? (uint32_t)at[1] << 8 : 0);
    *ret_text++ = alphabet[word >> 18];
    *ret_text++ = alphabet[word >> 12 & 63];
    *ret_text++ = size == 2 ? alphabet[word >> 6 & 63] : '=';
    *ret_text = '=';
}

/* 0 .. 63; 64 and above: not in the alphabet. */
static uint32_t base64_value_of(char character)
{
    if (character >= 'A' && character <= 'Z')
        return (uint32_t)(character - 'A');
    if (character >= 'a' && character <= 'z')
        return (uint32_t)(character - 'a') + 26;
    if (character >= '0' && character <= '9')
        return (uint32_t)(character - '0') + 52;
    return character == '+' ? 62 : character == '/' ? 63 : 64;
}

bool pawli_base64_decode(const char *text, size_t length, void *room, size_t *ret_size)
{
    uint8_t *out = room;
    size_t padding = 0;

    if (length % 4 != 0)
        return false;
    if (length > 0 && text[length - 1] == '=')
        padding = text[length - 2] == '=' ? 2 : 1;
    for (size_t i = 0; i < length; i += 4) {
        size_t wanted = i + 4 == length ? 4 - padding : 4;
        uint32_t word = 0;
        for (size_t k = 0; k < 4; k++) {
            uint32_t value = k < wanted ? base64_value_of(text[i + k]) : 0;
            if (value > 63)
                return false;
            word = word << 6 | value;
        }
        if ((wanted == 3 && (word & 0xff)) || (wanted == 2 && (word & 0xffff)))
            return false; /* bits that encode nothing */
        for (size_t k = 0; k + 1 < wanted; k++)
            *out++ = (uint8_t)(word >> (16 - 8 * k));
    }
    *ret_size = length / 4 * 3 - padding;
    return true;
}
