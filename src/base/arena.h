/* src/base/arena.h - an arena: many small allocations that are freed together. */
#ifndef PAWLI_ARENA_H
#define PAWLI_ARENA_H

#include <stddef.h>

/* Zero-initialize it. */
typedef struct pawli_arena {
    struct pawli_arena_chunk *chunks;
} pawli_arena;

/* Aligned for any type; NULL when memory ran out. */
void *pawli_arena_alloc(pawli_arena *arena, size_t size);
/* A zero-terminated copy of `size` bytes. */
char *pawli_arena_copy(pawli_arena *arena, const void *bytes, size_t size);
void pawli_arena_done(pawli_arena *arena);

#endif
