/* src/base/buffer.h - a growing byte buffer. */
#ifndef PAWLI_BUFFER_H
#define PAWLI_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/export.h>

/*
 * Zero-initialize it. A failed allocation sets `failed`, and later appends do nothing, so that only
 * the end must be checked.
 */
typedef struct pawli_buffer {
    char *data;
    size_t size;
    size_t capacity;
    bool failed;
} pawli_buffer;

void pawli_buffer_append(pawli_buffer *buffer, const void *bytes, size_t size);
void pawli_buffer_text(pawli_buffer *buffer, const char *text);
void pawli_buffer_format(pawli_buffer *buffer, const char *format, ...) PAWL_PRINTF(2, 3);
/* Reserves `size` bytes, to be filled by the caller; NULL when memory ran out. */
void *pawli_buffer_reserve(pawli_buffer *buffer, size_t size);
/*
 * Returns the bytes as a malloc'ed, zero-terminated string that the caller owns; NULL if it failed.
 */
char *pawli_buffer_take(pawli_buffer *buffer);
void pawli_buffer_done(pawli_buffer *buffer);

/* `PAWLI_AUTO_BUFFER buffer = {0};` */
#define PAWLI_AUTO_BUFFER __attribute__((cleanup(pawli_buffer_done))) pawli_buffer

#endif
