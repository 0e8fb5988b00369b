/* src/base/scope.h - automatic cleanup when a variable leaves its scope. */
#ifndef PAWLI_SCOPE_H
#define PAWLI_SCOPE_H

#include <stdlib.h>

/*
 * PAWLI_AUTO_DEFINE(T, free_function) once per type; then `PAWLI_AUTO(T) x = NULL;` declares a `T
 * *` that is freed at the end of the scope, and T_take(&x) transfers ownership.
 */
#define PAWLI_AUTO(T) __attribute__((cleanup(T##_auto))) T *
#define PAWLI_AUTO_DEFINE(T, free_function)                                                        \
    static inline void T##_auto(T **slot)                                                          \
    {                                                                                              \
        free_function(*slot);                                                                      \
    }                                                                                              \
    __attribute__((unused)) static inline T *T##_take(T **slot)                                    \
    {                                                                                              \
        T *value = *slot;                                                                          \
        *slot = NULL;                                                                              \
        return value;                                                                              \
    }                                                                                              \
    struct T##_auto_needs_a_semicolon

static inline void pawli_free_auto(void *slot)
{
    free(*(void **)slot);
}
/* A malloc'ed pointer of any type: `PAWLI_AUTO_FREE char *text = NULL;` */
#define PAWLI_AUTO_FREE __attribute__((cleanup(pawli_free_auto)))

#define PAWLI_COUNT(array) (sizeof(array) / sizeof(array)[0])

#endif
