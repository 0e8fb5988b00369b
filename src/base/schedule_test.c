/* src/base/schedule_test.c - schedules through clock changes, their descriptions, and invalid
 * input. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "civil.h"
#include "schedule.h"
#include "test.h"

#define US INT64_C(1000000)

static pawl_schedule *schedule_parse(const char *text, const char *zone)
{
    pawl_schedule_options opts = PAWL_SCHEDULE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_schedule *schedule = NULL;

    opts.zone = zone;
    if (pawl_schedule_parse(text, &opts, &schedule, &err) != PAWL_OK)
        test_fail("'%s' is refused: %s", text, err.message);
    return schedule;
}

/* "2026-03-29T01:00" or with seconds. */
static pawl_wall at(const char *text)
{
    int64_t parts[6] = {0};
    char *rest = NULL;

    for (int i = 0; i < 6 && *text; i++) {
        parts[i] = strtoll(text, &rest, 10);
        text = *rest ? rest + 1 : rest;
    }
    return (pawl_wall){(pawli_civil_days(parts[0], (int)parts[1], (int)parts[2]) * PAWLI_DAY_S +
                        parts[3] * 3600 + parts[4] * 60 + parts[5]) *
                       US};
}

static const char *schedule_show(const pawl_occurrence *fire)
{
    static const char *const marks[] = {"", " moved", " once", " again"};
    const pawl_local_time *l = &fire->local;
    const char *text =
        test_note("%04d-%02d-%02dT%02d:%02d:%02d%s%s", l->year, l->month, l->day, l->hour,
                  l->minute, l->second, fire->abbreviation, marks[fire->kind]);

    if (fire->skipped)
        text = test_note("%s -%" PRId64, text, fire->skipped);
    return text;
}

/* A clock change, and the occurrences of a fixed daily time that it affects. */
typedef struct change {
    const char *zone;
    const char *text;
    const char *after; /* UTC */
    const char *fires; /* local, separated by ", " */
} change;

