/* tests/soak/marks.h - which messages a handler was called for, in a file that survives SIGKILL. */
#ifndef PAWL_SOAK_MARKS_H
#define PAWL_SOAK_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#define MARKS_MAX (INT64_C(64) * 1024 * 1024) /* numbers per file; the file is sparse */

/*
 * One byte per number: how often it was marked, 255 at most. Several processes share a file, and
 * what one of them has written is there when it was killed.
 */
typedef struct marks {
    uint8_t *bytes; /* NULL: it could not be mapped */
} marks;

bool marks_open(marks *m, const char *folder, const char *kind);
void marks_add(const marks *m, int64_t number);

#endif
