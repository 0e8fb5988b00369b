/* src/transport/json_scan_test.c - valid and invalid JSON, and locating members. */
#include "json_scan.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static bool is_value(const char *text)
{
    return pawli_json_scan_is_value(text, strlen(text), 64);
}

PAWL_TEST(valid_json_is_accepted)
{
    static const char *const texts[] = {"null",
                                        "true",
                                        "false",
                                        "0",
                                        "-0",
                                        "-12.5e+3",
                                        "1E5",
                                        "123456789012345678901234567890",
                                        "\"\"",
                                        "\"a\\u00e4\\n\\/\\\\\\\"\"",
                                        "\"\xc3\xa4\"",
                                        "[]",
                                        "[ ]",
                                        "{}",
                                        "{ }",
                                        "[1,2 ,\n3]",
                                        "[[[]],[]]",
                                        "{\"a\":{\"b\":[1,{\"c\":null}]},\"d\":1}",
                                        "{\"\":0}",
                                        "[{},{}]",
                                        "{\"a\" : [ ] , \"b\" : { } }"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!is_value(texts[i]))
            test_fail("refused: %s", texts[i]);
}

PAWL_TEST(invalid_json_is_refused)
{
    static const char *const texts[] = {"",
                                        " 1",
                                        "1 ",
                                        "01",
                                        "+1",
                                        ".5",
                                        "1.",
                                        "1e",
                                        "1e+",
                                        "--1",
                                        "tru",
                                        "nul",
                                        "True",
                                        "NaN",
                                        "\"",
                                        "\"a",
                                        "\"\\x\"",
                                        "\"\\u12g4\"",
                                        "\"\t\"",
                                        "\"\\",
                                        "\"\\u00\"",
                                        "\"\xc3\"",
                                        "\"\xed\xa0\x80\"",
                                        "[",
                                        "]",
                                        "[1",
                                        "[1,",
                                        "[1,]",
                                        "[,1]",
                                        "[1 2]",
                                        "{",
                                        "}",
                                        "{\"a\"}",
                                        "{\"a\":}",
                                        "{\"a\":1,}",
                                        "{a:1}",
                                        "{\"a\":1 \"b\":2}",
                                        "{\"a\":1]",
                                        "[1}",
                                        "1 1",
                                        "{} {}",
                                        "[]]",
                                        "/**/1",
                                        "'a'"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (is_value(texts[i]))
            test_fail("taken: %s", texts[i]);
}

PAWL_TEST(depth_is_limited)
{
    assert_true(pawli_json_scan_is_value("[[1]]", 5, 2));
    assert_false(pawli_json_scan_is_value("[[1]]", 5, 1));
    assert_true(pawli_json_scan_is_value("1", 1, 0));
    assert_false(pawli_json_scan_is_value("{}", 2, 0));

    char deep[2 * 65 + 1];
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    assert_true(pawli_json_scan_is_value(deep + 1, 128, 64));
    assert_false(pawli_json_scan_is_value(deep, 130, 64));
    assert_false(pawli_json_scan_is_value(deep, 130, 1000));
}

PAWL_TEST(members_come_one_by_one_as_they_were_written)
{
    const char *text = " { \"a\" : 1 ,\"b\\u0020\":{\"x\":[ ]}, \"c\":\" \" }\n";
    pawli_members members;
    pawli_span name, value;

    assert_true(pawli_members_begin(&members, text, strlen(text), 3));
    assert_int_equal(PAWLI_FOUND_MEMBER, pawli_members_next(&members, &name, &value));
    assert_true(pawli_span_equals(name, "a") && pawli_span_equals(value, "1"));
    assert_int_equal(PAWLI_FOUND_MEMBER, pawli_members_next(&members, &name, &value));
    assert_true(pawli_span_equals(name, "b\\u0020") && pawli_span_equals(value, "{\"x\":[ ]}"));
    assert_int_equal(PAWLI_FOUND_MEMBER, pawli_members_next(&members, &name, &value));
    assert_true(pawli_span_equals(name, "c") && pawli_span_equals(value, "\" \""));
    assert_int_equal(PAWLI_FOUND_END, pawli_members_next(&members, &name, &value));
    assert_false(pawli_members_begin(&members, "[1]", 3, 3));
    assert_false(pawli_members_begin(&members, "", 0, 3));
}

PAWL_TEST(broken_objects_are_faults)
{
    static const char *const texts[] = {"{",     "{\"a\"",     "{\"a\":1",          "{\"a\":1,}",
                                        "{,}",   "{\"a\":1}x", "{\"a\":1 \"b\":2}", "{\"a\":[[1]]}",
                                        "{} {}", "{1:1}"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        pawli_members members;
        pawli_span name, value;
        pawli_found found;
        assert_true(pawli_members_begin(&members, texts[i], strlen(texts[i]), 2));
        while ((found = pawli_members_next(&members, &name, &value)) == PAWLI_FOUND_MEMBER)
            continue;
        if (found != PAWLI_FOUND_FAULT)
            test_fail("taken: %s", texts[i]);
    }
}
