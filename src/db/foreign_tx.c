/* src/db/foreign_tx.c - the application's own transactions, and which threads have one open. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db_private.h"
#include "fail.h"
#include "open_tx.h"

/* ---- running ops inside a transaction that the application opened ---- */

struct pawli_foreign_tx {
    pawli_db *db;
    pawli_conn *conn;
    pawli_open_tx *remembered; /* NULL if the engine allows concurrent writers */
};

pawl_status pawli_db_wrap(pawli_db *db, const char *engine, void *native,
                          pawli_foreign_tx **ret_foreign_tx, pawl_error *err)
{
    pawli_foreign_tx *foreign_tx = NULL;
    pawl_status st = pawli_db_check_process(db, err);

    if (st != PAWL_OK)
        return st;
    if (strcmp(engine, db->engine->name) != 0)
        return pawli_fail(
            err, PAWL_E_UNSUPPORTED,
            "the handle is for %s but the store uses %s: pass a handle of that engine", engine,
            db->engine->name);
    foreign_tx = calloc(1, sizeof *foreign_tx);
    if (!foreign_tx)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    foreign_tx->db = db;
    st = db->settings.driver->open_foreign(&db->settings, native, &foreign_tx->conn, err);
    if (st == PAWL_OK && db->settings.driver->single_writer) {
        foreign_tx->remembered = pawli_open_tx_remember(foreign_tx->conn, db, db->target);
        if (!foreign_tx->remembered)
            st = pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    }
    if (st != PAWL_OK) {
        pawli_foreign_tx_free(foreign_tx);
        return st;
    }
    *ret_foreign_tx = foreign_tx;
    return PAWL_OK;
}

pawl_status pawli_foreign_tx_run(pawli_foreign_tx *foreign_tx, const pawli_op *op, pawl_error *err)
{
    pawl_status st = pawli_db_check_process(foreign_tx->db, err);

    if (st != PAWL_OK)
        return st;
    if (!foreign_tx->conn->driver->tx_open(foreign_tx->conn))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the foreign transaction has ended: begin one and pass its handle");
    pawli_op_start(op);
    return foreign_tx->conn->driver->run(foreign_tx->conn, op, pawli_db_deadline(foreign_tx->db),
                                         err);
}

void *pawli_foreign_tx_native(pawli_foreign_tx *foreign_tx, const char *engine)
{
    const pawli_driver *driver = foreign_tx->conn->driver;

    if (strcmp(engine, driver->name) != 0 || !driver->tx_open(foreign_tx->conn))
        return NULL;
    return driver->native(foreign_tx->conn);
}

void pawli_foreign_tx_free(pawli_foreign_tx *foreign_tx)
{
    if (!foreign_tx)
        return;
    pawli_open_tx_forget(foreign_tx->remembered);
    if (foreign_tx->conn)
        foreign_tx->conn->driver->close(foreign_tx->conn);
    free(foreign_tx);
}

/* ---- which threads of this process hold a transaction open between calls ---- */

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
static atomic_int count; /* makes the usual case, no open transaction, a single load */

pawli_open_tx *pawli_open_tx_remember(pawli_conn *conn, const void *database, const char *path)
{
    pawli_open_tx *open_tx = calloc(1, sizeof *open_tx);
    struct stat file = {0};

    if (!open_tx)
        return NULL;
    (void)stat(path, &file); /* a deleted file blocks no thread */
    open_tx->conn = conn;
    open_tx->thread = pthread_self();
    open_tx->database = database;
    open_tx->device = file.st_dev;
    open_tx->inode = file.st_ino;
    pthread_mutex_lock(&lock);
    open_tx->next = all;
    all = open_tx;
    atomic_fetch_add(&count, 1);
    pthread_mutex_unlock(&lock);
    return open_tx;
}

void pawli_open_tx_forget(pawli_open_tx *open_tx)
{
    if (!open_tx)
        return;
    pthread_mutex_lock(&lock);
    for (pawli_open_tx **at = &all; *at; at = &(*at)->next) {
        if (*at == open_tx) {
            *at = open_tx->next;
            atomic_fetch_sub(&count, 1);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    free(open_tx);
}

static bool same_file(const pawli_open_tx *open_tx, const struct stat *file)
{
    return file->st_ino != 0 && open_tx->device == file->st_dev && open_tx->inode == file->st_ino;
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
