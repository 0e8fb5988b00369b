/*
 * src/db/sqlite/write_lock_sqlite.c - taking turns with the other pawl processes that write to the
 * file.
 *
 * SQLite's own lock is found free only by trying again and again, ever more slowly; whoever has
 * just let go finds it free first. A second lock, on a file of its own beside the database, is
 * asked for much more often and costs next to nothing. It is a courtesy, not a protection: who
 * cannot have it in time goes on to SQLite's lock, which decides. (Opening or closing the database
 * file itself would drop the locks that SQLite holds on it.)
 */
#include "conn_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform.h"

#define PATIENCE_US 250000 /* a holder that was stopped keeps nobody longer than this */
#define FIRST_PAUSE_US 30
#define LONGEST_PAUSE_US 1000

/*
 * Who may write the database may take turns, and no others: a lock on a file that others may read
 * could hold us up. So 0600 beside a database that pawl made, whatever the umask.
 */
static void set_mode(int fd, const char *database)
{
    struct stat about;
    mode_t mode = 0600;

    if (stat(database, &about) == 0) {
        mode |= about.st_mode & S_IWGRP ? 0060 : 0;
        mode |= about.st_mode & S_IWOTH ? 0006 : 0;
    }
    (void)fchmod(fd, mode);
}

/* Made when first needed, so that only what is written to gets a second file. */
static void open_lock(pawli_sqlite *conn)
{
    PAWLI_AUTO_BUFFER path = {0};

    if (conn->lock_fd != PAWLI_SQLITE_WRITE_LOCK_UNKNOWN)
        return;
    conn->lock_fd = PAWLI_SQLITE_WRITE_LOCK_NONE;
    if (pawli_sqlite_in_memory(conn->settings))
        return;
    pawli_buffer_format(&path, "%s-turn", conn->settings->target);
    if (path.failed)
        return;
    conn->lock_fd = open(path.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (conn->lock_fd >= 0)
        set_mode(conn->lock_fd, conn->settings->target);
    else
        conn->lock_fd = open(path.data, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (conn->lock_fd < 0)
        conn->lock_fd = PAWLI_SQLITE_WRITE_LOCK_NONE;
}

void pawli_sqlite_write_lock_close(pawli_sqlite *conn)
{
    if (conn->lock_fd >= 0)
        close(conn->lock_fd);
    conn->lock_fd = PAWLI_SQLITE_WRITE_LOCK_NONE;
}

void pawli_sqlite_write_lock_acquire(pawli_sqlite *conn)
{
    pawl_mono patience = pawli_mono_after(pawli_mono_now(), PATIENCE_US);
    int64_t pause = FIRST_PAUSE_US;

    open_lock(conn);
    if (conn->lock_fd < 0)
        return;
    if (patience.us > conn->deadline.us)
        patience = conn->deadline;
    while (flock(conn->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || pawli_mono_passed(patience) ||
            atomic_load_explicit(&conn->base.stop, memory_order_relaxed))
            return;
        pawli_sleep_us(pause / 2 + (int64_t)(pawli_random_u64() % (uint64_t)pause));
        pause = pause * 2 < LONGEST_PAUSE_US ? pause * 2 : LONGEST_PAUSE_US;
    }
    conn->has_write_lock = true;
}

void pawli_sqlite_write_lock_release(pawli_sqlite *conn)
{
    if (conn->has_write_lock)
        flock(conn->lock_fd, LOCK_UN);
    conn->has_write_lock = false;
}
