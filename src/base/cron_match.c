/* src/base/cron_match.c - when a cron expression comes next, on a clock that never changes. */
#include "civil.h"
#include "cron.h"

#define SUNDAY 0
#define SATURDAY 6

/* The lowest bit of `set` that is not below `from`; -1 if there is none. */
static int next_bit(uint64_t set, int from)
{
    uint64_t left = from > 63 ? 0 : set >> from << from;

    return left ? __builtin_ctzll(left) : -1;
}

/* A month that is being looked at. */
typedef struct month {
    int days;
    int first_weekday; /* of day 1 */
} month;

static int weekday_of(const month *m, int day)
{
    return (m->first_weekday + day - 1) % 7;
}

/* Never out of the month: the Saturday 1st goes to Monday 3rd, the Sunday 31st to Friday 29th. */
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

/* The days of the month that fit, as bits 1 .. 31. */
static uint32_t fitting_days(const pawli_cron *cron, int64_t year, int number)
{
    month m = {pawli_civil_month_days(year, number),
               pawli_civil_weekday(pawli_civil_days(year, number, 1))};
    uint32_t in_month = (uint32_t)((UINT64_C(2) << m.days) - 2);
    uint32_t by_number = days_by_number(cron, &m);
    uint32_t by_weekday = days_by_weekday(cron, &m);
    bool both = cron->month_day_star || cron->week_day_star;

    return (both ? by_number & by_weekday : by_number | by_weekday) & in_month;
}

/* The first fitting day from that one on, before `end`, as days since 1970. */
static bool next_day(const pawli_cron *cron, int64_t from, int64_t end, int64_t *ret_day)
{
    pawli_civil date = pawli_civil_date(from);

    while (pawli_civil_days(date.year, date.month, date.day) < end) {
        int day = cron->months >> date.month & 1
                      ? next_bit(fitting_days(cron, date.year, date.month), date.day)
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

/* The first fitting second of a day that is not before `from_s`; -1 if there is none any more. */
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
    int64_t end = pawli_floor_div(until_s - 1, PAWLI_DAY_S) + 1; /* the first day not looked at */
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
