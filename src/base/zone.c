/* src/base/zone.c - time zones: conversion between UTC and local time, and zone names. */
#include "zone.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "civil.h"
#include "zone_private.h"

/* ---- converting times in a loaded zone ---- */

/* The years 1 to 9999 with some margin: no sum of these overflows. */
#define FIRST_S (INT64_C(-62200000000))
#define LAST_S (INT64_C(253500000000))
/* More than the difference of any local time to UTC. */
#define REACH_S (INT64_C(26) * PAWLI_HOUR_S)

pawli_zone *pawli_zone_new(const char *name, size_t change_count)
{
    size_t size = sizeof(pawli_zone) + change_count * (sizeof(int64_t) + sizeof(uint8_t));
    pawli_zone *zone = calloc(1, size);

    if (!zone)
        return NULL;
    atomic_init(&zone->users, 1);
    zone->change_count = change_count;
    zone->changes = (int64_t *)(zone + 1);
    zone->change_types = (uint8_t *)(zone->changes + change_count);
    snprintf(zone->name, sizeof zone->name, "%s", name);
    return zone;
}

pawli_zone *pawli_zone_ref(pawli_zone *zone)
{
    atomic_fetch_add_explicit(&zone->users, 1, memory_order_relaxed);
    return zone;
}

void pawli_zone_unref(pawli_zone *zone)
{
    if (zone && atomic_fetch_sub_explicit(&zone->users, 1, memory_order_acq_rel) == 1)
        free(zone);
}

const char *pawli_zone_name(const pawli_zone *zone)
{
    return zone->name;
}

