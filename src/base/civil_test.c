/* src/base/civil_test.c - date conversions in both directions, compared with the C library. */
#include <time.h>

#include "civil.h"
#include "test.h"

PAWL_TEST(every_day_of_three_thousand_years_agrees_with_the_c_library)
{
    int64_t first = pawli_civil_days(-100, 1, 1);
    int64_t last = pawli_civil_days(2900, 12, 31);

    for (int64_t days = first; days <= last; days++) {
        time_t seconds = days * PAWLI_DAY_S;
        struct tm tm;
        pawli_civil date = pawli_civil_date(days);
        gmtime_r(&seconds, &tm);
        if (date.year != tm.tm_year + 1900 || date.month != tm.tm_mon + 1 ||
            date.day != tm.tm_mday || pawli_civil_weekday(days) != tm.tm_wday)
            test_fail("day %lld is wrong", (long long)days);
        assert_int_equal(pawli_civil_days(date.year, date.month, date.day), days);
        assert_in_range(date.day, 1, pawli_civil_month_days(date.year, date.month));
    }
}

PAWL_TEST(months_have_their_days)
{
    assert_int_equal(pawli_civil_month_days(2000, 2), 29);
    assert_int_equal(pawli_civil_month_days(2100, 2), 28);
    assert_int_equal(pawli_civil_month_days(2024, 2), 29);
    assert_int_equal(pawli_civil_month_days(2023, 2), 28);
    assert_int_equal(pawli_civil_month_days(2023, 12), 31);
}

PAWL_TEST(division_rounds_down_below_zero)
{
    assert_int_equal(pawli_floor_div(-1, 60), -1);
    assert_int_equal(pawli_floor_mod(-1, 60), 59);
    assert_int_equal(pawli_floor_div(-60, 60), -1);
    assert_int_equal(pawli_floor_mod(-60, 60), 0);
    assert_int_equal(pawli_floor_div(59, 60), 0);
}
