/* src/base/schedule.c - schedules: parsing, and their occurrences. */
#include "schedule.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "civil.h"
#include "fail.h"
#include "options.h"

/* ---- parsing a schedule, and describing it ---- */

/* Late enough that the zone's rule for future years applies; also the horizon of the search for a
 * match. */
#define SETTLED_YEAR 2040
#define NEVER_YEARS 100

void pawl_schedule_free(pawl_schedule *schedule)
{
    if (!schedule)
        return;
    pawli_zone_unref(schedule->zone);
    free(schedule->description);
    free(schedule);
}

/* Copies the text for the parsers: without trailing blanks; rejects line breaks and control
 * bytes. */
static pawl_status schedule_copy_text(const char *text, pawl_schedule *schedule, pawl_error *err)
{
    size_t size = strlen(text);

    while (size > 0 && strchr(" \t\r\n", text[size - 1]))
        size--;
    if (size > PAWL_SCHEDULE_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "a schedule has at most %d characters, not %zu",
                          PAWL_SCHEDULE_MAX, size);
    for (size_t i = 0; i < size; i++)
        if (iscntrl((unsigned char)text[i]) && text[i] != '\t')
            return pawli_fail(err, PAWL_E_INVALID,
                              "column %zu of the schedule: a schedule is one line of plain text",
                              i + 1);
    if (strspn(text, " \t") >= size)
        return pawli_fail(err, PAWL_E_INVALID,
                          "column 1 of the schedule: it is empty; write '0 30 2 * * *', '@daily' "
                          "or 'every 10m'");
    memcpy(schedule->text, text, size);
    return PAWL_OK;
}

/* Columns in messages are those of the original text, so leading blanks are skipped last. */
static void trim_start(pawl_schedule *schedule)
{
    size_t blanks = strspn(schedule->text, " \t");

    memmove(schedule->text, schedule->text + blanks, strlen(schedule->text) - blanks + 1);
}

/* A repeating schedule may have only times that clock changes skip. */
static pawl_status schedule_check_occurs(const pawl_schedule *schedule, pawl_error *err)
{
    int64_t from_s = pawli_civil_days(SETTLED_YEAR, 1, 1) * PAWLI_DAY_S;
    int64_t until_s = pawli_civil_days(SETTLED_YEAR + NEVER_YEARS, 1, 1) * PAWLI_DAY_S;
    pawl_occurrence fire;

    if (pawli_schedule_next(schedule, from_s, until_s, &fire))
        return PAWL_OK;
    return pawli_fail(err, PAWL_E_INVALID,
                      "column 1 of the schedule: all of its times are skipped by clock changes in "
                      "%s, so that it would never fire; without a star in second, minute and hour "
                      "it would fire at the change",
                      pawli_zone_name(schedule->zone));
}

static pawl_status parse_text(pawl_schedule *schedule, pawl_error *err)
{
    pawl_status st;

    if (pawli_interval_begins(schedule->text)) {
        st = pawli_interval_parse(schedule->text, &schedule->interval, err);
        schedule->kind =
            schedule->interval.from_start ? PAWL_SCHEDULE_FROM_START : PAWL_SCHEDULE_EVERY;
        return st;
    }
    schedule->kind = PAWL_SCHEDULE_CRON;
    st = pawli_cron_parse(schedule->text, &schedule->cron, err);
    return st == PAWL_OK ? schedule_check_occurs(schedule, err) : st;
}

static pawl_status make_description(pawl_schedule *schedule, pawl_error *err)
{
    PAWLI_AUTO_BUFFER buffer = {0};

    if (schedule->kind == PAWL_SCHEDULE_CRON) {
        pawli_cron_describe(&schedule->cron, &buffer);
        pawli_buffer_format(&buffer, ", in %s", pawli_zone_name(schedule->zone));
    } else {
        pawli_interval_describe(&schedule->interval, &buffer);
    }
    schedule->description = pawli_buffer_take(&buffer);
    return schedule->description ? PAWL_OK
                                 : pawli_fail(err, PAWL_E_NOMEM, "out of memory for a schedule");
}

pawl_status pawl_schedule_parse(const char *text, const pawl_schedule_options *opts,
                                pawl_schedule **ret_schedule, pawl_error *err)
{
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_schedule_options o = PAWL_SCHEDULE_OPTIONS_INIT;
    pawl_status st;

    if (!text || !ret_schedule)
        return pawli_fail(err, PAWL_E_INVALID, "text and ret_schedule must not be NULL");
    st = pawli_options_copy(&o, sizeof o, opts, err);
    if (st != PAWL_OK)
        return st;
    schedule = calloc(1, sizeof *schedule);
    if (!schedule)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a schedule");
    schedule->anchor = o.anchor;
    st = schedule_copy_text(text, schedule, err);
    if (st == PAWL_OK)
        st = pawli_zone_load(o.zone ? o.zone : "UTC", NULL, &schedule->zone, err);
    if (st == PAWL_OK)
        st = parse_text(schedule, err);
    if (st == PAWL_OK)
        st = make_description(schedule, err);
    if (st != PAWL_OK)
        return st;
    trim_start(schedule);
    *ret_schedule = pawl_schedule_take(&schedule);
    return PAWL_OK;
}

