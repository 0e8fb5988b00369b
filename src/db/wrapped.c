/* src/db/wrapped.c - which threads of this process hold an application's transaction open. */
#include "wrapped.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

struct pawli_wrapped {
    pawli_conn *conn;
    pthread_t thread;
    dev_t device; /* the file, however its path is written */
    ino_t inode;
    pawli_wrapped *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pawli_wrapped *all;
static atomic_int count; /* so that the usual case, none at all, costs one load */

pawli_wrapped *pawli_wrapped_remember(pawli_conn *conn, const char *path)
{
    pawli_wrapped *wrapped = calloc(1, sizeof *wrapped);
    struct stat file = {0};

    if (!wrapped)
        return NULL;
    (void)stat(path, &file); /* a file that is gone blocks nobody */
    wrapped->conn = conn;
    wrapped->thread = pthread_self();
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

bool pawli_wrapped_blocks(const char *path)
{
    struct stat file;
    bool blocks = false;

    if (atomic_load(&count) == 0 || stat(path, &file) != 0)
        return false;
    pthread_mutex_lock(&lock);
    for (pawli_wrapped *at = all; at && !blocks; at = at->next)
        blocks = pthread_equal(at->thread, pthread_self()) && at->device == file.st_dev &&
                 at->inode == file.st_ino && at->conn->driver->wrapped_open(at->conn);
    pthread_mutex_unlock(&lock);
    return blocks;
}