static const change changes[] = {
    /* Fixed times: skipped ones fire at the change, repeated ones once. */
    {"Europe/Berlin", "30 2 * * *", "2026-03-28T12:00",
     "2026-03-29T03:00:00CEST moved, 2026-03-30T02:30:00CEST"},
    {"Europe/Berlin", "30 2 * * *", "2026-10-24T12:00",
     "2026-10-25T02:30:00CEST once, 2026-10-26T02:30:00CET"},
    {"Europe/Berlin", "30 2 * * *", "2099-03-28T12:00",
     "2099-03-29T03:00:00CEST moved, 2099-03-30T02:30:00CEST"},
    {"Europe/Berlin", "0,15,30 2 * * *", "2026-03-28T12:00",
     "2026-03-29T03:00:00CEST moved -2, 2026-03-30T02:00:00CEST"},
    {"Europe/Berlin", "0 2,3 * * *", "2026-03-28T12:00",
     "2026-03-29T03:00:00CEST moved, 2026-03-30T02:00:00CEST"},
    {"Europe/Berlin", "0 3 * * *", "2026-03-28T12:00", "2026-03-29T03:00:00CEST"},
    {"Europe/Berlin", "59 59 1 * * *", "2026-03-28T12:00", "2026-03-29T01:59:59CET"},
    {"Europe/Berlin", "0 0 3 * * *", "2026-10-24T12:00", "2026-10-25T03:00:00CET"},
    {"Europe/Berlin", "0,30 2 * * *", "2026-10-25T00:15",
     "2026-10-25T02:30:00CEST once, 2026-10-26T02:00:00CET"},
    {"Europe/Berlin", "0 12 29 3 *", "2026-01-01T00:00", "2026-03-29T12:00:00CEST"},
    {"Europe/London", "30 1 * * *", "2026-03-28T12:00", "2026-03-29T02:00:00BST moved"},
    {"Europe/London", "30 1 * * *", "2026-10-24T12:00", "2026-10-25T01:30:00BST once"},
    {"Europe/Dublin", "30 1 * * *", "2026-03-28T12:00", "2026-03-29T02:00:00IST moved"},
    {"Europe/Dublin", "30 1 * * *", "2098-10-25T12:00",
     "2098-10-26T01:30:00IST once, 2098-10-27T01:30:00GMT"},
    {"America/New_York", "30 2 * * *", "2026-03-07T12:00", "2026-03-08T03:00:00EDT moved"},
    {"America/New_York", "30 1 * * *", "2026-10-31T12:00",
     "2026-11-01T01:30:00EDT once, 2026-11-02T01:30:00EST"},
    {"America/New_York", "30 2 * * *", "2099-03-07T12:00", "2099-03-08T03:00:00EDT moved"},
    {"America/St_Johns", "0 1 * * *", "2006-04-01T12:00",
     "2006-04-02T01:01:00NDT moved, 2006-04-03T01:00:00NDT"},
    {"America/St_Johns", "30 0 * * *", "2006-04-01T12:00",
     "2006-04-02T01:01:00NDT moved, 2006-04-03T00:30:00NDT"},
    {"America/Santiago", "0 0 * * *", "2025-09-06T12:00",
     "2025-09-07T01:00:00-03 moved, 2025-09-08T00:00:00-03"},
    {"America/Santiago", "30 23 * * *", "2025-04-05T12:00",
     "2025-04-05T23:30:00-03 once, 2025-04-06T23:30:00-04"},
    {"America/Havana", "30 0 * * *", "2026-03-07T12:00", "2026-03-08T01:00:00CDT moved"},
    {"America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00", "2018-11-04T01:00:00-02 moved"},
    {"Australia/Sydney", "30 2 * * *", "2026-10-03T02:00", "2026-10-04T03:00:00AEDT moved"},
    {"Australia/Sydney", "30 2 * * *", "2026-04-04T02:00",
     "2026-04-05T02:30:00AEDT once, 2026-04-06T02:30:00AEST"},
    {"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T02:00",
     "2026-10-04T02:30:00+11 moved, 2026-10-05T02:15:00+11"},
    {"Australia/Lord_Howe", "45 1 * * *", "2026-04-04T02:00",
     "2026-04-05T01:45:00+11 once, 2026-04-06T01:45:00+1030"},
    {"Australia/Lord_Howe", "15 1 * * *", "2026-04-04T02:00",
     "2026-04-05T01:15:00+11, 2026-04-06T01:15:00+1030"},
    {"Pacific/Auckland", "30 2 * * *", "2026-09-26T02:00", "2026-09-27T03:00:00NZDT moved"},
    {"Pacific/Chatham", "0 3 * * *", "2026-09-26T02:00", "2026-09-27T03:45:00+1345 moved"},
    {"Asia/Beirut", "30 0 * * *", "2026-03-28T12:00", "2026-03-29T01:00:00EEST moved"},
    {"Asia/Kathmandu", "30 2 * * *", "2026-03-28T12:00",
     "2026-03-29T02:30:00+0545, 2026-03-30T02:30:00+0545"},
    {"Africa/Cairo", "30 0 * * *", "2026-04-23T12:00", "2026-04-24T01:00:00EEST moved"},
    {"Africa/Casablanca", "30 2 * * *", "2026-02-14T12:00",
     "2026-02-15T02:30:00+01 once, 2026-02-16T02:30:00+00"},
    {"Africa/Casablanca", "30 2 * * *", "2026-03-21T12:00", "2026-03-22T03:00:00+01 moved"},
    {"Antarctica/Troll", "30 1 * * *", "2026-03-28T12:00", "2026-03-29T03:00:00+02 moved"},
    /* The day that was skipped in Apia. */
    {"Pacific/Apia", "0 9 * * *", "2011-12-29T12:00",
     "2011-12-29T09:00:00-10, 2011-12-31T00:00:00+14 moved, 2011-12-31T09:00:00+14"},
    {"Pacific/Apia", "0 9 30 * *", "2011-12-01T12:00",
     "2011-12-31T00:00:00+14 moved, 2012-01-30T09:00:00+14"},
    {"Pacific/Apia", "0 */6 * * *", "2011-12-30T01:00",
     "2011-12-29T18:00:00-10, 2011-12-31T00:00:00+14 -4, 2011-12-31T06:00:00+14"},
    /* Schedules with a wildcard: nothing in the gap, both in the overlap. */
    {"Europe/Berlin", "*/30 * * * *", "2026-03-29T00:20",
     "2026-03-29T01:30:00CET, 2026-03-29T03:00:00CEST -2, 2026-03-29T03:30:00CEST"},
    {"Europe/Berlin", "*/30 2 * * *", "2026-03-28T12:00", "2026-03-30T02:00:00CEST -2"},
    {"Europe/Berlin", "*/30 2 * * *", "2026-10-24T12:00",
     "2026-10-25T02:00:00CEST, 2026-10-25T02:30:00CEST, 2026-10-25T02:00:00CET again, "
     "2026-10-25T02:30:00CET again, 2026-10-26T02:00:00CET"},
    {"Europe/Berlin", "* * * * * *", "2026-03-29T00:59:58",
     "2026-03-29T01:59:59CET, 2026-03-29T03:00:00CEST -3600, 2026-03-29T03:00:01CEST"},
    {"Europe/Berlin", "30 */2 * * *", "2026-03-28T23:00",
     "2026-03-29T00:30:00CET, 2026-03-29T04:30:00CEST -1"},
    {"Australia/Lord_Howe", "*/20 1 * * *", "2026-04-04T14:30",
     "2026-04-05T01:40:00+11, 2026-04-05T01:40:00+1030 again, 2026-04-06T01:00:00+1030"},
    /* Intervals count elapsed time. */
    {"Europe/Berlin", "every 1d", "2026-03-28T12:00",
     "2026-03-29T01:00:00CET, 2026-03-30T02:00:00CEST"},
    {"Europe/Berlin", "every 90m from start", "2026-03-29T00:00",
     "2026-03-29T03:30:00CEST, 2026-03-29T05:00:00CEST"},
};

