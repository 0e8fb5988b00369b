/* src/base/zone_file.c - reads and decodes the system's time zone files (RFC 8536). */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "civil.h"
#include "fail.h"
#include "text.h"
#include "zone_private.h"

/* ---- finding time zone files by untrusted names ---- */

#define SYSTEM_DIRECTORY "/usr/share/zoneinfo"
#define PATH_SIZE 4096

const char *pawli_zone_directory(const char *given)
{
    const char *directory = given ? given : secure_getenv("TZDIR");

    return directory && directory[0] ? directory : SYSTEM_DIRECTORY;
}

/* Letters, digits and _+-. in parts separated by slashes; a part does not begin with a dot. */
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

/* Names of files that are not zones, or that differ between machines. */
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

/* The whole file, if it is a regular file and small enough. */
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
        return pawli_fail(err, PAWL_E_CORRUPT,
                          "the file of time zone '%s' is too large for a time zone", name);
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
        return pawli_fail(err, PAWL_E_INVALID, "the path of the time zone directory is too long");
    bytes = malloc(PAWLI_ZONE_FILE_MAX);
    if (!bytes)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for time zone '%s'", name);
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

static pawl_status new_utc_zone(pawli_zone **ret_zone, pawl_error *err)
{
    pawli_zone *zone = pawli_zone_new("UTC", 0);

    if (!zone)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for time zone 'UTC'");
    memcpy(zone->text, "UTC", sizeof "UTC");
    *ret_zone = zone;
    return PAWL_OK;
}

pawl_status pawli_zone_load(const char *name, const char *directory, pawli_zone **ret_zone,
                            pawl_error *err)
{
    char shown[PAWLI_ZONE_NAME_MAX + 1];

    if (strcmp(name, "UTC") == 0)
        return new_utc_zone(ret_zone, err);
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
                          "'%s' differs between machines; name the time zone itself, such as "
                          "Europe/Berlin",
                          name);
    return zone_file_load_file(name, pawli_zone_directory(directory), ret_zone, err);
}

/* ---- decoding TZif files (RFC 8536, 9636), which may be malicious ---- */

#define HEADER_SIZE 44
#define TYPE_SIZE 6
#define OFFSET_MIN_S (-25 * PAWLI_HOUR_S + 1)
#define OFFSET_MAX_S (26 * PAWLI_HOUR_S - 1)

typedef struct file {
    const char *name;
    const uint8_t *at;
    size_t left;
    pawl_error *err;
} file;

typedef struct header {
    uint8_t version; /* 0 or '2' .. '4' */
    uint32_t ut_indicators;
    uint32_t standard_indicators;
    uint32_t leap_seconds;
    uint32_t changes;
    uint32_t types;
    uint32_t text;
} header;

static pawl_status tzif_damaged(const file *f, const char *why)
{
    return pawli_fail(f->err, PAWL_E_CORRUPT,
                      "the file of time zone '%s' %s; install the system's tzdata again", f->name,
                      why);
}