/* The number of changes up to and including that instant. */
static size_t changes_until(const pawli_zone *zone, int64_t utc_s)
{
    size_t low = 0;
    size_t high = zone->change_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->changes[middle] <= utc_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pawli_zone_at(const pawli_zone *zone, int64_t utc_s, pawli_zone_period *ret_period)
{
    int64_t at_s = utc_s < FIRST_S ? FIRST_S : utc_s > LAST_S ? LAST_S : utc_s;
    size_t made = changes_until(zone, at_s);
    int64_t begins_s = made > 0 ? zone->changes[made - 1] : INT64_MIN;
    const pawli_zone_type *type;

    if (made == zone->change_count && zone->has_rule) {
        pawli_zone_rule_at(&zone->rule, at_s, ret_period);
        if (ret_period->begins_s < begins_s)
            ret_period->begins_s = begins_s;
        return;
    }
    type = &zone->types[made > 0 ? zone->change_types[made - 1] : 0];
    *ret_period =
        (pawli_zone_period){begins_s, made < zone->change_count ? zone->changes[made] : INT64_MAX,
                            type->offset_s, type->is_dst, zone->text + type->abbreviation};
}

/* The instant within the period at which the local time is exactly that. */
static bool zone_shows(const pawli_zone_period *period, int64_t local_s, int64_t *ret_utc_s)
{
    *ret_utc_s = local_s - period->offset_s;
    return *ret_utc_s >= period->begins_s && *ret_utc_s < period->ends_s;
}

/* Steps to the next period; false if it begins after every instant at which a clock could show
 * `local_s`. */
static bool zone_step(const pawli_zone *zone, int64_t local_s, pawli_zone_period *period)
{
    if (period->ends_s > local_s + REACH_S)
        return false;
    pawli_zone_at(zone, period->ends_s, period);
    return true;
}

int64_t pawli_zone_reach(const pawli_zone *zone, int64_t local_s)
{
    pawli_zone_period period;
    int64_t utc_s;

    pawli_zone_at(zone, local_s - REACH_S, &period);
    do {
        utc_s = local_s - period.offset_s;
        if (utc_s < period.begins_s)
            utc_s = period.begins_s;
        if (utc_s < period.ends_s)
            break;
    } while (zone_step(zone, local_s, &period));
    return utc_s;
}

int64_t pawli_zone_highest(const pawli_zone *zone, int64_t utc_s)
{
    pawli_zone_period period;
    int64_t highest_s;

    pawli_zone_at(zone, utc_s, &period);
    highest_s = utc_s + period.offset_s;
    while (period.begins_s > utc_s - 2 * REACH_S) {
        int64_t last_s = period.begins_s - 1;
        pawli_zone_at(zone, last_s, &period);
        if (last_s + period.offset_s > highest_s)
            highest_s = last_s + period.offset_s;
    }
    return highest_s;
}

void pawli_zone_find(const pawli_zone *zone, int64_t local_s, pawli_local *ret_local)
{
    pawli_local found = {PAWLI_LOCAL_GAP, 0, 0, local_s, local_s};
    pawli_zone_period period;
    int64_t utc_s;
    int times = 0;

    pawli_zone_at(zone, local_s - REACH_S, &period);
    do {
        if (!zone_shows(&period, local_s, &utc_s))
            continue;
        times++;
        if (times == 1)
            found.first_s = utc_s;
        if (times <= 2)
            found.second_s = utc_s;
    } while (zone_step(zone, local_s, &period));
    if (times > 0) {
        found.kind = times == 1 ? PAWLI_LOCAL_UNIQUE : PAWLI_LOCAL_OVERLAP;
    } else {
        found.first_s = found.second_s = pawli_zone_reach(zone, local_s);
        pawli_zone_at(zone, found.first_s, &period);
        found.gap_ends_s = found.first_s + period.offset_s;
        pawli_zone_at(zone, found.first_s - 1, &period);
        found.gap_begins_s = found.first_s + period.offset_s;
    }
    *ret_local = found;
}

/* ---- the version of tzdata, and its zone names ---- */

#define PATH_SIZE 4096
/* The longest relevant line in tzdata.zi is a link: "L target name". */
#define LINE_SIZE 512
/* The maximum edit distance of a suggestion. */
#define NEAR 3

static FILE *zone_name_open_file(const char *directory, const char *name)
{
    char path[PATH_SIZE];

    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return NULL;
    return fopen(path, "re");
}

/* The word at `text`: letters and digits, as in "2025b". */
static bool copy_version(const char *text, char ret_version[PAWLI_ZONE_VERSION_SIZE])
{
    size_t length = 0;

    while (length < PAWLI_ZONE_VERSION_SIZE - 1 &&
           (isalnum((unsigned char)text[length]) ||
            (length > 0 && strchr(".-+", text[length]) && text[length])))
        length++;
    if (length == 0)
        return false;
    memcpy(ret_version, text, length);
    ret_version[length] = '\0';
    return true;
}

static bool version_in(const char *directory, const char *name, const char *prefix,
                       char ret_version[PAWLI_ZONE_VERSION_SIZE])
{
    FILE *file = zone_name_open_file(directory, name);
    char line[LINE_SIZE];
    bool found = false;

    if (!file)
        return false;
    if (fgets(line, sizeof line, file) && strncmp(line, prefix, strlen(prefix)) == 0)
        found = copy_version(line + strlen(prefix), ret_version);
    fclose(file);
    return found;
}

void pawli_zone_data_version(const char *directory, char ret_version[PAWLI_ZONE_VERSION_SIZE])
{
    const char *place = pawli_zone_directory(directory);

    if (!version_in(place, "tzdata.zi", "# version ", ret_version) &&
        !version_in(place, "+VERSION", "", ret_version))
        memcpy(ret_version, "unknown", sizeof "unknown");
}

static size_t zone_name_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The edit distance of two names, ignoring case. */
static size_t zone_name_distance(const char *a, const char *b)
{
    size_t row[PAWLI_ZONE_NAME_MAX + 1];
    size_t width = strlen(b);

    for (size_t k = 0; k <= width; k++)
        row[k] = k;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < width; k++) {
            size_t replaced =
                diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[k]));
            diagonal = row[k + 1];
            row[k + 1] = zone_name_least(replaced, zone_name_least(row[k], row[k + 1]) + 1);
        }
    }
    return row[width];
}

/* "berlin" matches "Europe/Berlin": users leave out the continent. */
static size_t name_distance(const char *name, const char *candidate)
{
    const char *city = strrchr(candidate, '/');

    if (city && strcasecmp(name, city + 1) == 0)
        return 1;
    return zone_name_distance(name, candidate);
}

/* The name that a line of tzdata.zi defines: "Z name ..." or "L target name". */
static char *name_in_line(char *line)
{
    char *name = NULL;

    if (strncmp(line, "Z ", 2) == 0)
        name = line + 2;
    else if (strncmp(line, "L ", 2) == 0 && strchr(line + 2, ' '))
        name = strchr(line + 2, ' ') + 1;
    if (name)
        name[strcspn(name, " \n")] = '\0';
    return name && strlen(name) <= PAWLI_ZONE_NAME_MAX ? name : NULL;
}

bool pawli_zone_nearest(const char *name, const char *directory,
                        char ret_nearest[PAWLI_ZONE_NAME_MAX + 1])
{
    FILE *file = zone_name_open_file(directory, "tzdata.zi");
    size_t best = NEAR + 1;
    char line[LINE_SIZE];

    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        const char *candidate = name_in_line(line);
        size_t far = candidate ? name_distance(name, candidate) : best;
        if (far < best) {
            best = far;
            snprintf(ret_nearest, PAWLI_ZONE_NAME_MAX + 1, "%s", candidate);
        }
    }
    fclose(file);
    return best <= NEAR;
}
