/* src/base/base64_test.c - the test vectors of RFC 4648, and invalid input. */
#include "base64.h"

#include <string.h>

#include "test.h"

PAWL_TEST(known_values_both_ways)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"},
                                           {"\xff\xfe\xfd", "//79"},
                                           {"\xfb\xf0", "+/A="}};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        size_t size = strlen(pairs[i][0]), back_size = 99;
        char text[16] = "", back[16];
        pawli_base64_encode(pairs[i][0], size, text);
        assert_string_equal(pairs[i][1], text);
        assert_int_equal(strlen(text), pawli_base64_length(size));
        assert_true(pawli_base64_decode(text, strlen(text), back, &back_size));
        assert_int_equal(size, back_size);
        assert_memory_equal(pairs[i][0], back, size);
    }
}

PAWL_TEST(invalid_base64_is_refused)
{
    static const char *const texts[] = {"Z",    "Zg",   "Zg=",  "====",      "Z===",
                                        "Zm=v", "Zh==", "Zm9=", "Zg==Zg==",  "Zm9v\n",
                                        "Zm 9", "Zm-_", "=m9v", "Zm9v\nZm9", "Zm9\xc3"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char room[16];
        size_t size = 99;
        if (pawli_base64_decode(texts[i], strlen(texts[i]), room, &size))
            test_fail("'%s' was taken", texts[i]);
        assert_int_equal(99, size);
    }
}
