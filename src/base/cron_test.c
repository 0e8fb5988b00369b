/* src/base/cron_test.c - cron expressions: valid ones, errors and their columns, matches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "civil.h"
#include "cron.h"
#include "test.h"

static pawli_cron cron_parse(const char *text)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_cron cron;

    if (pawli_cron_parse(text, &cron, &err) != PAWL_OK)
        test_fail("'%s' is refused: %s", text, err.message);
    return cron;
}

static bool same(const char *a, const char *b)
{
    pawli_cron x = cron_parse(a);
    pawli_cron y = cron_parse(b);

    return x.seconds == y.seconds && x.minutes == y.minutes && x.hours == y.hours &&
           x.months == y.months && x.month_days == y.month_days && x.before_last == y.before_last &&
           x.nearest_weekday == y.nearest_weekday && x.last_weekday == y.last_weekday &&
           x.week_days == y.week_days &&
           memcmp(x.nth_week_days, y.nth_week_days, sizeof x.nth_week_days) == 0;
}

PAWL_TEST(different_spellings_mean_the_same)
{
    static const char *const pairs[][2] = {
        {"30 2 * * *", "0 30 2 * * *"},
        {"@daily", "0 0 0 * * *"},
        {"@MIDNIGHT", "0 0 0 * * ?"},
        {"@hourly", "0 * * * *"},
        {"@weekly", "0 0 * * SUN"},
        {"@monthly", "0 0 1 * *"},
        {"@yearly", "0 0 1 1 *"},
        {"@annually", "0 0 1 JAN *"},
        {"0 0 * jan-Mar mon-FRI", "0 0 * 1-3 1-5"},
        {"0 0 * * 7", "0 0 * * 0"},
        {"0 0 * * SAT-SUN", "0 0 * * 6-7"},
        {"0 0 * * 5-7", "0 0 * * 0,5,6"},
        {"0 0 ? * 5L", "0 0 ? * FRIL"},
        {"0 0 ? * fri#2", "0 0 ? * 5#2"},
        {"0 0 L-0 * *", "0 0 L * *"},
        {"0 0 lw * ?", "0 0 LW * ?"},
        {"5/20 * * * *", "5,25,45 * * * *"},
        {"0-59/15 * * * *", "*/15 * * * *"},
        {"0 0 * * 2/2", "0 0 * * 2,4,6"},
        {"\t0  0\t* * * ", "0 0 * * *"},
        {"0 0 1,1,1 * *", "0 0 1 * *"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (!same(pairs[i][0], pairs[i][1]))
            test_fail("'%s' is not '%s'", pairs[i][0], pairs[i][1]);
}

PAWL_TEST(stars_are_noticed)
{
    assert_false(cron_parse("0 30 2 * * *").has_wildcard);
    assert_true(cron_parse("* 30 2 * * *").has_wildcard);
    assert_true(cron_parse("0 */5 2 * * *").has_wildcard);
    assert_true(cron_parse("0 30 5,*/12 * * *").has_wildcard);
    assert_false(cron_parse("0 0-59 0-23 * * *").has_wildcard);
    assert_true(cron_parse("0 0 0 */2 * 1").month_day_star);
    assert_false(cron_parse("0 0 0 1-31 * 1").month_day_star);
    assert_true(cron_parse("0 0 0 1 * ?").week_day_star);
}

/* Text, column, a part of the message. */
static const struct {
    const char *text;
    int column;
    const char *said;
} wrong[] = {
    {"", 1, "0 fields are there"},
    {"* * *", 6, "3 fields are there"},
    {"x", 2, "1 field is there"},
    {"0 0 0 1 1 * 2030", 13, "none for the year"},
    {"@dialy", 1, "did you mean @daily?"},
    {"@reboot", 1, "not a time"},
    {"@", 1, "use @hourly"},
    {"60 * * * *", 1, "the minute must be 0 to 59, not 60"},
    {"0 24 * * *", 3, "the hour must be 0 to 23, not 24"},
    {"0 0 0 * *", 5, "day of the month must be 1 to 31, not 0"},
    {"0 0 32 * *", 5, "must be 1 to 31"},
    {"0 0 * 13 *", 7, "must be 1 to 12"},
    {"0 0 * * 8", 9, "must be 0 to 7"},
    {"0 0 * JANUARY *", 7, "did you mean JAN?"},
    {"0 0 * * MOO", 9, "did you mean MON?"},
    {"0 0 * * XYZ", 9, "three letters, such as SUN"},
    {"0 0 * * L", 9, "write 5L"},
    {"0 0 * * 5#6", 11, "first to fifth"},
    {"0 0 * * 5#", 11, "something is missing"},
    {"0 0 L-31 * *", 7, "31 days before its last"},
    {"0 0 L-3W * *", 8, "is not valid here"},
    {"0 0 32W * *", 5, "must be 1 to 31"},
    {"0 0 1-5W * *", 8, "is not valid here"},
    {"*/0 * * * *", 3, "a step of 0"},
    {"*/90 * * * *", 3, "every 90m"},
    {"0 */24 * * *", 5, "every 24h"},
    {"0 0 * */12 *", 9, "is too large for the field"},
    {"5-1 * * * *", 3, "write 5-59,0-1"},
    {"0 0 * * 6-0", 11, "write 6-6,0-0"},
    {"1,,2 * * * *", 3, "something is missing"},
    {"1, * * * *", 3, "something is missing"},
    {",1 * * * *", 1, "something is missing"},
    {"? * * * *", 1, "write '*'"},
    {"-5 * * * *", 1, "is not valid here"},
    {"5- * * * *", 3, "something is missing"},
    {"5/ * * * *", 3, "something is missing"},
    {"*5 * * * *", 2, "is not valid here"},
    {"1-2-3 * * * *", 4, "is not valid here"},
    {"1.5 * * * *", 2, "is not valid here"},
    {"99999999999999999999 * * * *", 1, "must be 0 to 59"},
    {"\xc3\xa9 * * * *", 1, "is not valid here"},
    {"0 0 31 2 *", 5, "never fire"},
    {"0 0 0 30 FEB *", 7, "never fire"},
    {"0 0 31 4,6,9,11 ?", 5, "never fire"},
    {"0 0 L-29 2 *", 5, "never fire"},
    {"0 0 31W 2 *", 5, "never fire"},
    {"0 0 */11 JUN 0L", 5, "never fire"},
};

