/* src/cli/suggest.c - "did you mean ...?" by the number of edits between two words. */
#include <stdbool.h>
#include <string.h>

#include "suggest.h"

#define LONGEST 40

static size_t least(size_t a, size_t b, size_t c)
{
    size_t least_of_two = a < b ? a : b;

    return least_of_two < c ? least_of_two : c;
}

/* Insertions, deletions and replacements, and a swap of two neighbours as one. */
static size_t edits(const char *a, const char *b)
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
            row[j] = least(above[j] + 1, row[j - 1] + 1, replace);
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
    size_t distance = edits(suggestion->given, candidate);
    bool is_prefix = given_length >= 2 && strncmp(candidate, suggestion->given, given_length) == 0;

    if (is_prefix)
        distance = 1;
    if (distance <= limit && (!suggestion->best || distance < suggestion->distance)) {
        suggestion->best = candidate;
        suggestion->distance = distance;
    }
}
