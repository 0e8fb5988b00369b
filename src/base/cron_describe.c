/* src/base/cron_describe.c - describes a cron expression in words. */
#include <stdio.h>

#include "cron.h"
#include "scope.h"

static const char *const month_names[] = {"",        "January",  "February", "March",  "April",
                                          "May",     "June",     "July",     "August", "September",
                                          "October", "November", "December"};
static const char *const weekday_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                            "Thursday", "Friday", "Saturday"};
static const char *const nth_names[] = {"last", "first", "second", "third", "fourth", "fifth"};

/* Formats one value of a set. */
typedef void (*say_value)(pawli_buffer *buffer, int value);

static void describe_number(pawli_buffer *buffer, int value)
{
    pawli_buffer_format(buffer, "%d", value);
}

static void describe_month(pawli_buffer *buffer, int value)
{
    pawli_buffer_text(buffer, month_names[value]);
}

static void describe_weekday(pawli_buffer *buffer, int value)
{
    pawli_buffer_text(buffer, weekday_names[value % 7]);
}

static void describe_ordinal(pawli_buffer *buffer, int value)
{
    int last = value % 10;
    bool teen = value / 10 == 1;

    pawli_buffer_format(buffer, "%d%s", value,
                        teen        ? "th"
                        : last == 1 ? "st"
                        : last == 2 ? "nd"
                        : last == 3 ? "rd"
                                    : "th");
}

static uint64_t describe_bits(int from, int to)
{
    return ((UINT64_C(2) << (to - from)) - 1) << from;
}

static bool describe_has(uint64_t set, int value)
{
    return set >> value & 1;
}

/* "a", "a and b", "a, b and c": between the pieces of a list of `count`. */
static void describe_separator(pawli_buffer *buffer, int index, int count)
{
    if (index > 0)
        pawli_buffer_text(buffer, index == count - 1 ? " and " : ", ");
}

/* A run of three or more adjacent values is "a to b". */
static int run_end(uint64_t set, int from)
{
    int to = from;

    while (to < 63 && describe_has(set, to + 1))
        to++;
    return to >= from + 2 ? to : from;
}

static int count_pieces(uint64_t set)
{
    int count = 0;

    for (int value = 0; value < 64; value++)
        if (describe_has(set, value)) {
            value = run_end(set, value);
            count++;
        }
    return count;
}

static void describe_set(pawli_buffer *buffer, uint64_t set, say_value say)
{
    int count = count_pieces(set);
    int index = 0;

    for (int value = 0; value < 64; value++) {
        int end = run_end(set, value);
        if (!describe_has(set, value))
            continue;
        describe_separator(buffer, index++, count);
        say(buffer, value);
        if (end > value) {
            pawli_buffer_text(buffer, " to ");
            say(buffer, end);
            value = end;
        }
    }
}

/* The step of a set of three or more evenly spaced values up to the end of its field, otherwise
 * 0. */
static int even_step(uint64_t set, int max, int *ret_first)
{
    int first;
    int step;

    if (__builtin_popcountll(set) < 3)
        return 0;
    first = __builtin_ctzll(set);
    step = __builtin_ctzll(set & ~(UINT64_C(1) << first)) - first;
    for (int value = first; value <= max; value++)
        if (describe_has(set, value) != ((value - first) % step == 0))
            return 0;
    *ret_first = first;
    return step;
}

/* "every minute", "every 5 minutes", "every 7 minutes from minute 3", "at minute 5 and 10" */
static void describe_field(pawli_buffer *buffer, uint64_t set, int max, const char *unit)
{
    int first = 0;
    int step = even_step(set, max, &first);

    if (step == 1 && first == 0) {
        pawli_buffer_format(buffer, "every %s", unit);
    } else if (step > 1) {
        pawli_buffer_format(buffer, "every %d %ss", step, unit);
        if (first > 0 || (max + 1) % step != 0)
            pawli_buffer_format(buffer, " from %s %d on", unit, first);
    } else {
        pawli_buffer_format(buffer, "at %s ", unit);
        describe_set(buffer, set, describe_number);
    }
}

/* At most this many times of the day are listed one by one. */
#define LISTED 6

static bool few_times(const pawli_cron *cron)
{
    return __builtin_popcountll(cron->seconds) * __builtin_popcountll(cron->minutes) *
               __builtin_popcount(cron->hours) <=
           LISTED;
}

/* "at 02:30", "at 02:30:15 and 14:30:15" */
static void describe_times(pawli_buffer *buffer, const pawli_cron *cron)
{
    int count = __builtin_popcountll(cron->seconds) * __builtin_popcountll(cron->minutes) *
                __builtin_popcount(cron->hours);
    int index = 0;

    pawli_buffer_text(buffer, "at ");
    for (int time = 0; time < 86400; time++) {
        int hour = time / 3600;
        int minute = time / 60 % 60;
        if (!describe_has(cron->hours, hour)) {
            time += 3599; /* bounds the length: not second by second */
            continue;
        }
        if (!describe_has(cron->minutes, minute)) {
            time += 59;
            continue;
        }
        if (!describe_has(cron->seconds, time % 60))
            continue;
        describe_separator(buffer, index++, count);
        pawli_buffer_format(buffer, "%02d:%02d", hour, minute);
        if (cron->seconds != 1)
            pawli_buffer_format(buffer, ":%02d", time % 60);
    }
}

