/* src/base/zone.h - time zones of the IANA database: what clocks show where, and when. */
#ifndef PAWLI_ZONE_H
#define PAWLI_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>

#include "scope.h"

/*
 * Times here are whole seconds: of UTC since 1970, or "local": what a clock on the wall shows,
 * counted as if it were UTC. Answers are right for the years 1 to 9999; beyond them the nearest
 * of these answers is given.
 *
 * A zone never changes once it is loaded: any number of threads may use one at once.
 */
typedef struct pawli_zone pawli_zone;

#define PAWLI_ZONE_NAME_MAX 100
#define PAWLI_ZONE_ABBREVIATION_SIZE 16

/*
 * Read `directory`/`name`. `directory` NULL: $TZDIR if set, else /usr/share/zoneinfo. "UTC" needs
 * no file. PAWL_E_INVALID for what cannot be a name, PAWL_E_NOT_FOUND for a zone that is not there
 * (naming a near one if there is one), PAWL_E_CORRUPT for a file that is no sound TZif file,
 * PAWL_E_UNSUPPORTED for one that counts leap seconds, PAWL_E_IO, PAWL_E_NOMEM.
 */
PAWL_MUST_CHECK pawl_status pawli_zone_load(const char *name, const char *directory,
                                            pawli_zone **ret_zone, pawl_error *err);
/* The same from the bytes of a TZif file, version 1 to 4, which are copied. */
PAWL_MUST_CHECK pawl_status pawli_zone_decode(const char *name, const void *bytes, size_t size,
                                              pawli_zone **ret_zone, pawl_error *err);
/* One more user of the zone; any thread. */
pawli_zone *pawli_zone_ref(pawli_zone *zone);
/* One user less; the last one frees it. NULL is fine; any thread. */
void pawli_zone_unref(pawli_zone *zone);
PAWLI_AUTO_DEFINE(pawli_zone, pawli_zone_unref);

const char *pawli_zone_name(const pawli_zone *zone);

/* A stretch of time in which the clock runs evenly. Neighbours may show the same offset. */
typedef struct pawli_zone_period {
    int64_t begins_s; /* INT64_MIN: since ever */
    int64_t ends_s;   /* not in it any more; INT64_MAX: for ever */
    int32_t offset_s; /* local minus UTC; between -25 and +26 hours */
    bool is_dst;
    const char *abbreviation; /* borrowed from the zone */
} pawli_zone_period;

void pawli_zone_at(const pawli_zone *zone, int64_t utc_s, pawli_zone_period *ret_period);

typedef enum pawli_local_kind {
    PAWLI_LOCAL_UNIQUE,
    PAWLI_LOCAL_GAP,    /* the clock jumps over it */
    PAWLI_LOCAL_OVERLAP /* the clock shows it more than once */
} pawli_local_kind;

typedef struct pawli_local {
    pawli_local_kind kind;
    /* UNIQUE: the instant. OVERLAP: the first one. GAP: the instant at which the clock jumps. */
    int64_t first_s;
    int64_t second_s; /* OVERLAP: the second one; else the same as first_s */
    /* GAP: what the clock would have shown at first_s, and what it shows; else both `local_s`. */
    int64_t gap_begins_s;
    int64_t gap_ends_s;
} pawli_local;

void pawli_zone_find(const pawli_zone *zone, int64_t local_s, pawli_local *ret_local);

/* The first instant at which the clock shows `local_s` or more; grows with `local_s`. */
int64_t pawli_zone_reach(const pawli_zone *zone, int64_t local_s);
/* The most the clock has shown until `utc_s`: reach(local) > utc_s exactly if local > this. */
int64_t pawli_zone_highest(const pawli_zone *zone, int64_t utc_s);

#define PAWLI_ZONE_VERSION_SIZE 32
/* The version of the zone files in `directory` (NULL: as above), such as "2025b"; "unknown". */
void pawli_zone_data_version(const char *directory, char ret_version[PAWLI_ZONE_VERSION_SIZE]);

#endif
