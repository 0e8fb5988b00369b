/* src/transport/timestamp_test.c - timestamps of envelopes and of Retry-After. */
#include "timestamp.h"

#include "test.h"

#define NOON INT64_C(1771070400000000) /* 2026-02-14T12:00:00Z */

PAWL_TEST(times_are_written_in_utc)
{
    char text[PAWLI_TIMESTAMP_SIZE];

    pawli_timestamp_format((pawl_wall){NOON + 999999}, text);
    assert_string_equal("2026-02-14T12:00:00Z", text);
    pawli_timestamp_format((pawl_wall){0}, text);
    assert_string_equal("1970-01-01T00:00:00Z", text);
}

PAWL_TEST(times_are_read)
{
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {{"2026-02-14T12:00:00Z", NOON},
                 {"2026-02-14T12:00:00.5Z", NOON + 500000},
                 {"2026-02-14T12:00:00.1234567Z", NOON + 123456},
                 {"2026-02-14T13:30:00+01:30", NOON},
                 {"2026-02-14T11:59:59-00:00", NOON - 1000000},
                 {"2026-02-14T11:59:60Z", NOON},
                 {"2024-02-29T00:00:00Z", INT64_C(1709164800000000)}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pawl_wall time = {-1};
        if (!pawli_timestamp_parse(cases[i].text, &time) || time.us != cases[i].us)
            test_fail("%s: %lld", cases[i].text, (long long)time.us);
    }
}

PAWL_TEST(an_invalid_time_is_refused)
{
    static const char *const texts[] = {"",
                                        "2026-02-14",
                                        "2026-02-14T12:00:00",
                                        "2026-02-14 12:00:00Z",
                                        "2026-02-30T12:00:00Z",
                                        "2025-02-29T12:00:00Z",
                                        "2026-13-14T12:00:00Z",
                                        "2026-02-14T24:00:00Z",
                                        "2026-02-14T12:60:00Z",
                                        "2026-02-14T12:00:61Z",
                                        "2026-02-14T12:00:00.Z",
                                        "2026-02-14T12:00:00.1234567890Z",
                                        "2026-02-14T12:00:00z",
                                        "2026-02-14T12:00:00Z ",
                                        "2026-02-14T12:00:00+1:00",
                                        "1969-12-31T23:59:59Z",
                                        "+026-02-14T12:00:00Z"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pawl_wall time = {-1};
        if (pawli_timestamp_parse(texts[i], &time) || time.us != -1)
            test_fail("taken: %s", texts[i]);
    }
}

PAWL_TEST(retry_after_is_seconds_or_a_date)
{
    pawl_wall now = {INT64_C(784111777) * 1000000 - 1500000};

    assert_int_equal(0, pawli_retry_after_ms("0", now));
    assert_int_equal(120000, pawli_retry_after_ms("120", now));
    assert_int_equal(86400000, pawli_retry_after_ms("99999999999999999999999", now));
    assert_int_equal(1500, pawli_retry_after_ms("Sun, 06 Nov 1994 08:49:37 GMT", now));
    assert_int_equal(0, pawli_retry_after_ms("Sat, 05 Nov 1994 08:49:37 GMT", now));
    assert_int_equal(86400000, pawli_retry_after_ms("Sun, 06 Nov 2094 08:49:37 GMT", now));
    assert_int_equal(-1, pawli_retry_after_ms("", now));
    assert_int_equal(-1, pawli_retry_after_ms("-1", now));
    assert_int_equal(-1, pawli_retry_after_ms("1.5", now));
    assert_int_equal(-1, pawli_retry_after_ms("soon", now));
    assert_int_equal(-1, pawli_retry_after_ms("Sun, 06 Nov 1994 08:49:37 CET", now));
    assert_int_equal(-1, pawli_retry_after_ms("Sun, 06-Nov-1994 08:49:37 GMT", now));
}
