/* tests/crash/crash_vfs_file.c - the VFS's files: every method, most of them passed on. */
#include <string.h>
#include <strings.h>

#include "crash_vfs_private.h"

static sqlite3_file *real_of(sqlite3_file *base)
{
    return ((crash_file *)base)->real;
}

static int close_file(sqlite3_file *base)
{
    sqlite3_file *real = real_of(base);

    return real->pMethods->xClose(real);
}

static int read_file(sqlite3_file *base, void *ret_data, int size, sqlite3_int64 offset)
{
    sqlite3_file *real = real_of(base);

    if (crash_vfs_is_dark())
        return SQLITE_IOERR_READ;
    return real->pMethods->xRead(real, ret_data, size, offset);
}

static int write_followed(crash_file *file, const void *data, int size, sqlite3_int64 offset)
{
    const sqlite3_io_methods *real = file->real->pMethods;
    crash_decision result = crash_vfs_count(false, true);
    int code;

    if (result.refused)
        return SQLITE_IOERR_WRITE;
    if (file->wal && file->failed)
        crash_vfs.writes_after_failure++;
    if (result.failing) {
        crash_vfs.fault_in_wal = file->wal;
        file->failed = true;
        if (crash_vfs.plan.fault == CRASH_FAULT_WRITE)
            return SQLITE_IOERR_WRITE;
        size /= 2;
    }
    disk_write(crash_vfs.disk, file->followed, data, (size_t)size, offset);
    if (result.pending)
        return SQLITE_IOERR_WRITE;
    code = size > 0 ? real->xWrite(file->real, data, size, offset) : SQLITE_OK;
    return result.failing ? SQLITE_FULL : code;
}

static int write_file(sqlite3_file *base, const void *data, int size, sqlite3_int64 offset)
{
    crash_file *file = (crash_file *)base;
    int code;

    if (!file->followed)
        return file->real->pMethods->xWrite(file->real, data, size, offset);
    pthread_mutex_lock(&crash_vfs.lock);
    code = write_followed(file, data, size, offset);
    pthread_mutex_unlock(&crash_vfs.lock);
    return code;
}

static int truncate_file(sqlite3_file *base, sqlite3_int64 size)
{
    crash_file *file = (crash_file *)base;
    int code = SQLITE_IOERR_TRUNCATE;

    if (!file->followed)
        return file->real->pMethods->xTruncate(file->real, size);
    pthread_mutex_lock(&crash_vfs.lock);
    crash_decision result = crash_vfs_count(false, false);
    if (!result.refused)
        disk_truncate(crash_vfs.disk, file->followed, size);
    if (!result.refused && !result.pending)
        code = file->real->pMethods->xTruncate(file->real, size);
    pthread_mutex_unlock(&crash_vfs.lock);
    return code;
}

static int sync_followed(crash_file *file)
{
    crash_decision result = crash_vfs_count(true, false);

    if (result.refused || result.pending)
        return SQLITE_IOERR_FSYNC;
    if (result.failing) {
        crash_vfs.fault_in_wal = file->wal;
        /* A check-point syncs the WAL once more; if that fails, nothing has been lost by it. */
        file->failed = disk_sync_failed(file->followed) || file->failed;
        return SQLITE_IOERR_FSYNC;
    }
    if (crash_vfs.plan.syncs_lie)
        return SQLITE_OK;
    disk_sync(file->followed);
    if (file->sync_directory)
        disk_sync_directory(crash_vfs.disk);
    file->sync_directory = false;
    return SQLITE_OK;
}

/* The machine's own disk is never waited for: what survives is decided in disk.c. */
static int sync_file(sqlite3_file *base, int flags)
{
    crash_file *file = (crash_file *)base;
    int code;

    (void)flags;
    if (!file->followed)
        return SQLITE_OK;
    pthread_mutex_lock(&crash_vfs.lock);
    code = sync_followed(file);
    pthread_mutex_unlock(&crash_vfs.lock);
    return code;
}

static int size_of_file(sqlite3_file *base, sqlite3_int64 *ret_size)
{
    sqlite3_file *real = real_of(base);

    if (crash_vfs_is_dark())
        return SQLITE_IOERR_FSTAT;
    return real->pMethods->xFileSize(real, ret_size);
}

static int lock_file(sqlite3_file *base, int level)
{
    sqlite3_file *real = real_of(base);

    if (crash_vfs_is_dark())
        return SQLITE_IOERR_LOCK;
    return real->pMethods->xLock(real, level);
}

/* Letting go always works, so that connections can be closed after the power has gone. */
static int unlock_file(sqlite3_file *base, int level)
{
    sqlite3_file *real = real_of(base);

    return real->pMethods->xUnlock(real, level);
}

static int check_reserved(sqlite3_file *base, int *ret_reserved)
{
    sqlite3_file *real = real_of(base);

    if (crash_vfs_is_dark())
        return SQLITE_IOERR_CHECKRESERVEDLOCK;
    return real->pMethods->xCheckReservedLock(real, ret_reserved);
}

/* `arguments` of SQLITE_FCNTL_PRAGMA: answer, name, value; SQLite continues with what is left
 * there.
 */
static void switch_synchronous_off(char **arguments)
{
    if (strcasecmp(arguments[1], "synchronous") == 0 && arguments[2] && strlen(arguments[2]) >= 3)
        memcpy(arguments[2], "OFF", sizeof "OFF");
}

static int control_file(sqlite3_file *base, int op, void *argument)
{
    sqlite3_file *real = real_of(base);

    pthread_mutex_lock(&crash_vfs.lock);
    bool off = crash_vfs.plan.synchronous_off;
    pthread_mutex_unlock(&crash_vfs.lock);
    if (op == SQLITE_FCNTL_PRAGMA && off)
        switch_synchronous_off(argument);
    return real->pMethods->xFileControl(real, op, argument);
}

static int sector_size(sqlite3_file *base)
{
    sqlite3_file *real = real_of(base);

    return real->pMethods->xSectorSize(real);
}

/* The promises of an ordinary file system; stronger ones could hide a missing sync. */
static int characteristics(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **ret_memory)
{
    sqlite3_file *real = real_of(base);

    if (crash_vfs_is_dark())
        return SQLITE_IOERR_SHMMAP;
    return real->pMethods->xShmMap(real, page, size, extend, ret_memory);
}

static int shm_lock(sqlite3_file *base, int offset, int count, int flags)
{
    sqlite3_file *real = real_of(base);

    if (!(flags & SQLITE_SHM_UNLOCK) && crash_vfs_is_dark())
        return SQLITE_IOERR_SHMLOCK;
    return real->pMethods->xShmLock(real, offset, count, flags);
}

static void shm_barrier(sqlite3_file *base)
{
    sqlite3_file *real = real_of(base);

    real->pMethods->xShmBarrier(real);
}

static int shm_unmap(sqlite3_file *base, int delete_too)
{
    sqlite3_file *real = real_of(base);

    return real->pMethods->xShmUnmap(real, delete_too);
}

/* Version 2: without memory mapping, which would go past xWrite. */
const sqlite3_io_methods crash_vfs_methods = {
    .iVersion = 2,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = size_of_file,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved,
    .xFileControl = control_file,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};
