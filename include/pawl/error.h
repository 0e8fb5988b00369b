/* include/pawl/error.h - status codes and error details. */
#ifndef PAWL_ERROR_H
#define PAWL_ERROR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <pawl/export.h>

PAWL_BEGIN_DECLS

/*
 * The table of all statuses. Columns: name, number, text, retryable (1: the same call may succeed
 * later), HTTP status, exit code of the program. Numbers never change and are never reused.
 */
#define PAWL_STATUS_TABLE(X)                                                                       \
    X(OK, 0, "done", 0, 200, 0)                                                                    \
    X(E_INVALID, 1, "invalid argument", 0, 400, 64)                                                \
    X(E_MISUSE, 2, "call not allowed here", 0, 500, 70)                                            \
    X(E_NOMEM, 3, "out of memory", 1, 503, 71)                                                     \
    X(E_NOT_FOUND, 4, "not found", 0, 404, 66)                                                     \
    X(E_CONFLICT, 5, "same id, different content", 0, 409, 65)                                     \
    X(E_TOO_LARGE, 6, "too large", 0, 413, 65)                                                     \
    X(E_EMPTY, 7, "nothing found", 0, 204, 1)                                                      \
    X(E_HELD, 8, "owned by another", 1, 409, 80)                                                   \
    X(E_LOST, 9, "no longer owned", 0, 409, 76)                                                    \
    X(E_IN_DOUBT, 10, "commit sent, reply lost", 1, 503, 79)                                       \
    X(E_BUSY, 11, "database busy", 1, 503, 75)                                                     \
    X(E_TIMEOUT, 12, "deadline passed", 1, 504, 75)                                                \
    X(E_INTERRUPTED, 13, "interrupted", 1, 503, 130)                                               \
    X(E_TX_RESTART, 14, "transaction must be started again", 1, 503, 75)                           \
    X(E_UNAVAILABLE, 15, "database not reachable", 1, 503, 69)                                     \
    X(E_NO_SCHEMA, 16, "pawl schema is not installed", 0, 503, 78)                                 \
    X(E_INCOMPATIBLE, 17, "schema too new for this library", 0, 503, 78)                           \
    X(E_NOT_OURS, 18, "not a pawl database", 0, 503, 78)                                           \
    X(E_READ_ONLY, 19, "database is read-only", 0, 503, 77)                                        \
    X(E_DENIED, 20, "permission denied", 0, 403, 77)                                               \
    X(E_CORRUPT, 21, "database is damaged", 0, 500, 74)                                            \
    X(E_IO, 22, "input/output error", 1, 500, 74)                                                  \
    X(E_FULL, 23, "no space left", 1, 507, 74)                                                     \
    X(E_UNSUPPORTED, 24, "not built into this library", 0, 501, 69)                                \
    X(E_STORE, 25, "database error", 0, 500, 70)                                                   \
    X(E_SERIALIZATION, 26, "lost a race with another transaction", 1, 503, 75)

#define PAWL_STATUS_ENUM(name, number, text, retryable, http, exit_code) PAWL_##name = number,
typedef enum pawl_status { PAWL_STATUS_TABLE(PAWL_STATUS_ENUM) PAWL_STATUS_COUNT } pawl_status;
#undef PAWL_STATUS_ENUM

/*
 * Filled in by a failing call if the caller passes one; untouched on success. The caller owns it,
 * nothing in it is allocated, and it may be copied. Never contains a payload or a password.
 * The struct is fixed: it will not get further members.
 */
typedef struct pawl_error {
    pawl_status status;
    bool retryable;      /* the same call may succeed later */
    int32_t native_code; /* SQLite extended code or errno; 0 if none */
    char sqlstate[6];    /* PostgreSQL's five characters; "" if none */
    char message[512];   /* one sentence: the problem and how to fix it */
} pawl_error;
#define PAWL_ERROR_INIT                                                                            \
    {                                                                                              \
        PAWL_OK, false, 0, "", ""                                                                  \
    }

/* The name, "PAWL_E_BUSY"; "unknown status" for a number that is not in the table. Never NULL. */
PAWL_API const char *pawl_status_name(pawl_status status);
/* The text, "database busy". Never NULL. */
PAWL_API const char *pawl_status_text(pawl_status status);
PAWL_API bool pawl_status_retryable(pawl_status status);
PAWL_API int pawl_status_http(pawl_status status);
PAWL_API int pawl_status_exit(pawl_status status);

/*
 * Writes the error to `to` as one line: the status's name, the message, and whether the same call
 * may succeed later. NULL or PAWL_ERROR_INIT is written as PAWL_OK. For programs that report errors
 * on stderr; pawl itself never calls it.
 *
 *     PAWL_E_BUSY: the database is locked (retryable: the same call may succeed later)
 *
 * Threads:   any.
 * Errors:    none; a failed write is left to ferror(to).
 */
PAWL_API void pawl_error_print(FILE *to, const pawl_error *err);

PAWL_END_DECLS

#endif
