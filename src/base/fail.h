/* src/base/fail.h - filling in the caller's pawl_error. */
#ifndef PAWLI_FAIL_H
#define PAWLI_FAIL_H

#include <pawl/error.h>

/*
 * Writes status and message into `err` (may be NULL) and returns `status`, so that a failing call
 * is one line: return pawli_fail(err, PAWL_E_INVALID, "...").
 */
pawl_status pawli_fail(pawl_error *err, pawl_status status, const char *format, ...)
    PAWL_PRINTF(3, 4);

/* The same with the engine's own code: a SQLite extended code or an errno. */
pawl_status pawli_fail_code(pawl_error *err, pawl_status status, int native_code,
                            const char *format, ...) PAWL_PRINTF(4, 5);

/* The same with a SQLSTATE (five characters). */
pawl_status pawli_fail_state(pawl_error *err, pawl_status status, const char *sqlstate,
                             const char *format, ...) PAWL_PRINTF(4, 5);

#endif
