/* include/pawl/schedule.h - schedules: cron expressions and intervals, with time zones. */
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
 *   every 1h30m          an interval: w, d, h, m, s; one second to ten years
 *   every 10m from start the same, but counted from the start of the previous run
 *
 * A field is a list of: * or 5 or 1-5, each with /STEP (5/10 is 5-59/10); months JAN to DEC and
 * days of the week SUN to SAT may be given by name; Sunday is 0 and 7. A ? in either day field
 * means *. In the day of the month: L is the last day, L-3 three days before it, 15W the weekday
 * (Monday to Friday) nearest to the 15th within the month, LW the last weekday. In the day of the
 * week: FRI#2 is the second Friday, 5L or FRIL the last Friday.
 *
 * If both the day of the month and the day of the week are given, a day matches if either matches;
 * if one of them contains a star, both must match (as in Debian's cron).
 *
 * When the local clock changes (daylight saving time), a schedule whose second, minute or hour
 * contains a star (as * or as * with a step) keeps its rhythm: it fires whenever the local time
 * matches, so it does not fire in the skipped hour, and fires twice in the repeated hour. Any other
 * schedule has fixed times: a time that is skipped fires at the moment of the change instead,
 * several times skipped by one change fire once together, and a repeated time fires the first time
 * only. Intervals are elapsed time.
 */
typedef struct pawl_schedule pawl_schedule; /* opaque */

typedef struct pawl_schedule_options {
    size_t size;      /* set by PAWL_SCHEDULE_OPTIONS_INIT, never by hand */
    const char *zone; /* an IANA time zone name, such as "Europe/Berlin"; NULL: "UTC" */
    pawl_wall
        anchor; /* "every D" fires at this time plus any multiple of D; PAWL_TIME_UNSET: 1970 */
} pawl_schedule_options;
#define PAWL_SCHEDULE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(pawl_schedule_options), NULL,                                                       \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* The maximum length of a schedule, in bytes. */
#define PAWL_SCHEDULE_MAX 255

/**
 * Parses a schedule.
 *
 * Ownership: *ret_schedule is the caller's (pawl_schedule_free); untouched on failure. Text and
 *            options are copied. `opts` may be NULL: UTC.
 * Threads:   any. A schedule is immutable: any number of threads may use it at once.
 * Blocks:    reads one small file of the system's time zone data ($TZDIR, /usr/share/zoneinfo).
 * Durable:   nothing is stored.
 * Errors:    PAWL_E_INVALID: the message gives the column and the reason, also when the schedule
 *            would never fire; PAWL_E_NOT_FOUND: no such time zone; PAWL_E_CORRUPT,
 *            PAWL_E_UNSUPPORTED, PAWL_E_IO: its file cannot be used; PAWL_E_NOMEM.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schedule_parse(const char *text,
                                                         const pawl_schedule_options *opts,
                                                         pawl_schedule **ret_schedule,
                                                         pawl_error *err);
PAWL_API void pawl_schedule_free(pawl_schedule *schedule); /* NULL is allowed */

typedef enum pawl_schedule_kind {
    PAWL_SCHEDULE_CRON,
    PAWL_SCHEDULE_EVERY,     /* counted from the scheduled time: no drift */
    PAWL_SCHEDULE_FROM_START /* counted from when the previous run actually started */
} pawl_schedule_kind;

PAWL_API pawl_schedule_kind pawl_schedule_kind_of(const pawl_schedule *schedule);
/* The text without surrounding blanks. Borrowed from the schedule, as are the next two. */
PAWL_API const char *pawl_schedule_text(const pawl_schedule *schedule);
PAWL_API const char *pawl_schedule_zone(const pawl_schedule *schedule);
/* A description in English: "at 02:30 on Monday to Friday, in Europe/Berlin". */
PAWL_API const char *pawl_schedule_describe(const pawl_schedule *schedule);
/* Whether it keeps its rhythm across clock changes (see above); true for intervals. */
PAWL_API bool pawl_schedule_keeps_rhythm(const pawl_schedule *schedule);

/* A local date and time. The struct is fixed: it will not get further members. */
typedef struct pawl_local_time {
    int32_t year;
    int32_t month;   /* 1 .. 12 */
    int32_t day;     /* 1 .. 31 */
    int32_t hour;    /* 0 .. 23 */
    int32_t minute;  /* 0 .. 59 */
    int32_t second;  /* 0 .. 59 */
    int32_t weekday; /* 0 is Sunday */
} pawl_local_time;

typedef enum pawl_occurrence_kind {
    PAWL_OCCURRENCE_PLAIN,
    PAWL_OCCURRENCE_MOVED, /* its time is skipped by a clock change: fires at the change instead */
    PAWL_OCCURRENCE_ONCE,  /* its time occurs twice: this is the first, and the second does not fire
                            */
    PAWL_OCCURRENCE_AGAIN /* its time occurs twice and this is a repetition: the rhythm continues */
} pawl_occurrence_kind;

/* One time at which a schedule fires. The struct is fixed: it will not get further members. */
typedef struct pawl_occurrence {
    pawl_wall at;
    pawl_occurrence_kind kind;
    pawl_local_time local;   /* at `at`, in the schedule's zone */
    pawl_local_time written; /* the time in the schedule; differs from `local` only if MOVED */
    int64_t skipped;         /* further times left out by clock changes since the previous firing */
    int32_t utc_offset_s;    /* local minus UTC */
    bool is_dst;             /* from the time zone data; in Dublin winter is DST */
    char abbreviation[16];   /* "CEST" */
} pawl_occurrence;

/**
 * Returns the first time after `after` (never `after` itself) at which the schedule fires. For
 * "every D from start" `after` is when the last run started.
 *
 * Threads:   any.
 * Blocks:    never; it computes.
 * Errors:    PAWL_E_INVALID: `after` is not in the years 1 to 9999; PAWL_E_EMPTY: no more until the
 *            year 9999.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schedule_next(const pawl_schedule *schedule,
                                                        pawl_wall after, pawl_occurrence *ret_fire,
                                                        pawl_error *err);

/**
 * Returns the last time before `before` (never `before` itself) at which the schedule fired.
 * `skipped` is not counted: it is 0, unless the firing was MOVED.
 *
 * Threads, Blocks: as pawl_schedule_next.
 * Errors:    PAWL_E_INVALID: `before` is not in the years 1 to 9999; PAWL_E_EMPTY: none since the
 *            year 1, or the schedule is "every D from start", which has no times of its own.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_schedule_previous(const pawl_schedule *schedule,
                                                            pawl_wall before,
                                                            pawl_occurrence *ret_fire,
                                                            pawl_error *err);

/* The version of the system's time zone data, such as "2025b"; "unknown" if it has none. */
#define PAWL_ZONE_VERSION_SIZE 32
PAWL_API void pawl_zone_data_version(char ret_version[PAWL_ZONE_VERSION_SIZE]);

PAWL_END_DECLS

#endif
