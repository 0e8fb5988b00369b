/* src/cli/text.c - UTF-8 on a terminal: what may be printed, how wide it is. */
#include <string.h>
#include <wchar.h>

#include "memory.h"
#include "text.h"

size_t cli_utf8_next(const char *text, size_t size, uint32_t *ret_point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length;
    uint32_t point;

    if (size == 0)
        return 0;
    if (bytes[0] < 0x80) {
        *ret_point = bytes[0];
        return 1;
    }
    length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || length > size)
        return 0;
    point = bytes[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes[i] & 0x3f);
    }
    if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    *ret_point = point;
    return length;
}

static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

static bool is_layout(uint32_t point)
{
    return point == '\n' || point == '\r' || point == '\t';
}

bool cli_utf8_valid(const char *text, size_t size)
{
    uint32_t point;
    size_t length;

    for (; size > 0; text += length, size -= length) {
        length = cli_utf8_next(text, size, &point);
        if (length == 0)
            return false;
    }
    return true;
}

bool cli_text_printable(const char *text, size_t size)
{
    uint32_t point;
    size_t length;

    for (; size > 0; text += length, size -= length) {
        length = cli_utf8_next(text, size, &point);
        if (length == 0 || (is_control(point) && !is_layout(point)))
            return false;
    }
    return true;
}

char *cli_text_clean(const char *text, size_t size, bool one_line)
{
    char *clean = cli_alloc(size * 3 + 1, 1); /* U+FFFD takes three bytes */
    size_t used = 0;
    uint32_t point;
    size_t length;

    for (; size > 0; text += length, size -= length) {
        length = cli_utf8_next(text, size, &point);
        if (length == 0) {
            length = 1;
            memcpy(clean + used, "\xef\xbf\xbd", 3);
            used += 3;
        } else if (is_control(point) && (one_line || !is_layout(point))) {
            clean[used++] = ' ';
        } else {
            memcpy(clean + used, text, length);
            used += length;
        }
    }
    return clean;
}

/* Needs LC_CTYPE to be a UTF-8 locale, which main sets; an unknown character counts one. */
static size_t columns(uint32_t point)
{
    int width = wcwidth((wchar_t)point);

    return width < 0 ? 1 : (size_t)width;
}

size_t cli_text_width(const char *text)
{
    size_t size = strlen(text);
    size_t width = 0;
    uint32_t point = 0;
    size_t length;

    for (; size > 0; text += length, size -= length) {
        length = cli_utf8_next(text, size, &point);
        width += length > 0 ? columns(point) : 1;
        length = length > 0 ? length : 1;
    }
    return width;
}

size_t cli_text_fit(const char *text, size_t width)
{
    size_t size = strlen(text);
    size_t used = 0;
    uint32_t point = 0;

    while (used < size) {
        size_t length = cli_utf8_next(text + used, size - used, &point);
        size_t wide = length > 0 ? columns(point) : 1;
        if (wide > width)
            break;
        width -= wide;
        used += length > 0 ? length : 1;
    }
    return used;
}
