/* src/base/memory.c - arenas and growing buffers. */
#include "arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

/* ---- arenas: many small allocations that are freed together ---- */

#define CHUNK_BYTES 16384

struct pawli_arena_chunk {
    struct pawli_arena_chunk *next;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

static struct pawli_arena_chunk *add_chunk(pawli_arena *arena, size_t size)
{
    struct pawli_arena_chunk *chunk = malloc(sizeof *chunk + size);

    if (!chunk)
        return NULL;
    chunk->used = 0;
    chunk->size = size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

void *pawli_arena_alloc(pawli_arena *arena, size_t size)
{
    struct pawli_arena_chunk *chunk = arena->chunks;
    size_t aligned;

    if (size > SIZE_MAX / 2)
        return NULL;
    aligned = (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    if (!chunk || chunk->size - chunk->used < aligned) {
        chunk = add_chunk(arena, aligned > CHUNK_BYTES ? aligned : CHUNK_BYTES);
        if (!chunk)
            return NULL;
    }
    void *piece = chunk->bytes + chunk->used;
    chunk->used += aligned;
    return piece;
}

char *pawli_arena_copy(pawli_arena *arena, const void *bytes, size_t size)
{
    char *copy = pawli_arena_alloc(arena, size + 1);

    if (!copy)
        return NULL;
    if (size > 0)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

void pawli_arena_done(pawli_arena *arena)
{
    while (arena->chunks) {
        struct pawli_arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        free(chunk);
    }
}

/* ---- growing byte buffers ---- */

/* Makes room for `size` more bytes and a terminating zero. */
static bool buffer_grow(pawli_buffer *buffer, size_t size)
{
    size_t needed, capacity;
    char *data;

    if (buffer->failed)
        return false;
    if (size > SIZE_MAX / 4 - buffer->size) {
        buffer->failed = true;
        return false;
    }
    needed = buffer->size + size + 1;
    if (needed <= buffer->capacity)
        return true;
    capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < needed)
        capacity *= 2;
    data = realloc(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void *pawli_buffer_reserve(pawli_buffer *buffer, size_t size)
{
    if (!buffer_grow(buffer, size))
        return NULL;
    char *start = buffer->data + buffer->size;
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
    return start;
}

void pawli_buffer_append(pawli_buffer *buffer, const void *bytes, size_t size)
{
    char *room = pawli_buffer_reserve(buffer, size);

    if (room && size > 0)
        memcpy(room, bytes, size);
}

void pawli_buffer_text(pawli_buffer *buffer, const char *text)
{
    pawli_buffer_append(buffer, text, strlen(text));
}

void pawli_buffer_format(pawli_buffer *buffer, const char *format, ...)
{
    va_list args;
    int size;

    va_start(args, format);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0 || !buffer_grow(buffer, (size_t)size)) {
        buffer->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(buffer->data + buffer->size, (size_t)size + 1, format, args);
    va_end(args);
    buffer->size += (size_t)size;
}

char *pawli_buffer_take(pawli_buffer *buffer)
{
    char *data = NULL;

    if (buffer_grow(buffer, 0)) { /* an empty buffer becomes a string, too */
        data = buffer->data;
        data[buffer->size] = '\0';
        buffer->data = NULL;
    }
    pawli_buffer_done(buffer);
    return data;
}

void pawli_buffer_done(pawli_buffer *buffer)
{
    free(buffer->data);
    *buffer = (pawli_buffer){0};
}