PAWL_TEST(clock_changes_of_twenty_zones)
{
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const change *c = &changes[i];
        PAWLI_AUTO(pawl_schedule) schedule = schedule_parse(c->text, c->zone);
        pawl_error err = PAWL_ERROR_INIT;
        const char *fires = "";
        pawl_wall after = at(c->after);
        while (strlen(fires) < strlen(c->fires)) {
            pawl_occurrence fire;
            assert_status(PAWL_OK, pawl_schedule_next(schedule, after, &fire, &err), &err);
            fires = test_note("%s%s%s", fires, *fires ? ", " : "", schedule_show(&fire));
            after = fire.at;
        }
        if (strcmp(fires, c->fires) != 0)
            test_fail("'%s' in %s after %s: %s", c->text, c->zone, c->after, fires);
    }
}

PAWL_TEST(a_shifted_occurrence_reports_the_written_time)
{
    PAWLI_AUTO(pawl_schedule) schedule = schedule_parse("30 2 * * *", "Europe/Berlin");
    pawl_error err = PAWL_ERROR_INIT;
    pawl_occurrence fire;

    assert_status(PAWL_OK, pawl_schedule_next(schedule, at("2026-03-28T12:00"), &fire, &err), &err);
    assert_int_equal(fire.at.us, at("2026-03-29T01:00").us);
    assert_int_equal(fire.written.hour, 2);
    assert_int_equal(fire.written.minute, 30);
    assert_int_equal(fire.local.hour, 3);
    assert_int_equal(fire.local.weekday, 0);
    assert_int_equal(fire.utc_offset_s, 7200);
    assert_true(fire.is_dst);
}

