/* src/cli/terminal/units.c - times, durations and sizes as people write and read them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "civil.h"
#include "fail.h"
#include "scope.h"
#include "units.h"

/* ---- durations ---- */

typedef struct span_unit {
    const char *name;
    int64_t ms;
} span_unit;

/* Largest first; "ms" is tried before "m". */
static const span_unit span_units[] = {{"w", 7 * CLI_DAY_MS}, {"d", CLI_DAY_MS},
                                       {"h", CLI_HOUR_MS},    {"ms", 1},
                                       {"m", CLI_MINUTE_MS},  {"s", CLI_SECOND_MS}};

static const span_unit *span_unit_at(const char *text)
{
    for (size_t i = 0; i < PAWLI_COUNT(span_units); i++)
        if (strncmp(text, span_units[i].name, strlen(span_units[i].name)) == 0)
            return &span_units[i];
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
        const span_unit *found = at > digits ? span_unit_at(at) : NULL;
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
    static const span_unit down[] = {{"d", CLI_DAY_MS},
                                     {"h", CLI_HOUR_MS},
                                     {"m", CLI_MINUTE_MS},
                                     {"s", CLI_SECOND_MS},
                                     {"ms", 1}};
    size_t used = 0;

    snprintf(ret_text, CLI_WHEN_SIZE, "0");
    for (size_t i = 0; i < PAWLI_COUNT(down); i++) {
        if (span_ms < down[i].ms)
            continue;
        used += (size_t)snprintf(ret_text + used, CLI_WHEN_SIZE - used, "%" PRId64 "%s",
                                 span_ms / down[i].ms, down[i].name);
        span_ms %= down[i].ms;
    }
    return ret_text;
}

/* ---- times ---- */

/* Exactly `count` digits; moves *at behind them. */
static bool date_take_digits(const char **at, int count, int *ret_number)
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

/* YYYY-MM-DD as days since 1970. */
static bool date_take_days(const char **at, int64_t *ret_days)
{
    int year, month, day;

    if (!date_take_digits(at, 4, &year) || !take_char(at, '-') ||
        !date_take_digits(at, 2, &month) || !take_char(at, '-') || !date_take_digits(at, 2, &day))
        return false;
    if (year < 1971 || month < 1 || month > 12 || day < 1 ||
        day > pawli_civil_month_days(year, month))
        return false;
    *ret_days = pawli_civil_days(year, month, day);
    return true;
}

/* HH:MM[:SS[.fraction]] in microseconds. */
static bool take_clock(const char **at, int64_t *ret_us)
{
    int hour, minute, second = 0;
    int64_t place = 100000;

    if (!date_take_digits(at, 2, &hour) || !take_char(at, ':') || !date_take_digits(at, 2, &minute))
        return false;
    if (take_char(at, ':') && !date_take_digits(at, 2, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *ret_us = (hour * PAWLI_HOUR_S + minute * PAWLI_MINUTE_S + second) * INT64_C(1000000);
    if (!take_char(at, '.'))
        return true;
    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at); (*at)++, place /= 10)
        *ret_us += (**at - '0') * place;
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
    if (!date_take_digits(at, 2, &hours))
        return false;
    bool colon = take_char(at, ':');
    if ((colon || **at) && !date_take_digits(at, 2, &minutes))
        return false;
    if (hours > 23 || minutes > 59)
        return false;
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool parse_instant(const char *text, pawl_wall *ret_at, bool *ret_zone_missing)
{
    const char *at = text;
    int64_t days;
    int64_t us;
    int east = 0;

    *ret_zone_missing = false;
    if (!date_take_days(&at, &days))
        return false;
    if (*at == '\0') {
        *ret_zone_missing = true;
        return false;
    }
    if (!take_char(&at, 'T') && !take_char(&at, 't') && !take_char(&at, ' '))
        return false;
    if (!take_clock(&at, &us))
        return false;
    *ret_zone_missing = *at == '\0';
    if (!take_zone(&at, &east) || *at != '\0')
        return false;
    ret_at->us = (days * PAWLI_DAY_S - east) * INT64_C(1000000) + us;
    return true;
}

pawl_status cli_when_parse(const char *what, const char *text, cli_when *ret_when, pawl_error *err)
{
    cli_when when = {false, 0, PAWL_TIME_UNSET};
    bool zone_missing = false;

    when.is_relative = strcmp(text, "now") == 0;
    if (strncmp(text, "in ", 3) == 0)
        when.is_relative = cli_span_parse(text + 3 + strspn(text + 3, " "), &when.span_ms);
    if (when.is_relative || parse_instant(text, &when.at, &zone_missing)) {
        *ret_when = when;
        return PAWL_OK;
    }
    if (zone_missing)
        return pawli_fail(err, PAWL_E_INVALID,
                          "%s '%s' needs a time of day and a time zone; write it as "
                          "2026-01-01T09:00+01:00 or 2026-01-01T08:00Z",
                          what, text);
    return pawli_fail(err, PAWL_E_INVALID,
                      "%s must be a time such as 2026-01-01T09:00+01:00, 2026-01-01T08:00:00Z or "
                      "'in 5m', not '%s'",
                      what, text);
}

/* One number and one unit, rounded: what a person would say. */
static void format_distance(int64_t ms, char *text, size_t size)
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

    format_distance(ms < 0 ? -ms : ms, distance, sizeof distance);
    if (ms > -500 && ms < 500)
        snprintf(ret_text, CLI_WHEN_SIZE, "now");
    else
        snprintf(ret_text, CLI_WHEN_SIZE, ms > 0 ? "in %s" : "%s ago", distance);
    return ret_text;
}

