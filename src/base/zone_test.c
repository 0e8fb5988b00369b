/* src/base/zone_test.c - valid and malicious time zone files, and conversion in both directions. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "civil.h"
#include "test.h"
#include "zone.h"

static int64_t at(int year, int month, int day, int hour, int minute)
{
    return pawli_civil_days(year, month, day) * PAWLI_DAY_S + INT64_C(3600) * hour +
           INT64_C(60) * minute;
}

static pawli_zone *zone_load(const char *name)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_zone *zone = NULL;

    assert_status(PAWL_OK, pawli_zone_load(name, NULL, &zone, &err), &err);
    return zone;
}

static void zone_refuse(const char *name, pawl_status status, const char *said)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_zone *zone = NULL;

    assert_status(status, pawli_zone_load(name, NULL, &zone, &err), &err);
    assert_null(zone);
    if (!strstr(err.message, said))
        test_fail("'%s' is refused with: %s", name, err.message);
}

PAWL_TEST(names_that_lead_elsewhere_are_refused)
{
    static const char *const names[] = {
        "",        "/etc/passwd", "../zoneinfo/UTC", "Europe/../UTC",
        "Europe/", "//UTC",       "Europe//Berlin",  ".hidden",
        "a b",     "x\ny",        "Europe\\Berlin",  "~/x",
        "%s",      "\xc3\xa9"};
    char longest[PAWLI_ZONE_NAME_MAX + 2];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        zone_refuse(names[i], PAWL_E_INVALID, "cannot be the name of a time zone");
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    zone_refuse(longest, PAWL_E_INVALID, "cannot be the name");
    zone_refuse("localtime", PAWL_E_INVALID, "differs between machines");
}

PAWL_TEST(an_unknown_zone_names_a_near_one)
{
    zone_refuse("Europe/Berlni", PAWL_E_NOT_FOUND, "did you mean 'Europe/Berlin'?");
    zone_refuse("europe/berlin", PAWL_E_NOT_FOUND, "did you mean 'Europe/Berlin'?");
    zone_refuse("Tokyo", PAWL_E_NOT_FOUND, "did you mean 'Asia/Tokyo'?");
    zone_refuse("Middle_Earth/Mordor", PAWL_E_NOT_FOUND, "use a name such as");
    zone_refuse("Europe", PAWL_E_NOT_FOUND, "is not a time zone");
    zone_refuse("tzdata.zi", PAWL_E_CORRUPT, "");
    zone_refuse("zone.tab", PAWL_E_CORRUPT, "is not a TZif file");
}

PAWL_TEST(utc_needs_no_files)
{
    pawl_error err = PAWL_ERROR_INIT;
    PAWLI_AUTO(pawli_zone) zone = NULL;
    pawli_zone *other = NULL;
    pawli_zone_period period;

    assert_status(PAWL_OK, pawli_zone_load("UTC", "/nonexistent", &zone, &err), &err);
    pawli_zone_at(zone, 0, &period);
    assert_int_equal(period.offset_s, 0);
    assert_string_equal(period.abbreviation, "UTC");
    assert_true(period.begins_s == INT64_MIN && period.ends_s == INT64_MAX);
    assert_status(PAWL_E_NOT_FOUND, pawli_zone_load("Asia/Tokyo", "/nonexistent", &other, &err),
                  &err);
    assert_non_null(strstr(err.message, "install tzdata"));
}

PAWL_TEST(the_version_of_the_data_is_found)
{
    const char *directory = test_directory();
    char version[PAWLI_ZONE_VERSION_SIZE];
    char path[4096];
    FILE *file;

    pawli_zone_data_version(directory, version);
    assert_string_equal(version, "unknown");
    snprintf(path, sizeof path, "%s/+VERSION", directory);
    file = fopen(path, "we");
    fputs("2031q\n", file);
    fclose(file);
    pawli_zone_data_version(directory, version);
    assert_string_equal(version, "2031q");
    snprintf(path, sizeof path, "%s/tzdata.zi", directory);
    file = fopen(path, "we");
    fputs("# version 2032a-1\n", file);
    fclose(file);
    pawli_zone_data_version(directory, version);
    assert_string_equal(version, "2032a-1");
}

PAWL_TEST(a_zone_is_freed_by_its_last_user)
{
    pawli_zone *zone = zone_load("Europe/Berlin");
    pawli_zone *same = pawli_zone_ref(zone);

    pawli_zone_unref(zone);
    assert_string_equal(pawli_zone_name(same), "Europe/Berlin");
    pawli_zone_unref(same);
    pawli_zone_unref(NULL);
}

PAWL_TEST(a_local_time_in_a_gap_is_reported_with_the_times_around_it)
{
    PAWLI_AUTO(pawli_zone) zone = zone_load("Europe/Berlin");
    pawli_local found;

    pawli_zone_find(zone, at(2026, 3, 29, 2, 30), &found);
    assert_int_equal(found.kind, PAWLI_LOCAL_GAP);
    assert_int_equal(found.first_s, at(2026, 3, 29, 1, 0));
    assert_int_equal(found.gap_begins_s, at(2026, 3, 29, 2, 0));
    assert_int_equal(found.gap_ends_s, at(2026, 3, 29, 3, 0));
    assert_int_equal(pawli_zone_reach(zone, at(2026, 3, 29, 2, 30)), at(2026, 3, 29, 1, 0));
    pawli_zone_find(zone, at(2026, 3, 29, 3, 0), &found);
    assert_int_equal(found.kind, PAWLI_LOCAL_UNIQUE);
    assert_int_equal(found.first_s, at(2026, 3, 29, 1, 0));
    pawli_zone_find(zone, at(2026, 3, 29, 2, 0) - 1, &found);
    assert_int_equal(found.kind, PAWLI_LOCAL_UNIQUE);
}

PAWL_TEST(a_local_time_in_an_overlap_has_two_results)
{
    PAWLI_AUTO(pawli_zone) zone = zone_load("Australia/Lord_Howe");
    pawli_local found;

    /* Half an hour back at 02:00, from +11 to +10:30. */
    pawli_zone_find(zone, at(2026, 4, 5, 1, 45), &found);
    assert_int_equal(found.kind, PAWLI_LOCAL_OVERLAP);
    assert_int_equal(found.first_s, at(2026, 4, 4, 14, 45));
    assert_int_equal(found.second_s, at(2026, 4, 4, 15, 15));
    pawli_zone_find(zone, at(2026, 4, 5, 1, 29), &found);
    assert_int_equal(found.kind, PAWLI_LOCAL_UNIQUE);
    /* The maximum local time until the second 01:40 is the end of the first pass. */
    assert_int_equal(pawli_zone_highest(zone, at(2026, 4, 4, 15, 10)), at(2026, 4, 5, 2, 0) - 1);
}

