/* src/base/interval.c - interval schedules: "every 1h30m" and "every 10m from start". */
#include "interval.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "civil.h"
#include "fail.h"
#include "scope.h"

#define EVERY "every"
#define MAX_INTERVAL_S (INT64_C(3653) * PAWLI_DAY_S) /* ten years */

/* Largest first. */
static const struct {
    char letter;
    const char *name;
    int64_t length_s;
    const char *suggestion; /* the suggestion for "every day" */
} units[] = {{'w', "week", INT64_C(7) * PAWLI_DAY_S, "@weekly"},
             {'d', "day", PAWLI_DAY_S, "@daily"},
             {'h', "hour", PAWLI_HOUR_S, "@hourly"},
             {'m', "minute", PAWLI_MINUTE_S, "every 1m"},
             {'s', "second", 1, "every 1s"}};

static const char *interval_skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

bool pawli_interval_begins(const char *text)
{
    size_t size = strlen(EVERY);

    text = interval_skip_blanks(text);
    return strncasecmp(text, EVERY, size) == 0 && !isalnum((unsigned char)text[size]);
}

static size_t interval_column(const char *text, const char *at)
{
    return (size_t)(at - text) + 1;
}

static pawl_status invalid_interval(const char *text, const char *at, pawl_error *err)
{
    if (*at == '-')
        return pawli_fail(err, PAWL_E_INVALID,
                          "column %zu of the schedule: an interval cannot be negative",
                          interval_column(text, at));
    for (size_t i = 0; i < PAWLI_COUNT(units); i++)
        if (strncasecmp(at, units[i].name, strlen(units[i].name)) == 0)
            return pawli_fail(err, PAWL_E_INVALID,
                              "column %zu of the schedule: an interval is a number and a unit; did "
                              "you mean '%s'?",
                              interval_column(text, at), units[i].suggestion);
    return pawli_fail(err, PAWL_E_INVALID,
                      "column %zu of the schedule: an interval is written as 30s, 10m, 1h30m, 2d "
                      "or 1w, and may end with 'from start'",
                      interval_column(text, at));
}

/* A number and its unit, added to *total_s. */
static pawl_status take_part(const char *text, const char **at, int64_t *total_s, pawl_error *err)
{
    const char *start = *at;
    int64_t number = 0;

    for (; isdigit((unsigned char)**at); (*at)++)
        number = number < MAX_INTERVAL_S ? number * 10 + (**at - '0') : number;
    if (*at == start)
        return invalid_interval(text, *at, err);
    if (strncasecmp(*at, "ms", 2) == 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "column %zu of the schedule: schedules count whole seconds; the shortest "
                          "interval is 1s",
                          interval_column(text, *at));
    for (size_t i = 0; i < PAWLI_COUNT(units); i++) {
        if (tolower((unsigned char)**at) != units[i].letter || isalpha((unsigned char)(*at)[1]))
            continue;
        (*at)++;
        *total_s += number > MAX_INTERVAL_S ? MAX_INTERVAL_S + 1 : number * units[i].length_s;
        if (*total_s > MAX_INTERVAL_S)
            *total_s = MAX_INTERVAL_S + 1;
        return PAWL_OK;
    }
    return pawli_fail(err, PAWL_E_INVALID,
                      "column %zu of the schedule: a number needs a unit behind it: w, d, h, m or "
                      "s, as in 1h30m",
                      interval_column(text, *at));
}

static bool take_word(const char **at, const char *word)
{
    size_t size = strlen(word);

    if (strncasecmp(*at, word, size) != 0 || isalnum((unsigned char)(*at)[size]))
        return false;
    *at = interval_skip_blanks(*at + size);
    return true;
}

pawl_status pawli_interval_parse(const char *text, pawli_interval *ret_interval, pawl_error *err)
{
    const char *at = interval_skip_blanks(interval_skip_blanks(text) + strlen(EVERY));
    const char *length = at;
    pawli_interval interval = {0, false};
    pawl_status st = PAWL_OK;

    do {
        st = take_part(text, &at, &interval.length_s, err);
        if (st != PAWL_OK)
            return st;
        at = interval_skip_blanks(at);
    } while (isdigit((unsigned char)*at));
    if (interval.length_s < 1 || interval.length_s > MAX_INTERVAL_S)
        return pawli_fail(err, PAWL_E_INVALID,
                          "column %zu of the schedule: an interval is one second to ten years",
                          interval_column(text, length));
    if (*at) {
        const char *tail = at;
        interval.from_start = take_word(&at, "from") && take_word(&at, "start") && !*at;
        if (!interval.from_start)
            return pawli_fail(err, PAWL_E_INVALID,
                              "column %zu of the schedule: only 'from start' may follow an "
                              "interval",
                              interval_column(text, tail));
    }
    *ret_interval = interval;
    return PAWL_OK;
}

void pawli_interval_describe(const pawli_interval *interval, pawli_buffer *buffer)
{
    int64_t left_s = interval->length_s;

    pawli_buffer_text(buffer, EVERY);
    for (size_t i = 0; i < PAWLI_COUNT(units); i++) {
        int64_t count = left_s / units[i].length_s;
        left_s %= units[i].length_s;
        if (count > 0)
            pawli_buffer_format(buffer, " %" PRId64 " %s%s", count, units[i].name,
                                count == 1 ? "" : "s");
    }
    pawli_buffer_text(buffer, interval->from_start ? ", counted from the start of the run before"
                                                   : ", counted from the time that was scheduled");
}
