/* tests/schedule/glibc_test.c - every time zone of the system, against the C library. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "civil.h"
#include "test.h"
#include "zone.h"

#define ZONES_MAX 2000
#define DIRECTORY "/usr/share/zoneinfo"

static char *zones[ZONES_MAX];
static size_t zone_count;

/* The files that begin as TZif files do, but for the copies under posix/ and right/. A file that
 * has several names is met once. */
static int add_zone(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    const char *name = path + strlen(DIRECTORY) + 1;
    char magic[4] = "";
    FILE *file;

    (void)info;
    (void)ftw;
    if (type != FTW_F || strncmp(name, "posix/", 6) == 0 || strncmp(name, "right/", 6) == 0 ||
        strcmp(name, "localtime") == 0 || strcmp(name, "posixrules") == 0 ||
        strcmp(name, "Factory") == 0)
        return 0;
    file = fopen(path, "re");
    if (file && fread(magic, 1, 4, file) == 4 && memcmp(magic, "TZif", 4) == 0 &&
        zone_count < ZONES_MAX)
        zones[zone_count++] = strdup(name);
    if (file)
        fclose(file);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_zones(void)
{
    if (zone_count > 0)
        return;
    unsetenv("TZDIR");
    if (nftw(DIRECTORY, add_zone, 16, 0) != 0 || zone_count == 0)
        test_fail("there is no time zone data in " DIRECTORY ": install tzdata (scripts/setup)");
    qsort(zones, zone_count, sizeof zones[0], by_name);
}

static bool is_whole(void)
{
    return test_whole();
}

static void use_in_libc(const char *zone)
{
    char text[PAWLI_ZONE_NAME_MAX + 2];

    snprintf(text, sizeof text, ":%s", zone);
    setenv("TZ", text, 1);
    tzset();
}

static void compare_at(const pawli_zone *zone, int64_t utc_s)
{
    time_t seconds = utc_s;
    struct tm tm;
    pawli_zone_period period;

    localtime_r(&seconds, &tm);
    pawli_zone_at(zone, utc_s, &period);
    if (tm.tm_gmtoff != period.offset_s || (tm.tm_isdst > 0) != period.is_dst ||
        strcmp(tm.tm_zone, period.abbreviation) != 0)
        test_fail("%s at %lld: %d %d %s, the C library says %ld %d %s", pawli_zone_name(zone),
                  (long long)utc_s, period.offset_s, period.is_dst, period.abbreviation,
                  tm.tm_gmtoff, tm.tm_isdst > 0, tm.tm_zone);
    if (period.begins_s > utc_s || period.ends_s <= utc_s)
        test_fail("%s at %lld: the period does not contain it", pawli_zone_name(zone),
                  (long long)utc_s);
}

/* Both directions agree: each instant is among those at which the clock shows what it shows. */
static void compare_back(const pawli_zone *zone, int64_t utc_s)
{
    pawli_zone_period period;
    pawli_local found;
    int64_t local_s;

    pawli_zone_at(zone, utc_s, &period);
    local_s = utc_s + period.offset_s;
    pawli_zone_find(zone, local_s, &found);
    if (found.kind == PAWLI_LOCAL_GAP ||
        (found.kind == PAWLI_LOCAL_UNIQUE && found.first_s != utc_s) ||
        (found.kind == PAWLI_LOCAL_OVERLAP && found.first_s != utc_s && found.second_s != utc_s))
        test_fail("%s: the local time of %lld is not found", pawli_zone_name(zone),
                  (long long)utc_s);
    if (pawli_zone_reach(zone, local_s) > found.first_s ||
        pawli_zone_highest(zone, utc_s) < local_s ||
        pawli_zone_reach(zone, pawli_zone_highest(zone, utc_s) + 1) <= utc_s)
        test_fail("%s: reach and highest do not fit at %lld", pawli_zone_name(zone),
                  (long long)utc_s);
}

/* The instants around each change from `from` to `to`; returns how many were compared. */
static long compare_changes(const pawli_zone *zone, int64_t from_s, int64_t to_s)
{
    static const int64_t around[] = {-86400, -7201, -7200, -3601, -3600, -1801, -61,  -2,   -1,
                                     0,      1,     2,     60,    1800,  3599,  3600, 7200, 86400};
    pawli_zone_period period;
    long compared = 0;

    for (int64_t at_s = from_s; at_s < to_s; at_s = period.ends_s) {
        for (size_t i = 0; i < sizeof around / sizeof around[0]; i++, compared++) {
            compare_at(zone, at_s + around[i]);
            compare_back(zone, at_s + around[i]);
        }
        pawli_zone_at(zone, at_s, &period);
        if (period.ends_s > to_s)
            break;
    }
    return compared;
}

static pawli_zone *glibc_load(const char *name)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_zone *zone = NULL;

    assert_status(PAWL_OK, pawli_zone_load(name, NULL, &zone, &err), &err);
    return zone;
}

PAWL_TEST(every_zone_agrees_with_the_c_library_around_every_change)
{
    int64_t from_s = pawli_civil_days(1800, 1, 1) * PAWLI_DAY_S;
    int64_t to_s = pawli_civil_days(is_whole() ? 2400 : 2100, 1, 1) * PAWLI_DAY_S;
    long compared = 0;

    find_zones();
    for (size_t i = 0; i < zone_count; i++) {
        PAWLI_AUTO(pawli_zone) zone = glibc_load(zones[i]);
        use_in_libc(zones[i]);
        compared += compare_changes(zone, from_s, to_s);
    }
    printf("# %ld instants around the changes of %zu zones\n", compared, zone_count);
}

/* Days are sampled with a step that is prime, so that hours and minutes differ. */
PAWL_TEST(every_zone_agrees_with_the_c_library_on_any_day)
{
    int64_t step_s = is_whole() ? 99991 : 7999993;
    int64_t from_s = pawli_civil_days(1850, 1, 1) * PAWLI_DAY_S;
    int64_t to_s = pawli_civil_days(2100, 1, 1) * PAWLI_DAY_S;
    long compared = 0;

    find_zones();
    for (size_t i = 0; i < zone_count; i++) {
        PAWLI_AUTO(pawli_zone) zone = glibc_load(zones[i]);
        use_in_libc(zones[i]);
        for (int64_t at_s = from_s; at_s < to_s; at_s += step_s, compared++)
            compare_at(zone, at_s);
    }
    printf("# %ld instants in %zu zones\n", compared, zone_count);
}
