/* src/base/zone_file.c - finding the files of time zones, by names that may be anything. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "text.h"
#include "zone_private.h"

#define SYSTEM_DIRECTORY "/usr/share/zoneinfo"
#define PATH_SIZE 4096

const char *pawli_zone_directory(const char *given)
{
    const char *directory = given ? given : secure_getenv("TZDIR");

    return directory && directory[0] ? directory : SYSTEM_DIRECTORY;
}

/* Letters, digits and _+-. in parts divided by slashes; a part does not begin with a dot. */
static bool good_name(const char *name)
{
    bool part_begins = true;
    size_t length = 0;

    for (; name[length]; length++) {
        char c = name[length];
        if (c == '/' ? part_begins : !isalnum((unsigned char)c) && !strchr("_+-.", c))
            return false;
        if (part_begins && c == '.')
            return false;
        part_begins = c == '/';
    }
    return length > 0 && length <= PAWLI_ZONE_NAME_MAX && !part_begins;
}

/* Names of files that are not zones, or not the same zone on every machine. */
static bool other_file(const char *name)
{
    static const char *const others[] = {"localtime", "posixrules", "Factory"};

    for (size_t i = 0; i < PAWLI_COUNT(others); i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return false;
}

static pawl_status zone_file_not_found(const char *name, const char *directory, pawl_error *err)
{
    char nearest[PAWLI_ZONE_NAME_MAX + 1];

    if (access(directory, R_OK) != 0)
        return pawli_fail(err, PAWL_E_NOT_FOUND,
                          "time zone '%s' is not known because there is no %.200s; install tzdata",
                          name, directory);
    if (pawli_zone_nearest(name, directory, nearest))
        return pawli_fail(err, PAWL_E_NOT_FOUND, "there is no time zone '%s'; did you mean '%s'?",
                          name, nearest);
    return pawli_fail(err, PAWL_E_NOT_FOUND,
                      "there is no time zone '%s' in %.200s; use a name such as Europe/Berlin, "
                      "America/New_York or UTC",
                      name, directory);
}

/* The whole file, if it is a file and small enough. */
static pawl_status read_file(int fd, const char *name, uint8_t *bytes, size_t *ret_size,
                             pawl_error *err)
{
    struct stat info;
    size_t size = 0;

    if (fstat(fd, &info) != 0)
        return pawli_fail_code(err, PAWL_E_IO, errno, "the file of time zone '%s' cannot be read",
                               name);
    if (!S_ISREG(info.st_mode))
        return pawli_fail(err, PAWL_E_NOT_FOUND,
                          "'%s' is not a time zone; use a name such as Europe/Berlin", name);
    while (size < PAWLI_ZONE_FILE_MAX) {
        ssize_t got = read(fd, bytes + size, PAWLI_ZONE_FILE_MAX - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return pawli_fail_code(err, PAWL_E_IO, errno,
                                   "the file of time zone '%s' cannot be read: %s", name,
                                   strerror(errno));
        if (got == 0)
            break;
        size += (size_t)got;
    }
    if (size == PAWLI_ZONE_FILE_MAX)
        return pawli_fail(err, PAWL_E_CORRUPT, "the file of time zone '%s' is too large to be one",
                          name);
    *ret_size = size;
    return PAWL_OK;
}

static pawl_status zone_file_load_file(const char *name, const char *directory,
                                       pawli_zone **ret_zone, pawl_error *err)
{
    PAWLI_AUTO_FREE uint8_t *bytes = NULL;
    char path[PATH_SIZE];
    size_t size = 0;
    pawl_status st;
    int fd;

    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return pawli_fail(err, PAWL_E_INVALID, "the directory of the time zones is too long");
    bytes = malloc(PAWLI_ZONE_FILE_MAX);
    if (!bytes)
        return pawli_fail(err, PAWL_E_NOMEM, "no memory for time zone '%s'", name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return zone_file_not_found(name, directory, err);
    if (fd < 0)
        return pawli_fail_code(err, PAWL_E_IO, errno,
                               "the file of time zone '%s' cannot be opened: %s", name,
                               strerror(errno));
    st = read_file(fd, name, bytes, &size, err);
    close(fd);
    return st == PAWL_OK ? pawli_zone_decode(name, bytes, size, ret_zone, err) : st;
}

static pawl_status make_utc(pawli_zone **ret_zone, pawl_error *err)
{
    pawli_zone *zone = pawli_zone_new("UTC", 0);

    if (!zone)
        return pawli_fail(err, PAWL_E_NOMEM, "no memory for time zone 'UTC'");
    memcpy(zone->text, "UTC", sizeof "UTC");
    *ret_zone = zone;
    return PAWL_OK;
}

pawl_status pawli_zone_load(const char *name, const char *directory, pawli_zone **ret_zone,
                            pawl_error *err)
{
    char shown[PAWLI_ZONE_NAME_MAX + 1];

    if (strcmp(name, "UTC") == 0)
        return make_utc(ret_zone, err);
    if (!good_name(name)) {
        pawli_utf8_clean(name, shown, sizeof shown);
        for (char *c = shown; *c; c++)
            if (iscntrl((unsigned char)*c))
                *c = '?';
        return pawli_fail(err, PAWL_E_INVALID,
                          "'%s' cannot be the name of a time zone; use a name such as "
                          "Europe/Berlin, America/New_York or UTC",
                          shown);
    }
    if (other_file(name))
        return pawli_fail(err, PAWL_E_INVALID,
                          "'%s' is not the same everywhere; name the time zone itself, such as "
                          "Europe/Berlin",
                          name);
    return zone_file_load_file(name, pawli_zone_directory(directory), ret_zone, err);
}
