/* src/base/cron_field.c - parses one field of a cron expression. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cron_private.h"
#include "fail.h"
#include "scope.h"

#define NAME_SIZE 3

typedef struct field_kind {
    const char *name;
    int min;
    int max;
    const char *names;    /* three letters each; NULL: none */
    int first_name;       /* the value of the first name */
    const char *interval; /* the unit of "every", for steps that the field cannot express */
} field_kind;

static const field_kind kinds[PAWLI_CRON_FIELDS] = {
    {"second", 0, 59, NULL, 0, "s"},
    {"minute", 0, 59, NULL, 0, "m"},
    {"hour", 0, 23, NULL, 0, "h"},
    {"day of the month", 1, 31, NULL, 0, "d"},
    {"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", 1, NULL},
    {"day of the week", 0, 7, "SUNMONTUEWEDTHUFRISAT", 0, NULL},
};

/* One element of the list in a field, parsed from the left. */
typedef struct element {
    const field_kind *kind;
    pawli_cron_field_id id;
    pawli_cron_piece rest;
    pawl_error *err;
} element;

const char *pawli_cron_shown(pawli_cron_piece piece, char ret_text[PAWLI_CRON_SHOWN])
{
    size_t size = piece.size < PAWLI_CRON_SHOWN ? piece.size : PAWLI_CRON_SHOWN - 1;

    for (size_t i = 0; i < size; i++)
        ret_text[i] = isprint((unsigned char)piece.text[i]) ? piece.text[i] : '?';
    ret_text[size] = '\0';
    return ret_text;
}

static char cron_field_peek(const element *e)
{
    return e->rest.size > 0 ? e->rest.text[0] : '\0';
}

static void cron_field_advance(element *e, size_t count)
{
    e->rest.text += count;
    e->rest.size -= count;
    e->rest.column += count;
}

static bool cron_field_take(element *e, char wanted)
{
    if (e->rest.size == 0 || toupper((unsigned char)e->rest.text[0]) != wanted)
        return false;
    cron_field_advance(e, 1);
    return true;
}

static pawl_status cron_field_unexpected(const element *e)
{
    char shown[PAWLI_CRON_SHOWN];

    if (e->rest.size == 0)
        return pawli_fail(e->err, PAWL_E_INVALID,
                          "column %zu of the schedule: something is missing in the %s; examples "
                          "are 5, 1-5, */10 and 1,15",
                          e->rest.column, e->kind->name);
    return pawli_fail(e->err, PAWL_E_INVALID,
                      "column %zu of the schedule: '%s' is not valid here in the %s",
                      e->rest.column, pawli_cron_shown(e->rest, shown), e->kind->name);
}

/* At least one digit; a number that is too long becomes too large. */
static bool element_take_digits(element *e, int *ret_number)
{
    int number = 0;
    size_t count = 0;

    for (; count < e->rest.size && isdigit((unsigned char)e->rest.text[count]); count++)
        number = number < 100000 ? number * 10 + (e->rest.text[count] - '0') : number;
    if (count == 0)
        return false;
    cron_field_advance(e, count);
    *ret_number = number;
    return true;
}

/* The length of the common prefix of two names. */
static size_t common_start(const char *name, pawli_cron_piece piece)
{
    size_t count = 0;

    while (count < NAME_SIZE && count < piece.size &&
           toupper((unsigned char)piece.text[count]) == name[count])
        count++;
    return count;
}

static pawl_status unknown_name(const element *e, size_t letters)
{
    pawli_cron_piece word = {e->rest.text, letters, e->rest.column};
    char shown[PAWLI_CRON_SHOWN];
    const char *best = NULL;
    size_t most = 1;

    for (const char *name = e->kind->names; name && *name; name += NAME_SIZE) {
        size_t same = common_start(name, word);
        if (same > most) {
            most = same;
            best = name;
        }
    }
    if (best)
        return pawli_fail(
            e->err, PAWL_E_INVALID,
            "column %zu of the schedule: '%s' is not the name of a %s; did you mean %.3s?",
            word.column, pawli_cron_shown(word, shown), e->kind->name, best);
    if (e->kind->names)
        return pawli_fail(
            e->err, PAWL_E_INVALID,
            "column %zu of the schedule: '%s' is not the name of a %s; they have three "
            "letters, such as %.3s",
            word.column, pawli_cron_shown(word, shown), e->kind->name, e->kind->names);
    return cron_field_unexpected(e);
}

