/* src/transport/http/public_address_test.c - public and non-public addresses. */
#include "public_address.h"

#include "test.h"

PAWL_TEST(public_addresses)
{
    static const char *const texts[] = {
        "1.1.1.1",      "8.8.8.8",        "9.255.255.255",  "11.0.0.0",        "100.63.255.255",
        "100.128.0.0",  "172.15.255.255", "172.32.0.0",     "192.0.1.0",       "192.167.255.255",
        "192.169.0.0",  "198.17.255.255", "198.20.0.0",     "223.255.255.255", "2606:4700::1111",
        "2a00:1450::1", "2001:200::1",    "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!pawli_address_text_is_public(texts[i]))
            test_fail("%s", texts[i]);
}

PAWL_TEST(all_the_others)
{
    static const char *const texts[] = {"0.0.0.0",
                                        "0.1.2.3",
                                        "10.0.0.1",
                                        "10.255.255.255",
                                        "100.64.0.1",
                                        "127.0.0.1",
                                        "127.255.255.254",
                                        "169.254.169.254",
                                        "172.16.0.1",
                                        "172.31.255.255",
                                        "192.0.0.8",
                                        "192.0.2.1",
                                        "192.168.1.1",
                                        "198.18.0.1",
                                        "198.19.255.255",
                                        "198.51.100.1",
                                        "203.0.113.9",
                                        "224.0.0.1",
                                        "239.1.1.1",
                                        "240.0.0.1",
                                        "255.255.255.255",
                                        "::",
                                        "::1",
                                        "::ffff:127.0.0.1",
                                        "::ffff:10.1.1.1",
                                        "::127.0.0.1",
                                        "64:ff9b::10.0.0.1",
                                        "64:ff9b:1::1",
                                        "100::1",
                                        "2001::1",
                                        "2001:1ff::1",
                                        "2001:db8::1",
                                        "2002:7f00:1::",
                                        "3fff::1",
                                        "fc00::1",
                                        "fd12::1",
                                        "fe80::1",
                                        "fec0::1",
                                        "ff02::1",
                                        "localhost",
                                        "",
                                        "/run/x.sock"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (pawli_address_text_is_public(texts[i]))
            test_fail("%s", texts[i]);
}
