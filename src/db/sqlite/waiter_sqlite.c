/*
 * src/db/sqlite/waiter_sqlite.c - the commit listener: notices commits by other connections.
 *
 * SQLite's data_version tells whether there was a commit, and must be polled. inotify tells when
 * to poll: every commit is first written to the -wal file, whichever process makes it. Without
 * inotify the waiter polls periodically. docs/internals/wake-ups.md explains why there is no
 * socket between processes.
 */
#include "conn_sqlite.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "fail.h"
#include "platform.h"

/* Reading one number waits for no lock. */
#define READ_TIMEOUT_US INT64_C(1000000)
#define NO_WATCH (-1)

typedef struct sqlite_listener {
    pawli_commit_listener base; /* its fd is the inotify instance */
    pawli_sqlite *conn;
    sqlite3_stmt *version;
    int64_t seen; /* the last version that was read */
    int watch;    /* of the -wal file */
} sqlite_listener;

static pawl_status read_version(sqlite_listener *listener, int64_t *ret_version, pawl_error *err)
{
    listener->conn->deadline = pawli_mono_after(pawli_mono_now(), READ_TIMEOUT_US);
    if (sqlite3_step(listener->version) == SQLITE_ROW)
        *ret_version = sqlite3_column_int64(listener->version, 0);
    int code = sqlite3_reset(listener->version);
    return code == SQLITE_OK ? PAWL_OK
                             : pawli_sqlite_fail(listener->conn, code, "data_version", err);
}

/* The file exists at the latest after the first read, and stays while this connection is open. */
static void watch_log(sqlite_listener *listener)
{
    const char *path = sqlite3_db_filename(listener->conn->handle, "main");

    if (listener->base.fd >= 0 && listener->watch == NO_WATCH)
        listener->watch =
            inotify_add_watch(listener->base.fd, sqlite3_filename_wal(path), IN_MODIFY);
}

static bool listener_drain(sqlite_listener *listener)
{
    alignas(struct inotify_event) char events[4096];
    bool any = false;
    ssize_t size;

    while (listener->base.fd >= 0 && (size = read(listener->base.fd, events, sizeof events)) != 0) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            break;
        any = true;
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const void *)(events + at);
            if (event->mask & IN_IGNORED)
                listener->watch = NO_WATCH;
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    return any;
}

void pawli_sqlite_listener_close(pawli_commit_listener *base)
{
    sqlite_listener *listener = (sqlite_listener *)base;

    if (!listener)
        return;
    if (base->fd >= 0)
        close(base->fd);
    sqlite3_finalize(listener->version);
    pawli_sqlite_free(listener->conn);
    free(listener);
}

pawl_status pawli_sqlite_listener_open(const pawli_db_settings *settings, const char *token,
                                       pawl_mono deadline, pawli_commit_listener **ret_listener,
                                       pawl_error *err)
{
    sqlite_listener *listener;
    pawli_conn *conn = NULL;

    (void)token;
    if (pawli_sqlite_in_memory(settings))
        return pawli_fail(err, PAWL_E_UNSUPPORTED,
                          "no other connection can write to an in-memory database");
    listener = calloc(1, sizeof *listener);
    if (!listener)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a waiting worker");
    listener->watch = NO_WATCH;
    listener->base.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    pawl_status st = pawli_sqlite_open(settings, PAWLI_READS, deadline, &conn, err);
    listener->conn = (pawli_sqlite *)conn;
    if (st == PAWL_OK) {
        int code = sqlite3_prepare_v3(listener->conn->handle, "PRAGMA data_version", -1,
                                      SQLITE_PREPARE_PERSISTENT, &listener->version, NULL);
        if (code != SQLITE_OK)
            st = pawli_sqlite_fail(listener->conn, code, "data_version", err);
    }
    if (st == PAWL_OK)
        st = read_version(listener, &listener->seen, err);
    if (st != PAWL_OK) {
        pawli_sqlite_listener_close(&listener->base);
        return st;
    }
    watch_log(listener);
    *ret_listener = &listener->base;
    return PAWL_OK;
}

/* Drain the descriptor first, then read the version: a later write makes it readable again. */
pawl_status pawli_sqlite_listener_read(pawli_commit_listener *base, pawli_commit_events *ret_events,
                                       pawl_error *err)
{
    sqlite_listener *listener = (sqlite_listener *)base;
    int64_t version = listener->seen;

    watch_log(listener);
    bool writing = listener_drain(listener);
    pawl_status st = read_version(listener, &version, err);
    if (st != PAWL_OK)
        return st;
    *ret_events = (pawli_commit_events){.commit = version != listener->seen, .writing = writing};
    listener->seen = version;
    return PAWL_OK;
}
