/* include/pawl/schedule.h - when something recurs: cron expressions and intervals, time zones. */
#ifndef PAWL_SCHEDULE_H
#define PAWL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>

PAWL_BEGIN_DECLS

/*
 * A schedule is one of:
 *
 *   0 30 2 * * MON-FRI   six fields: second, minute, hour, day of the month, month, day of the week
 *   30 2 * * MON-FRI     five: the same without seconds, which are 0
 *   @hourly @daily @midnight @weekly @monthly @yearly @annually
 *   every 1h30m          every so often: w, d, h, m, s; one second to ten years
 *   every 10m from start the same, but counted from the start of the run before
 *
 * A field is a list of: * or 5 or 1-5, each with /STEP (5/10 is 5-59/10); months JAN to DEC and
 * days of the week SUN to SAT also by name; Sunday is 0 and 7. In both fields of days ? means *. In
 * the day of the month: L the last day, L-3 three days before it, 15W the day from Monday to Friday
 * nearest to the 15th within the month, LW the last of these. In the day of the week: FRI#2 the
 * second Friday, 5L or FRIL the last.
 *
 * If the day of the month and the day of the week are both given, a day that fits either is meant;
 * if one of them contains a star, a day that fits both (as in Debian's cron).
 *
 * When clocks change, a schedule whose second, minute or hour contains a star (as * or as * with a
 * step) has a rhythm: it fires whenever the clock shows a time that fits, so not in the hour that
 * is skipped, and twice in the hour that comes twice. Any other schedule has fixed times: one that
 * is skipped fires at the moment of the change instead, several that are skipped by one change fire
 * together once, and one that comes twice fires the first time only. Intervals are real time.
 */
typedef struct pawl_schedule pawl_schedule; /* opaque */

typedef struct pawl_schedule_options {
    size_t size;      /* set by PAWL_SCHEDULE_OPTIONS_INIT, never by hand */
    const char *zone; /* a name of the IANA database, such as "Europe/Berlin"; NULL: "UTC" */
    pawl_wall anchor; /* "every D" fires at this time plus any number of D; PAWL_NEVER: 1970 */
} pawl_schedule_options;
#define PAWL_SCHEDULE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(pawl_schedule_options), NULL,                                                       \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* The longest text of a schedule, in bytes. */
#define PAWL_SCHEDULE_MAX 255

/**
 * Read a schedule.
 *
 * Ownership: *ret_schedule is the caller's (pawl_schedule_free); untouched on failure. Text and
 *            options are copied. `opts` may be NULL: UTC.
 * Threads:   any. A schedule never changes: any number of threads may use one at once.
 * Blocks:    reads one small file of the system's time zone data ($TZDIR, /usr/share/zoneinfo).
 * Durable:   nothing is stored.
 * Errors:    PAWL_E_INVALID: the message says the column and the reason, also when the schedule
 *            would never fire; PAWL_E_NOT_FOUND: no such time zone; PAWL_E_CORRUPT,
 *            PAWL_E_UNSUPPORTED, PAWL_E_IO: its file cannot be used; PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schedule_parse(const char *text,
                                                         const pawl_schedule_options *opts,
                                                         pawl_schedule **ret_schedule,
                                                         pawl_error *err);
PAWL_API void pawl_schedule_free(pawl_schedule *schedule); /* NULL is fine */

typedef enum pawl_schedule_kind {
    PAWL_SCHEDULE_CRON,
    PAWL_SCHEDULE_EVERY,     /* counted from the time that was scheduled: no drift */
    PAWL_SCHEDULE_FROM_START /* counted from when the run before it really started */
} pawl_schedule_kind;

PAWL_API pawl_schedule_kind pawl_schedule_kind_of(const pawl_schedule *schedule);
/* As it was given, without blanks around it. Borrowed from the schedule, as the next two. */
PAWL_API const char *pawl_schedule_text(const pawl_schedule *schedule);
PAWL_API const char *pawl_schedule_zone(const pawl_schedule *schedule);
/* In English: "at 02:30 on Monday to Friday, in Europe/Berlin". */
PAWL_API const char *pawl_schedule_explain(const pawl_schedule *schedule);
/* Whether clock changes leave its rhythm alone (see above); true for intervals. */
PAWL_API bool pawl_schedule_keeps_rhythm(const pawl_schedule *schedule);

/* What a clock and a calendar on the wall show. */
typedef struct pawl_local_time {
    int32_t year;
    int32_t month;   /* 1 .. 12 */
    int32_t day;     /* 1 .. 31 */
    int32_t hour;    /* 0 .. 23 */
    int32_t minute;  /* 0 .. 59 */
    int32_t second;  /* 0 .. 59 */
    int32_t weekday; /* 0 is Sunday */
} pawl_local_time;

typedef enum pawl_fire_kind {
    PAWL_FIRE_PLAIN,
    PAWL_FIRE_MOVED, /* its time is skipped by a clock change: fires at the change instead */
    PAWL_FIRE_ONCE,  /* its time comes twice: this is the first, and the second does not fire */
    PAWL_FIRE_AGAIN  /* its time comes twice and this is not the first: the rhythm goes on */
} pawl_fire_kind;

/* One time at which a schedule fires. */
typedef struct pawl_fire {
    pawl_wall at;
    pawl_fire_kind kind;
    pawl_local_time local;   /* at `at`, in the schedule's zone */
    pawl_local_time written; /* what the schedule asks for; another than `local` only if MOVED */
    int64_t skipped;         /* further times that clock changes since the fire before left out */
    int32_t utc_offset_s;    /* local minus UTC */
    bool is_dst;             /* as the time zone data says; in Dublin the winter is */
    char abbreviation[16];   /* "CEST" */
} pawl_fire;

/**
 * The first time after `after` (never `after` itself) at which the schedule fires. For "every D
 * from start" `after` is when the last run started.
 *
 * Threads:   any.
 * Blocks:    never; it computes.
 * Errors:    PAWL_E_INVALID: `after` is not in the years 1 to 9999; PAWL_E_EMPTY: no more until the
 *            year 9999.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schedule_next(const pawl_schedule *schedule,
                                                        pawl_wall after, pawl_fire *ret_fire,
                                                        pawl_error *err);

/**
 * The last time before `before` (never `before` itself) at which the schedule fired. `skipped` is
 * not counted: it is 0, unless the fire was MOVED.
 *
 * Threads, Blocks: as pawl_schedule_next.
 * Errors:    PAWL_E_INVALID: `before` is not in the years 1 to 9999; PAWL_E_EMPTY: none since the
 *            year 1, or the schedule is "every D from start", which has no times of its own.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schedule_previous(const pawl_schedule *schedule,
                                                            pawl_wall before, pawl_fire *ret_fire,
                                                            pawl_error *err);

/* The version of the system's time zone data, such as "2025b"; "unknown" if it does not say. */
#define PAWL_ZONE_VERSION_SIZE 32
PAWL_API void pawl_zone_data_version(char ret_version[PAWL_ZONE_VERSION_SIZE]);

PAWL_END_DECLS

#endif
