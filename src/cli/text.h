/* src/cli/text.h - UTF-8 on a terminal: printable text and its width. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the well-formed character at `text` (0: none) and its code point. */
size_t cli_utf8_next(const char *text, size_t size, uint32_t *ret_point);
bool cli_utf8_valid(const char *text, size_t size);
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

#endif
