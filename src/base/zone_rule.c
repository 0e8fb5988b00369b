/* src/base/zone_rule.c - the rule for future years, in the footer of a TZif file. */
#include "zone_rule.h"

#include <ctype.h>
#include <string.h>

#include "civil.h"

#define OFFSET_MAX_HOURS 24
#define RULE_MAX_HOURS 167
/* RFC 8536: the maximum difference between local time and UTC. */
#define OFFSET_MIN_S (-25 * PAWLI_HOUR_S + 1)
#define OFFSET_MAX_S (26 * PAWLI_HOUR_S - 1)

typedef struct reader {
    const char *at;
    const char *end;
} reader;

static bool rule_take(reader *r, char wanted)
{
    if (r->at == r->end || *r->at != wanted)
        return false;
    r->at++;
    return true;
}

static bool take_number(reader *r, int min, int max, int *ret_number)
{
    const char *first = r->at;
    int number = 0;

    while (r->at < r->end && isdigit((unsigned char)*r->at) && r->at - first < 4)
        number = number * 10 + (*r->at++ - '0');
    if (r->at == first || number < min || number > max)
        return false;
    *ret_number = number;
    return true;
}

/* hh[:mm[:ss]] with a sign, in seconds. */
static bool take_time(reader *r, int max_hours, int32_t *ret_time_s)
{
    bool negative = rule_take(r, '-');
    int hours;
    int minutes = 0;
    int seconds = 0;

    if (!negative)
        rule_take(r, '+');
    if (!take_number(r, 0, max_hours, &hours))
        return false;
    if (rule_take(r, ':')) {
        if (!take_number(r, 0, 59, &minutes))
            return false;
        if (rule_take(r, ':') && !take_number(r, 0, 59, &seconds))
            return false;
    }
    *ret_time_s = (hours * PAWLI_HOUR_S + minutes * PAWLI_MINUTE_S + seconds) * (negative ? -1 : 1);
    return true;
}

/* "CET", or alphanumeric with signs in angle brackets: "<+0530>". */
static bool take_abbreviation(reader *r, char ret_text[PAWLI_ZONE_ABBREVIATION_SIZE])
{
    bool quoted = rule_take(r, '<');
    const char *first = r->at;
    size_t length;

    while (r->at < r->end &&
           (isalpha((unsigned char)*r->at) ||
            (quoted && (isdigit((unsigned char)*r->at) || *r->at == '+' || *r->at == '-'))))
        r->at++;
    length = (size_t)(r->at - first);
    if (length < 3 || length >= PAWLI_ZONE_ABBREVIATION_SIZE || (quoted && !rule_take(r, '>')))
        return false;
    memcpy(ret_text, first, length);
    ret_text[length] = '\0';
    return true;
}

static bool take_day(reader *r, pawli_rule_date *date)
{
    if (rule_take(r, 'J')) {
        date->kind = PAWLI_RULE_JULIAN;
        return take_number(r, 1, 365, &date->day);
    }
    if (rule_take(r, 'M')) {
        date->kind = PAWLI_RULE_WEEKDAY;
        return take_number(r, 1, 12, &date->month) && rule_take(r, '.') &&
               take_number(r, 1, 5, &date->week) && rule_take(r, '.') &&
               take_number(r, 0, 6, &date->weekday);
    }
    date->kind = PAWLI_RULE_DAY;
    return take_number(r, 0, 365, &date->day);
}

static bool rule_take_date(reader *r, pawli_rule_date *date)
{
    date->time_s = 2 * PAWLI_HOUR_S;
    return rule_take(r, ',') && take_day(r, date) &&
           (!rule_take(r, '/') || take_time(r, RULE_MAX_HOURS, &date->time_s));
}

/* POSIX counts offsets west of Greenwich. */
static bool take_offset(reader *r, int32_t *ret_offset_s)
{
    int32_t west_s;

    if (!take_time(r, OFFSET_MAX_HOURS, &west_s))
        return false;
    *ret_offset_s = -west_s;
    return true;
}

