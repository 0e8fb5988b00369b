/* tests/crash/crash_vfs_private.h - declarations shared by crash_vfs.c and crash_vfs_file.c. */
#ifndef PAWL_CRASH_VFS_PRIVATE_H
#define PAWL_CRASH_VFS_PRIVATE_H

#include <pthread.h>
#include <sqlite3.h>

#include "crash_vfs.h"

struct crash_vfs_state {
    sqlite3_vfs *real;
    pthread_mutex_t lock; /* guards everything below, and keeps operations in one order */
    bool following;
    disk *disk; /* kept after the end for more images */
    crash_plan plan;
    long operations;
    long chances;  /* operations that the fault could have struck */
    bool lost;     /* everything fails */
    bool was_lost; /* it did until the end */
    bool faulted;
    bool fault_in_wal;
    long writes_after_failure;
    int64_t now_ms;
    pthread_mutex_t random_lock; /* its own: SQLite asks for random numbers with locks held */
    uint64_t random;
};
extern struct crash_vfs_state crash_vfs;

/* The unix VFS's file follows it in memory. */
typedef struct crash_file {
    sqlite3_file base;
    sqlite3_file *real;
    disk_file *followed; /* NULL: passed on only */
    bool wal;
    bool sync_directory; /* with the next sync */
    bool failed;         /* no further writes through it are allowed */
} crash_file;

extern const sqlite3_io_methods crash_vfs_methods;

/* Whether everything fails now. Takes the lock. */
bool crash_vfs_is_dark(void);

/* The effect of one operation; called with the lock held. All false: it is carried out. */
typedef struct crash_decision {
    bool refused; /* power is gone */
    bool pending; /* power goes now: it may or may not reach the disk */
    bool failing; /* the planned fault */
} crash_decision;
crash_decision crash_vfs_count(bool is_sync, bool is_write);

#endif