/* Searching backward finds what searching forward found, for all kinds of schedules and zones. */
PAWL_TEST(previous_is_the_reverse_of_next)
{
    static const char *const texts[] = {"30 2 * * *",   "*/30 * * * *", "* * * * * *",
                                        "0 9 30 * *",   "0 0 29 2 *",   "*/7 2 * * 0",
                                        "0,15 2 * * *", "every 1h30m",  "0 0 ? 2 MON#5"};
    static const char *const zones[] = {"UTC", "Europe/Berlin", "Australia/Lord_Howe",
                                        "Pacific/Apia"};
    static const char *const times[] = {"2026-03-28T23:30", "2026-10-24T23:58", "2026-04-04T14:40",
                                        "2011-12-29T09:00"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0] * 16; i++) {
        PAWLI_AUTO(pawl_schedule) schedule = schedule_parse(texts[i / 16], zones[i / 4 % 4]);
        pawl_error err = PAWL_ERROR_INIT;
        pawl_wall after = at(times[i % 4]);
        pawl_occurrence next;
        pawl_occurrence back;
        assert_status(PAWL_OK, pawl_schedule_next(schedule, after, &next, &err), &err);
        for (int k = 0; k < 8; k++) {
            pawl_wall last = next.at;
            assert_status(PAWL_OK, pawl_schedule_next(schedule, last, &next, &err), &err);
            assert_status(PAWL_OK, pawl_schedule_previous(schedule, next.at, &back, &err), &err);
            assert_int_equal(back.at.us, last.us);
            assert_status(PAWL_OK,
                          pawl_schedule_previous(schedule, (pawl_wall){last.us + 1}, &back, &err),
                          &err);
            assert_int_equal(back.at.us, last.us);
        }
    }
}

PAWL_TEST(an_interval_is_anchored_and_does_not_drift)
{
    pawl_schedule_options opts = PAWL_SCHEDULE_OPTIONS_INIT;
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_occurrence fire;

    opts.anchor.us = at("2026-01-01T00:07").us + 250;
    assert_status(PAWL_OK, pawl_schedule_parse("every 10m", &opts, &schedule, &err), &err);
    assert_status(PAWL_OK, pawl_schedule_next(schedule, opts.anchor, &fire, &err), &err);
    assert_int_equal(fire.at.us, at("2026-01-01T00:17").us + 250);
    assert_status(PAWL_OK, pawl_schedule_next(schedule, at("2026-01-01T05:20"), &fire, &err), &err);
    assert_int_equal(fire.at.us, at("2026-01-01T05:27").us + 250);
    assert_status(PAWL_OK, pawl_schedule_next(schedule, at("2025-01-01T05:20"), &fire, &err), &err);
    assert_int_equal(fire.at.us, at("2025-01-01T05:27").us + 250);
    opts.anchor.us = INT64_MIN;
    pawl_schedule_free(schedule);
    assert_status(PAWL_OK, pawl_schedule_parse("every 10m", &opts, &schedule, &err), &err);
    assert_status(PAWL_OK, pawl_schedule_next(schedule, at("2026-01-01T05:20"), &fire, &err), &err);
    assert_in_range(fire.at.us - at("2026-01-01T05:20").us, 1, 600 * US);
}

