/* src/cli/memory.h - allocation for a short-lived program: running out of memory exits with code
 * 71.
 */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

#include <pawl/export.h>

/* Zeroed. Never NULL. */
void *cli_alloc(size_t count, size_t size);
void *cli_grow(void *block, size_t count, size_t size);
char *cli_copy(const char *text);
char *cli_copy_bytes(const void *bytes, size_t size); /* and a zero byte */
char *cli_print(const char *format, ...) PAWL_PRINTF(1, 2);

static inline void cli_free_auto(void *slot)
{
    free(*(void **)slot);
}
/* A malloc'ed pointer, freed at the end of the scope: `CLI_AUTO_FREE char *text = NULL;` */
#define CLI_AUTO_FREE __attribute__((cleanup(cli_free_auto)))

/* CLI_AUTO_DEFINE(T, f) once; then `CLI_AUTO(T) x = NULL;` is a `T *` freed by f. */
#define CLI_AUTO(T) __attribute__((cleanup(T##_auto))) T *
#define CLI_AUTO_DEFINE(T, free_function)                                                          \
    static inline void T##_auto(T **slot)                                                          \
    {                                                                                              \
        free_function(*slot);                                                                      \
    }                                                                                              \
    struct T##_auto_needs_a_semicolon

#endif