/* A name is the first three of a run of letters; in "FRIL" the L is left for later. */
static pawl_status take_name(element *e, int *ret_number)
{
    size_t letters = 0;
    bool last;

    while (letters < e->rest.size && isalpha((unsigned char)e->rest.text[letters]))
        letters++;
    last = e->id == PAWLI_CRON_WEEK_DAY && letters == NAME_SIZE + 1 &&
           toupper((unsigned char)e->rest.text[NAME_SIZE]) == 'L';
    for (const char *name = e->kind->names; name && *name; name += NAME_SIZE) {
        if (common_start(name, e->rest) < NAME_SIZE || (letters != NAME_SIZE && !last))
            continue;
        cron_field_advance(e, NAME_SIZE);
        *ret_number = e->kind->first_name + (int)(name - e->kind->names) / NAME_SIZE;
        return PAWL_OK;
    }
    return unknown_name(e, letters);
}

static pawl_status element_take_value(element *e, int *ret_number)
{
    size_t column = e->rest.column;

    if (isalpha((unsigned char)cron_field_peek(e)))
        return take_name(e, ret_number);
    if (!element_take_digits(e, ret_number))
        return cron_field_unexpected(e);
    if (*ret_number < e->kind->min || *ret_number > e->kind->max)
        return pawli_fail(e->err, PAWL_E_INVALID,
                          "column %zu of the schedule: the %s must be %d to %d, not %d", column,
                          e->kind->name, e->kind->min, e->kind->max, *ret_number);
    return PAWL_OK;
}

static pawl_status take_step(element *e, int *ret_step)
{
    size_t column = e->rest.column;

    if (!element_take_digits(e, ret_step))
        return cron_field_unexpected(e);
    if (*ret_step == 0)
        return pawli_fail(e->err, PAWL_E_INVALID,
                          "column %zu of the schedule: a step of 0 is not allowed; the smallest "
                          "is 1",
                          column);
    if (*ret_step <= e->kind->max - e->kind->min)
        return PAWL_OK;
    if (e->kind->interval)
        return pawli_fail(
            e->err, PAWL_E_INVALID,
            "column %zu of the schedule: a step of %d is too large for the field (the "
            "%s is %d to %d); for an even interval write 'every %d%s'",
            column, *ret_step, e->kind->name, e->kind->min, e->kind->max, *ret_step,
            e->kind->interval);
    return pawli_fail(e->err, PAWL_E_INVALID,
                      "column %zu of the schedule: a step of %d is too large for the field (the %s "
                      "is %d to %d)",
                      column, *ret_step, e->kind->name, e->kind->min, e->kind->max);
}

static void cron_field_add(const element *e, pawli_cron *cron, int value)
{
    switch (e->id) {
    case PAWLI_CRON_SECOND:
        cron->seconds |= UINT64_C(1) << value;
        break;
    case PAWLI_CRON_MINUTE:
        cron->minutes |= UINT64_C(1) << value;
        break;
    case PAWLI_CRON_HOUR:
        cron->hours |= UINT32_C(1) << value;
        break;
    case PAWLI_CRON_MONTH_DAY:
        cron->month_days |= UINT32_C(1) << value;
        break;
    case PAWLI_CRON_MONTH:
        cron->months |= UINT32_C(1) << value;
        break;
    default: /* 7 is Sunday, too */
        cron->week_days = (uint8_t)(cron->week_days | 1u << value % 7);
        break;
    }
}

static void note_star(const element *e, pawli_cron *cron)
{
    if (e->id <= PAWLI_CRON_HOUR)
        cron->has_wildcard = true;
    else if (e->id == PAWLI_CRON_MONTH_DAY)
        cron->month_day_star = true;
    else if (e->id == PAWLI_CRON_WEEK_DAY)
        cron->week_day_star = true;
}

/* L, L-3, LW, 15W; *ret_taken says whether it was one of these. */
static pawl_status take_month_day(element *e, pawli_cron *cron, bool *ret_taken)
{
    element start = *e;
    int day;

    *ret_taken = true;
    if (cron_field_take(e, 'L')) {
        if (cron_field_take(e, 'W')) {
            cron->last_weekday = true;
            return PAWL_OK;
        }
        day = 0;
        if (cron_field_take(e, '-')) {
            size_t column = e->rest.column;
            if (!element_take_digits(e, &day))
                return cron_field_unexpected(e);
            if (day > 30)
                return pawli_fail(e->err, PAWL_E_INVALID,
                                  "column %zu of the schedule: no month has a day %d days before "
                                  "its last; use L-0 to L-30",
                                  column, day);
        }
        cron->before_last |= UINT32_C(1) << day;
        return PAWL_OK;
    }
    if (element_take_digits(e, &day) && cron_field_take(e, 'W') && day >= 1 && day <= 31) {
        cron->nearest_weekday |= UINT32_C(1) << day;
        return PAWL_OK;
    }
    *e = start;
    *ret_taken = false;
    return PAWL_OK;
}