PAWL_TEST(errors_name_the_column)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        char column[40];
        pawli_cron cron;
        snprintf(column, sizeof column, "column %d of the schedule: ", wrong[i].column);
        if (pawli_cron_parse(wrong[i].text, &cron, &err) != PAWL_E_INVALID)
            test_fail("'%s' is taken", wrong[i].text);
        if (strncmp(err.message, column, strlen(column)) != 0 ||
            !strstr(err.message, wrong[i].said))
            test_fail("'%s' is refused with: %s", wrong[i].text, err.message);
    }
}

/* The first `count` matching days from 2026-01-01 on, as "01-31 02-28". */
static const char *days(const char *text, int count)
{
    pawli_cron cron = cron_parse(text);
    int64_t at_s = pawli_civil_days(2026, 1, 1) * PAWLI_DAY_S;
    int64_t end_s = pawli_civil_days(2130, 1, 1) * PAWLI_DAY_S;
    const char *list = "";

    for (int i = 0; i < count && pawli_cron_match(&cron, at_s, end_s, &at_s); i++) {
        pawli_civil date = pawli_civil_date(pawli_floor_div(at_s, PAWLI_DAY_S));
        if (date.year == 2026)
            list = test_note("%s%s%02d-%02d", list, i ? " " : "", date.month, date.day);
        else
            list = test_note("%s%s%d-%02d-%02d", list, i ? " " : "", (int)date.year, date.month,
                             date.day);
        at_s++;
    }
    return list;
}

PAWL_TEST(days_that_fit)
{
    /* January 2026 begins on a Thursday. */
    assert_string_equal(days("0 0 L * *", 3), "01-31 02-28 03-31");
    assert_string_equal(days("0 0 L-2 * *", 3), "01-29 02-26 03-29");
    assert_string_equal(days("0 0 LW * *", 3), "01-30 02-27 03-31");
    assert_string_equal(days("0 0 1W * *", 5), "01-01 02-02 03-02 04-01 05-01");
    assert_string_equal(days("0 0 1W 8 *", 1), "08-03"); /* a Saturday: not back into July */
    assert_string_equal(days("0 0 31W * *", 4), "01-30 03-31 05-29 07-31");
    assert_string_equal(days("0 0 ? * FRI#2", 3), "01-09 02-13 03-13");
    assert_string_equal(days("0 0 ? * THU#5", 3), "01-29 04-30 07-30");
    assert_string_equal(days("0 0 ? * 1L", 3), "01-26 02-23 03-30");
    assert_string_equal(days("0 0 29 2 *", 2), "2028-02-29 2032-02-29");
    assert_string_equal(days("0 0 ? 2 MON#5", 2), "2044-02-29 2072-02-29");
    assert_string_equal(days("0 0 13 * FRI", 4), "01-02 01-09 01-13 01-16");
    assert_string_equal(days("0 0 */10 * THU", 3), "01-01 05-21 06-11");
    assert_string_equal(days("0 0 1 * */6", 3), "02-01 03-01 08-01");
    assert_string_equal(days("0 0 1,L 1 SAT#1", 3), "01-01 01-03 01-31");
}

/* Checks each second of some days; the search must find exactly the matching ones. */
PAWL_TEST(the_search_finds_every_fitting_second_and_no_other)
{
    static const char *const texts[] = {"*/7 * * * * *", "13 */11 3-5 * * *",
                                        "0,59 0,59 0,23 * * *", "59 59 23 * * *", "0 0 0 * * *"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pawli_cron cron = cron_parse(texts[i]);
        int64_t from_s = INT64_C(-2) * PAWLI_DAY_S;
        int64_t next_s = 0;
        bool known = false;
        for (int64_t at_s = PAWLI_DAY_S; at_s-- > from_s;) {
            int64_t second = pawli_floor_mod(at_s, PAWLI_DAY_S);
            int64_t found_s;
            if (cron.seconds >> second % 60 & 1 && cron.minutes >> second / 60 % 60 & 1 &&
                cron.hours >> second / 3600 & 1) {
                next_s = at_s;
                known = true;
            }
            bool found = pawli_cron_match(&cron, at_s, PAWLI_DAY_S, &found_s);
            if (found != known || (found && found_s != next_s))
                test_fail("'%s' from %lld", texts[i], (long long)at_s);
        }
    }
}
