/* src/base/schedule.h - the internals of a schedule; for the schedule*.c files. */
#ifndef PAWLI_SCHEDULE_H
#define PAWLI_SCHEDULE_H

#include <pawl/schedule.h>

#include "cron.h"
#include "interval.h"
#include "scope.h"
#include "zone.h"

struct pawl_schedule {
    pawl_schedule_kind kind;
    pawli_cron cron;         /* CRON */
    pawli_interval interval; /* the others */
    pawl_wall anchor;
    pawli_zone *zone;
    char *description;
    char text[PAWL_SCHEDULE_MAX + 1];
};
PAWLI_AUTO_DEFINE(pawl_schedule, pawl_schedule_free);

/* The years 1 to 9999, in seconds of UTC. */
#define PAWLI_SCHEDULE_FIRST_S (INT64_C(-62135596800))
#define PAWLI_SCHEDULE_LAST_S (INT64_C(253402300799))

/* The next time of a cron schedule after that second and not after `limit_s`. */
bool pawli_schedule_next(const pawl_schedule *schedule, int64_t after_s, int64_t limit_s,
                         pawl_occurrence *ret_fire);

#endif