/* 5L, FRI#2: suffixes of a day of the week. */
static pawl_status take_nth(element *e, int week_day, pawli_cron *cron, bool *ret_taken)
{
    uint8_t *nths = &cron->nth_week_days[week_day % 7];
    size_t column;
    int nth;

    *ret_taken = true;
    if (cron_field_take(e, 'L')) {
        *nths |= 1;
        return PAWL_OK;
    }
    if (!cron_field_take(e, '#')) {
        *ret_taken = false;
        return PAWL_OK;
    }
    column = e->rest.column;
    if (!element_take_digits(e, &nth))
        return cron_field_unexpected(e);
    if (nth < 1 || nth > 5)
        return pawli_fail(e->err, PAWL_E_INVALID,
                          "column %zu of the schedule: a month has a first to fifth day of each "
                          "name, not #%d; the last one is written 5L",
                          column, nth);
    *nths = (uint8_t)(*nths | 1u << nth);
    return PAWL_OK;
}

static pawl_status cron_field_backwards(const element *e, size_t column, int from, int to)
{
    return pawli_fail(e->err, PAWL_E_INVALID,
                      "column %zu of the schedule: the range %d-%d is reversed; write "
                      "%d-%d,%d-%d",
                      column, from, to, from, e->id == PAWLI_CRON_WEEK_DAY ? 6 : e->kind->max,
                      e->kind->min, to);
}

/* The upper end of a range that began with `from`; Sunday can begin or end a week. */
static pawl_status take_range_end(element *e, int from, int *ret_to)
{
    size_t column = e->rest.column;
    bool is_name = isalpha((unsigned char)cron_field_peek(e));
    pawl_status st = element_take_value(e, ret_to);

    if (st != PAWL_OK)
        return st;
    if (is_name && e->id == PAWLI_CRON_WEEK_DAY && *ret_to == 0 && from > 0)
        *ret_to = 7;
    return *ret_to < from ? cron_field_backwards(e, column, from, *ret_to) : PAWL_OK;
}

/* *, 5, 1-5, each with a step; a step after a single value runs to the end of the field. */
static pawl_status take_range(element *e, pawli_cron *cron)
{
    int from = e->kind->min;
    int to = e->id == PAWLI_CRON_WEEK_DAY ? 6 : e->kind->max;
    int step = 1;
    bool star = cron_field_take(e, '*');
    pawl_status st = PAWL_OK;

    if (star) {
        note_star(e, cron);
    } else {
        int last = to;
        bool taken = false;
        st = element_take_value(e, &from);
        if (st == PAWL_OK && e->id == PAWLI_CRON_WEEK_DAY)
            st = take_nth(e, from, cron, &taken);
        if (st != PAWL_OK || taken)
            return st;
        to = from;
        if (cron_field_take(e, '-'))
            st = take_range_end(e, from, &to);
        else if (cron_field_peek(e) == '/')
            to = from > last ? from : last;
    }
    if (st == PAWL_OK && cron_field_take(e, '/'))
        st = take_step(e, &step);
    for (int value = from; st == PAWL_OK && value <= to; value += step)
        cron_field_add(e, cron, value);
    return st;
}

/* ? is the same as a star in the two day fields. */
static pawl_status take_question(element *e, pawli_cron *cron)
{
    if (e->id != PAWLI_CRON_MONTH_DAY && e->id != PAWLI_CRON_WEEK_DAY)
        return pawli_fail(e->err, PAWL_E_INVALID,
                          "column %zu of the schedule: '?' stands for any day, not for any %s; "
                          "write '*'",
                          e->rest.column - 1, e->kind->name);
    note_star(e, cron);
    for (int value = e->kind->min; value <= e->kind->max; value++)
        cron_field_add(e, cron, value);
    return PAWL_OK;
}

static pawl_status take_element(element *e, pawli_cron *cron)
{
    pawl_status st = PAWL_OK;
    bool taken = false;

    if (cron_field_take(e, '?'))
        st = take_question(e, cron);
    else if (e->id == PAWLI_CRON_WEEK_DAY && e->rest.size == 1 &&
             toupper((unsigned char)cron_field_peek(e)) == 'L')
        st = pawli_fail(e->err, PAWL_E_INVALID,
                        "column %zu of the schedule: L needs a day of the week: write 5L "
                        "for the last Friday, or 6 for every Saturday",
                        e->rest.column);
    else {
        if (e->id == PAWLI_CRON_MONTH_DAY)
            st = take_month_day(e, cron, &taken);
        if (st == PAWL_OK && !taken)
            st = take_range(e, cron);
    }
    if (st == PAWL_OK && e->rest.size > 0)
        return cron_field_unexpected(e);
    return st;
}

pawl_status pawli_cron_field(pawli_cron_field_id id, pawli_cron_piece piece, pawli_cron *cron,
                             pawl_error *err)
{
    size_t begin = 0;
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i <= piece.size && st == PAWL_OK; i++) {
        if (i < piece.size && piece.text[i] != ',')
            continue;
        element e = {&kinds[id], id, {piece.text + begin, i - begin, piece.column + begin}, err};
        st = take_element(&e, cron);
        begin = i + 1;
    }
    return st;
}
