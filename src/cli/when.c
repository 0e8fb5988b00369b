/* src/cli/when.c - times and lengths of time as people write and read them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fail.h"
#include "when.h"

typedef struct unit {
    const char *name;
    int64_t ms;
} unit;

/* Largest first; "ms" is looked for before "m". */
static const unit units[] = {{"w", 7 * CLI_DAY_MS}, {"d", CLI_DAY_MS},
                             {"h", CLI_HOUR_MS},    {"ms", 1},
                             {"m", CLI_MINUTE_MS},  {"s", CLI_SECOND_MS}};
#define UNIT_COUNT (sizeof units / sizeof units[0])

static const unit *unit_at(const char *text)
{
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (strncmp(text, units[i].name, strlen(units[i].name)) == 0)
            return &units[i];
    return NULL;
}

bool cli_span_parse(const char *text, int64_t *ret_span_ms)
{
    int64_t total = 0;
    const char *at = text;

    if (strcmp(text, "0") == 0) {
        *ret_span_ms = 0;
        return true;
    }
    while (*at) {
        int64_t number = 0;
        const char *digits = at;
        for (; isdigit((unsigned char)*at); at++) {
            number = number * 10 + (*at - '0');
            if (number > CLI_CENTURY_MS)
                return false;
        }
        const unit *found = at > digits ? unit_at(at) : NULL;
        if (!found || number > CLI_CENTURY_MS / found->ms)
            return false;
        total += number * found->ms;
        if (total > CLI_CENTURY_MS)
            return false;
        at += strlen(found->name);
    }
    *ret_span_ms = total;
    return at != text;
}

const char *cli_span_text(int64_t span_ms, char ret_text[CLI_WHEN_SIZE])
{
    static const unit down[] = {{"d", CLI_DAY_MS},
                                {"h", CLI_HOUR_MS},
                                {"m", CLI_MINUTE_MS},
                                {"s", CLI_SECOND_MS},
                                {"ms", 1}};
    size_t used = 0;

    snprintf(ret_text, CLI_WHEN_SIZE, "0");
    for (size_t i = 0; i < sizeof down / sizeof down[0]; i++) {
        if (span_ms < down[i].ms)
            continue;
        used += (size_t)snprintf(ret_text + used, CLI_WHEN_SIZE - used, "%" PRId64 "%s",
                                 span_ms / down[i].ms, down[i].name);
        span_ms %= down[i].ms;
    }
    return ret_text;
}

/* Exactly `count` digits; moves *at behind them. */
static bool take_digits(const char **at, int count, int *ret_number)
{
    int number = 0;

    for (int i = 0; i < count; i++) {
        if (!isdigit((unsigned char)(*at)[i]))
            return false;
        number = number * 10 + ((*at)[i] - '0');
    }
    *at += count;
    *ret_number = number;
    return true;
}

static bool take_char(const char **at, char wanted)
{
    if (**at != wanted)
        return false;
    (*at)++;
    return true;
}

static bool take_date(const char **at, struct tm *tm)
{
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;

    if (!take_digits(at, 4, &year) || !take_char(at, '-') || !take_digits(at, 2, &month) ||
        !take_char(at, '-') || !take_digits(at, 2, &day))
        return false;
    if (year < 1971 || month < 1 || month > 12 || day < 1)
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day > month_days[month - 1] + (month == 2 && leap))
        return false;
    tm->tm_year = year - 1900;
    tm->tm_mon = month - 1;
    tm->tm_mday = day;
    return true;
}

/* HH:MM[:SS[.fraction]]; the fraction goes to *ret_us. */
static bool take_clock(const char **at, struct tm *tm, int64_t *ret_us)
{
    int64_t us = 0;
    int64_t place = 100000;

    if (!take_digits(at, 2, &tm->tm_hour) || !take_char(at, ':') ||
        !take_digits(at, 2, &tm->tm_min))
        return false;
    if (take_char(at, ':') && !take_digits(at, 2, &tm->tm_sec))
        return false;
    if (tm->tm_hour > 23 || tm->tm_min > 59 || tm->tm_sec > 59)
        return false;
    if (take_char(at, '.')) {
        if (!isdigit((unsigned char)**at))
            return false;
        for (; isdigit((unsigned char)**at); (*at)++, place /= 10)
            us += (**at - '0') * place;
    }
    *ret_us = us;
    return true;
}

