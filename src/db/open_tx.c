/* src/db/open_tx.c - which threads of this process hold a transaction open between calls. */
#include "open_tx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

struct pawli_open_tx {
    pawli_conn *conn;
    pthread_t thread;
    const void *database;
    dev_t device; /* the file, however its path is written */
    ino_t inode;
    pawli_open_tx *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pawli_open_tx *all;
static atomic_int count; /* so that the usual case, none at all, costs one load */

pawli_open_tx *pawli_open_tx_remember(pawli_conn *conn, const void *database, const char *path)
{
    pawli_open_tx *foreign = calloc(1, sizeof *foreign);
    struct stat file = {0};

    if (!foreign)
        return NULL;
    (void)stat(path, &file); /* a file that is gone blocks nobody */
    foreign->conn = conn;
    foreign->thread = pthread_self();
    foreign->database = database;
    foreign->device = file.st_dev;
    foreign->inode = file.st_ino;
    pthread_mutex_lock(&lock);
    foreign->next = all;
    all = foreign;
    atomic_fetch_add(&count, 1);
    pthread_mutex_unlock(&lock);
    return foreign;
}

void pawli_open_tx_forget(pawli_open_tx *foreign)
{
    if (!foreign)
        return;
    pthread_mutex_lock(&lock);
    for (pawli_open_tx **at = &all; *at; at = &(*at)->next) {
        if (*at == foreign) {
            *at = foreign->next;
            atomic_fetch_sub(&count, 1);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    free(foreign);
}

static bool same_file(const pawli_open_tx *foreign, const struct stat *file)
{
    return file->st_ino != 0 && foreign->device == file->st_dev && foreign->inode == file->st_ino;
}

bool pawli_open_tx_blocks(const void *database, const char *path)
{
    struct stat file = {0};
    bool blocks = false;

    if (atomic_load(&count) == 0)
        return false;
    if (stat(path, &file) != 0)
        file.st_ino = 0;
    pthread_mutex_lock(&lock);
    for (pawli_open_tx *at = all; at && !blocks; at = at->next)
        blocks = pthread_equal(at->thread, pthread_self()) &&
                 (at->database == database || same_file(at, &file)) &&
                 at->conn->driver->tx_open(at->conn);
    pthread_mutex_unlock(&lock);
    return blocks;
}
