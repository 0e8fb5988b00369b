/* src/base/zone_private.h - what a zone is made of; for the zone*.c files. */
#ifndef PAWLI_ZONE_PRIVATE_H
#define PAWLI_ZONE_PRIVATE_H

#include <stdatomic.h>

#include "zone.h"
#include "zone_rule.h"

/* More than any real file has (the biggest has about 240 changes and 20 types). */
#define PAWLI_ZONE_CHANGES_MAX 2000
#define PAWLI_ZONE_TYPES_MAX 256
#define PAWLI_ZONE_TEXT_MAX 1024
#define PAWLI_ZONE_FILE_MAX 65536

typedef struct pawli_zone_type {
    int32_t offset_s;
    bool is_dst;
    uint16_t abbreviation; /* where it begins in `text` */
} pawli_zone_type;

struct pawli_zone {
    atomic_uint users;
    size_t change_count;
    int64_t *changes;                            /* when, rising; in the same piece of memory */
    uint8_t *change_types;                       /* to which type */
    pawli_zone_type types[PAWLI_ZONE_TYPES_MAX]; /* [0] is also the time before the first change */
    char text[PAWLI_ZONE_TEXT_MAX];
    bool has_rule; /* for the time after the last change */
    pawli_zone_rule rule;
    char name[PAWLI_ZONE_NAME_MAX + 1];
};

/* With room for so many changes, one user, no types; NULL when memory ran out. */
pawli_zone *pawli_zone_new(const char *name, size_t change_count);

/* The directory of the zone files: `given`, $TZDIR or the system's. */
const char *pawli_zone_directory(const char *given);
/* The name in `directory` that is nearest to `name`; false if none is near. */
bool pawli_zone_nearest(const char *name, const char *directory,
                        char ret_nearest[PAWLI_ZONE_NAME_MAX + 1]);

#endif
