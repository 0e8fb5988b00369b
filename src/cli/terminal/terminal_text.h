/* src/cli/terminal/terminal_text.h - UTF-8 on a terminal: printable text, its width, and "did you
 * mean ...?". */
#ifndef CLI_TERMINAL_TEXT_H
#define CLI_TERMINAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Well-formed, and no control characters except newline, carriage return and tab. */
bool cli_text_printable(const char *text, size_t size);

/*
 * A malloc'ed copy that is safe to print and to store: bytes that are not UTF-8 become U+FFFD,
 * control characters (which could control the terminal) become spaces; with `one_line` line breaks
 * and tabs do, too.
 */
char *cli_text_clean(const char *text, size_t size, bool one_line);

/* Columns on a terminal. */
size_t cli_text_width(const char *text);
/* The number of bytes that fit into `width` columns. */
size_t cli_text_fit(const char *text, size_t width);

/* Pass candidates one by one; `best` is the nearest so far, NULL while none is near enough. */
typedef struct cli_suggestion {
    const char *given;
    const char *best;
    size_t distance;
} cli_suggestion;

void cli_suggest(cli_suggestion *suggestion, const char *candidate);
/* "; did you mean 'best'?", or "" if none is near; malloc'ed. */
char *cli_suggestion_text(const cli_suggestion *suggestion);

#endif