PAWL_TEST(from_start_counts_from_the_start_and_has_no_past)
{
    PAWLI_AUTO(pawl_schedule) schedule = schedule_parse(" every 10m FROM start ", NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_occurrence fire;

    assert_int_equal(pawl_schedule_kind_of(schedule), PAWL_SCHEDULE_FROM_START);
    assert_string_equal(pawl_schedule_text(schedule), "every 10m FROM start");
    assert_status(
        PAWL_OK,
        pawl_schedule_next(schedule, (pawl_wall){at("2026-01-01T00:00").us + 7}, &fire, &err),
        &err);
    assert_int_equal(fire.at.us, at("2026-01-01T00:10").us + 7);
    assert_status(PAWL_E_EMPTY,
                  pawl_schedule_previous(schedule, at("2026-01-01T00:00"), &fire, &err), &err);
}

PAWL_TEST(times_at_both_ends_of_the_range_have_results)
{
    PAWLI_AUTO(pawl_schedule) daily = schedule_parse("@daily", "Asia/Tokyo");
    PAWLI_AUTO(pawl_schedule) often = schedule_parse("* * * * * *", "America/New_York");
    PAWLI_AUTO(pawl_schedule) every = schedule_parse("every 1w", NULL);
    const pawl_schedule *all[] = {daily, often, every};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall last = {PAWLI_SCHEDULE_LAST_S * US};
    pawl_wall first = {PAWLI_SCHEDULE_FIRST_S * US};
    pawl_occurrence fire;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_status(PAWL_E_EMPTY, pawl_schedule_next(all[i], last, &fire, &err), &err);
        assert_status(PAWL_OK, pawl_schedule_previous(all[i], last, &fire, &err), &err);
        assert_status(PAWL_OK, pawl_schedule_next(all[i], first, &fire, &err), &err);
        assert_status(PAWL_E_EMPTY, pawl_schedule_previous(all[i], first, &fire, &err), &err);
        assert_status(PAWL_E_INVALID,
                      pawl_schedule_next(all[i], (pawl_wall){INT64_MAX}, &fire, &err), &err);
        assert_status(PAWL_E_INVALID,
                      pawl_schedule_previous(all[i], (pawl_wall){INT64_MIN}, &fire, &err), &err);
    }
}