PAWL_TEST(apia_skipped_a_day)
{
    PAWLI_AUTO(pawli_zone) zone = zone_load("Pacific/Apia");
    pawli_local found;

    pawli_zone_find(zone, at(2011, 12, 30, 12, 0), &found);
    assert_int_equal(found.kind, PAWLI_LOCAL_GAP);
    assert_int_equal(found.first_s, at(2011, 12, 30, 10, 0));
    assert_int_equal(found.gap_begins_s, at(2011, 12, 30, 0, 0));
    assert_int_equal(found.gap_ends_s, at(2011, 12, 31, 0, 0));
}

PAWL_TEST(dublin_has_its_daylight_saving_in_winter)
{
    PAWLI_AUTO(pawli_zone) zone = zone_load("Europe/Dublin");
    pawli_zone_period period;

    pawli_zone_at(zone, at(2098, 7, 1, 0, 0), &period);
    assert_int_equal(period.offset_s, 3600);
    assert_string_equal(period.abbreviation, "IST");
    pawli_zone_at(zone, at(2098, 1, 1, 0, 0), &period);
    assert_int_equal(period.offset_s, 0);
    assert_string_equal(period.abbreviation, "GMT");
}

PAWL_TEST(times_out_of_range_become_the_nearest_valid_time)
{
    PAWLI_AUTO(pawli_zone) zone = zone_load("America/New_York");
    pawli_zone_period period;

    pawli_zone_at(zone, INT64_MIN, &period);
    assert_string_equal(period.abbreviation, "LMT");
    pawli_zone_at(zone, INT64_MAX, &period);
    assert_true(period.offset_s == -18000 || period.offset_s == -14400);
}
