/* src/db/wrapped.c - which threads of this process hold a transaction open between calls. */
#include "wrapped.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

struct pawli_wrapped {
    pawli_conn *conn;
    pthread_t thread;
    const void *database;
    dev_t device; /* the file, however its path is written */
    ino_t inode;
    pawli_wrapped *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pawli_wrapped *all;
static atomic_int count; /* so that the usual case, none at all, costs one load */

pawli_wrapped *pawli_wrapped_remember(pawli_conn *conn, const void *database, const char *path)
{
    pawli_wrapped *wrapped = calloc(1, sizeof *wrapped);
    struct stat file = {0};

    if (!wrapped)
        return NULL;
    (void)stat(path, &file); /* a file that is gone blocks nobody */
    wrapped->conn = conn;
    wrapped->thread = pthread_self();
    wrapped->database = database;
    wrapped->device = file.st_dev;
    wrapped->inode = file.st_ino;
    pthread_mutex_lock(&lock);
    wrapped->next = all;
    all = wrapped;
    atomic_fetch_add(&count, 1);
    pthread_mutex_unlock(&lock);
    return wrapped;
}

void pawli_wrapped_forget(pawli_wrapped *wrapped)
{
    if (!wrapped)
        return;
    pthread_mutex_lock(&lock);
    for (pawli_wrapped **at = &all; *at; at = &(*at)->next) {
        if (*at == wrapped) {
            *at = wrapped->next;
            atomic_fetch_sub(&count, 1);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    free(wrapped);
}

static bool same_file(const pawli_wrapped *wrapped, const struct stat *file)
{
    return file->st_ino != 0 && wrapped->device == file->st_dev && wrapped->inode == file->st_ino;
}

bool pawli_wrapped_blocks(const void *database, const char *path)
{
    struct stat file = {0};
    bool blocks = false;

    if (atomic_load(&count) == 0)
        return false;
    if (stat(path, &file) != 0)
        file.st_ino = 0;
    pthread_mutex_lock(&lock);
    for (pawli_wrapped *at = all; at && !blocks; at = at->next)
        blocks = pthread_equal(at->thread, pthread_self()) &&
                 (at->database == database || same_file(at, &file)) &&
                 at->conn->driver->wrapped_open(at->conn);
    pthread_mutex_unlock(&lock);
    return blocks;
}
