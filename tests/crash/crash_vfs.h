/*
 * tests/crash/crash_vfs.h - a SQLite VFS that loses power, or fails, at a chosen operation.
 *
 * It lies over the unix VFS and is the default one, so that the product needs no hook: data goes to
 * the real files, locks and shared memory are the real ones, and only what a sync makes certain is
 * a matter of this machine (disk.h). docs/internals/crash-tests.md has the whole picture.
 */
#ifndef PAWL_CRASH_VFS_H
#define PAWL_CRASH_VFS_H

#include <stdbool.h>
#include <stdint.h>

#include "disk.h"

typedef enum crash_fault {
    CRASH_FAULT_NONE,
    CRASH_FAULT_SYNC,  /* xSync returns SQLITE_IOERR_FSYNC, and its data is never durable */
    CRASH_FAULT_FULL,  /* xWrite writes half of the data and returns SQLITE_FULL */
    CRASH_FAULT_WRITE, /* xWrite returns SQLITE_IOERR_WRITE */
    CRASH_FAULT_COUNT
} crash_fault;
const char *crash_fault_name(crash_fault fault);

/* The injected fault. All zero: none. Operations are xWrite, xSync, xTruncate and xDelete. */
typedef struct crash_plan {
    long power_lost_at; /* the operation, from 1, that is only pending when everything stops */
    crash_fault fault;
    long fault_at;        /* which xSync or xWrite, from 1 */
    int fault_count;      /* how many of them in a row; 0: one */
    bool syncs_lie;       /* xSync returns SQLITE_OK and makes nothing durable */
    bool synchronous_off; /* PRAGMA synchronous = anything becomes OFF */
} crash_plan;

/* Once per process, before any connection is opened. Installs checkpoint_often.h as well. */
void crash_vfs_install(void);

/*
 * From begin to end, files are followed and the plan is carried out; before and after, the VFS only
 * passes on. No connection may be open at either.
 */
void crash_vfs_begin(const crash_plan *plan);
void crash_vfs_end(void);
/*
 * Writes the contents after a power loss into `directory`: power lost now, or when it had
 * gone. May be done any number of times until the next begin, or until it is all forgotten.
 */
bool crash_vfs_image(const char *directory, disk_loss loss, uint64_t seed);
void crash_vfs_forget(void);
/* From here on everything fails. Any thread. */
void crash_vfs_cut_power(void);

/* Events since begin; can still be read after end. */
long crash_vfs_operations(void);
bool crash_vfs_power_lost(void);
bool crash_vfs_fault_happened(void);
bool crash_vfs_fault_in_wal(void);
/* Writes to the WAL through a handle on which a write or a sync had failed: must stay 0. */
long crash_vfs_writes_after_failure(void);

/* The clock of every connection, in milliseconds since 1970. */
void crash_vfs_set_clock(int64_t now_ms);

#endif
