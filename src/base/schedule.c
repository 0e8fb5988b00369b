/* src/base/schedule.c - reading a schedule, and what it says. */
#include "schedule.h"

#include <ctype.h>
#include <string.h>

#include "civil.h"
#include "fail.h"
#include "options.h"

/* Far enough that the zone's rule for all years to come decides; and the horizon of "never". */
#define SETTLED_YEAR 2040
#define NEVER_YEARS 100

void pawl_schedule_free(pawl_schedule *schedule)
{
    if (!schedule)
        return;
    pawli_zone_unref(schedule->zone);
    free(schedule->words);
    free(schedule);
}

/* The text as the parsers may read it: blanks at the end gone, no line breaks or control bytes. */
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

/* Columns in messages are those of the text as given, so that blanks before it go last. */
static void trim_start(pawl_schedule *schedule)
{
    size_t blanks = strspn(schedule->text, " \t");

    memmove(schedule->text, schedule->text + blanks, strlen(schedule->text) - blanks + 1);
}

/* A rhythm may ask only for times that every clock change skips. */
static pawl_status schedule_check_ever(const pawl_schedule *schedule, pawl_error *err)
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
    return st == PAWL_OK ? schedule_check_ever(schedule, err) : st;
}

static pawl_status make_words(pawl_schedule *schedule, pawl_error *err)
{
    PAWLI_AUTO_BUFFER buffer = {0};

    if (schedule->kind == PAWL_SCHEDULE_CRON) {
        pawli_cron_describe(&schedule->cron, &buffer);
        pawli_buffer_format(&buffer, ", in %s", pawli_zone_name(schedule->zone));
    } else {
        pawli_interval_describe(&schedule->interval, &buffer);
    }
    schedule->words = pawli_buffer_take(&buffer);
    return schedule->words ? PAWL_OK : pawli_fail(err, PAWL_E_NOMEM, "no memory for a schedule");
}

pawl_status pawl_schedule_parse(const char *text, const pawl_schedule_options *opts,
                                pawl_schedule **ret_schedule, pawl_error *err)
{
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_schedule_options o = PAWL_SCHEDULE_OPTIONS_INIT;
    pawl_status st;

    if (!text || !ret_schedule)
        return pawli_fail(err, PAWL_E_INVALID, "a schedule needs a text and a place to go");
    st = pawli_options_copy(&o, sizeof o, opts, err);
    if (st != PAWL_OK)
        return st;
    schedule = calloc(1, sizeof *schedule);
    if (!schedule)
        return pawli_fail(err, PAWL_E_NOMEM, "no memory for a schedule");
    schedule->anchor = o.anchor;
    st = schedule_copy_text(text, schedule, err);
    if (st == PAWL_OK)
        st = pawli_zone_load(o.zone ? o.zone : "UTC", NULL, &schedule->zone, err);
    if (st == PAWL_OK)
        st = parse_text(schedule, err);
    if (st == PAWL_OK)
        st = make_words(schedule, err);
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
    return schedule->words;
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
