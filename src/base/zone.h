/* src/base/zone.h - time zones of the IANA database: conversion between UTC and local time. */
#ifndef PAWLI_ZONE_H
#define PAWLI_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>

#include "scope.h"

/*
 * Times are whole seconds: of UTC since 1970, or "local": local time counted as if it were UTC.
 * Results are correct for the years 1 to 9999; beyond them the nearest of these results is
 * returned. A zone is immutable once loaded: any number of threads may use it at once.
 */
typedef struct pawli_zone pawli_zone;

#define PAWLI_ZONE_NAME_MAX 100
#define PAWLI_ZONE_ABBREVIATION_SIZE 16

/*
 * Loads `directory`/`name`. `directory` NULL: $TZDIR if set, otherwise /usr/share/zoneinfo. "UTC"
 * needs no file. PAWL_E_INVALID for an invalid name, PAWL_E_NOT_FOUND for a zone that does not
 * exist (the message names a similar one if there is one), PAWL_E_CORRUPT for an invalid TZif file,
 * PAWL_E_UNSUPPORTED for one with leap seconds, PAWL_E_IO, PAWL_E_NOMEM.
 */
PAWL_MUST_CHECK pawl_status pawli_zone_load(const char *name, const char *directory,
                                            pawli_zone **ret_zone, pawl_error *err);
/* The same from the bytes of a TZif file, version 1 to 4, which are copied. */
PAWL_MUST_CHECK pawl_status pawli_zone_decode(const char *name, const void *bytes, size_t size,
                                              pawli_zone **ret_zone, pawl_error *err);
/* Adds a reference; any thread. */
pawli_zone *pawli_zone_ref(pawli_zone *zone);
/* Drops a reference; the last one frees the zone. NULL is allowed; any thread. */
void pawli_zone_unref(pawli_zone *zone);
PAWLI_AUTO_DEFINE(pawli_zone, pawli_zone_unref);

const char *pawli_zone_name(const pawli_zone *zone);

/* A period with a constant offset. Adjacent periods may have the same offset. */
typedef struct pawli_zone_period {
    int64_t begins_s; /* INT64_MIN: no beginning */
    int64_t ends_s;   /* exclusive; INT64_MAX: no end */
    int32_t offset_s; /* local minus UTC; between -25 and +26 hours */
    bool is_dst;
    const char *abbreviation; /* borrowed from the zone */
} pawli_zone_period;

void pawli_zone_at(const pawli_zone *zone, int64_t utc_s, pawli_zone_period *ret_period);

typedef enum pawli_local_kind {
    PAWLI_LOCAL_UNIQUE,
    PAWLI_LOCAL_GAP,    /* the local time is skipped */
    PAWLI_LOCAL_OVERLAP /* the local time occurs more than once */
} pawli_local_kind;

typedef struct pawli_local {
    pawli_local_kind kind;
    /* UNIQUE: the instant. OVERLAP: the first one. GAP: the instant of the change. */
    int64_t first_s;
    int64_t second_s; /* OVERLAP: the second one; otherwise the same as first_s */
    /* GAP: the local time at first_s before and after the change; otherwise both `local_s`. */
    int64_t gap_begins_s;
    int64_t gap_ends_s;
} pawli_local;

void pawli_zone_find(const pawli_zone *zone, int64_t local_s, pawli_local *ret_local);

/* The first instant at which the local time is `local_s` or later; monotonic in `local_s`. */
int64_t pawli_zone_reach(const pawli_zone *zone, int64_t local_s);
/* The maximum local time up to `utc_s`: reach(local) > utc_s exactly if local > this. */
int64_t pawli_zone_highest(const pawli_zone *zone, int64_t utc_s);

#define PAWLI_ZONE_VERSION_SIZE 32
/* The version of the zone files in `directory` (NULL: as above), such as "2025b"; "unknown". */
void pawli_zone_data_version(const char *directory, char ret_version[PAWLI_ZONE_VERSION_SIZE]);

#endif
