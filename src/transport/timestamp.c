/* src/transport/timestamp.c - times as text: RFC 3339 in envelopes, HTTP dates in Retry-After. */
#include "timestamp.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "civil.h"

#define US_PER_S INT64_C(1000000)
#define RETRY_AFTER_MAX_MS INT64_C(86400000)

void pawli_timestamp_format(pawl_wall time, char ret_text[PAWLI_TIMESTAMP_SIZE])
{
    int64_t seconds = pawli_floor_div(time.us, US_PER_S);
    int64_t days = pawli_floor_div(seconds, PAWLI_DAY_S);
    int of_day = (int)pawli_floor_mod(seconds, PAWLI_DAY_S);
    pawli_civil date = pawli_civil_date(days);

    snprintf(ret_text, PAWLI_TIMESTAMP_SIZE, "%04d-%02d-%02dT%02d:%02d:%02dZ",
             (int)(date.year % 10000), date.month, date.day, of_day / PAWLI_HOUR_S,
             of_day / PAWLI_MINUTE_S % 60, of_day % 60);
}

/* Reads exactly `count` digits and then `after` (0: anything). Moves *at past both. */
static bool read_digits(const char **at, int count, char after, int *ret_number)
{
    int number = 0;

    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        number = number * 10 + (**at - '0');
    }
    if (after && *(*at)++ != after)
        return false;
    *ret_number = number;
    return true;
}

/* A second of 60 is a leap second, and counts as the next second. */
static bool timestamp_combine(int year, int month, int day, int hour, int minute, int second,
                              int64_t *ret_seconds)
{
    if (year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > pawli_civil_month_days(year, month) || hour > 23 || minute > 59 || second > 60)
        return false;
    int of_day = hour * PAWLI_HOUR_S + minute * PAWLI_MINUTE_S + second;
    *ret_seconds = pawli_civil_days(year, month, day) * PAWLI_DAY_S + of_day;
    return true;
}

/* Reads ".123" as microseconds; further digits are dropped. */
static bool read_fraction(const char **at, int64_t *ret_us)
{
    int64_t us = 0, unit = US_PER_S / 10;
    const char *start = ++*at;

    for (; **at >= '0' && **at <= '9'; (*at)++, unit /= 10)
        us += (**at - '0') * unit;
    *ret_us = us;
    return *at > start && *at - start <= 9;
}

static bool read_offset(const char **at, int64_t *ret_seconds)
{
    char sign = *(*at)++;
    int hour, minute;

    if (sign == 'Z') {
        *ret_seconds = 0;
        return true;
    }
    if ((sign != '+' && sign != '-') || !read_digits(at, 2, ':', &hour) ||
        !read_digits(at, 2, 0, &minute) || hour > 23 || minute > 59)
        return false;
    int seconds = hour * PAWLI_HOUR_S + minute * PAWLI_MINUTE_S;
    *ret_seconds = sign == '-' ? -seconds : seconds;
    return true;
}

bool pawli_timestamp_parse(const char *text, pawl_wall *ret_time)
{
    int year, month, day, hour, minute, second;
    int64_t seconds, us = 0, offset;
    const char *at = text;

    if (!read_digits(&at, 4, '-', &year) || !read_digits(&at, 2, '-', &month) ||
        !read_digits(&at, 2, 'T', &day) || !read_digits(&at, 2, ':', &hour) ||
        !read_digits(&at, 2, ':', &minute) || !read_digits(&at, 2, 0, &second) ||
        !timestamp_combine(year, month, day, hour, minute, second, &seconds))
        return false;
    if (*at == '.' && !read_fraction(&at, &us))
        return false;
    if (!read_offset(&at, &offset) || *at)
        return false;
    *ret_time = (pawl_wall){(seconds - offset) * US_PER_S + us};
    return true;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
static bool read_http_date(const char *text, int64_t *ret_seconds)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int month = 0, weekday = 0, day, year, hour, minute, second;
    const char *at = text;

    if (strlen(text) != 29 || text[3] != ',' || text[4] != ' ' || text[11] != ' ')
        return false;
    while (weekday < 7 && memcmp(text, days + (ptrdiff_t)3 * weekday, 3) != 0)
        weekday++;
    while (month < 12 && memcmp(text + 8, months + (ptrdiff_t)3 * month, 3) != 0)
        month++;
    at = text + 5;
    if (weekday == 7 || month == 12 || !read_digits(&at, 2, ' ', &day))
        return false;
    at = text + 12;
    return read_digits(&at, 4, ' ', &year) && read_digits(&at, 2, ':', &hour) &&
           read_digits(&at, 2, ':', &minute) && read_digits(&at, 2, ' ', &second) &&
           strcmp(at, "GMT") == 0 &&
           timestamp_combine(year, month + 1, day, hour, minute, second, ret_seconds);
}

int64_t pawli_retry_after_ms(const char *text, pawl_wall now)
{
    int64_t seconds = 0, ms;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++)
        if (seconds <= RETRY_AFTER_MAX_MS)
            seconds = seconds * 10 + (*at - '0');
    if (at > text && !*at) {
        ms = seconds > RETRY_AFTER_MAX_MS / 1000 ? RETRY_AFTER_MAX_MS : seconds * 1000;
        return ms;
    }
    if (!read_http_date(text, &seconds))
        return -1;
    ms = seconds * 1000 - pawli_floor_div(now.us, 1000);
    return ms < 0 ? 0 : ms > RETRY_AFTER_MAX_MS ? RETRY_AFTER_MAX_MS : ms;
}
