/*
 * src/db/sqlite/waiter_sqlite.c - noticing what others commit to the file.
 *
 * The truth is SQLite's data_version, which has to be asked for. When to ask, the kernel says:
 * every commit is written to the -wal file first, and inotify tells of that, whichever process it
 * was. Where inotify is not to be had, asking now and then has to do. docs/internals/wake-ups.md
 * says why there is no socket between processes.
 */
#include "conn_sqlite.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "fail.h"
#include "world.h"

/* Reading one number waits for nobody. */
#define PATIENCE_US INT64_C(1000000)
#define NO_WATCH (-1)

typedef struct sqlite_ear {
    pawli_ear base; /* its fd is the inotify instance */
    pawli_sqlite *conn;
    sqlite3_stmt *version;
    int64_t seen; /* the last version that was read */
    int watch;    /* of the -wal file */
} sqlite_ear;

static pawl_status read_version(sqlite_ear *ear, int64_t *ret_version, pawl_error *err)
{
    ear->conn->deadline = pawli_mono_after(pawli_mono_now(), PATIENCE_US);
    if (sqlite3_step(ear->version) == SQLITE_ROW)
        *ret_version = sqlite3_column_int64(ear->version, 0);
    int code = sqlite3_reset(ear->version);
    return code == SQLITE_OK ? PAWL_OK : pawli_sqlite_fail(ear->conn, code, "data_version", err);
}

/* The file is there at the latest after the first read, and stays as long as we have it open. */
static void watch_log(sqlite_ear *ear)
{
    const char *path = sqlite3_db_filename(ear->conn->handle, "main");

    if (ear->base.fd >= 0 && ear->watch == NO_WATCH)
        ear->watch = inotify_add_watch(ear->base.fd, sqlite3_filename_wal(path), IN_MODIFY);
}

static bool drain(sqlite_ear *ear)
{
    alignas(struct inotify_event) char events[4096];
    bool any = false;
    ssize_t size;

    while (ear->base.fd >= 0 && (size = read(ear->base.fd, events, sizeof events)) != 0) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            break;
        any = true;
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const void *)(events + at);
            if (event->mask & IN_IGNORED)
                ear->watch = NO_WATCH;
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    return any;
}

void pawli_sqlite_ear_close(pawli_ear *base)
{
    sqlite_ear *ear = (sqlite_ear *)base;

    if (!ear)
        return;
    if (base->fd >= 0)
        close(base->fd);
    sqlite3_finalize(ear->version);
    pawli_sqlite_free(ear->conn);
    free(ear);
}

pawl_status pawli_sqlite_ear_open(const pawli_db_settings *settings, const char *token,
                                  pawl_mono deadline, pawli_ear **ret_ear, pawl_error *err)
{
    sqlite_ear *ear;
    pawli_conn *conn = NULL;

    (void)token;
    if (pawli_sqlite_in_memory(settings))
        return pawli_fail(err, PAWL_E_UNSUPPORTED, "nobody else can write to a database in memory");
    ear = calloc(1, sizeof *ear);
    if (!ear)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a waiting worker");
    ear->watch = NO_WATCH;
    ear->base.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    pawl_status st = pawli_sqlite_open(settings, PAWLI_READS, deadline, &conn, err);
    ear->conn = (pawli_sqlite *)conn;
    if (st == PAWL_OK) {
        int code = sqlite3_prepare_v3(ear->conn->handle, "PRAGMA data_version", -1,
                                      SQLITE_PREPARE_PERSISTENT, &ear->version, NULL);
        if (code != SQLITE_OK)
            st = pawli_sqlite_fail(ear->conn, code, "data_version", err);
    }
    if (st == PAWL_OK)
        st = read_version(ear, &ear->seen, err);
    if (st != PAWL_OK) {
        pawli_sqlite_ear_close(&ear->base);
        return st;
    }
    watch_log(ear);
    *ret_ear = &ear->base;
    return PAWL_OK;
}

/* First the descriptor, then the version: what is written in between makes it readable again. */
pawl_status pawli_sqlite_ear_hear(pawli_ear *base, pawli_heard *ret_heard, pawl_error *err)
{
    sqlite_ear *ear = (sqlite_ear *)base;
    int64_t version = ear->seen;

    watch_log(ear);
    bool stir = drain(ear);
    pawl_status st = read_version(ear, &version, err);
    if (st != PAWL_OK)
        return st;
    *ret_heard = (pawli_heard){.commit = version != ear->seen, .stir = stir};
    ear->seen = version;
    return PAWL_OK;
}
