/* src/base/cron.c - cron expressions: parsing, and the next matching time. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "civil.h"
#include "cron.h"
#include "cron_private.h"
#include "fail.h"
#include "scope.h"

/* ---- parsing a cron expression ---- */

/* One more than allowed, to detect too many fields. */
#define PIECES (PAWLI_CRON_FIELDS + 1)
/* The rarest day, a fifth weekday in February, occurs at least every 40 years. */
#define NEVER_YEARS 100

static const struct {
    const char *name;
    const char *fields;
} shortcuts[] = {
    {"@yearly", "0 0 0 1 1 *"}, {"@annually", "0 0 0 1 1 *"}, {"@monthly", "0 0 0 1 * *"},
    {"@weekly", "0 0 0 * * 0"}, {"@daily", "0 0 0 * * *"},    {"@midnight", "0 0 0 * * *"},
    {"@hourly", "0 0 * * * *"},
};

/* Splits at blanks; returns the number of pieces, at most PIECES. */
static size_t cron_parse_split(const char *text, pawli_cron_piece pieces[PIECES])
{
    size_t count = 0;
    size_t at = 0;

    while (count < PIECES) {
        at += strspn(text + at, " \t");
        size_t size = strcspn(text + at, " \t");
        if (size == 0)
            break;
        pieces[count++] = (pawli_cron_piece){text + at, size, at + 1};
        at += size;
    }
    return count;
}

static bool same_word(pawli_cron_piece piece, const char *word)
{
    return strlen(word) == piece.size && strncasecmp(piece.text, word, piece.size) == 0;
}

static pawl_status unknown_shortcut(pawli_cron_piece piece, pawl_error *err)
{
    char shown[PAWLI_CRON_SHOWN];
    const char *best = NULL;

    if (same_word(piece, "@reboot"))
        return pawli_fail(err, PAWL_E_INVALID,
                          "column %zu of the schedule: @reboot is not a time; use @hourly, @daily, "
                          "@weekly, @monthly or @yearly",
                          piece.column);
    for (size_t i = 0; i < PAWLI_COUNT(shortcuts); i++)
        if (piece.size >= 2 && strncasecmp(piece.text, shortcuts[i].name, 2) == 0)
            best = shortcuts[i].name;
    if (best)
        return pawli_fail(err, PAWL_E_INVALID,
                          "column %zu of the schedule: there is no '%s'; did you mean %s?",
                          piece.column, pawli_cron_shown(piece, shown), best);
    return pawli_fail(err, PAWL_E_INVALID,
                      "column %zu of the schedule: there is no '%s'; use @hourly, @daily, @weekly, "
                      "@monthly or @yearly",
                      piece.column, pawli_cron_shown(piece, shown));
}

static pawl_status parse_fields(const pawli_cron_piece *pieces, size_t count, pawli_cron *cron,
                                pawl_error *err)
{
    size_t missing = PAWLI_CRON_FIELDS - count; /* 1: without seconds */
    pawl_status st = PAWL_OK;

    if (missing == 1)
        cron->seconds = 1;
    for (size_t i = 0; i < count && st == PAWL_OK; i++)
        st = pawli_cron_field((pawli_cron_field_id)(i + missing), pieces[i], cron, err);
    return st;
}

/* Only days can be impossible: the 31st of February, L-30 in April, star/11 that is a 5L. */
static pawl_status cron_check_matches(const pawli_cron *cron, pawli_cron_piece days,
                                      pawl_error *err)
{
    char shown[PAWLI_CRON_SHOWN];
    int64_t from_s = pawli_civil_days(2000, 1, 1) * PAWLI_DAY_S;
    int64_t until_s = pawli_civil_days(2000 + NEVER_YEARS, 1, 1) * PAWLI_DAY_S;
    int64_t found_s;

    if (pawli_cron_match(cron, from_s, until_s, &found_s))
        return PAWL_OK;
    return pawli_fail(err, PAWL_E_INVALID,
                      "column %zu of the schedule: no day fits '%s' together with the month and "
                      "day of the week that the schedule names, so that it would never fire",
                      days.column, pawli_cron_shown(days, shown));
}

static pawl_status wrong_field_count(const pawli_cron_piece *pieces, size_t count, size_t length,
                                     pawl_error *err)
{
    if (count == PIECES)
        return pawli_fail(err, PAWL_E_INVALID,
                          "column %zu of the schedule: there is a seventh field; there are at most "
                          "six, second to day of the week, and none for the year",
                          pieces[PIECES - 1].column);
    return pawli_fail(err, PAWL_E_INVALID,
                      "column %zu of the schedule: %zu field%s, but it needs 5 (minute, hour, day "
                      "of the month, month, day of the week), 6 (with seconds first), @daily, or "
                      "'every 10m'",
                      length + 1, count, count == 1 ? " is there" : "s are there");
}

pawl_status pawli_cron_parse(const char *text, pawli_cron *ret_cron, pawl_error *err)
{
    pawli_cron_piece pieces[PIECES];
    size_t count = cron_parse_split(text, pieces);
    pawli_cron cron = {0};
    pawl_status st;

    if (count == 1 && pieces[0].text[0] == '@') {
        for (size_t i = 0; i < PAWLI_COUNT(shortcuts); i++)
            if (same_word(pieces[0], shortcuts[i].name))
                return pawli_cron_parse(shortcuts[i].fields, ret_cron, err);
        return unknown_shortcut(pieces[0], err);
    }
    if (count != PAWLI_CRON_FIELDS && count != PAWLI_CRON_FIELDS - 1)
        return wrong_field_count(pieces, count, strlen(text), err);
    st = parse_fields(pieces, count, &cron, err);
    if (st == PAWL_OK)
        st = cron_check_matches(&cron, pieces[count - 3], err);
    if (st == PAWL_OK)
        *ret_cron = cron;
    return st;
}

