/* src/base/cron.h - cron expressions: parsing, the next matching time, and a description. */
#ifndef PAWLI_CRON_H
#define PAWLI_CRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>

#include "buffer.h"

/* Sets are bits: bit n of `hours` is hour n. */
typedef struct pawli_cron {
    uint64_t seconds;
    uint64_t minutes;
    uint32_t hours;
    uint32_t months;          /* bits 1 .. 12 */
    uint32_t month_days;      /* bits 1 .. 31 */
    uint32_t before_last;     /* bit n: n days before the month's last day (L is bit 0) */
    uint32_t nearest_weekday; /* bit n: the weekday (Monday to Friday) nearest to day n */
    bool last_weekday;        /* LW: the last weekday (Monday to Friday) */
    uint8_t week_days;        /* bits 0 .. 6; 0 is Sunday */
    uint8_t nth_week_days[7]; /* bits 1 .. 5: the nth of the month; bit 0: the last */
    /*
     * As in Debian's cron: if the day of month or the day of week has a star (or ?), a day must
     * match both; if neither has, it must match one of them.
     */
    bool month_day_star;
    bool week_day_star;
    bool has_wildcard; /* a star in seconds, minutes or hours: docs/internals/schedule.md */
} pawli_cron;

/*
 * Parses five or six fields, or @daily and similar. PAWL_E_INVALID: the message gives the column
 * and the reason, also for an expression that never matches.
 */
PAWL_MUST_CHECK pawl_status pawli_cron_parse(const char *text, pawli_cron *ret_cron,
                                             pawl_error *err);

/* The first matching local time that is not before `from_s`, if it is before `until_s`. */
bool pawli_cron_match(const pawli_cron *cron, int64_t from_s, int64_t until_s,
                      int64_t *ret_local_s);

/* "at 02:30 on Monday to Friday" */
void pawli_cron_describe(const pawli_cron *cron, pawli_buffer *buffer);

#endif