pawl_schedule_kind pawl_schedule_kind_of(const pawl_schedule *schedule)
{
    return schedule->kind;
}

const char *pawl_schedule_text(const pawl_schedule *schedule)
{
    return schedule->text;
}

const char *pawl_schedule_zone(const pawl_schedule *schedule)
{
    return pawli_zone_name(schedule->zone);
}

const char *pawl_schedule_describe(const pawl_schedule *schedule)
{
    return schedule->description;
}

bool pawl_schedule_keeps_rhythm(const pawl_schedule *schedule)
{
    return schedule->kind != PAWL_SCHEDULE_CRON || schedule->cron.has_wildcard;
}

void pawl_zone_data_version(char ret_version[PAWL_ZONE_VERSION_SIZE])
{
    _Static_assert(PAWL_ZONE_VERSION_SIZE == PAWLI_ZONE_VERSION_SIZE, "one size for both");
    pawli_zone_data_version(NULL, ret_version);
}

/* ---- occurrences, through clock changes ---- */

#define US INT64_C(1000000)

static pawl_local_time local_time(int64_t local_s)
{
    int64_t days = pawli_floor_div(local_s, PAWLI_DAY_S);
    int32_t second = (int32_t)(local_s - days * PAWLI_DAY_S);
    pawli_civil date = pawli_civil_date(days);

    return (pawl_local_time){(int32_t)date.year,
                             date.month,
                             date.day,
                             second / PAWLI_HOUR_S,
                             second / PAWLI_MINUTE_S % 60,
                             second % 60,
                             pawli_civil_weekday(days)};
}

/* Fills in all fields that follow from the instant. */
static void schedule_next_fill(const pawl_schedule *schedule, int64_t at_us, pawl_occurrence *fire)
{
    int64_t at_s = pawli_floor_div(at_us, US);
    pawli_zone_period period;

    pawli_zone_at(schedule->zone, at_s, &period);
    *fire = (pawl_occurrence){.at = {at_us}, .kind = PAWL_OCCURRENCE_PLAIN};
    fire->local = local_time(at_s + period.offset_s);
    fire->written = fire->local;
    fire->utc_offset_s = period.offset_s;
    fire->is_dst = period.is_dst;
    snprintf(fire->abbreviation, sizeof fire->abbreviation, "%s", period.abbreviation);
}

/* The number of matching local times from `from_s` until before `until_s`. */
static int64_t count_matches(const pawli_cron *cron, int64_t from_s, int64_t until_s)
{
    int64_t count = 0;

    while (pawli_cron_match(cron, from_s, until_s, &from_s)) {
        count++;
        from_s++;
    }
    return count;
}

/*
 * docs/internals/schedule.md. A fixed time fires at the first instant at which the clock shows it
 * or a later time: the time itself, the first of two, or the moment at which the clock jumps over
 * it. That instant grows with the local time, so the next occurrence is at the first matching
 * time beyond all that the clock has shown so far.
 */
static bool next_fixed(const pawl_schedule *schedule, int64_t after_s, int64_t limit_s,
                       pawl_occurrence *fire)
{
    int64_t shown_s = pawli_zone_highest(schedule->zone, after_s);
    int64_t written_s;
    int64_t at_s;
    pawli_local found;

    if (!pawli_cron_match(&schedule->cron, shown_s + 1, limit_s + INT64_C(2) * PAWLI_DAY_S,
                          &written_s))
        return false;
    at_s = pawli_zone_reach(schedule->zone, written_s);
    if (at_s > limit_s)
        return false;
    schedule_next_fill(schedule, at_s * US, fire);
    fire->written = local_time(written_s);
    pawli_zone_find(schedule->zone, written_s, &found);
    if (at_s + fire->utc_offset_s != written_s) {
        fire->kind = PAWL_OCCURRENCE_MOVED;
        fire->skipped = count_matches(&schedule->cron, written_s + 1, at_s + fire->utc_offset_s);
    } else if (found.kind == PAWLI_LOCAL_OVERLAP) {
        fire->kind = PAWL_OCCURRENCE_ONCE;
    }
    return true;
}

/*
 * A schedule with a wildcard fires whenever the clock shows a matching time: search one period of
 * constant offset after another.
 */