/* ---- the next match, in local time without clock changes ---- */

#define SUNDAY 0
#define SATURDAY 6

/* The lowest bit of `set` that is not below `from`; -1 if there is none. */
static int next_bit(uint64_t set, int from)
{
    uint64_t left = from > 63 ? 0 : set >> from << from;

    return left ? __builtin_ctzll(left) : -1;
}

/* The month that is being searched. */
typedef struct month {
    int days;
    int first_weekday; /* of day 1 */
} month;

static int weekday_of(const month *m, int day)
{
    return (m->first_weekday + day - 1) % 7;
}

/* Never leaves the month: the Saturday 1st gives Monday 3rd, the Sunday 31st gives Friday 29th. */
static int nearest_weekday(const month *m, int day)
{
    int weekday = weekday_of(m, day);

    if (weekday == SATURDAY)
        return day > 1 ? day - 1 : day + 2;
    if (weekday == SUNDAY)
        return day < m->days ? day + 1 : day - 2;
    return day;
}

static uint32_t days_by_number(const pawli_cron *cron, const month *m)
{
    uint32_t days = cron->month_days;

    for (int before = next_bit(cron->before_last, 0); before >= 0 && before < m->days;
         before = next_bit(cron->before_last, before + 1))
        days |= UINT32_C(1) << (m->days - before);
    for (int day = next_bit(cron->nearest_weekday, 1); day >= 1 && day <= m->days;
         day = next_bit(cron->nearest_weekday, day + 1))
        days |= UINT32_C(1) << nearest_weekday(m, day);
    if (cron->last_weekday)
        days |= UINT32_C(1) << nearest_weekday(m, m->days);
    return days;
}

static uint32_t days_by_weekday(const pawli_cron *cron, const month *m)
{
    uint32_t days = 0;

    for (int day = 1; day <= m->days; day++) {
        int weekday = weekday_of(m, day);
        unsigned nths = cron->nth_week_days[weekday];
        bool fits = (cron->week_days >> weekday & 1) || (nths >> ((day + 6) / 7) & 1) ||
                    ((nths & 1) && day + 7 > m->days);
        days |= (uint32_t)fits << day;
    }
    return days;
}

/* The matching days of the month, as bits 1 .. 31. */
static uint32_t matching_days(const pawli_cron *cron, int64_t year, int number)
{
    month m = {pawli_civil_month_days(year, number),
               pawli_civil_weekday(pawli_civil_days(year, number, 1))};
    uint32_t in_month = (uint32_t)((UINT64_C(2) << m.days) - 2);
    uint32_t by_number = days_by_number(cron, &m);
    uint32_t by_weekday = days_by_weekday(cron, &m);
    bool both = cron->month_day_star || cron->week_day_star;

    return (both ? by_number & by_weekday : by_number | by_weekday) & in_month;
}

/* The first matching day from that one on, before `end`, as days since 1970. */
static bool next_day(const pawli_cron *cron, int64_t from, int64_t end, int64_t *ret_day)
{
    pawli_civil date = pawli_civil_date(from);

    while (pawli_civil_days(date.year, date.month, date.day) < end) {
        int day = cron->months >> date.month & 1
                      ? next_bit(matching_days(cron, date.year, date.month), date.day)
                      : -1;
        if (day > 0) {
            *ret_day = pawli_civil_days(date.year, date.month, day);
            return *ret_day < end;
        }
        date.day = 1;
        date.month = date.month % 12 + 1;
        date.year += date.month == 1;
    }
    return false;
}

static int64_t second_of_day(int hour, int minute, int second)
{
    return hour * PAWLI_HOUR_S + minute * PAWLI_MINUTE_S + second;
}

/* The first matching second of a day that is not before `from_s`; -1 if there is none. */
static int64_t next_second(const pawli_cron *cron, int64_t from_s)
{
    int hour = (int)(from_s / PAWLI_HOUR_S);
    int minute = (int)(from_s / PAWLI_MINUTE_S % 60);
    int first_second = next_bit(cron->seconds, 0);

    if (cron->hours >> hour & 1) {
        int second = next_bit(cron->seconds, (int)(from_s % PAWLI_MINUTE_S));
        if ((cron->minutes >> minute & 1) && second >= 0)
            return second_of_day(hour, minute, second);
        minute = next_bit(cron->minutes, minute + 1);
        if (minute >= 0)
            return second_of_day(hour, minute, first_second);
    }
    hour = next_bit(cron->hours, hour + 1);
    return hour < 0 ? -1 : second_of_day(hour, next_bit(cron->minutes, 0), first_second);
}

bool pawli_cron_match(const pawli_cron *cron, int64_t from_s, int64_t until_s, int64_t *ret_local_s)
{
    int64_t today = pawli_floor_div(from_s, PAWLI_DAY_S);
    int64_t end =
        pawli_floor_div(until_s - 1, PAWLI_DAY_S) + 1; /* the first day that is not searched */
    int64_t second = from_s - today * PAWLI_DAY_S;
    int64_t day;

    if (from_s >= until_s || !next_day(cron, today, end, &day))
        return false;
    second = next_second(cron, day == today ? second : 0);
    if (second < 0) {
        if (!next_day(cron, today + 1, end, &day))
            return false;
        second = next_second(cron, 0);
    }
    *ret_local_s = day * PAWLI_DAY_S + second;
    return *ret_local_s < until_s;
}
