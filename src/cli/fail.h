/* src/cli/fail.h - errors: filled in where they happen, printed once, by main. */
#ifndef CLI_FAIL_H
#define CLI_FAIL_H

#include <stdbool.h>

#include <pawl/error.h>

/* Fill `err` and return `status`. */
pawl_status cli_fail(pawl_error *err, pawl_status status, const char *format, ...)
    PAWL_PRINTF(3, 4);

/* To stderr: a sentence, or with `json` one JSON document. `verb` (may be NULL) is for the hint. */
void cli_fail_print(const pawl_error *err, const char *verb, bool json);

/* A line to stderr that is not a failure: "pawl: ...". */
void cli_note(const char *format, ...) PAWL_PRINTF(1, 2);

#endif