/* "2026-01-01" `separator` "09:00:00"; returns the length. */
static int print_time(pawl_wall at, char separator, char ret_text[CLI_WHEN_SIZE])
{
    int64_t seconds = pawli_floor_div(at.us, 1000000);
    int of_day = (int)pawli_floor_mod(seconds, PAWLI_DAY_S);
    pawli_civil date = pawli_civil_date(pawli_floor_div(seconds, PAWLI_DAY_S));

    return snprintf(ret_text, CLI_WHEN_SIZE, "%04d-%02d-%02d%c%02d:%02d:%02d", (int)date.year,
                    date.month, date.day, separator, of_day / PAWLI_HOUR_S,
                    of_day / PAWLI_MINUTE_S % 60, of_day % 60);
}

const char *cli_when_absolute(pawl_wall at, char ret_text[CLI_WHEN_SIZE])
{
    int length = print_time(at, ' ', ret_text);

    snprintf(ret_text + length, CLI_WHEN_SIZE - (size_t)length, "Z");
    return ret_text;
}

const char *cli_when_both(pawl_wall at, pawl_wall now, char ret_text[CLI_WHEN_SIZE])
{
    snprintf(ret_text, CLI_WHEN_SIZE, "%.20s (%.40s)", cli_when_relative(at, now, CLI_ROOM),
             cli_when_absolute(at, CLI_ROOM));
    return ret_text;
}

const char *cli_when_rfc3339(pawl_wall at, char ret_text[CLI_WHEN_SIZE])
{
    int length = print_time(at, 'T', ret_text);

    snprintf(ret_text + length, CLI_WHEN_SIZE - (size_t)length, ".%06dZ",
             (int)pawli_floor_mod(at.us, 1000000));
    return ret_text;
}

/* ---- counts and sizes ---- */

const char *cli_count_text(int64_t number, char ret_text[CLI_WHEN_SIZE])
{
    char digits[32];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRId64, number);
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            ret_text[used++] = ',';
        ret_text[used++] = digits[i];
    }
    ret_text[used] = '\0';
    return ret_text;
}

static const struct {
    const char *name;
    int64_t bytes;
} size_units[] = {{"GiB", INT64_C(1) << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}};

bool cli_size_parse(const char *text, int64_t *ret_bytes)
{
    int64_t number = 0;
    const char *at = text;

    for (; isdigit((unsigned char)*at); at++) {
        number = number * 10 + (*at - '0');
        if (number > (INT64_C(1) << 40))
            return false;
    }
    if (at == text)
        return false;
    for (size_t i = 0; i < PAWLI_COUNT(size_units); i++)
        if (strcmp(at, size_units[i].name) == 0) {
            *ret_bytes = number * size_units[i].bytes;
            return *ret_bytes <= INT64_C(1) << 50;
        }
    return false;
}

const char *cli_size_text(int64_t bytes, char ret_text[CLI_WHEN_SIZE])
{
    size_t i = 0;

    while (bytes == 0 ? size_units[i].bytes > 1 : bytes % size_units[i].bytes != 0)
        i++;
    snprintf(ret_text, CLI_WHEN_SIZE, "%" PRId64 "%s", bytes / size_units[i].bytes,
             size_units[i].name);
    return ret_text;
}