static bool rule_is_valid(const pawli_rule_time *time)
{
    return time->offset_s >= OFFSET_MIN_S && time->offset_s <= OFFSET_MAX_S;
}

bool pawli_zone_rule_parse(const char *text, size_t size, pawli_zone_rule *ret_rule)
{
    reader r = {text, text + size};
    pawli_zone_rule rule = {0};

    if (!take_abbreviation(&r, rule.standard.abbreviation) ||
        !take_offset(&r, &rule.standard.offset_s))
        return false;
    if (r.at < r.end) {
        rule.has_dst = true;
        if (!take_abbreviation(&r, rule.dst.abbreviation))
            return false;
        rule.dst.offset_s = rule.standard.offset_s + PAWLI_HOUR_S;
        if (r.at < r.end && *r.at != ',' && !take_offset(&r, &rule.dst.offset_s))
            return false;
        if (!rule_take_date(&r, &rule.dst_begins) || !rule_take_date(&r, &rule.dst_ends))
            return false;
    }
    if (r.at < r.end || !rule_is_valid(&rule.standard) ||
        (rule.has_dst && !rule_is_valid(&rule.dst)))
        return false;
    *ret_rule = rule;
    return true;
}

/* The day of the rule in that year, as days since 1970. */
static int64_t date_in(const pawli_rule_date *date, int64_t year)
{
    int64_t new_year = pawli_civil_days(year, 1, 1);
    int64_t first;
    int day;

    if (date->kind == PAWLI_RULE_DAY)
        return new_year + date->day;
    if (date->kind == PAWLI_RULE_JULIAN)
        return new_year + date->day - 1 +
               (date->day >= 60 && pawli_civil_month_days(year, 2) == 29);
    first = pawli_civil_days(year, date->month, 1);
    day = (date->weekday - pawli_civil_weekday(first) + 7) % 7 + 7 * (date->week - 1);
    if (day >= pawli_civil_month_days(year, date->month))
        day -= 7;
    return first + day;
}

typedef struct change {
    int64_t at_s;
    bool to_dst;
} change;

/*
 * A date may be a week away from its year (RFC 8536's long times), so this covers three years.
 * Changes at the same instant keep their order. Then DST continues where it ends at the instant
 * at which the next year's DST begins, and does not occur where it ends at the instant at which
 * it began.
 */
#define CHANGES 6
static void changes_around(const pawli_zone_rule *rule, int64_t year, change changes[CHANGES])
{
    for (int i = 0; i < CHANGES; i++) {
        bool to_dst = i % 2 == 0;
        const pawli_rule_date *date = to_dst ? &rule->dst_begins : &rule->dst_ends;
        change next = {date_in(date, year - 1 + i / 2) * PAWLI_DAY_S + date->time_s -
                           (to_dst ? rule->standard.offset_s : rule->dst.offset_s),
                       to_dst};
        int place = i;
        for (; place > 0 && next.at_s < changes[place - 1].at_s; place--)
            changes[place] = changes[place - 1];
        changes[place] = next;
    }
}

void pawli_zone_rule_at(const pawli_zone_rule *rule, int64_t utc_s, pawli_zone_period *ret_period)
{
    pawli_zone_period period = {INT64_MIN, INT64_MAX, 0, false, NULL};
    const pawli_rule_time *time = &rule->standard;

    if (rule->has_dst) {
        change changes[CHANGES];
        int64_t days = pawli_floor_div(utc_s + rule->standard.offset_s, PAWLI_DAY_S);
        changes_around(rule, pawli_civil_date(days).year, changes);
        for (int i = 0; i < CHANGES && changes[i].at_s <= utc_s; i++) {
            period.begins_s = changes[i].at_s;
            period.is_dst = changes[i].to_dst;
        }
        for (int i = CHANGES - 1; i >= 0 && changes[i].at_s > utc_s; i--)
            period.ends_s = changes[i].at_s;
        time = period.is_dst ? &rule->dst : &rule->standard;
    }
    period.offset_s = time->offset_s;
    period.abbreviation = time->abbreviation;
    *ret_period = period;
}
