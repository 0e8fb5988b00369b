/* src/base/zone_names.c - what tzdata says about itself: its version, and the names it has. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "zone_private.h"

#define PATH_SIZE 4096
/* The longest line that matters in tzdata.zi is a link: "L target name". */
#define LINE_SIZE 512
/* How different a name may be and still be meant. */
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

/* How many letters must be put in, taken out or replaced, whatever their case. */
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

/* "berlin" for "Europe/Berlin": people leave the continent out. */
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
