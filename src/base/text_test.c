/* src/base/text_test.c - UTF-8. */
#include <string.h>

#include "test.h"
#include "text.h"

PAWL_TEST(characters_are_counted_not_bytes)
{
    size_t characters;

    assert_true(pawli_utf8_check("", 0, &characters));
    assert_int_equal(characters, 0);
    assert_true(pawli_utf8_check("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x98", 10, &characters));
    assert_int_equal(characters, 4);
}

PAWL_TEST(malformed_sequences_are_refused)
{
    static const char *const bad[] = {
        "\x80",             /* a continuation alone */
        "\xc0\xaf",         /* overlong */
        "\xe0\x80\xaf",     /* overlong */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* beyond U+10FFFF */
        "\xf8\x88\x80\x80", /* five bytes */
        "a\xe2\x82",        /* cut off */
        "\xc3(",            /* no continuation */
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(pawli_utf8_check(bad[i], strlen(bad[i]), NULL));
}

PAWL_TEST(a_character_has_its_code_point)
{
    static const struct {
        const char *text;
        size_t length;
        uint32_t point;
    } all[] = {{"a", 1, 0x61},
               {"\xc3\xa4", 2, 0xe4},
               {"\xe2\x82\xac", 3, 0x20ac},
               {"\xf0\x9f\x90\x98", 4, 0x1f418}};
    uint32_t point = 7;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_int_equal(pawli_utf8_next(all[i].text, all[i].length, &point), all[i].length);
        assert_int_equal(point, all[i].point);
        assert_int_equal(pawli_utf8_next(all[i].text, all[i].length - 1, &point), 0);
    }
    assert_int_equal(pawli_utf8_next("\xc0\xaf", 2, &point), 0);
}

PAWL_TEST(a_prefix_never_cuts_a_character)
{
    const char *text = "ab\xe2\x82\xac"
                       "cd";

    assert_int_equal(pawli_utf8_prefix(text, 7, 7), 7);
    assert_int_equal(pawli_utf8_prefix(text, 7, 4), 2);
    assert_int_equal(pawli_utf8_prefix(text, 7, 5), 5);
    assert_int_equal(pawli_utf8_prefix(text, 7, 0), 0);
    assert_int_equal(pawli_utf8_prefix("ab\xe2\x82", 4, 10), 2);
}

PAWL_TEST(cleaning_replaces_malformed_utf8_and_truncates)
{
    char clean[8];

    assert_int_equal(pawli_utf8_clean("a\xff"
                                      "b",
                                      clean, sizeof clean),
                     3);
    assert_string_equal(clean, "a?b");
    assert_int_equal(pawli_utf8_clean("abcdef\xe2\x82\xac", clean, sizeof clean), 6);
    assert_string_equal(clean, "abcdef");
}
