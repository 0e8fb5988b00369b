/* src/base/fail.c - filling in the caller's pawl_error. */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

static void PAWL_PRINTF(3, 0)
    fail_fill(pawl_error *err, pawl_status status, const char *format, va_list args)
{
    memset(err, 0, sizeof *err);
    err->status = status;
    err->retryable = pawl_status_retryable(status);
    int wanted = vsnprintf(err->message, sizeof err->message, format, args);
    /* A truncated message must remain valid UTF-8, because it is written to JSON and logs. */
    if (wanted >= (int)sizeof err->message) {
        size_t kept =
            pawli_utf8_prefix(err->message, strlen(err->message), sizeof err->message - 1);
        err->message[kept] = '\0';
    }
}

pawl_status pawli_fail(pawl_error *err, pawl_status status, const char *format, ...)
{
    va_list args;

    if (!err)
        return status;
    va_start(args, format);
    fail_fill(err, status, format, args);
    va_end(args);
    return status;
}

pawl_status pawli_fail_code(pawl_error *err, pawl_status status, int native_code,
                            const char *format, ...)
{
    va_list args;

    if (!err)
        return status;
    va_start(args, format);
    fail_fill(err, status, format, args);
    va_end(args);
    err->native_code = native_code;
    return status;
}

pawl_status pawli_fail_state(pawl_error *err, pawl_status status, const char *sqlstate,
                             const char *format, ...)
{
    va_list args;

    if (!err)
        return status;
    va_start(args, format);
    fail_fill(err, status, format, args);
    va_end(args);
    if (sqlstate)
        snprintf(err->sqlstate, sizeof err->sqlstate, "%s", sqlstate);
    return status;
}