PAWL_TEST(bad_schedules_are_refused_with_the_reason)
{
    static const struct {
        const char *text;
        const char *zone;
        pawl_status status;
        const char *said;
    } wrong[] = {
        {"", NULL, PAWL_E_INVALID, "column 1 of the schedule: it is empty"},
        {" \t\n", NULL, PAWL_E_INVALID, "it is empty"},
        {"* * *\n* *", NULL, PAWL_E_INVALID, "column 6 of the schedule: a schedule is one line"},
        {"  61 * * * *", NULL, PAWL_E_INVALID, "column 3 of the schedule: the minute"},
        {"0 0 31 2 *", "UTC", PAWL_E_INVALID, "never fire"},
        {"@daily", "Europe/Nowhere", PAWL_E_NOT_FOUND, "there is no time zone"},
        {"@daily", "../../etc/passwd", PAWL_E_INVALID, "cannot be the name"},
        {"0 * 2 ? 3 SUNL", "Europe/Berlin", PAWL_E_INVALID, "skipped by clock changes"},
        {"every", NULL, PAWL_E_INVALID, "column 6 of the schedule: an interval is written"},
        {"every -5m", NULL, PAWL_E_INVALID, "column 7 of the schedule: an interval cannot be neg"},
        {"every 0s", NULL, PAWL_E_INVALID, "column 7 of the schedule: an interval is one second"},
        {"every 11y", NULL, PAWL_E_INVALID, "column 9 of the schedule: a number needs a unit"},
        {"every 5000d", NULL, PAWL_E_INVALID, "one second to ten years"},
        {"every 99999999999999999999w", NULL, PAWL_E_INVALID, "one second to ten years"},
        {"every 500ms", NULL, PAWL_E_INVALID, "whole seconds"},
        {"every 10", NULL, PAWL_E_INVALID, "a number needs a unit"},
        {"every 10m from now", NULL, PAWL_E_INVALID,
         "column 11 of the schedule: only 'from start'"},
        {"every 10m from start now", NULL, PAWL_E_INVALID, "only 'from start'"},
        {"every day", NULL, PAWL_E_INVALID, "did you mean '@daily'?"},
        {"every minute", NULL, PAWL_E_INVALID, "did you mean 'every 1m'?"},
    };
    char longest[PAWL_SCHEDULE_MAX + 3];
    pawl_schedule *schedule = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        pawl_schedule_options opts = PAWL_SCHEDULE_OPTIONS_INIT;
        opts.zone = wrong[i].zone;
        pawl_status st = pawl_schedule_parse(wrong[i].text, &opts, &schedule, &err);
        if (st != wrong[i].status || !strstr(err.message, wrong[i].said))
            test_fail("'%s' answers %s: %s", wrong[i].text, pawl_status_name(st), err.message);
        assert_null(schedule);
    }
    memset(longest, '*', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_status(PAWL_E_INVALID, pawl_schedule_parse(longest, NULL, &schedule, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_schedule_parse(NULL, NULL, &schedule, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_schedule_parse("@daily", NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_schedule_next(NULL, (pawl_wall){0}, NULL, &err), &err);
}

PAWL_TEST(schedules_in_words)
{
    static const char *const words[][2] = {
        {"30 2 * * MON-FRI", "at 02:30 on Monday to Friday"},
        {"0 0 9 * * 1", "at 09:00 on Monday"},
        {"15 30 2,14 * * *", "at 02:30:15 and 14:30:15 every day"},
        {"* * * * * *", "every second"},
        {"*/10 * * * * *", "every 10 seconds of every minute"},
        {"*/5 * * * *", "every 5 minutes"},
        {"*/7 * * * *", "every 7 minutes from minute 0 on"},
        {"* * * * *", "every minute"},
        {"@hourly", "every hour"},
        {"5,10 * * * *", "at minute 5 and 10 of every hour"},
        {"*/15 9-17 * * 1-5", "every 15 minutes between 09:00 and 17:59 on Monday to Friday"},
        {"0 */2 * * *", "at minute 0 in every 2nd hour from 00:00 on"},
        {"@monthly", "at 00:00 on the 1st"},
        {"@yearly", "at 00:00 on the 1st in January"},
        {"0 0 1,15 * MON", "at 00:00 on the 1st and 15th or on Monday"},
        {"0 0 L * *", "at 00:00 on the last day of the month"},
        {"0 0 L-3 * *", "at 00:00 on 3 days before the last of the month"},
        {"0 0 15W 1-3 *", "at 00:00 on the weekday nearest the 15th in January to March"},
        {"0 0 LW * *", "at 00:00 on the last weekday of the month"},
        {"0 0 ? * FRI#2", "at 00:00 on the second Friday of the month"},
        {"0 0 ? * 5L", "at 00:00 on the last Friday of the month"},
        {"0 0 */2 * MON", "at 00:00 on every 2 days of the month from the 1st if that is Monday"},
        {"0 0 * * SAT,SUN", "at 00:00 on Saturday and Sunday"},
        {"0 0 22,23 6,12 *", "at 00:00 on the 22nd and 23rd in June and December"},
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        PAWLI_AUTO(pawl_schedule) schedule = schedule_parse(words[i][0], "Europe/Berlin");
        const char *expected = test_note("%s, in Europe/Berlin", words[i][1]);
        if (strcmp(pawl_schedule_describe(schedule), expected) != 0)
            test_fail("'%s' is: %s", words[i][0], pawl_schedule_describe(schedule));
    }
    PAWLI_AUTO(pawl_schedule) every = schedule_parse("every 1w2d1h30m1s", NULL);
    assert_string_equal(pawl_schedule_describe(every),
                        "every 1 week 2 days 1 hour 30 minutes 1 second, counted from the time "
                        "that was scheduled");
    assert_string_equal(pawl_schedule_zone(every), "UTC");
    assert_true(pawl_schedule_keeps_rhythm(every));
}

/* Many threads share a schedule, which is immutable. */
static const char *compute(void *context, size_t index)
{
    const pawl_schedule *schedule = context;
    pawl_wall after = at("2026-01-01T00:00");

    for (int i = 0; i < 200; i++) {
        pawl_occurrence fire;
        if (pawl_schedule_next(schedule, after, &fire, NULL) != PAWL_OK)
            return test_note("thread %zu got no answer", index);
        after = fire.at;
    }
    return after.us == at("2026-07-19T00:30").us ? NULL : "a thread got another answer";
}

PAWL_TEST(threads_share_a_schedule)
{
    PAWLI_AUTO(pawl_schedule) schedule = schedule_parse("30 2 * * *", "Europe/Berlin");

    test_threads(8, compute, schedule);
}
