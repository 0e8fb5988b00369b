/* tests/fault/failing.c - counting calls, and what a failing one answers. */
#include "failing.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "failing_private.h"

static _Thread_local struct {
    bool armed;
    bool failed;
    failing_kind kind;
    long left;
    int how;
    int cut_backend;
    const char *where;
    void (*then)(void *);
    void *then_context;
} state;

/* Of all threads. */
static atomic_long everywhere_left; /* 0: not armed */
static atomic_bool everywhere_failed;

void failing_prepare(void)
{
#if PAWL_TEST_SQLITE
    failing_sqlite_prepare();
#endif
}

void failing_arm(failing_kind kind, long nth, int how)
{
    state.failed = false;
    state.kind = kind;
    state.left = nth;
    state.how = how;
    state.cut_backend = 0;
    state.where = "nothing";
    state.then = NULL;
    state.armed = true;
}

void failing_arm_everywhere(long nth)
{
    failing_arm(FAILING_MEMORY, 0, 0);
    state.armed = false; /* counted with the others' */
    atomic_store(&everywhere_failed, false);
    atomic_store(&everywhere_left, nth);
}

void failing_then(void (*call)(void *), void *context)
{
    state.then = call;
    state.then_context = context;
}

bool failing_disarm(void)
{
    state.armed = false;
    atomic_store(&everywhere_left, 0);
    if (atomic_exchange(&everywhere_failed, false))
        state.failed = true;
    return state.failed;
}

bool failing_happened(void)
{
    return state.failed;
}

bool failing_cuts(void)
{
    return state.kind == FAILING_SQL && state.how == FAILING_CUTS;
}

int failing_cut_backend(void)
{
    return state.cut_backend;
}

void failing_note_cut(int backend)
{
    state.cut_backend = backend;
}

void failing_pause(void)
{
    state.armed = false;
}

void failing_resume(void)
{
    state.armed = !state.failed;
}

const char *failing_where(void)
{
    return state.where;
}

int failing_how(void)
{
    return state.how;
}

static bool fails_everywhere(void)
{
    long left = atomic_load(&everywhere_left);

    while (left > 0 && !atomic_compare_exchange_weak(&everywhere_left, &left, left - 1))
        continue;
    if (left != 1)
        return false;
    atomic_store(&everywhere_failed, true);
    return true;
}

bool failing_now(failing_kind kind, const char *where)
{
    if (kind == FAILING_MEMORY && fails_everywhere())
        return true;
    if (!state.armed || state.kind != kind || --state.left > 0)
        return false;
    state.armed = false;
    state.failed = true;
    state.where = where;
    if (state.then)
        state.then(state.then_context);
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

static bool memory_fails(const char *where)
{
    if (!failing_now(FAILING_MEMORY, where))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return memory_fails("malloc") ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return memory_fails("calloc") ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return memory_fails("realloc") ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return memory_fails("strdup") ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return memory_fails("strndup") ? NULL : __real_strndup(text, size);
}
