/* src/cli/output.h - color on terminals, JSON for programs. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

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
void cli_json_time(json_t *object, const char *key, pawl_wall time); /* PAWL_NEVER: null */
void cli_json_number(json_t *object, const char *key, long long number);

/* Flushes stdout; PAWL_E_IO if something could not be written. */
pawl_status cli_output_end(pawl_error *err);

#endif