static uint64_t big_endian(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

static int64_t signed_number(const uint8_t *bytes, size_t size)
{
    uint64_t number = big_endian(bytes, size);

    return size == 4 ? (int32_t)(uint32_t)number : (int64_t)number;
}

/* NULL if there are fewer bytes left. */
static const uint8_t *tzif_take(file *f, size_t size)
{
    const uint8_t *bytes = f->at;

    if (size > f->left)
        return NULL;
    f->at += size;
    f->left -= size;
    return bytes;
}

static pawl_status take_header(file *f, header *ret_header)
{
    const uint8_t *bytes = tzif_take(f, HEADER_SIZE);

    if (!bytes || memcmp(bytes, "TZif", 4) != 0)
        return tzif_damaged(f, "is not a TZif file");
    if (bytes[4] != 0 && (bytes[4] < '2' || bytes[4] > '4'))
        return tzif_damaged(f, "has a version that is not 1 to 4");
    *ret_header = (header){bytes[4],
                           (uint32_t)big_endian(bytes + 20, 4),
                           (uint32_t)big_endian(bytes + 24, 4),
                           (uint32_t)big_endian(bytes + 28, 4),
                           (uint32_t)big_endian(bytes + 32, 4),
                           (uint32_t)big_endian(bytes + 36, 4),
                           (uint32_t)big_endian(bytes + 40, 4)};
    return PAWL_OK;
}

/* The size of the data after the header; 64-bit sums of 32-bit numbers do not overflow. */
static uint64_t block_size(const header *h, size_t time_size)
{
    return (uint64_t)h->changes * (time_size + 1) + (uint64_t)h->types * TYPE_SIZE + h->text +
           (uint64_t)h->leap_seconds * (time_size + 4) + h->standard_indicators + h->ut_indicators;
}

static pawl_status check_header(const file *f, const header *h, size_t time_size)
{
    if (h->leap_seconds > 0)
        return pawli_fail(f->err, PAWL_E_UNSUPPORTED,
                          "time zone '%s' counts leap seconds, which are not supported; use "
                          "the zone of the same name without 'right/'",
                          f->name);
    if (h->types < 1 || h->types > PAWLI_ZONE_TYPES_MAX || h->changes > PAWLI_ZONE_CHANGES_MAX ||
        h->text < 1 || h->text > PAWLI_ZONE_TEXT_MAX)
        return tzif_damaged(f, "has an impossible number of entries");
    if ((h->ut_indicators != 0 && h->ut_indicators != h->types) ||
        (h->standard_indicators != 0 && h->standard_indicators != h->types))
        return tzif_damaged(f, "has an impossible number of indicators");
    if (block_size(h, time_size) > f->left)
        return tzif_damaged(f, "ends too early");
    return PAWL_OK;
}

static pawl_status take_changes(file *f, const header *h, size_t time_size, pawli_zone *zone)
{
    const uint8_t *times = tzif_take(f, h->changes * time_size);
    const uint8_t *types = tzif_take(f, h->changes);

    for (size_t i = 0; i < h->changes; i++) {
        zone->changes[i] = signed_number(times + i * time_size, time_size);
        zone->change_types[i] = types[i];
        if (i > 0 && zone->changes[i] <= zone->changes[i - 1])
            return tzif_damaged(f, "has changes that are out of order");
        if (types[i] >= h->types)
            return tzif_damaged(f, "names a local time that it does not have");
    }
    return PAWL_OK;
}

/* Abbreviations are displayed: letters, digits and signs, terminated, not too long. */
static bool good_abbreviation(const char *text, size_t room)
{
    size_t length = 0;

    while (length < room &&
           (isalnum((unsigned char)text[length]) || text[length] == '+' || text[length] == '-'))
        length++;
    return length > 0 && length < PAWLI_ZONE_ABBREVIATION_SIZE && length < room &&
           text[length] == '\0';
}

static pawl_status take_types(file *f, const header *h, pawli_zone *zone)
{
    const uint8_t *types = tzif_take(f, (size_t)h->types * TYPE_SIZE);
    const uint8_t *text = tzif_take(f, h->text);

    memcpy(zone->text, text, h->text);
    for (size_t i = 0; i < h->types; i++, types += TYPE_SIZE) {
        int64_t offset_s = signed_number(types, 4);
        if (offset_s < OFFSET_MIN_S || offset_s > OFFSET_MAX_S)
            return tzif_damaged(f, "has a local time that is days away from UTC");
        if (types[4] > 1)
            return tzif_damaged(f, "has a daylight saving mark that is neither 0 nor 1");
        if (types[5] >= h->text || !good_abbreviation(zone->text + types[5], h->text - types[5]))
            return tzif_damaged(f, "has an invalid abbreviation");
        zone->types[i] = (pawli_zone_type){(int32_t)offset_s, types[4] == 1, types[5]};
    }
    tzif_take(f, (size_t)h->standard_indicators + h->ut_indicators);
    return PAWL_OK;
}

/* The text between two newlines; empty means that there is no rule for later times. */
static pawl_status take_footer(file *f, pawli_zone *zone)
{
    const uint8_t *newline = tzif_take(f, 1);
    const uint8_t *end;
    size_t size;

    if (!newline || *newline != '\n')
        return tzif_damaged(f, "has no footer");
    end = f->left > 0 ? memchr(f->at, '\n', f->left) : NULL;
    if (!end)
        return tzif_damaged(f, "has an unterminated footer");
    size = (size_t)(end - f->at);
    if (size == 0)
        return PAWL_OK;
    if (!pawli_zone_rule_parse((const char *)f->at, size, &zone->rule))
        return tzif_damaged(f, "has an invalid footer");
    zone->has_rule = true;
    return PAWL_OK;
}

static pawl_status decode_block(file *f, const header *h, pawli_zone **ret_zone)
{
    PAWLI_AUTO(pawli_zone) zone = NULL;
    size_t time_size = h->version == 0 ? 4 : 8;
    pawl_status st = check_header(f, h, time_size);

    if (st != PAWL_OK)
        return st;
    zone = pawli_zone_new(f->name, h->changes);
    if (!zone)
        return pawli_fail(f->err, PAWL_E_NOMEM, "out of memory for time zone '%s'", f->name);
    st = take_changes(f, h, time_size, zone);
    if (st == PAWL_OK)
        st = take_types(f, h, zone);
    if (st == PAWL_OK && h->version != 0)
        st = take_footer(f, zone);
    if (st == PAWL_OK)
        *ret_zone = pawli_zone_take(&zone);
    return st;
}

/* From version 2 on, a block for version 1 readers comes first and is skipped. */
pawl_status pawli_zone_decode(const char *name, const void *bytes, size_t size,
                              pawli_zone **ret_zone, pawl_error *err)
{
    file f = {name, bytes, size, err};
    header first = {0};
    header second = {0};
    pawl_status st = take_header(&f, &first);

    if (st != PAWL_OK)
        return st;
    if (first.version == 0)
        return decode_block(&f, &first, ret_zone);
    if (block_size(&first, 4) > f.left)
        return tzif_damaged(&f, "ends too early");
    tzif_take(&f, (size_t)block_size(&first, 4));
    st = take_header(&f, &second);
    if (st != PAWL_OK)
        return st;
    if (second.version != first.version)
        return tzif_damaged(&f, "has two different versions");
    return decode_block(&f, &second, ret_zone);
}
