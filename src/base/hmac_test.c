/* src/base/hmac_test.c - HMAC-SHA256 against the test vectors of RFC 4231. */
#include "hmac.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static const char *hex_of(const void *key, size_t key_size, const void *bytes, size_t size)
{
    uint8_t code[PAWLI_HMAC_SIZE];
    static char text[2 * PAWLI_HMAC_SIZE + 1];

    assert_true(pawli_hmac_sha256(key, key_size, bytes, size, code));
    for (size_t i = 0; i < sizeof code; i++)
        snprintf(text + 2 * i, 3, "%02x", code[i]);
    return text;
}

PAWL_TEST(known_values)
{
    char key[131];

    memset(key, 0x0b, 20);
    assert_string_equal("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
                        hex_of(key, 20, "Hi There", 8));
    assert_string_equal("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                        hex_of("Jefe", 4, "what do ya want for nothing?", 28));
    memset(key, 0xaa, 131);
    assert_string_equal(
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        hex_of(key, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54));
}

PAWL_TEST(comparing_sees_every_byte)
{
    char one[32] = {0}, other[32] = {0};

    assert_true(pawli_memeq_consttime(one, other, sizeof one));
    for (size_t i = 0; i < sizeof one; i++) {
        other[i] = 1;
        assert_false(pawli_memeq_consttime(one, other, sizeof one));
        other[i] = 0;
    }
    memset(one, 7, sizeof one);
    pawli_wipe(one, sizeof one);
    assert_memory_equal(other, one, sizeof one);
}
