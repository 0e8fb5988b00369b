/* src/base/zone_tzif_test.c - the bytes of TZif files: every version, every kind of damage. */
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "zone.h"

/* A file under construction. */
typedef struct bytes {
    uint8_t data[4096];
    size_t size;
} bytes;

static void put(bytes *b, const void *data, size_t size)
{
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_number(bytes *b, int64_t number, size_t size)
{
    for (size_t i = size; i-- > 0;)
        b->data[b->size++] = (uint8_t)((uint64_t)number >> (8 * i));
}

static void put_header(bytes *b, char version, int changes, int types, int text, int leaps)
{
    uint8_t nothing[15] = {0};

    put(b, "TZif", 4);
    put(b, &version, 1);
    put(b, nothing, sizeof nothing);
    put_number(b, 0, 4);
    put_number(b, 0, 4);
    put_number(b, leaps, 4);
    put_number(b, changes, 4);
    put_number(b, types, 4);
    put_number(b, text, 4);
}

/* Two changes between "STD" (+1 h) and "DST" (+2 h). */
static void put_block(bytes *b, char version, size_t time_size)
{
    put_header(b, version, 2, 2, 8, 0);
    put_number(b, 1000, time_size);
    put_number(b, 2000, time_size);
    put(b, "\1\0", 2);
    put_number(b, 3600, 4);
    put(b, "\0\0", 2);
    put_number(b, 7200, 4);
    put(b, "\1\4", 2);
    put(b, "STD\0DST", 8);
}

static bytes make_file(char version, const char *footer)
{
    bytes b = {{0}, 0};

    if (version == '\0') {
        put_block(&b, version, 4);
        return b;
    }
    put_header(&b, version, 0, 1, 4, 0);
    put_number(&b, 0, 4);
    put(&b, "\0\0OLD", 6);
    put_block(&b, version, 8);
    put(&b, "\n", 1);
    put(&b, footer, strlen(footer));
    put(&b, "\n", 1);
    return b;
}

static pawli_zone *decode(const bytes *b)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_zone *zone = NULL;

    assert_status(PAWL_OK, pawli_zone_decode("Test", b->data, b->size, &zone, &err), &err);
    return zone;
}

static void zone_tzif_expect(const pawli_zone *zone, int64_t utc_s, int32_t offset_s,
                             const char *name)
{
    pawli_zone_period period;

    pawli_zone_at(zone, utc_s, &period);
    assert_int_equal(period.offset_s, offset_s);
    assert_string_equal(period.abbreviation, name);
}

PAWL_TEST(every_version_is_read)
{
    static const char versions[] = {'\0', '2', '3', '4'};

    for (size_t i = 0; i < sizeof versions; i++) {
        bytes b = make_file(versions[i], "FIX-5");
        PAWLI_AUTO(pawli_zone) zone = decode(&b);
        zone_tzif_expect(zone, 999, 3600, "STD");
        zone_tzif_expect(zone, 1000, 7200, "DST");
        zone_tzif_expect(zone, 1999, 7200, "DST");
        if (versions[i])
            zone_tzif_expect(zone, 2000, 18000, "FIX");
        else
            zone_tzif_expect(zone, 2000, 3600, "STD");
    }
}

PAWL_TEST(an_empty_footer_leaves_the_last_time_as_it_is)
{
    bytes b = make_file('2', "");
    PAWLI_AUTO(pawli_zone) zone = decode(&b);

    zone_tzif_expect(zone, INT64_C(100000000000), 3600, "STD");
}

static void zone_tzif_refused(const bytes *b, pawl_status status, const char *said)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_zone *zone = NULL;

    assert_status(status, pawli_zone_decode("Test", b->data, b->size, &zone, &err), &err);
    assert_null(zone);
    if (!strstr(err.message, said))
        test_fail("refused with '%s', not with '%s'", err.message, said);
}

PAWL_TEST(a_file_cut_anywhere_is_refused)
{
    bytes whole = make_file('3', "AAA-1BBB,M3.5.0,M10.5.0");

    for (size_t size = 0; size < whole.size; size++) {
        bytes b = whole;
        b.size = size;
        zone_tzif_refused(&b, PAWL_E_CORRUPT, "");
    }
}

PAWL_TEST(invalid_input_is_refused_with_the_reason)
{
    /* Offsets in the second block of a version 2 file. */
    enum { FIRST = 44 + 6 + 4, BLOCK = FIRST + 44, TYPES = BLOCK + 16 + 2 };
    static const struct {
        size_t where;
        uint8_t value;
        const char *said;
    } faults[] = {
        {0, 'X', "is not a TZif file"},
        {4, '5', "has a version"},
        {FIRST + 4, '3', "two different versions"},
        {FIRST + 36, 0xff, "impossible number of entries"},
        {FIRST + 35, 3, "ends too early"},
        {FIRST + 27, 1, "impossible number of indicators"},
        {BLOCK + 6, 0xff, "out of order"},
        {BLOCK + 16, 2, "a local time that it does not have"},
        {TYPES, 0x7f, "days away from UTC"},
        {TYPES + 4, 2, "daylight saving mark"},
        {TYPES + 5, 9, "invalid abbreviation"},
        {TYPES + 12, 0x1b, "invalid abbreviation"},
        {TYPES + 19, 'X', "invalid abbreviation"},
        {TYPES + 20, 'X', "has no footer"},
    };

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        bytes b = make_file('2', "FIX-5");
        b.data[faults[i].where] = faults[i].value;
        zone_tzif_refused(&b, PAWL_E_CORRUPT, faults[i].said);
    }
    bytes b = make_file('2', "nonsense");
    zone_tzif_refused(&b, PAWL_E_CORRUPT, "an invalid footer");
}

PAWL_TEST(leap_seconds_are_refused)
{
    bytes b = {{0}, 0};

    put_header(&b, '\0', 0, 1, 4, 1);
    zone_tzif_refused(&b, PAWL_E_UNSUPPORTED, "leap seconds");
    zone_tzif_refused(&b, PAWL_E_UNSUPPORTED, "without 'right/'");
}
