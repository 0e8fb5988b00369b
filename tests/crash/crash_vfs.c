/* tests/crash/crash_vfs.c - the VFS: opening, deleting, clock and chance, and the plan. */
#include "crash_vfs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint_often.h"
#include "crash_vfs_private.h"
#include "prng.h"

#define JULIAN_1970_MS INT64_C(210866760000000)

struct crash_vfs_state crash_vfs = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                    .random_lock = PTHREAD_MUTEX_INITIALIZER};

static sqlite3_vfs shim;

const char *crash_fault_name(crash_fault fault)
{
    static const char *const names[CRASH_FAULT_COUNT] = {"none", "sync", "full", "write"};

    return fault < CRASH_FAULT_COUNT ? names[fault] : "?";
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Counts one operation; the one that power is lost in is still done to the disk by its caller. */
crash_decision crash_vfs_count(bool is_sync, bool is_write)
{
    crash_decision result = {0};

    if (crash_vfs.lost) {
        result.refused = true;
        return result;
    }
    crash_vfs.operations++;
    if (crash_vfs.operations == crash_vfs.plan.power_lost_at) {
        crash_vfs.lost = true;
        result.pending = true;
        return result;
    }
    bool counts = crash_vfs.plan.fault == CRASH_FAULT_SYNC ? is_sync : is_write;
    if (crash_vfs.plan.fault == CRASH_FAULT_NONE || !counts)
        return result;
    crash_vfs.chances++;
    long end =
        crash_vfs.plan.fault_at + (crash_vfs.plan.fault_count ? crash_vfs.plan.fault_count : 1);
    result.failing = crash_vfs.chances >= crash_vfs.plan.fault_at && crash_vfs.chances < end;
    crash_vfs.faulted = crash_vfs.faulted || result.failing;
    return result;
}

static bool followed_type(int flags)
{
    return (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
}

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags,
                     int *ret_flags)
{
    crash_file *file = (crash_file *)base;
    int code = SQLITE_IOERR;
    bool existed = false;

    (void)vfs;
    *file = (crash_file){.real = (sqlite3_file *)(void *)(file + 1)};
    pthread_mutex_lock(&crash_vfs.lock);
    if (!crash_vfs.lost) {
        /* Checked before the unix VFS creates the file. */
        existed = path && access(path, F_OK) == 0;
        code = crash_vfs.real->xOpen(crash_vfs.real, path, file->real, flags, ret_flags);
    }
    if (code == SQLITE_OK) {
        if (crash_vfs.following && path && followed_type(flags))
            file->followed = disk_open(crash_vfs.disk, base_name(path), existed ? path : NULL);
        file->base.pMethods = &crash_vfs_methods;
        file->wal = (flags & SQLITE_OPEN_WAL) != 0;
        /* As the unix VFS: the first sync of a journal that was made also syncs its directory. */
        file->sync_directory =
            (flags & SQLITE_OPEN_CREATE) && (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL));
    }
    pthread_mutex_unlock(&crash_vfs.lock);
    return code;
}

static int delete_file(sqlite3_vfs *vfs, const char *path, int sync_directory)
{
    int code = SQLITE_OK;

    (void)vfs;
    pthread_mutex_lock(&crash_vfs.lock);
    if (crash_vfs.following) {
        crash_decision result = crash_vfs_count(false, false);
        if (!result.refused)
            disk_delete(crash_vfs.disk, base_name(path));
        if (result.refused || result.pending)
            code = SQLITE_IOERR_DELETE;
    }
    if (code == SQLITE_OK)
        code = crash_vfs.real->xDelete(crash_vfs.real, path, 0);
    if (code == SQLITE_OK && crash_vfs.following && sync_directory)
        disk_sync_directory(crash_vfs.disk);
    pthread_mutex_unlock(&crash_vfs.lock);
    return code;
}

static int access_file(sqlite3_vfs *vfs, const char *path, int flags, int *ret_answer)
{
    (void)vfs;
    if (crash_vfs_is_dark())
        return SQLITE_IOERR_ACCESS;
    return crash_vfs.real->xAccess(crash_vfs.real, path, flags, ret_answer);
}

static int full_path(sqlite3_vfs *vfs, const char *path, int size, char *ret_path)
{
    (void)vfs;
    return crash_vfs.real->xFullPathname(crash_vfs.real, path, size, ret_path);
}

/* The salts of the WAL are the same in every run. */
static int randomness(sqlite3_vfs *vfs, int size, char *ret_bytes)
{
    (void)vfs;
    pthread_mutex_lock(&crash_vfs.random_lock);
    for (int i = 0; i < size; i++)
        ret_bytes[i] = (char)prng_next(&crash_vfs.random);
    pthread_mutex_unlock(&crash_vfs.random_lock);
    return size;
}

static int sleep_for(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return crash_vfs.real->xSleep(crash_vfs.real, us);
}

static int current_time_ms(sqlite3_vfs *vfs, sqlite3_int64 *ret_julian_ms)
{
    (void)vfs;
    pthread_mutex_lock(&crash_vfs.lock);
    *ret_julian_ms = JULIAN_1970_MS + crash_vfs.now_ms;
    pthread_mutex_unlock(&crash_vfs.lock);
    return SQLITE_OK;
}