static bool next_wildcard(const pawl_schedule *schedule, int64_t after_s, int64_t limit_s,
                          pawl_occurrence *fire)
{
    int64_t from_s = after_s + 1;
    int64_t skipped = 0;
    int64_t local_s;
    pawli_zone_period period;
    pawli_local found;

    pawli_zone_at(schedule->zone, after_s, &period);
    for (;;) {
        int64_t end_s = period.ends_s <= limit_s ? period.ends_s : limit_s + 1;
        int32_t offset_s = period.offset_s;
        if (pawli_cron_match(&schedule->cron, from_s + offset_s, end_s + offset_s, &local_s))
            break;
        if (period.ends_s > limit_s)
            return false;
        from_s = period.ends_s;
        pawli_zone_at(schedule->zone, from_s, &period);
        skipped += count_matches(&schedule->cron, from_s + offset_s, from_s + period.offset_s);
    }
    schedule_next_fill(schedule, (local_s - period.offset_s) * US, fire);
    fire->skipped = skipped;
    pawli_zone_find(schedule->zone, local_s, &found);
    if (found.kind == PAWLI_LOCAL_OVERLAP && found.first_s != local_s - period.offset_s)
        fire->kind = PAWL_OCCURRENCE_AGAIN;
    return true;
}

bool pawli_schedule_next(const pawl_schedule *schedule, int64_t after_s, int64_t limit_s,
                         pawl_occurrence *ret_fire)
{
    return schedule->cron.has_wildcard ? next_wildcard(schedule, after_s, limit_s, ret_fire)
                                       : next_fixed(schedule, after_s, limit_s, ret_fire);
}

static bool next_interval(const pawl_schedule *schedule, pawl_wall after, pawl_occurrence *ret_fire)
{
    int64_t length_us = schedule->interval.length_s * US;
    int64_t at_us = after.us + length_us;

    if (schedule->kind == PAWL_SCHEDULE_EVERY) {
        /* Take the remainders separately: with a far anchor the difference could overflow. */
        int64_t since =
            pawli_floor_mod(after.us, length_us) - pawli_floor_mod(schedule->anchor.us, length_us);
        at_us = after.us - pawli_floor_mod(since, length_us) + length_us;
    }
    if (at_us > PAWLI_SCHEDULE_LAST_S * US)
        return false;
    schedule_next_fill(schedule, at_us, ret_fire);
    return true;
}

static bool schedule_next_next(const pawl_schedule *schedule, pawl_wall after,
                               pawl_occurrence *ret_fire)
{
    if (schedule->kind != PAWL_SCHEDULE_CRON)
        return next_interval(schedule, after, ret_fire);
    return pawli_schedule_next(schedule, pawli_floor_div(after.us, US), PAWLI_SCHEDULE_LAST_S,
                               ret_fire);
}

static pawl_status schedule_next_check(const pawl_schedule *schedule, pawl_wall time,
                                       const void *ret, pawl_error *err)
{
    if (!schedule || !ret)
        return pawli_fail(err, PAWL_E_INVALID, "schedule and result must not be NULL");
    if (time.us < PAWLI_SCHEDULE_FIRST_S * US || time.us > PAWLI_SCHEDULE_LAST_S * US)
        return pawli_fail(err, PAWL_E_INVALID, "the time must be in the years 1 to 9999");
    return PAWL_OK;
}

pawl_status pawl_schedule_next(const pawl_schedule *schedule, pawl_wall after,
                               pawl_occurrence *ret_fire, pawl_error *err)
{
    pawl_status st = schedule_next_check(schedule, after, ret_fire, err);
    pawl_occurrence fire;

    if (st != PAWL_OK)
        return st;
    if (!schedule_next_next(schedule, after, &fire))
        return pawli_fail(err, PAWL_E_EMPTY,
                          "the schedule does not fire again before the end of the year 9999");
    *ret_fire = fire;
    return PAWL_OK;
}

/* Goes back twice as far each time until there is an occurrence between there and `before`. */
static bool find_earlier(const pawl_schedule *schedule, pawl_wall before, pawl_occurrence *ret_fire)
{
    int64_t first_us = PAWLI_SCHEDULE_FIRST_S * US;

    for (int64_t back_us = US;; back_us *= 2) {
        pawl_wall from = {before.us - first_us > back_us ? before.us - back_us : first_us};
        if (schedule_next_next(schedule, from, ret_fire) && ret_fire->at.us < before.us)
            return true;
        if (from.us == first_us)
            return false;
    }
}

pawl_status pawl_schedule_previous(const pawl_schedule *schedule, pawl_wall before,
                                   pawl_occurrence *ret_fire, pawl_error *err)
{
    pawl_status st = schedule_next_check(schedule, before, ret_fire, err);
    pawl_occurrence best;
    pawl_occurrence fire;
    int64_t high_us = before.us; /* no occurrence from here on until `before` */

    if (st != PAWL_OK)
        return st;
    if (schedule->kind == PAWL_SCHEDULE_FROM_START || !find_earlier(schedule, before, &best))
        return pawli_fail(err, PAWL_E_EMPTY, "the schedule did not fire before that time");
    /* Bisect between the last known occurrence and the first instant known to be after all of
     * them. */
    while (best.at.us < high_us) {
        pawl_wall middle = {best.at.us + (high_us - best.at.us) / 2};
        if (schedule_next_next(schedule, middle, &fire) && fire.at.us < before.us)
            best = fire;
        else
            high_us = middle.us;
    }
    if (best.kind != PAWL_OCCURRENCE_MOVED)
        best.skipped = 0;
    *ret_fire = best;
    return PAWL_OK;
}
