/* src/base/hash_test.c - SHA-256 against the test vectors of its standard. */
#include "hash.h"

#include <stdio.h>

#include "test.h"

static const char *hex_of(const void *bytes, size_t size)
{
    uint8_t hash[PAWLI_SHA256_SIZE];
    static char text[2 * PAWLI_SHA256_SIZE + 1];

    assert_true(pawli_sha256(bytes, size, hash));
    for (size_t i = 0; i < sizeof hash; i++)
        snprintf(text + 2 * i, 3, "%02x", hash[i]);
    return text;
}

PAWL_TEST(known_values)
{
    assert_string_equal("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                        hex_of(NULL, 0));
    assert_string_equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                        hex_of("abc", 3));
    assert_string_equal("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
                        hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56));
}
