/* src/cli/terminal/console.h - color on terminals, JSON for programs, errors, and asking for
 * confirmation. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>
#include <pawl/clock.h>
#include <pawl/error.h>

typedef enum cli_color {
    CLI_PLAIN, /* back to normal */
    CLI_BOLD,
    CLI_DIM,
    CLI_RED,
    CLI_GREEN,
    CLI_YELLOW,
    CLI_BLUE,
    CLI_MAGENTA
} cli_color;

/*
 * The escape sequence that switches `stream` to the color: "" unless it is a terminal that supports
 * it (NO_COLOR, TERM=dumb).
 */
const char *cli_style(FILE *stream, cli_color color);
/* The terminal's width in columns; 0 if `stream` is not a terminal. */
size_t cli_width(FILE *stream);

/* Prints the document and drops the reference. */
void cli_json_print(FILE *stream, json_t *take_document);
/* NULL becomes null; invalid UTF-8 is replaced. */
void cli_json_text(json_t *object, const char *key, const char *text);
void cli_json_time(json_t *object, const char *key, pawl_wall time); /* PAWL_TIME_UNSET: null */
void cli_json_number(json_t *object, const char *key, long long number);

/* Flushes stdout; PAWL_E_IO if something could not be written. */
pawl_status cli_output_end(pawl_error *err);

/*
 * Prints to stderr: a sentence, or with `json` one JSON document. `verb` (may be NULL) is for the
 * hint.
 */
void cli_fail_print(const pawl_error *err, const char *verb, bool json);

/* Prints a line to stderr that is not an error: "pawl: ...". */
void cli_note(const char *format, ...) PAWL_PRINTF(1, 2);

/* Checks that there is a terminal; otherwise PAWL_E_INVALID (saying to add --yes). */
pawl_status cli_confirm_possible(const char *verb, pawl_error *err);
/* Asks on stderr and reads one line; anything except yes is no. */
bool cli_confirm(const char *question);

#endif
