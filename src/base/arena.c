/* src/base/arena.c - many small pieces of memory that are freed together. */
#include "arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