/* "Z", "+01:00", "+0100", "-05"; seconds east of UTC. */
static bool take_zone(const char **at, int *ret_seconds)
{
    int sign = **at == '-' ? -1 : 1;
    int hours;
    int minutes = 0;

    if (take_char(at, 'Z') || take_char(at, 'z')) {
        *ret_seconds = 0;
        return true;
    }
    if (!take_char(at, '+') && !take_char(at, '-'))
        return false;
    if (!take_digits(at, 2, &hours))
        return false;
    bool colon = take_char(at, ':');
    if ((colon || **at) && !take_digits(at, 2, &minutes))
        return false;
    if (hours > 23 || minutes > 59)
        return false;
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool parse_instant(const char *text, pawl_wall *ret_at, bool *ret_zone_missing)
{
    struct tm tm = {0};
    const char *at = text;
    int64_t us = 0;
    int east = 0;

    *ret_zone_missing = false;
    if (!take_date(&at, &tm))
        return false;
    if (*at == '\0') {
        *ret_zone_missing = true;
        return false;
    }
    if (!take_char(&at, 'T') && !take_char(&at, 't') && !take_char(&at, ' '))
        return false;
    if (!take_clock(&at, &tm, &us))
        return false;
    *ret_zone_missing = *at == '\0';
    if (!take_zone(&at, &east) || *at != '\0')
        return false;
    ret_at->us = ((int64_t)timegm(&tm) - east) * 1000000 + us;
    return true;
}

pawl_status cli_when_parse(const char *what, const char *text, cli_when *ret_when, pawl_error *err)
{
    cli_when when = {false, 0, PAWL_NEVER};
    bool zone_missing = false;

    when.is_relative = strcmp(text, "now") == 0;
    if (strncmp(text, "in ", 3) == 0)
        when.is_relative = cli_span_parse(text + 3 + strspn(text + 3, " "), &when.span_ms);
    if (when.is_relative || parse_instant(text, &when.at, &zone_missing)) {
        *ret_when = when;
        return PAWL_OK;
    }
    if (zone_missing)
        return cli_fail(err, PAWL_E_INVALID,
                        "%s '%s' says no time of day with a zone; write it as "
                        "2026-01-01T09:00+01:00 or 2026-01-01T08:00Z",
                        what, text);
    return cli_fail(err, PAWL_E_INVALID,
                    "%s must be a time such as 2026-01-01T09:00+01:00, 2026-01-01T08:00:00Z or "
                    "'in 5m', not '%s'",
                    what, text);
}

/* One number and one unit, rounded: what a person would say. */
static void say_distance(int64_t ms, char *text, size_t size)
{
    static const struct {
        const char *unit;
        int64_t ms;
        int64_t below; /* of this many ms the unit is the natural one */
    } steps[] = {{"s", CLI_SECOND_MS, 90 * CLI_SECOND_MS},
                 {"m", CLI_MINUTE_MS, 90 * CLI_MINUTE_MS},
                 {"h", CLI_HOUR_MS, 36 * CLI_HOUR_MS},
                 {"d", CLI_DAY_MS, INT64_MAX}};
    size_t i = 0;

    while (ms >= steps[i].below)
        i++;
    snprintf(text, size, "%" PRId64 "%s", (ms + steps[i].ms / 2) / steps[i].ms, steps[i].unit);
}

const char *cli_when_relative(pawl_wall at, pawl_wall now, char ret_text[CLI_WHEN_SIZE])
{
    int64_t ms = (at.us - now.us) / 1000;
    char distance[32];

    say_distance(ms < 0 ? -ms : ms, distance, sizeof distance);
    if (ms > -500 && ms < 500)
        snprintf(ret_text, CLI_WHEN_SIZE, "now");
    else
        snprintf(ret_text, CLI_WHEN_SIZE, ms > 0 ? "in %s" : "%s ago", distance);
    return ret_text;
}

static void broken_down(pawl_wall at, struct tm *ret_tm, int *ret_us)
{
    int64_t us = at.us % 1000000;
    time_t seconds = at.us / 1000000;

    if (us < 0) {
        us += 1000000;
        seconds--;
    }
    *ret_us = (int)us;
    memset(ret_tm, 0, sizeof *ret_tm);
    gmtime_r(&seconds, ret_tm);
}

const char *cli_when_absolute(pawl_wall at, char ret_text[CLI_WHEN_SIZE])
{
    struct tm tm;
    int us;

    broken_down(at, &tm, &us);
    snprintf(ret_text, CLI_WHEN_SIZE, "%04d-%02d-%02d %02d:%02d:%02dZ", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return ret_text;
}

const char *cli_when_both(pawl_wall at, pawl_wall now, char ret_text[CLI_WHEN_SIZE])
{
    char relative[CLI_WHEN_SIZE];
    char absolute[CLI_WHEN_SIZE];

    snprintf(ret_text, CLI_WHEN_SIZE, "%.20s (%.40s)", cli_when_relative(at, now, relative),
             cli_when_absolute(at, absolute));
    return ret_text;
}

const char *cli_when_rfc3339(pawl_wall at, char ret_text[CLI_WHEN_SIZE])
{
    struct tm tm;
    int us;

    broken_down(at, &tm, &us);
    snprintf(ret_text, CLI_WHEN_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, us);
    return ret_text;
}