static void describe_hours(pawli_buffer *buffer, const pawli_cron *cron)
{
    int first = 0;
    int step = even_step(cron->hours, 23, &first);
    int count = count_pieces(cron->hours);
    int index = 0;

    if (step > 1) {
        pawli_buffer_format(buffer, " in every %d%s hour", step,
                            step == 2   ? "nd"
                            : step == 3 ? "rd"
                                        : "th");
        pawli_buffer_format(buffer, " from %02d:00 on", first);
        return;
    }
    pawli_buffer_text(buffer, " between ");
    for (int hour = 0; hour < 24; hour++) {
        if (!describe_has(cron->hours, hour))
            continue;
        describe_separator(buffer, index++, count);
        int end = run_end(cron->hours, hour);
        pawli_buffer_format(buffer, "%02d:00 and %02d:59", hour, end);
        hour = end;
    }
}

static void describe_time_of_day(pawli_buffer *buffer, const pawli_cron *cron)
{
    bool all_minutes = cron->minutes == describe_bits(0, 59);
    bool all_hours = cron->hours == describe_bits(0, 23);

    if (few_times(cron)) {
        describe_times(buffer, cron);
        return;
    }
    if (cron->seconds != 1) {
        describe_field(buffer, cron->seconds, 59, "second");
        if (!all_minutes || cron->seconds != describe_bits(0, 59))
            pawli_buffer_text(buffer, all_minutes ? " of every minute" : ", ");
        if (!all_minutes)
            describe_field(buffer, cron->minutes, 59, "minute");
    } else if (cron->minutes == 1 && all_hours) {
        pawli_buffer_text(buffer, "every hour");
    } else {
        describe_field(buffer, cron->minutes, 59, "minute");
    }
    if (!all_hours)
        describe_hours(buffer, cron);
    else if (cron->minutes != 1 && even_step(cron->minutes, 59, &(int){0}) == 0)
        pawli_buffer_text(buffer, " of every hour");
}

/* A list of day descriptions, joined by commas and "or". */
typedef struct day_list {
    pawli_buffer *buffer;
    int index;
} day_list;

static pawli_buffer *next_item(day_list *list)
{
    if (list->index++ > 0)
        pawli_buffer_text(list->buffer, " or ");
    return list->buffer;
}

static void describe_month_days(day_list *list, const pawli_cron *cron)
{
    int first = 0;
    int step = even_step(cron->month_days, 31, &first);

    if (step > 1) {
        pawli_buffer_format(next_item(list), "every %d days of the month from the ", step);
        describe_ordinal(list->buffer, first);
    } else if (cron->month_days && cron->month_days != describe_bits(1, 31)) {
        pawli_buffer_text(next_item(list), "the ");
        describe_set(list->buffer, cron->month_days, describe_ordinal);
    }
    for (int before = 0; before < 32; before++) {
        if (!describe_has(cron->before_last, before))
            continue;
        if (before == 0)
            pawli_buffer_text(next_item(list), "the last day of the month");
        else
            pawli_buffer_format(next_item(list), "%d day%s before the last of the month", before,
                                before == 1 ? "" : "s");
    }
    for (int day = 1; day < 32; day++)
        if (describe_has(cron->nearest_weekday, day)) {
            pawli_buffer_text(next_item(list), "the weekday nearest the ");
            describe_ordinal(list->buffer, day);
        }
    if (cron->last_weekday)
        pawli_buffer_text(next_item(list), "the last weekday of the month");
}

/* The week starts on Monday here, so Sunday is value 7. */
static uint64_t from_monday(uint8_t week_days)
{
    return (uint64_t)(week_days & ~1u) | (uint64_t)(week_days & 1u) << 7;
}

static void describe_week_days(day_list *list, const pawli_cron *cron)
{
    if (cron->week_days && cron->week_days != describe_bits(0, 6)) {
        next_item(list);
        describe_set(list->buffer, from_monday(cron->week_days), describe_weekday);
    }
    for (int day = 1; day <= 7; day++)
        for (int nth = 1; nth <= 6; nth++)
            if (describe_has(cron->nth_week_days[day % 7], nth % 6))
                pawli_buffer_format(next_item(list), "the %s %s of the month", nth_names[nth % 6],
                                    weekday_names[day % 7]);
}

static bool any_day(const pawli_cron *cron)
{
    return cron->month_days == describe_bits(1, 31) && cron->week_days == describe_bits(0, 6);
}

void pawli_cron_describe(const pawli_cron *cron, pawli_buffer *buffer)
{
    bool both = cron->month_day_star || cron->week_day_star;
    PAWLI_AUTO_BUFFER numbers = {0};
    PAWLI_AUTO_BUFFER weekdays = {0};
    day_list by_number = {&numbers, 0};
    day_list by_weekday = {&weekdays, 0};

    describe_time_of_day(buffer, cron);
    describe_month_days(&by_number, cron);
    describe_week_days(&by_weekday, cron);
    if (!any_day(cron) && by_number.index + by_weekday.index > 0) {
        pawli_buffer_text(buffer, " on ");
        pawli_buffer_append(buffer, numbers.data, numbers.size);
        if (by_number.index > 0 && by_weekday.index > 0)
            pawli_buffer_text(buffer, both ? " if that is " : " or on ");
        pawli_buffer_append(buffer, weekdays.data, weekdays.size);
    } else if (few_times(cron)) {
        pawli_buffer_text(buffer, " every day");
    }
    if (cron->months != describe_bits(1, 12)) {
        pawli_buffer_text(buffer, " in ");
        describe_set(buffer, cron->months, describe_month);
    }
    if (numbers.failed || weekdays.failed)
        buffer->failed = true;
}
