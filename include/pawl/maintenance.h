/* include/pawl/maintenance.h - how much one maintenance call read. */
#ifndef PAWL_MAINTENANCE_H
#define PAWL_MAINTENANCE_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/export.h>

PAWL_BEGIN_DECLS

/*
 * Maintenance (reap, expire, prune, compact statistics, and the clean-up of the inbox, leases and
 * jobs) does a bounded amount of work per call, so that locks last only milliseconds. Each call
 * reports how much it read, which may be more than it changed. Call it again while `more` is true;
 * every call that sets it has made progress. The struct is fixed: it will not get further members.
 */
typedef struct pawl_scan {
    size_t rows; /* rows read: claims, messages, totals, lanes, records, jobs */
    bool more;   /* it stopped at its limit: there may be more to do now */
} pawl_scan;

PAWL_END_DECLS

#endif
