/* src/cli/fail.h - errors: filled in where they occur, printed once, by main. */
#ifndef CLI_FAIL_H
#define CLI_FAIL_H

#include <stdbool.h>

#include <pawl/error.h>

/* Fills in `err` and returns `status`. */
pawl_status cli_fail(pawl_error *err, pawl_status status, const char *format, ...)
    PAWL_PRINTF(3, 4);

/*
 * Prints to stderr: a sentence, or with `json` one JSON document. `verb` (may be NULL) is for the
 * hint.
 */
void cli_fail_print(const pawl_error *err, const char *verb, bool json);

/* Prints a line to stderr that is not an error: "pawl: ...". */
void cli_note(const char *format, ...) PAWL_PRINTF(1, 2);

#endif
