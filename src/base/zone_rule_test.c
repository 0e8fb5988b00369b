/* src/base/zone_rule_test.c - POSIX rules in the footers of TZif files. */
#include <string.h>

#include "civil.h"
#include "test.h"
#include "zone_rule.h"

static pawli_zone_rule zone_rule_parse(const char *text)
{
    pawli_zone_rule rule;

    if (!pawli_zone_rule_parse(text, strlen(text), &rule))
        test_fail("'%s' is not understood", text);
    return rule;
}

static int64_t at(int year, int month, int day, int hour)
{
    return pawli_civil_days(year, month, day) * PAWLI_DAY_S + INT64_C(3600) * hour;
}

static void zone_rule_expect(const char *text, int64_t utc_s, int32_t offset_s, bool is_dst)
{
    pawli_zone_rule rule = zone_rule_parse(text);
    pawli_zone_period period;

    pawli_zone_rule_at(&rule, utc_s, &period);
    if (period.offset_s != offset_s || period.is_dst != is_dst)
        test_fail("'%s' at %lld: %d %d", text, (long long)utc_s, period.offset_s, period.is_dst);
    assert_true(period.begins_s <= utc_s && utc_s < period.ends_s);
}

PAWL_TEST(rules_of_both_hemispheres)
{
    zone_rule_expect("CET-1CEST,M3.5.0,M10.5.0/3", at(2099, 3, 29, 1) - 1, 3600, false);
    zone_rule_expect("CET-1CEST,M3.5.0,M10.5.0/3", at(2099, 3, 29, 1), 7200, true);
    zone_rule_expect("CET-1CEST,M3.5.0,M10.5.0/3", at(2099, 10, 25, 1) - 1, 7200, true);
    zone_rule_expect("CET-1CEST,M3.5.0,M10.5.0/3", at(2099, 10, 25, 1), 3600, false);
    zone_rule_expect("AEST-10AEDT,M10.1.0,M4.1.0/3", at(2099, 1, 1, 0), 39600, true);
    zone_rule_expect("AEST-10AEDT,M10.1.0,M4.1.0/3", at(2099, 7, 1, 0), 36000, false);
    zone_rule_expect("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", at(2099, 1, 1, 0), 39600, true);
    zone_rule_expect("IST-1GMT0,M10.5.0,M3.5.0/1", at(2099, 1, 1, 0), 0, true);
    zone_rule_expect("EST5", at(2099, 1, 1, 0), -18000, false);
}

PAWL_TEST(days_by_number_and_long_times)
{
    /* J60 is 1 March in every year; 59 is 29 February in a leap year, else 1 March. */
    zone_rule_expect("AAA0BBB,J60/0,J300", at(2024, 3, 1, 0) - 1, 0, false);
    zone_rule_expect("AAA0BBB,J60/0,J300", at(2024, 3, 1, 0), 3600, true);
    zone_rule_expect("AAA0BBB,59/0,J300", at(2024, 2, 29, 0), 3600, true);
    zone_rule_expect("AAA0BBB,59/0,J300", at(2023, 3, 1, 0) - 1, 0, false);
    zone_rule_expect("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", at(2099, 3, 29, 1) - 1, -7200, false);
    zone_rule_expect("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", at(2099, 3, 29, 1), -3600, true);
}

PAWL_TEST(daylight_saving_may_last_all_year)
{
    for (int day = 0; day < 800; day++)
        zone_rule_expect("EST5EDT,0/0,J365/25", at(2030, 1, 1, 0) + day * INT64_C(86400), -14400,
                         true);
}

PAWL_TEST(daylight_saving_may_last_no_time_at_all)
{
    for (int day = 0; day < 800; day++)
        zone_rule_expect("AAA0BBB,J100/2,J100/3", at(2030, 1, 1, 0) + day * INT64_C(86400), 0,
                         false);
}

PAWL_TEST(an_invalid_rule_is_refused)
{
    static const char *const texts[] = {
        "",
        "A",
        "AB5",
        "ABC",
        "ABC5DEF",
        "ABC5DEF,",
        "ABC25",
        "ABC5DEF,M13.1.0,M1.1.0",
        "ABC5DEF,M1.6.0,M1.1.0",
        "ABC5DEF,M1.1.7,M1.1.0",
        "ABC5DEF,J0,J1",
        "ABC5DEF,366,1",
        "ABC5DEF,M1.1.0/168,M1.1.0",
        "ABC5DEF,M1.1.0,M1.1.0x",
        "<ABC5",
        "ABC5:60",
        "ABC-24:59:59DEF-24:59:60,0,1",
        "ABCDEFGHIJKLMNOPQRST5",
        "ABC99999999999",
        "<AB>5",
        "A1C5",
        "ABC-24DEF-26,0,1",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pawli_zone_rule rule;
        if (pawli_zone_rule_parse(texts[i], strlen(texts[i]), &rule))
            test_fail("'%s' is taken", texts[i]);
    }
}
