/* src/db/sqlite/path_sqlite.c - checks a database file's path and explains errors. */
#include "conn_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"

/* Only stat() and access(): opening and closing the file here would drop SQLite's POSIX locks. */

bool pawli_sqlite_in_memory(const pawli_db_settings *settings)
{
    return strcmp(settings->target, ":memory:") == 0;
}

static bool parent_missing(const char *path)
{
    struct stat about;
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    PAWLI_AUTO_FREE char *parent = length > 0 ? strndup(path, length) : NULL;

    return parent && stat(parent, &about) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

static pawl_status path_not_found(const char *path, pawl_error *err)
{
    if (parent_missing(path))
        return pawli_fail_code(err, PAWL_E_NOT_FOUND, ENOENT,
                               "the directory of '%s' does not exist; create it first", path);
    return pawli_fail_code(err, PAWL_E_NOT_FOUND, ENOENT,
                           "there is no database file '%s'; run `pawl init` to create it", path);
}

pawl_status pawli_sqlite_path_check(const char *path, bool create, pawl_error *err)
{
    struct stat about;

    if (path[0] == '\0')
        return pawli_fail(err, PAWL_E_INVALID, "the path of the SQLite database file is empty");
    if (strncmp(path, "file:", 5) == 0) /* some builds of SQLite would parse it as a URI */
        return pawli_fail(err, PAWL_E_INVALID,
                          "'%s' looks like a URI; give a plain path, './file:...' for such a name",
                          path);
    if (stat(path, &about) == 0) {
        if (S_ISDIR(about.st_mode))
            return pawli_fail_code(err, PAWL_E_INVALID, EISDIR,
                                   "'%s' is a directory; give the path of a file", path);
        if (!S_ISREG(about.st_mode))
            return pawli_fail(err, PAWL_E_INVALID,
                              "'%s' is not a regular file; give the path of one", path);
        return PAWL_OK;
    }
    if (errno == ENOENT && create)
        return PAWL_OK;
    return pawli_sqlite_path_explain(path, errno, err);
}

/*
 * SQLite would create the file with mode 0644 minus the umask; it gives -wal and -shm the mode of
 * the database. mknod() does not open the file, so it drops no lock. It fails if the file exists;
 * SQLite detects and explains all other errors.
 */
void pawli_sqlite_path_create(const char *path)
{
    const mode_t mode = S_IRUSR | S_IWUSR;

    if (mknod(path, S_IFREG | mode, 0) == 0)
        (void)chmod(path, mode); /* the umask may have cleared bits */
}

pawl_status pawli_sqlite_path_explain(const char *path, int system_errno, pawl_error *err)
{
    switch (system_errno) {
    case ENOENT:
    case ENOTDIR:
        return path_not_found(path, err);
    case EACCES:
    case EPERM:
        return pawli_fail_code(err, PAWL_E_DENIED, system_errno,
                               "no permission to open '%s' or the -wal and -shm files beside it; "
                               "the user needs to read and write the file and its directory",
                               path);
    case EROFS:
        return pawli_fail_code(err, PAWL_E_READ_ONLY, system_errno,
                               "'%s' is on a read-only file system; put it on a writable one",
                               path);
    case 0:
        if (parent_missing(path))
            return path_not_found(path, err);
        return pawli_fail_code(err, PAWL_E_UNAVAILABLE, SQLITE_CANTOPEN,
                               "SQLite cannot open '%s'; check the path", path);
    default:
        return pawli_fail_code(err, PAWL_E_UNAVAILABLE, system_errno,
                               "SQLite cannot open '%s' (%s); check the path and the limits", path,
                               strerror(system_errno));
    }
}

/* A missing write permission is "read-only"; "denied" means a missing read permission. */
pawl_status pawli_sqlite_path_read_only(const char *path, pawl_error *err)
{
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && (errno == EACCES || errno == EPERM))
        return pawli_fail_code(err, PAWL_E_READ_ONLY, errno,
                               "no permission to write '%s'; give the user write access to the "
                               "file and its directory",
                               path);
    return pawli_fail_code(err, PAWL_E_READ_ONLY, SQLITE_READONLY,
                           "'%s' can only be read; put it on a writable file system", path);
}

bool pawli_sqlite_same_file(const char *first, const char *second)
{
    struct stat a;
    struct stat b;

    return stat(first, &a) == 0 && stat(second, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}
