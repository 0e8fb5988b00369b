/* tests/crash/checkpoint_often.c - telling the product's hook that its log is larger than it is. */
#include "checkpoint_often.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>

#define PAGES 48
/* So that PAGES count as the 16 MB after which the product begins, and four times that as the
 * 64 MB after which it also truncates. */
#define SCALE (16 * 1024 * 1024 / 4096 / PAGES + 1)

typedef int (*wal_hook)(void *context, sqlite3 *handle, const char *database, int pages);

void *__real_sqlite3_wal_hook(sqlite3 *handle, wal_hook hook, void *context);
void *__wrap_sqlite3_wal_hook(sqlite3 *handle, wal_hook hook, void *context);

static _Atomic(wal_hook) product_hook; /* there is only one */

/* Half of the time it gets so large a number of pages that it truncates. */
static int larger(void *context, sqlite3 *handle, const char *database, int pages)
{
    int scale = pages >= PAGES && (pages & 1) ? 4 * SCALE : SCALE;

    return atomic_load(&product_hook)(context, handle, database, pages * scale);
}

void *__wrap_sqlite3_wal_hook(sqlite3 *handle, wal_hook hook, void *context)
{
    atomic_store(&product_hook, hook);
    return __real_sqlite3_wal_hook(handle, larger, context);
}

static int on_open(sqlite3 *handle, char **ret_message, const void *routines)
{
    (void)ret_message;
    (void)routines;
    return sqlite3_wal_autocheckpoint(handle, PAGES);
}

void checkpoint_often_install(void)
{
    /* The extension's true type is not sqlite3_auto_extension()'s; its manual shows this cast. */
    sqlite3_auto_extension((void (*)(void))on_open);
}