static int current_time(sqlite3_vfs *vfs, double *ret_julian_day)
{
    sqlite3_int64 ms;
    int code = current_time_ms(vfs, &ms);

    *ret_julian_day = (double)ms / 86400000.0;
    return code;
}

static int last_error(sqlite3_vfs *vfs, int size, char *ret_text)
{
    (void)vfs;
    return crash_vfs.real->xGetLastError(crash_vfs.real, size, ret_text);
}

void crash_vfs_install(void)
{
    if (crash_vfs.real)
        return;
    sqlite3_initialize();
    crash_vfs.real = sqlite3_vfs_find(NULL);
    shim = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = (int)sizeof(crash_file) + crash_vfs.real->szOsFile,
        .mxPathname = crash_vfs.real->mxPathname,
        .zName = "pawl_crash",
        .xOpen = open_file,
        .xDelete = delete_file,
        .xAccess = access_file,
        .xFullPathname = full_path,
        .xRandomness = randomness,
        .xSleep = sleep_for,
        .xCurrentTime = current_time,
        .xGetLastError = last_error,
        .xCurrentTimeInt64 = current_time_ms,
    };
    sqlite3_vfs_register(&shim, 1);
    checkpoint_often_install();
}

void crash_vfs_begin(const crash_plan *plan)
{
    pthread_mutex_lock(&crash_vfs.lock);
    disk_free(crash_vfs.disk);
    crash_vfs.disk = disk_new();
    crash_vfs.following = true;
    crash_vfs.plan = *plan;
    crash_vfs.operations = 0;
    crash_vfs.chances = 0;
    crash_vfs.lost = false;
    crash_vfs.was_lost = false;
    crash_vfs.faulted = false;
    crash_vfs.fault_in_wal = false;
    crash_vfs.writes_after_failure = 0;
    pthread_mutex_unlock(&crash_vfs.lock);
    pthread_mutex_lock(&crash_vfs.random_lock);
    crash_vfs.random = 1;
    pthread_mutex_unlock(&crash_vfs.random_lock);
    sqlite3_randomness(0, NULL);
}

void crash_vfs_end(void)
{
    pthread_mutex_lock(&crash_vfs.lock);
    crash_vfs.following = false;
    crash_vfs.plan = (crash_plan){0};
    crash_vfs.was_lost = crash_vfs.lost;
    crash_vfs.lost = false;
    pthread_mutex_unlock(&crash_vfs.lock);
}

bool crash_vfs_image(const char *directory, disk_loss loss, uint64_t seed)
{
    pthread_mutex_lock(&crash_vfs.lock);
    bool done = crash_vfs.disk && disk_image(crash_vfs.disk, directory, loss, seed);
    pthread_mutex_unlock(&crash_vfs.lock);
    return done;
}

void crash_vfs_forget(void)
{
    pthread_mutex_lock(&crash_vfs.lock);
    disk_free(crash_vfs.disk);
    crash_vfs.disk = NULL;
    pthread_mutex_unlock(&crash_vfs.lock);
}

void crash_vfs_cut_power(void)
{
    pthread_mutex_lock(&crash_vfs.lock);
    crash_vfs.lost = true;
    pthread_mutex_unlock(&crash_vfs.lock);
}

bool crash_vfs_is_dark(void)
{
    pthread_mutex_lock(&crash_vfs.lock);
    bool lost = crash_vfs.lost;
    pthread_mutex_unlock(&crash_vfs.lock);
    return lost;
}

bool crash_vfs_power_lost(void)
{
    pthread_mutex_lock(&crash_vfs.lock);
    bool lost = crash_vfs.lost || crash_vfs.was_lost;
    pthread_mutex_unlock(&crash_vfs.lock);
    return lost;
}

long crash_vfs_operations(void)
{
    return crash_vfs.operations;
}

bool crash_vfs_fault_happened(void)
{
    pthread_mutex_lock(&crash_vfs.lock);
    bool faulted = crash_vfs.faulted;
    pthread_mutex_unlock(&crash_vfs.lock);
    return faulted;
}

bool crash_vfs_fault_in_wal(void)
{
    return crash_vfs.fault_in_wal;
}

long crash_vfs_writes_after_failure(void)
{
    return crash_vfs.writes_after_failure;
}

void crash_vfs_set_clock(int64_t now_ms)
{
    pthread_mutex_lock(&crash_vfs.lock);
    crash_vfs.now_ms = now_ms;
    pthread_mutex_unlock(&crash_vfs.lock);
}

/* The library's boot clock: time passes between steps only, by both clocks. */
int64_t __wrap_pawli_boot_now_us(void);
int64_t __wrap_pawli_boot_now_us(void)
{
    pthread_mutex_lock(&crash_vfs.lock);
    int64_t now_us = crash_vfs.now_ms * 1000;
    pthread_mutex_unlock(&crash_vfs.lock);
    return now_us;
}
