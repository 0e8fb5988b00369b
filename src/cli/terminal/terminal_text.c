/* src/cli/terminal/terminal_text.c - UTF-8 on a terminal: what may be printed, how wide it is; "did
 * you mean ...?". */
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

#include "alloc.h"
#include "terminal_text.h"
#include "text.h"

static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

static bool is_layout(uint32_t point)
{
    return point == '\n' || point == '\r' || point == '\t';
}

bool cli_text_printable(const char *text, size_t size)
{
    uint32_t point;
    size_t length;

    for (; size > 0; text += length, size -= length) {
        length = pawli_utf8_next(text, size, &point);
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
        length = pawli_utf8_next(text, size, &point);
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
static size_t point_columns(uint32_t point)
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
        length = pawli_utf8_next(text, size, &point);
        width += length > 0 ? point_columns(point) : 1;
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
        size_t length = pawli_utf8_next(text + used, size - used, &point);
        size_t wide = length > 0 ? point_columns(point) : 1;
        if (wide > width)
            break;
        width -= wide;
        used += length > 0 ? length : 1;
    }
    return used;
}

#define LONGEST 40

static size_t least_of_three(size_t a, size_t b, size_t c)
{
    size_t least_of_two = a < b ? a : b;

    return least_of_two < c ? least_of_two : c;
}

/* Insertions, deletions and replacements, and a swap of two neighbours as one. */
static size_t count_edits(const char *a, const char *b)
{
    size_t rows[3][LONGEST + 1];
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);

    if (a_length > LONGEST || b_length > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        const size_t *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replace = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least_of_three(above[j] + 1, row[j - 1] + 1, replace);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

void cli_suggest(cli_suggestion *suggestion, const char *candidate)
{
    size_t given_length = strlen(suggestion->given);
    size_t limit = given_length < 4 ? 1 : given_length / 3 + 1;
    size_t distance = count_edits(suggestion->given, candidate);
    bool is_prefix = given_length >= 2 && strncmp(candidate, suggestion->given, given_length) == 0;

    if (is_prefix)
        distance = 1;
    if (distance <= limit && (!suggestion->best || distance < suggestion->distance)) {
        suggestion->best = candidate;
        suggestion->distance = distance;
    }
}

char *cli_suggestion_text(const cli_suggestion *suggestion)
{
    return suggestion->best ? cli_print("; did you mean '%s'?", suggestion->best) : cli_copy("");
}
