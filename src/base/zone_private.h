/* src/base/zone_private.h - the internals of a zone; for the zone*.c files. */
#ifndef PAWLI_ZONE_PRIVATE_H
#define PAWLI_ZONE_PRIVATE_H

#include <stdatomic.h>

#include "zone.h"
#include "zone_rule.h"

/* More than any real file has (the largest has about 240 changes and 20 types). */
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
    int64_t *changes;                            /* when, ascending; in the same allocation */
    uint8_t *change_types;                       /* to which type */
    pawli_zone_type types[PAWLI_ZONE_TYPES_MAX]; /* [0] also applies before the first change */
    char text[PAWLI_ZONE_TEXT_MAX];
    bool has_rule; /* for the time after the last change */
    pawli_zone_rule rule;
    char name[PAWLI_ZONE_NAME_MAX + 1];
};

/* With room for `change_count` changes, one reference, no types; NULL when memory ran out. */
pawli_zone *pawli_zone_new(const char *name, size_t change_count);

/* The directory of the zone files: `given`, $TZDIR or the system's. */
const char *pawli_zone_directory(const char *given);
/* The name in `directory` that is most similar to `name`; false if none is similar. */
bool pawli_zone_nearest(const char *name, const char *directory,
                        char ret_nearest[PAWLI_ZONE_NAME_MAX + 1]);

#endif
