/* src/base/civil.h - conversion between dates of the Gregorian calendar and days since 1970. */
#ifndef PAWLI_CIVIL_H
#define PAWLI_CIVIL_H

#include <stdint.h>

#define PAWLI_MINUTE_S 60
#define PAWLI_HOUR_S 3600
#define PAWLI_DAY_S 86400

typedef struct pawli_civil {
    int64_t year; /* any, also 0 and below */
    int month;    /* 1 .. 12 */
    int day;      /* 1 .. 31 */
} pawli_civil;

/* Days from 1970-01-01 to the date; a day beyond the month's end continues into the next month. */
int64_t pawli_civil_days(int64_t year, int month, int day);
pawli_civil pawli_civil_date(int64_t days);
int pawli_civil_month_days(int64_t year, int month);
/* 0 is Sunday. */
int pawli_civil_weekday(int64_t days);

/* Division rounded down, also below zero; `divisor` is positive. */
static inline int64_t pawli_floor_div(int64_t number, int64_t divisor)
{
    return number / divisor - (number % divisor < 0);
}
static inline int64_t pawli_floor_mod(int64_t number, int64_t divisor)
{
    int64_t rest = number % divisor;

    return rest < 0 ? rest + divisor : rest;
}

#endif
