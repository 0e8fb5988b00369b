/* src/base/civil.c - conversion between dates of the Gregorian calendar and days since 1970. */
#include "civil.h"

#include <stdbool.h>

/* The calendar repeats after this many days, which are whole weeks. */
#define CYCLE_YEARS 400
#define CYCLE_DAYS 146097
/* From 0000-03-01, the epoch of the computation, to 1970-01-01. */
#define EPOCH_DAYS 719468

/* Years are counted from March, so that the leap day is the last day of a year. */
int64_t pawli_civil_days(int64_t year, int month, int day)
{
    int64_t march_year = month > 2 ? year : year - 1;
    int64_t cycle = pawli_floor_div(march_year, CYCLE_YEARS);
    int64_t in_cycle = march_year - cycle * CYCLE_YEARS;
    int64_t before_month = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5;

    return cycle * CYCLE_DAYS + in_cycle * 365 + in_cycle / 4 - in_cycle / 100 + before_month +
           day - 1 - EPOCH_DAYS;
}

pawli_civil pawli_civil_date(int64_t days)
{
    int64_t cycle = pawli_floor_div(days + EPOCH_DAYS, CYCLE_DAYS);
    int64_t day = days + EPOCH_DAYS - cycle * CYCLE_DAYS;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153; /* 0 is March */
    pawli_civil date;

    date.day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    date.month = (int)(month < 10 ? month + 3 : month - 9);
    date.year = year + cycle * CYCLE_YEARS + (date.month <= 2);
    return date;
}

int pawli_civil_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

int pawli_civil_weekday(int64_t days)
{
    return (int)pawli_floor_mod(days + 4, 7); /* 1970-01-01 was a Thursday */
}
